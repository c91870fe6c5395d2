"""Prefix form: anchors are constant keys and values beside the tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anchorhead.forms.pairs import map_pairs
from anchorhead.layers import Attention, Head, Layer, Linear, constant_image
from anchorhead.network import Network

__all__ = ["to_prefix"]


def to_prefix(network: Network) -> Network:
    """The same network with every constant key and value moved beside the tokens.

    Statement. A head whose keys and values do not depend on the input computes the same function
    with them as anchors, exactly: the same scores, in the same order. Rows that held only anchors,
    and columns that nothing reads any more, are left out. Other heads stay as they are.
    """
    return map_pairs(network, _rewrite)


def _rewrite(name: str, before: Linear, layer: Attention) -> list[Layer]:
    heads = tuple(_with_prefix(before, head) for head in layer.heads)
    if all(head.sees == "anchors" for head in heads):
        if layer.keep is not None and before.shape_out[0] is not None:
            before, layer = _first_rows(before, layer.keep), replace(layer, keep=None)
        if not layer.residual:
            read = np.any([head.query.any(axis=1) for head in heads], axis=0)
            read[0] |= not read.any()
            before = _columns(before, read)
            heads = tuple(replace(head, query=head.query[read]) for head in heads)
    return [before, replace(layer, heads=heads)]


def _with_prefix(before: Linear, head: Head) -> Head:
    """The head with its keys as anchors, if what it sees of the tokens is constant."""
    if head.sees != "all" or head.causal or before.shape_out[0] is None:
        return head
    keys, values = constant_image(before, head.key), constant_image(before, head.value)
    if keys is None or values is None:
        return head
    if head.anchor_keys is not None and head.anchor_values is not None:
        keys = np.vstack([keys, head.anchor_keys])
        values = np.vstack([values, head.anchor_values])
    return Head(
        query=head.query,
        output=head.output,
        anchor_keys=keys,
        anchor_values=values,
        sees="anchors",
    )


def _first_rows(linear: Linear, rows: int) -> Linear:
    """The map without the rows of its output from ``rows`` on."""
    terms = tuple(
        term if term.tokens is None else replace(term, tokens=term.tokens[:rows])
        for term in linear.terms
    )
    constant = linear.constant
    if constant is not None and len(constant) > rows:
        constant = constant[:rows]
    return Linear(linear.shape_in, (rows, linear.shape_out[1]), terms, constant)


def _columns(linear: Linear, kept: np.ndarray) -> Linear:
    """The map with only the ``kept`` columns of its output; terms that write none of them go."""
    if kept.all():
        return linear
    width = linear.shape_out[1]
    terms = []
    for term in linear.terms:
        features = (np.eye(width) if term.features is None else term.features)[:, kept]
        if features.any():
            terms.append(replace(term, features=features))
    constant = None if linear.constant is None else linear.constant[:, kept]
    shape_out = linear.shape_out[0], int(kept.sum())
    return Linear(linear.shape_in, shape_out, tuple(terms), constant)
