"""Theorem 1: one layer and one head approximate n different ramps, one a token."""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorhead.errors import require_integer
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network
from anchorhead.theorems.construction import Construction
from anchorhead.theorems.ramps import Ramps

__all__ = ["single_head"]


def single_head(
    weights: Any,
    offsets: Any,
    low: float,
    high: float,
    anchors: int,
    *,
    slots: Any = None,
    width: int | None = None,
    softmax_error: float = 1e-9,
) -> Construction:
    """One head with p anchors approximates Range_[low,high](w_i·x_i + t_i) at every token i.

    Statement (theorem 3.1 in v1 of the paper). For p > n there are a linear map A from n×d to
    p×(2d + d_o + 2) and one softmax head such that row i of Attn(A(X)), i ≤ n, differs from
    Range_[a,b](w_i·x_i + t_i) e_{G(k_i)} by at most max(|a|, |b|) ε₀ + (b − a)/p in any coordinate,
    where k_i is the anchor nearest to the ramp's value and G any map from anchors to coordinates.

    The columns of A(X) are, in this order: w_i ∘ x_i, the offset t_i added to the first of them
    (d); the anchor's slope, d times; a constant 1; the anchor's intercept; the anchor's value in
    coordinate G(k) (d_o). The query is (Σ_r w_ir x_ir + t_i, 1)/(Δ, 1), the key (slope, intercept). One
    slope column would do: products w_ir x_ir that cancel must be summed before they meet a slope, or
    each anchor would round them differently.

    Args:
        weights: n×d, one ramp direction for each token.
        offsets: n offsets t_i.
        low: The ramps' lower end a.
        high: Their upper end b.
        anchors: The number p of anchors, more than n.
        slots: G, one coordinate for each anchor; without it all write to the first.
        width: d_o, the number of coordinates; without it as many as ``slots`` uses.
        softmax_error: ε₀, the weight that may stray from the right anchors.

    Returns:
        The construction. Where G changes between neighbours, ``applies`` leaves out the tokens
        within 5 % of the spacing of their midpoint, where a continuous head cannot choose.
    """
    count = require_integer("anchors", anchors, least=2)
    ramps = Ramps.of(weights, offsets, low, high, count, slots, width, softmax_error)
    n, d = ramps.weights.shape
    require_integer("anchors", count, least=n + 1, reason=f"the theorem needs p > n, and n is {n}")
    laid = ramps.anchors()
    columns = 2 * d + ramps.width + 2

    constant = np.zeros((count, columns))
    constant[:n, 0] = ramps.offsets - laid.centre
    constant[:, d : 2 * d] = laid.slopes[:, None]
    constant[:, 2 * d] = 1
    constant[:, 2 * d + 1] = laid.intercepts
    constant[:, 2 * d + 2 :] = laid.values
    gather = Term(features=np.eye(d, columns), scale=ramps.weights)
    first = Linear((n, d), (count, columns), (gather,), constant)

    pick = np.eye(columns)
    query = np.column_stack([pick[:, :d].sum(axis=1) / laid.unit, pick[:, 2 * d]])
    key = np.column_stack([pick[:, d], pick[:, 2 * d + 1]])
    head = Head(query=query, key=key, value=pick[:, 2 * d + 2 :])
    network = Network((first, Attention((head,), keep=n)))
    return Construction(network, ramps.target, ramps.bound(), ramps.applies)
