"""Heads of one variable as a whole network: the same function applied to every token."""

from __future__ import annotations

import numpy as np

from anchorhead.errors import InputError
from anchorhead.heads.anchors import Anchors
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network

__all__ = ["pointwise"]


def pointwise(*heads: Anchors) -> Network:
    """The network n×1 → n×width, for any n, that adds up its heads.

    A head computes F(y) = Σ_k v_k e^{s_k} / Σ_k e^{s_k}.
    The linear map writes the query ((y − centre)/unit, 1) of the first head for every token; the
    others move it to their own centre. Each head sees only its anchors, which stand beside the
    tokens as constant keys and values. All heads have the same width.
    """
    if not heads or not all(isinstance(head, Anchors) for head in heads):
        raise InputError(
            "heads are not all Anchors; give at least one, such as heads.uniform makes"
        )
    first = heads[0]
    if any(head.values.shape[1] != first.values.shape[1] for head in heads):
        raise InputError("heads differ in width; give all of them as many values an anchor")
    query = Linear(
        (None, 1),
        (None, 2),
        (Term(features=np.array([[1 / first.unit, 0.0]])),),
        np.array([[-first.centre / first.unit, 1.0]]),
    )
    return Network((query, Attention(tuple(_reading(first, head) for head in heads))))


def _reading(first: Anchors, head: Anchors) -> Head:
    """The head, with its own query from that of the first: ((y − centre)/unit, 1)."""
    scale, shift = first.unit / head.unit, (first.centre - head.centre) / head.unit
    return Head(
        query=np.array([[scale, 0.0], [shift, 1.0]]),
        anchor_keys=head.keys,
        anchor_values=head.values,
        sees="anchors",
    )
