"""Windows: of a head that sees only its anchors, only those that weigh anything at a query.

Let the queries be (q, c) with the same c throughout, as ``heads.pointwise`` writes them. All scores
are affine in q then, and so is the difference of any two: over a block of queries from q₁ to q₂ it
is largest at an end. With j₁ and j₂ the winners there, no query of the block gives anchor k more
weight than

    p_k ≤ exp( min_{j ∈ {j₁, j₂}} max_{q ∈ {q₁, q₂}} (s_k − s_j)(q) ).

Anchors for which that is below ε/p, with p the number of anchors and ε = 2⁻⁵³, are left out. What
is left out weighs δ ≤ ε together, and moves the output by δ times the distance between the means of
the values left out and of those kept: by at most ε (max v − min v), half an ulp of the values'
range. Slopes need no order, and the scores' own rounding is allowed for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from anchorhead.layers import Head

__all__ = ["mix", "pay"]

EPSILON = 2.0**-53
"""The weight, of 1, that may be left out."""

SCORES = 2**15
"""A block with no more scores is not worth halving: finding its windows would take as long."""

ANCHORS = 16
"""Heads with fewer anchors have no windows worth finding."""

WORTHWHILE = 2**16
"""With fewer scores in all, everything is over before windows are found."""

PROBES = 8
"""Queries at which is tried whether windows are narrow."""


def pay(head: Head, Q: np.ndarray) -> bool:
    """Whether windows are exact for this head and these queries, and narrow at a few of them."""
    keys = head.anchor_keys
    if head.sees != "anchors" or keys is None or keys.shape[1] != 2 or len(keys) < ANCHORS:
        return False
    if Q.dtype != np.float64:
        return False
    queries = Q.reshape(-1, 2)
    if len(queries) * len(keys) < WORTHWHILE or (queries[:, 1] != queries[0, 1]).any():
        return False
    scores = keys @ queries[:: -(-len(queries) // PROBES)].T
    near = scores - scores.max(axis=0) > np.log(EPSILON / len(keys))
    return bool(near.mean() <= 0.5)


def mix(head: Head, Q: np.ndarray) -> np.ndarray:
    """Softmax(Q Kᵀ) V for queries (…, 2) that share their second entry, window by window."""
    keys, values = head.anchor_keys, head.anchor_values
    assert keys is not None
    assert values is not None
    queries = Q.reshape(-1, 2)
    order = np.argsort(queries[:, 0])
    queries = queries[order]
    mixed = np.empty((len(queries), values.shape[1]))
    for block, near in windows(queries, keys):
        scores = keys[near] @ queries[block].T
        scores -= scores.max(axis=0)
        weights = np.exp(scores, out=scores)
        mixed[order[block]] = (weights.T @ values[near]) / weights.sum(axis=0)[:, None]
    return mixed.reshape(*Q.shape[:-1], -1)


def windows(queries: np.ndarray, keys: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of sorted queries, each with the anchors within its reach.

    What is out of reach of a block is out of reach of its halves, so that these look only among
    what is left: the search takes about p log p steps, not p for every block.
    """
    limit = np.log(EPSILON / len(keys))
    waiting = [(0, len(queries), np.arange(len(keys)))]
    while waiting:
        start, stop, near = waiting.pop()
        near = near[within_reach(keys[near], queries[[start, stop - 1]], limit)]
        if stop - start == 1 or (stop - start) * len(near) <= SCORES:
            yield slice(start, stop), near
        else:
            middle = (start + stop) // 2
            waiting += [(middle, stop, near), (start, middle, near)]


def within_reach(keys: np.ndarray, ends: np.ndarray, limit: float) -> np.ndarray:
    """Which anchors may have a log-weight above ``limit`` between the queries at the ``ends``.

    A score is rounded by at most 2⁻⁵² (|α q| + |γ c|), anywhere between the ends; a difference of
    two, at an end and in between, by twice that of both. Comparisons with NaN keep the anchor.
    """
    scores = keys @ ends.T
    rounding = 4 * EPSILON * (np.abs(keys) @ np.abs(ends).T).max(axis=1)
    bound = np.full(len(keys), np.inf)
    for winner in set(scores.argmax(axis=0)):
        behind = (scores - scores[winner]).max(axis=1) + rounding + rounding[winner]
        bound = np.minimum(bound, behind)
    return ~(bound < limit)
