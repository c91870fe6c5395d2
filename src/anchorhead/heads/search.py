"""The best head of a given number of anchors: descent over meshes, then exchange over values.

Everything here happens in the variable u of a chart (``heads/chart.py``), in which the interval runs
from −1 to 1 or has one end at 0, so that a target that is shifted or scaled gets the same head
shifted or scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.descent import STAGES, Samples, descend
from anchorhead.heads.mesh import Mesh, family
from anchorhead.heads.response import Precision, as_stored, expected_rounding, natural_grid, weights
from anchorhead.heads.values import exchange, least_squares

__all__ = [
    "EVEN",
    "TUNED_ONLY",
    "Found",
    "Layout",
    "Target",
    "damping_for",
    "finished",
    "measured",
    "reweighted",
    "sample_points",
    "search",
]

Target = Callable[[np.ndarray], np.ndarray]
"""Takes points (n) to values (n × width)."""

Layout = Callable[[int], Sequence[np.ndarray]]
"""For a number of anchors, the courses of knots along which meshes are tried: each runs from end to
end and is dense where anchors are wanted. The first also says where the target is sampled."""

TUNED_ONLY = ((STAGES[0][0], 0, 0.0),)
"""Stages that only pick the best mesh of the family, without descent."""

NEAR = 8.0
"""A head this many times worse than asked for is worth reweighting; one that is worse is not."""

ROUNDS = 3
"""Rounds of reweighting, or of adding points between which a head strays."""

FINER = 4
"""Steps of the grid on which errors are measured between two sample points."""

PEAKS = 0.5
"""Peaks of the error above this part of the highest are looked at closer: between points of the grid a
lower one may be the highest. What is missed after that is a few thousandths."""

MEASURED, SAMPLED = 4.5, 3.0
"""Points in every cell of the knots where errors are measured, and where descent looks."""

AFTERWARDS = ((1, 25, 0.0),)
"""Steps of descent after such a round."""


def EVEN(count: int) -> Sequence[np.ndarray]:  # noqa: N802
    """The layout of a target that is equally fine everywhere."""
    return [np.array([-1.0, 1.0])]


@dataclass(frozen=True, eq=False)
class Found:
    """A head; its largest error, with what rounding may add; the work it took.

    The error is measured on a grid as fine as the head. ``work`` is in steps of descent.
    """

    anchors: Anchors
    error: float
    work: float = 0.0


def search(
    target: Target,
    layout: Layout,
    count: int,
    goal: float,
    dtype: Precision = "float64",
    stages: Sequence[tuple[int, int, float]] = STAGES,
    start: Mesh | None = None,
) -> Found:
    """The head of ``count`` anchors of least error between the ends of the layout's courses.

    Many meshes along these courses are tried, or those of ``start``; the best descend; values are
    solved by least squares, then by exchange. It stops as soon as the error is below ``goal``. Where a
    head is close to the goal, the largest errors get more weight and the descent goes on (Lawson's
    way to the sup norm); where it strays between sample points, they are added.
    """
    damping, courses = damping_for(goal, dtype), layout(count)
    points = sample_points(courses[0], count)
    sparse = sample_points(courses[0], count, SAMPLED)
    samples = Samples(sparse, target(sparse))
    start = family(courses, count) if start is None else start
    anchors, work = descend(samples, start, goal, damping, stages)
    best = found = finished(anchors, target, points, dtype, goal)
    for _ in range(ROUNDS if stages is not TUNED_ONLY else 0):
        if best.error <= goal or 0 < NEAR * goal < found.error:
            break
        samples = reweighted(samples, found, target)
        mesh = Mesh.stack([Mesh.between(found.anchors, points[0], points[-1])])
        anchors, more = descend(samples, mesh, 0.0, damping, AFTERWARDS)
        found = finished(anchors, target, points, dtype, goal)
        work, best = work + more, min(best, found, key=lambda each: each.error)
    return replace(best, work=work)


def damping_for(goal: float, dtype: Precision) -> float:
    """The damping of values: what rounding makes of them, or a little of the goal if more."""
    return max(2 * float(np.finfo(dtype).eps), 1e-5 * goal)


def sample_points(knots: np.ndarray, count: int, per_cell: float = MEASURED) -> np.ndarray:
    """Points along the knots for a head of ``count`` anchors, denser toward the ends."""
    cells = len(knots) - 1
    number = int(max(6 * count, per_cell * cells, 64))
    share = (1 - np.cos(np.pi * np.arange(number) / (number - 1))) / 2
    return np.unique(np.interp(share * cells, np.arange(cells + 1), knots))


def finished(
    anchors: Anchors, target: Target, points: np.ndarray, dtype: Precision, goal: float
) -> Found:
    """The head with keys as ``dtype`` stores them and values solved anew, and its error, measured.

    The grid is FINER times as fine as ``points`` and finer wherever the head turns faster.
    """
    anchors = _stored(anchors, dtype)
    last = len(points) - 1
    fine = np.interp(np.linspace(0, last, FINER * last + 1), np.arange(last + 1), points)
    grid = natural_grid(anchors, fine)
    f, P = target(grid), weights(anchors, grid)
    damping = damping_for(goal, dtype)
    solved = least_squares(P, f, damping)
    values = min((anchors.values, solved), key=lambda v: np.abs(P @ v - f).max())
    if np.abs(P @ values - f).max() > goal / 2:
        values = exchange(P, f, values, damping)
    anchors = _stored(replace(anchors, values=values), dtype)
    errors = np.abs(P @ values - f) + expected_rounding(anchors, grid, dtype)
    return Found(anchors, _largest(errors.max(axis=1), grid, (anchors,), target, dtype))


def measured(
    heads: Sequence[Anchors], target: Target, points: np.ndarray, dtype: Precision
) -> tuple[tuple[Anchors, ...], float]:
    """Heads as ``dtype`` stores them, and how far their sum is from the target, rounding included."""
    stored = tuple(_stored(head, dtype) for head in heads)
    grid = points
    for head in stored:
        grid = natural_grid(head, grid)
    errors = _apart(stored, target, grid, dtype)
    return stored, _largest(errors, grid, stored, target, dtype)


def _apart(heads: Sequence[Anchors], target: Target, u: np.ndarray, dtype: Precision) -> np.ndarray:
    """How far the sum of heads is from the target at points u, rounding included; of all outputs."""
    answer = sum(weights(head, u) @ head.values for head in heads)
    rounded = sum(expected_rounding(head, u, dtype) for head in heads)
    return (np.abs(answer - target(u)) + rounded).max(axis=1)


def _largest(
    errors: np.ndarray, grid: np.ndarray, heads: Sequence[Anchors], target: Target, dtype: Precision
) -> float:
    """The largest error on the grid, and beside its highest peaks: a look there, and one closer."""
    largest = float(errors.max())
    for _ in range(2):
        beside = np.maximum(errors[:-2], errors[2:])
        peaks = np.flatnonzero(errors[1:-1] >= np.maximum(beside, PEAKS * largest)) + 1
        if not len(peaks):
            break
        left, right = grid[peaks - 1, None], grid[peaks + 1, None]
        grid = np.unique(left + (right - left) * np.linspace(0, 1, 9))
        errors = _apart(heads, target, grid, dtype)
        largest = max(largest, float(errors.max()))
    return largest


def _stored(anchors: Anchors, dtype: Precision) -> Anchors:
    arrays = (anchors.slopes, anchors.intercepts, anchors.values)
    slopes, intercepts, values = (as_stored(array, dtype) for array in arrays)
    return replace(anchors, slopes=slopes, intercepts=intercepts, values=values)


def reweighted(samples: Samples, found: Found, target: Target) -> Samples:
    """The samples with the weight of each raised where the error around it is large."""
    u = natural_grid(found.anchors, samples.points)
    apart = np.abs(weights(found.anchors, u) @ found.anchors.values - target(u)).max(axis=1)
    if len(u) < 2 * len(samples.points):
        added = u[np.sort(np.argsort(-apart)[: max(4, len(u) // 16)])]
        points = np.union1d(samples.points, added)
    else:
        points = u
    peak = np.interp(points, u, apart)
    wide = np.lib.stride_tricks.sliding_window_view(np.pad(peak, 4, mode="edge"), 9).max(axis=1)
    old = np.ones(len(samples.points)) if samples.weights is None else samples.weights
    W = np.interp(points, samples.points, old) * np.sqrt(wide / wide.max() + 1e-3)
    return Samples(points, target(points), W / W.max())
