"""Heads form: the anchors are spread over heads that see only the n tokens of the sequence.

This is the strict class of theorem 2: the sequence does not grow, and its positions, told apart by
one-hot columns, tell a token which anchor it holds for each head.
"""

from __future__ import annotations

import numpy as np

from anchorhead.errors import FormError, require_positive
from anchorhead.forms.pairs import (
    added_columns,
    held_rows,
    map_pairs,
    reading,
    rejoined,
    require_rows,
)
from anchorhead.forms.prefix import to_prefix
from anchorhead.heads.anchors import Anchors, merge, share, sharing_error
from anchorhead.layers import Attention, Head, Layer, Linear
from anchorhead.network import Network

__all__ = ["to_heads"]


def to_heads(network: Network, agreement: float = 1e-9) -> Network:
    """The same network with every head's anchors spread over heads on the n tokens.

    Statement. A head that sees only p anchors becomes one head where p ≤ n, with the same function
    in exact arithmetic. Where p > n ≥ 3, and the scores depend on one affine function of the token,
    it becomes ⌈p/(n − 2)⌉ heads of n − 2 anchors and two sentinels; their sum differs from the head
    by at most ``sharing_error``, which must not exceed ``agreement`` for any head (with uniform
    anchors it is of the order of softmax_error²; what later layers make of it is not counted).
    Heads that see tokens stay as they are.

    Raises:
        FormError: A layer takes any number of tokens, has fewer than three for more anchors than
            that, has scores that depend on several variables, or anchors too soft to be shared
            within ``agreement``; or a head holds anchors beside tokens it sees.
    """
    agreement = require_positive("agreement", agreement)

    def rewrite(name: str, before: Linear, layer: Attention) -> list[Layer]:
        return _rewrite(name, before, layer, agreement)

    return map_pairs(to_prefix(network), rewrite)


def _rewrite(name: str, before: Linear, layer: Attention, agreement: float) -> list[Layer]:
    if not any(head.anchors for head in layer.heads):
        return [before, layer]
    n = require_rows(name, before)
    heads: list[Head] = []
    for number, head in enumerate(layer.heads, 1):
        called = f"{name}, head {number}"
        if head.anchors and head.sees != "anchors":
            raise FormError(
                f"{called} holds anchors beside the tokens it sees, and the heads form has no "
                f"place for them; use to_sequence, or keep the prefix form"
            )
        if head.anchors:
            heads += _spread(called, before, head, n, agreement)
        else:
            depth, width = head.query.shape[1], head.value_width
            blank = np.zeros((n, depth + 1)), np.zeros((n, width))
            heads.append(reading(head, np.zeros(n), *blank))
    return rejoined(added_columns(before, np.eye(n)), heads, layer, layer.keep or n)


def _spread(name: str, before: Linear, head: Head, n: int, agreement: float) -> list[Head]:
    """The heads, each reading at most n keys and values from the positions, that sum to the head."""
    assert head.anchor_keys is not None
    assert head.anchor_values is not None
    one = np.ones(n)
    if head.anchors <= n:
        return [reading(head, one, *held_rows(head.anchor_keys, head.anchor_values, n))]
    if n < 3:
        raise FormError(
            f"{name} has {head.anchors} anchors for {n} tokens, and sharing them takes at least "
            f"3 tokens; use to_sequence"
        )
    alone, anchors = _on_one_variable(name, before, head)
    error = sharing_error(anchors, n)
    if not error <= agreement:
        raise FormError(
            f"{name} can share its {head.anchors} anchors among heads only within {error:.1e} "
            f"where agreement is {agreement:.1e}; use sharper anchors (a smaller softmax_error), "
            f"to_sequence, or a larger agreement"
        )
    return [reading(alone, one, piece.keys, piece.values) for piece in share(anchors, n)]


def _on_one_variable(name: str, before: Linear, head: Head) -> tuple[Head, Anchors]:
    """The head with a single number y as its query, and its anchors with scores affine in y.

    Queries are q̄ + Σ_r z_r d_r: the d_r are the directions that the linear map lets vary and the
    differences of its constant rows. Each must move the scores by c_r α with one vector α of slopes
    for all r, up to the rounding of that direction's own products: how large its z_r will be is not
    known, so nothing is small enough to be left out. A key entry that all anchors share adds the
    same to every score and counts as 0. With e·d_r = c_r the number is y = e·q, and the intercepts
    are (K − α e)·q̄.
    """
    assert head.anchor_keys is not None
    keys, constant = head.anchor_keys, _constant_rows(before) @ head.query
    keys = np.where((keys == keys[0]).all(axis=0), 0.0, keys)
    varying = [_features(before, term.features) @ head.query for term in before.terms]
    directions = np.vstack([*varying, constant - constant[0]])
    found = _common_slopes(keys, directions)
    if found is None:
        raise FormError(
            f"{name} has {head.anchors} anchors in several variables, more than its tokens can "
            f"hold in one head; use to_sequence"
        )
    slopes, direction = found
    intercepts = ((keys - np.outer(slopes, direction)) * constant[0]).sum(axis=1)
    order = np.argsort(slopes, kind="stable")
    values = head.anchor_values
    assert values is not None
    values = values if head.output is None else values @ head.output
    anchors = merge(Anchors(slopes[order], intercepts[order], values[order]))
    alone = Head(
        query=head.query @ direction[:, None],
        anchor_keys=anchors.slopes[:, None],
        anchor_values=anchors.values,
        sees="anchors",
    )
    return alone, anchors


def _common_slopes(
    keys: np.ndarray, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Slopes α and e with keys·d_r = (e·d_r) α for every direction d_r, if there are such."""
    moved = (keys[:, None] * directions).sum(axis=2)
    rounding = 1e-12 * (np.abs(keys)[:, None] * np.abs(directions)).sum(axis=2).max(axis=0)
    moved[:, np.abs(moved).max(axis=0) <= rounding] = 0
    if not moved.any():
        return np.zeros(len(keys)), np.zeros(keys.shape[1])
    slopes = moved[:, np.abs(moved).max(axis=0).argmax()]
    pivot = np.abs(slopes).argmax()
    shares = moved[pivot] / slopes[pivot]
    if (np.abs(moved - np.outer(slopes, shares)) > rounding).any():
        return None
    lengths = np.linalg.norm(directions, axis=1)
    used = lengths > 0
    direction = np.linalg.lstsq(
        directions[used] / lengths[used, None], shares[used] / lengths[used], rcond=1e-13
    )[0]
    exact = np.abs(directions @ direction - shares) <= 1e-12 * lengths * np.linalg.norm(direction)
    return slopes, direction if exact.all() else keys[pivot] / slopes[pivot]


def _features(linear: Linear, features: np.ndarray | None) -> np.ndarray:
    return np.eye(linear.shape_out[1]) if features is None else features


def _constant_rows(linear: Linear) -> np.ndarray:
    return np.zeros((1, linear.shape_out[1])) if linear.constant is None else linear.constant
