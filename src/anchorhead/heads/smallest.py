"""The fewest anchors with which one head meets a goal."""

from __future__ import annotations

import math

import numpy as np

from anchorhead.heads import spliced
from anchorhead.heads.anchors import Anchors
from anchorhead.heads.mesh import Mesh
from anchorhead.heads.response import Precision
from anchorhead.heads.search import Found, Layout, Target, finished, sample_points, search

__all__ = ["LADDER", "between", "constant", "smallest"]

PRUNING = ((8, 6, 0.18), (3, 20, 0.06), (1, 60, 0.0))
"""Stages of descent after an anchor was left out: fewer starts, as these are good ones."""

LADDER = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Numbers of anchors that are tried in turn until one suffices."""

NOISE = 2.0**12
"""Errors below so many roundings of the target's size may be no more than that."""

MOST_WORK = 10_000.0
"""Steps of descent after which the ladder is climbed no further."""

FAR = 0.5
"""Errors that have gone less than this part of the way are not mended by the next number."""

MOST_SKIPPED = 24
"""Numbers from here on are never left out."""

NEARLY = 8.0
"""Goals missed by no more than this factor are insisted on."""

INSISTENCE = 4000.0
"""Steps of descent after which a goal is insisted on no longer."""

INSISTED = 64
"""The largest number of anchors for that: searches that go on to the end take long for more."""

STALE = 3
"""Rungs of the ladder without a third less error after which more anchors are taken to be of no
use: the rest is rounding."""


def smallest(
    target: Target,
    layout: Layout,
    goal: float,
    dtype: Precision,
    budget: float,
    most: int = LADDER[-1],
) -> Found:
    """The head with the fewest anchors found whose error is at most ``goal``.

    The numbers of LADDER are tried until one suffices, leaving one out where the last was far off;
    then numbers between it and the last that did not suffice, by halving, until ``budget`` steps of
    descent are spent. If none up to ``most`` suffices, the best head found.
    """
    found = best = constant(target, layout, dtype, goal)
    fails, stale, work, far = 1, 0, 0.0, False
    rounded = max(100 * goal, NOISE * float(np.finfo(dtype).eps) * best.error)
    size = best.error
    for count in LADDER:
        if far and count < MOST_SKIPPED:
            far = False
            continue
        if best.error <= goal or count > most or stale >= STALE or work > MOST_WORK:
            break
        found = search(target, layout, count, goal, dtype)
        work += found.work
        fails = fails if found.error <= goal else count
        far = _progress(found.error, goal, size) < FAR
        hopeful = found.error < 0.7 * best.error
        stale = 0 if hopeful or best.error > rounded else stale + 1
        best = min(best, found, key=lambda each: each.error)
    if best.error > goal:
        return _insisted(best, target, layout, goal, dtype, most)
    while budget > 0:
        found, spent = _pruned(found, target, layout, goal, dtype, budget)
        middle = (len(found.anchors) + fails) // 2
        budget -= spent
        if not fails < middle < len(found.anchors) or budget <= 0:
            break
        tried = search(target, layout, middle, goal, dtype)
        budget -= tried.work
        if tried.error > goal:
            fails = middle
        else:
            found = tried
    return found


def _insisted(
    best: Found, target: Target, layout: Layout, goal: float, dtype: Precision, most: int
) -> Found:
    """The head within ``goal``, or the best one, where that was missed by little.

    Searches stop where they see that they will not meet the goal; these go on to the end.
    """
    if best.error > NEARLY * goal:
        return best
    work = 0.0
    for count in LADDER:
        if best.error <= goal or count > min(most, INSISTED) or work > INSISTENCE:
            break
        if 2 * count >= len(best.anchors):
            found = search(target, layout, count, 0.0, dtype)
            work += found.work
            best = min(best, found, key=lambda each: each.error)
    return best


def _progress(error: float, goal: float, size: float) -> float:
    """How much of the way from ``size`` to ``goal`` an error has gone, on a log scale."""
    if not 0 < goal < size:
        return 1.0
    return math.log(size / max(error, goal)) / math.log(size / goal)


def _pruned(
    found: Found, target: Target, layout: Layout, goal: float, dtype: Precision, budget: float
) -> tuple[Found, float]:
    """A head within ``goal`` with fewer anchors, as long as descent makes up for them; and the work.

    Every anchor is left out in turn, or, as symmetric targets ask for, every pair that mirrors each
    other; the heads that suffer least descend.
    """
    work, drop = 0.0, 1
    while drop <= 2 and len(found.anchors) > 1 + drop and work < budget:
        count = len(found.anchors)
        low, high = layout(count)[0][[0, -1]]
        start = Mesh.between(found.anchors, low, high, _kept(count, drop))
        tried = search(target, layout, count - drop, goal, dtype, PRUNING, start)
        work += tried.work
        if tried.error <= goal:
            found, drop = tried, 1
        else:
            drop += 1
    return found, work


def _kept(count: int, drop: int) -> np.ndarray:
    """Which anchors stay, one choice a row: all but each, or all but each and its mirror image."""
    rows = count if drop == 1 else count // 2
    kept = np.ones((rows, count), dtype=bool)
    kept[np.arange(rows), np.arange(rows)] = False
    if drop == 2:
        kept[np.arange(rows), count - 1 - np.arange(rows)] = False
    return np.nonzero(kept)[1].reshape(rows, count - drop)


def constant(target: Target, layout: Layout, dtype: Precision, goal: float) -> Found:
    """The single anchor between the largest and the least value, measured."""
    points = sample_points(layout(16)[0], 16)
    return finished(between(target(points)), target, points, dtype, goal)


def between(values: np.ndarray) -> Anchors:
    """A single anchor: the middle between the largest and the least of the values."""
    return spliced.constant(values.max(axis=0) / 2 + values.min(axis=0) / 2)
