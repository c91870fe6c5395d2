"""Sequence form: anchors are rows of the sequence itself, written by the linear map before a layer.

This is the strict class of theorem 1: no constant keys beside the tokens, no mask.
"""

from __future__ import annotations

import numpy as np

from anchorhead.errors import FormError
from anchorhead.forms.pairs import (
    added_columns,
    held_rows,
    map_pairs,
    reading,
    rejoined,
    require_rows,
)
from anchorhead.forms.prefix import to_prefix
from anchorhead.layers import Attention, Head, Layer, Linear
from anchorhead.network import Network

__all__ = ["to_sequence"]


def to_sequence(network: Network) -> Network:
    """The same network with all anchors written into rows of the sequence.

    Statement. Let a layer have n tokens. Its linear map gets a constant column and, for each head,
    columns for a key, a bias and a value; anchor k is written into the k-th row that the head may
    use. A head that sees only anchors may use all rows, so max(n, p) rows suffice; a head that sees
    the tokens too uses the rows behind them, n + p in all. Where a head has fewer anchors than
    rows, its last one is shared out among them. The function is the same in exact arithmetic.

    Raises:
        FormError: A layer takes any number of tokens, needs a mask (a head that sees only the token
            itself, or is causal and sees tokens), or has both heads that need added rows and heads
            without anchors, which those rows would disturb.
    """
    return map_pairs(to_prefix(network), _rewrite)


def _rewrite(name: str, before: Linear, layer: Attention) -> list[Layer]:
    masked = [h.sees == "self" or (h.causal and h.sees == "all") for h in layer.heads]
    if any(masked):
        raise FormError(
            f"{name}, head {masked.index(True) + 1} has a mask, and the sequence form has none; "
            f"keep the prefix form"
        )
    if not any(head.anchors for head in layer.heads):
        return [before, layer]
    n = require_rows(name, before)
    first = n if any(head.sees == "all" for head in layer.heads) else 0
    rows = max(n, first + max(head.anchors for head in layer.heads))
    bare = [head.anchors == 0 for head in layer.heads]
    if any(bare) and rows > n:
        raise FormError(
            f"{name}, head {bare.index(True) + 1} has no anchors, and the rows added for other heads "
            f"would disturb it; put it into a layer of its own"
        )
    held = [_columns(head, rows, n) for head in layer.heads]
    columns = np.hstack([np.ones((rows, 1)), *(part for pair in held for part in pair)])
    place = np.eye(columns.shape[1])
    heads, at = [], 1
    for head, (keys, values) in zip(layer.heads, held, strict=True):
        middle, end = at + keys.shape[1], at + keys.shape[1] + values.shape[1]
        heads.append(reading(head, place[0], place[:, at:middle], place[:, middle:end]))
        at = end
    return rejoined(added_columns(before, columns), heads, layer, layer.keep or n)


def _columns(head: Head, rows: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The key, with bias, and the value of the anchor that each row holds for the head."""
    depth, width = head.query.shape[1], head.value_width
    if head.anchor_keys is None or head.anchor_values is None:
        return np.zeros((rows, depth + 1)), np.zeros((rows, width))
    first = n if head.sees == "all" else 0
    keys, values = held_rows(head.anchor_keys, head.anchor_values, rows - first)
    tokens = np.zeros((first, depth + 1)), np.zeros((first, width))
    return np.vstack([tokens[0], keys]), np.vstack([tokens[1], values])
