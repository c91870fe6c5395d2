"""What the rewrites share: a network as pairs of a linear map and the attention layer it feeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from anchorhead.errors import FormError, InputError
from anchorhead.layers import Attention, Head, Layer, Linear, Term
from anchorhead.network import Network

__all__ = ["added_columns", "held_rows", "map_pairs", "reading", "rejoined", "require_rows"]


def map_pairs(
    network: Network, rewrite: Callable[[str, Linear, Attention], list[Layer]]
) -> Network:
    """The network with every (linear map, attention layer) pair replaced by what ``rewrite`` gives.

    An attention layer with no linear map before it gets the identity. ``rewrite`` is told which
    attention layer it has before it, counted from 1, for its error messages.
    """
    if not isinstance(network, Network):
        raise InputError(f"network is a {type(network).__name__} where a Network is needed")
    made: list[Layer] = []
    (rows, width), count = network.shape_in, 0
    before: Linear | None = None
    for layer in network.layers:
        if isinstance(layer, Attention):
            count += 1
            fed = before or Linear((rows, width), (rows, width), (Term(),))
            made += rewrite(f"attention layer {count}", fed, layer)
            before, rows, width = None, layer.keep or rows, layer.width_out
            continue
        made += [] if before is None else [before]
        before = None
        if isinstance(layer, Linear):
            before = _of_so_many_tokens(layer, rows)
            rows, width = before.shape_out
        else:
            made.append(layer)
    return Network((*made, *(() if before is None else (before,))))


def _of_so_many_tokens(linear: Linear, rows: int | None) -> Linear:
    """The map; if it takes any number of tokens and so many come, as a map of that number."""
    if rows is None or linear.shape_in[0] is not None:
        return linear
    shapes = (rows, linear.shape_in[1]), (rows, linear.shape_out[1])
    return Linear(*shapes, linear.terms, linear.constant)


def require_rows(name: str, linear: Linear) -> int:
    """The number of tokens the map gives, which the strict forms need to know."""
    rows = linear.shape_out[0]
    if rows is None:
        raise FormError(
            f"{name} takes any number of tokens where the strict forms need a fixed number; "
            f"keep the prefix form, or make the network for one number of tokens"
        )
    return rows


def added_columns(linear: Linear, columns: np.ndarray) -> Linear:
    """The map with constant ``columns`` behind its own, and zero rows added up to theirs."""
    (old_rows, width), (rows, more) = linear.shape_out, columns.shape
    assert old_rows is not None
    terms = []
    for term in linear.terms:
        features = np.eye(width) if term.features is None else term.features
        tokens = term.tokens
        if tokens is not None and rows > old_rows:
            tokens = np.vstack([tokens, np.zeros((rows - old_rows, tokens.shape[1]))])
        elif tokens is None and (linear.shape_in[0] or 0) > old_rows:
            tokens = np.eye(rows, linear.shape_in[0]) * (np.arange(rows) < old_rows)[:, None]
        wide = np.hstack([features, np.zeros((len(features), more))])
        terms.append(replace(term, features=wide, tokens=tokens))
    kept = np.zeros((rows, width))
    if linear.constant is not None:
        kept[:old_rows] = linear.constant
    return Linear(linear.shape_in, (rows, width + more), tuple(terms), np.hstack([kept, columns]))


def held_rows(keys: np.ndarray, values: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys with a bias column, and values, for this many rows: the last anchor is shared out.

    m copies with bias −log m carry together exactly the weight of one.
    """
    index = np.minimum(np.arange(rows), len(keys) - 1)
    copies = np.bincount(index, minlength=len(keys))
    return np.column_stack([keys[index], -np.log(copies[index])]), values[index]


def reading(head: Head, one: np.ndarray, keys: np.ndarray, values: np.ndarray) -> Head:
    """The head with one more entry in query and key, reading added columns.

    ``one`` reads a constant 1 from the added columns, ``keys`` and ``values`` read what the rows
    hold there; what the head sees of the tokens' own columns it keeps.
    """
    width, depth = head.query.shape
    tokens = head.sees != "anchors"
    bias = np.zeros((width, 1))
    key = head.key if tokens and head.key is not None else np.zeros((width, depth))
    value = head.value if tokens else np.zeros((width, head.value_width))
    value = np.eye(width) if value is None else value
    query = np.zeros((width + len(one), depth + 1))
    query[:width, :depth] = head.query
    query[width:, depth] = one
    return Head(
        query=query,
        key=np.vstack([np.hstack([key, bias]), keys]),
        value=np.vstack([value, values]),
        output=head.output,
        sees="all" if head.sees == "anchors" else head.sees,
        causal=head.causal and tokens,
    )


def rejoined(before: Linear, heads: list[Head], layer: Attention, rows: int) -> list[Layer]:
    """The layer with these heads after ``before``; a residual one loses the added columns again."""
    if not layer.residual:
        return [before, Attention(tuple(heads), keep=rows)]
    wide, width = before.shape_out[1], layer.width_out
    padding = np.eye(width, wide)
    padded = [
        replace(head, output=padding if head.output is None else head.output @ padding)
        for head in heads
    ]
    drop = Linear((rows, wide), (rows, width), (Term(features=padding.T),))
    return [before, Attention(tuple(padded), residual=True, keep=rows), drop]
