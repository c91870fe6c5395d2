"""One head as a whole network: the same function of one variable, applied to every token."""

from __future__ import annotations

import numpy as np

from anchorhead.heads.anchors import Anchors
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network

__all__ = ["pointwise"]


def pointwise(anchors: Anchors) -> Network:
    """The network n×1 → n×width, for any n, that computes F(y) = Σ_k v_k e^{s_k} / Σ_k e^{s_k}.

    The linear map writes the query ((y − centre)/unit, 1) of every token; the head sees only its
    anchors, which stand beside the tokens as constant keys and values.
    """
    query = Linear(
        (None, 1),
        (None, 2),
        (Term(features=np.array([[1 / anchors.unit, 0.0]])),),
        np.array([[-anchors.centre / anchors.unit, 1.0]]),
    )
    head = Head(
        query=np.eye(2), anchor_keys=anchors.keys, anchor_values=anchors.values, sees="anchors"
    )
    return Network((query, Attention((head,))))
