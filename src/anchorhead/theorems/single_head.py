"""Theorem 1: one layer and one head approximate n different ramps, one a token."""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorhead.errors import InputError, require_choice, require_integer
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network
from anchorhead.theorems.construction import Construction
from anchorhead.theorems.ramps import PLACEMENTS, Placement, Ramps

__all__ = ["single_head"]


def single_head(
    weights: Any,
    offsets: Any,
    low: float,
    high: float,
    anchors: int | Placement,
    *,
    count: int | None = None,
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

    With ``anchors="graded"`` the same head in the same shapes is the identity between two constants,
    joined by steep scores (``heads/ramp.py``); G still goes by the nearest of p uniform anchors. The
    bound is then, with h the largest half-length of a run of equal slots (without slots (b − a)/2),
    hη + h S 0.2785/(β − δ) + rounding: about 10⁻¹²(b − a) near 0. With slots it is (3/2)hη + S 0.2785/b
    + 5Qρ + rounding: scores as steep as the bands are narrow round more, 10⁻⁹(b − a) with 50 anchors
    and 10⁻⁷ with 10⁴. A run takes 2 anchors, or 3 where there is room, and the ends 2.

    Args:
        weights: n×d, one ramp direction for each token.
        offsets: n offsets t_i.
        low: The ramps' lower end a.
        high: Their upper end b.
        anchors: The number p of anchors, more than n; or "uniform" or "graded", with ``count``.
        count: p, where ``anchors`` is a word.
        slots: G, one coordinate for each anchor; without it all write to the first.
        width: d_o, the number of coordinates; without it as many as ``slots`` uses.
        softmax_error: ε₀, the weight that may stray from the right anchors; graded anchors have their
            own bound and do not use it.

    Returns:
        The construction. Where G changes between neighbours, ``applies`` leaves out the tokens
        within 5 % of the spacing of their midpoint, where a continuous head cannot choose.
    """
    placement, name, count = _placed(anchors, count)
    ramps = Ramps.of(weights, offsets, low, high, count, slots, width, softmax_error)
    n, d = ramps.weights.shape
    require_integer(name, count, least=n + 1, reason=f"the theorem needs p > n, and n is {n}")
    if placement == "graded":
        (laid,), bound = ramps.graded(heads=1, places=count)
    else:
        laid, bound = ramps.anchors(), ramps.bound()
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
    return Construction(network, ramps.target, bound, ramps.applies)


def _placed(anchors: Any, count: Any) -> tuple[str, str, int]:
    """Where the anchors stand, the name of the argument that counts them, and how many they are."""
    if not isinstance(anchors, str):
        number = require_integer("anchors", anchors, least=2)
        if count is not None and count != number:
            raise InputError(
                f"count is {count!r} where anchors is {number} already; leave one of them out, or "
                f"give anchors='uniform' or 'graded' with count"
            )
        return "uniform", "anchors", number
    placement = require_choice("anchors", anchors, PLACEMENTS)
    if count is None:
        raise InputError(
            f"count is missing where anchors is {placement!r}; give the number of anchors as count"
        )
    return placement, "count", require_integer("count", count, least=2)
