"""Theorem 2: the same ramps with H heads on the n tokens, the anchors spread over the heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorhead.errors import ShapeError, require_array, require_choice, require_integer
from anchorhead.heads.anchors import share
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network
from anchorhead.theorems.construction import Construction
from anchorhead.theorems.ramps import PLACEMENTS, Placement, Ramps

__all__ = ["multi_head"]


def multi_head(
    weights: Any,
    offsets: Any,
    low: float,
    high: float,
    heads: int,
    *,
    anchors: Placement = "uniform",
    slots: Any = None,
    width: int | None = None,
    softmax_error: float = 1e-9,
) -> Construction:
    """H heads on n tokens approximate Range_[low,high](w_i·x_i + t_i) at every token i.

    Statement (theorem 3.2). For n ≥ 3 there are a linear map A from n×d to n×(d + n) and H softmax
    heads such that row i of Σ_h Attn_h(A(X)) differs from Range_[a,b](w_i·x_i + t_i) e_{G(k_i)} by
    at most max(|a|, |b|) ε₀ + (b − a)/((n − 2)H) in any coordinate; G maps the H(n − 2) anchors.

    The columns of A(X) are w_i ∘ x_i, the offset t_i added to the first of them (d), and a one-hot
    of the position (n). W_K and W_V of head h read the one-hot and return its piece of the anchors:
    n − 2 of them and two sentinels, its neighbours in the other pieces with value 0. At the two
    ends of the range the sentinel carries the end anchor's value, so that heads saturate there.

    Why the pieces add up: let P be the weight, in the whole head, of a piece and its sentinels. In
    its own head an anchor of the piece has weight p_k/P, so the piece strays by its share P(piece)/P
    times 1 − P. In the piece of the nearest anchor N, 1 − P ≤ tail(h). In a piece whose sentinel is
    N (at most two are), the second nearest lies either in the piece, and 1 − P ≤ tail(h), or on the
    other side, and the share is at most tail(h). In a piece whose sentinel is q anchors beyond N the
    share is at most 1.02 e^{−2hq}. All together, with the whole head's own tail, stay below
    5 tail(h); the anchors are made with tail(h) ≤ ε₀/8.

    With ``anchors="graded"``, for n ≥ 4, each head is a whole ramp of its own on its n − 2 anchors'
    part of the range, the identity between two constants (``heads/ramp.py``). Heads begin at 0, the
    first at a, and add up: Range_[a,b](y) = a + Σ_h Range_[0,c_{h+1}−c_h](y − c_h). The errors of
    neighbours at a kink have opposite signs, so the bound does not grow with H:
    3hη/2 + S 0.2785/b + 5Qρ + rounding, h being half the longest run's length. With slots, a run
    inside a head takes 2 anchors, or 3 where there is room.

    Args:
        weights: n×d, one ramp direction for each token.
        offsets: n offsets t_i.
        low: The ramps' lower end a.
        high: Their upper end b.
        heads: The number H of heads.
        anchors: "uniform", the paper's, or "graded".
        slots: G, one coordinate for each of the H(n − 2) anchors; without it all write to the first.
        width: d_o, the number of coordinates; without it as many as ``slots`` uses.
        softmax_error: ε₀, the weight that may stray from the right anchors; graded anchors have their
            own bound and do not use it.

    Returns:
        The construction; ``applies`` as in ``single_head``.
    """
    heads = require_integer("heads", heads, least=1)
    n = len(require_array("weights", weights, dimensions=2))
    if n < 3:
        raise ShapeError(
            f"weights has {n} rows where at least 3 are needed: a head spends two tokens on sentinels"
        )
    if require_choice("anchors", anchors, PLACEMENTS) == "graded" and n < 4:
        raise ShapeError(
            "weights has 3 rows where anchors='graded' needs at least 4: a head holds two anchors "
            "between two constants; use anchors='uniform', or more tokens"
        )
    count = heads * (n - 2)
    ramps = Ramps.of(weights, offsets, low, high, count, slots, width, softmax_error)
    if anchors == "graded":
        pieces, bound = ramps.graded(heads, places=n)
    else:
        pieces, bound = share(ramps.anchors(margin=8.0), n), ramps.bound()
    centre, unit = pieces[0].centre, pieces[0].unit
    d = ramps.weights.shape[1]

    constant = np.eye(n, d + n, k=d)
    constant[:, 0] = ramps.offsets - centre
    gather = Term(features=np.eye(d, d + n), scale=ramps.weights)
    first = Linear((n, d), (n, d + n), (gather,), constant)

    query = np.zeros((d + n, 2))
    query[:d, 0] = 1 / unit
    query[d:, 1] = 1
    spread = [
        Head(query=query, key=_from_position(piece.keys, d), value=_from_position(piece.values, d))
        for piece in pieces
    ]
    network = Network((first, Attention(tuple(spread))))
    return Construction(network, ramps.target, bound, ramps.applies)


def _from_position(rows: np.ndarray, d: int) -> np.ndarray:
    """The matrix that reads the one-hot of a position, behind d other columns, as one of ``rows``."""
    return np.vstack([np.zeros((d, rows.shape[1])), rows])
