"""A function that is smooth in pieces as one head: a few anchors for each piece, spliced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from anchorhead.compiler.structure import Structure
from anchorhead.heads.anchors import Anchors
from anchorhead.heads.chart import Chart
from anchorhead.heads.response import Precision
from anchorhead.heads.search import Found, Target, finished, measured
from anchorhead.heads.smallest import smallest
from anchorhead.heads.spliced import identity, joined, separate, steepness

__all__ = ["Made", "in_pieces"]

SHARES = (0.9, 0.6, 0.3)
"""What part of the error the pieces may take, tried in turn; splices and rounding get the rest."""

STRAIGHT = 1e-3
"""A piece this much nearer to a straight line than the error asked for is made as one."""


@dataclass(frozen=True, eq=False)
class Made:
    """Heads that add up to a function, and the largest error measured, what rounding adds included."""

    heads: tuple[Anchors, ...]
    error: float

    @property
    def keys(self) -> int:
        """How many anchors all heads hold together."""
        return sum(map(len, self.heads))


def in_pieces(
    target: Target,
    structure: Structure,
    low: float,
    high: float,
    goal: float,
    dtype: Precision,
    budget: float,
) -> Made:
    """The smallest head found that is within ``goal``, with one group of anchors a smooth piece.

    Where rounding forbids one head for all pieces, one head for each piece; if nothing meets the
    goal, the best that was found.
    """
    ends = (low, *structure.points, high)
    best: Made | None = None
    budget /= len(ends) - 1
    for share in SHARES if len(ends) > 2 else (1.0,):
        groups = [_piece(target, c, share * goal, dtype, budget) for c in structure.charts]
        if len(groups) == 1:
            return Made((groups[0].anchors,), groups[0].error)
        for made in _spliced(target, ends, groups, goal, dtype):
            if best is None or made.error < best.error:
                best = made
            if made.error <= goal:
                return made
        if max(group.error for group in groups) > goal:
            break
    assert best is not None
    return best


def _piece(target: Target, chart: Chart, goal: float, dtype: Precision, budget: float) -> Found:
    """The smallest head for one smooth piece."""
    straight = _straight(target, chart, goal, dtype)
    if straight is not None:
        return straight
    best: Found | None = None
    for margin in (0.98, 0.7):
        found = smallest(chart.charted(target), chart.layout, margin * goal, dtype, budget)
        found = chart.placed(found, target, goal, dtype)
        if best is None or found.error < best.error:
            best = found
        if best.error <= goal or found.error > 2 * goal:
            break
    assert best is not None
    return best


def _straight(target: Target, chart: Chart, goal: float, dtype: Precision) -> Found | None:
    """A piece that is a straight line as two or three anchors; None if it is not, or is constant."""
    u = np.linspace(-1, 1, 65)
    even = Chart.even(chart.low, chart.high)
    f = target(even.points(u))
    rise, middle = (f[-1] - f[0]) / 2, (f[-1] + f[0]) / 2
    tall, apart = float(np.abs(rise).max()), np.abs(f - middle - rise * u[:, None]).max()
    if tall <= goal or apart > max(STRAIGHT * goal, 1e-15 * np.abs(f).max()):
        return None
    for count in (2, 3):
        anchors, _ = identity(count, 0.9 * goal / tall)
        own = Found(replace(anchors, values=anchors.values * rise + middle), 0.0)
        found = even.placed(own, target, goal, dtype)
        if found.error <= goal:
            return found
    return None


def _spliced(
    target: Target, ends: Sequence[float], groups: Sequence[Found], goal: float, dtype: Precision
) -> Iterator[Made]:
    """All groups in one head, then in one head each; steep enough that splices meet the goal."""
    points = ends[1:-1]
    own = [group.anchors for group in groups]
    spare = max(goal, 1.05 * max(group.error for group in groups))
    steps = [
        steepness(own[i], own[i + 1], point, target, ends[i], ends[i + 2], 0.97 * spare)
        for i, point in enumerate(points)
    ]
    grid = _toward(ends)
    steepest = own[int(np.argmax([np.abs(g.slopes).max() / g.unit for g in own]))]
    _, unit = Chart.even(ends[0], ends[-1]).frame(dtype)
    whole = joined(own, points, steps, steepest.centre, unit)
    one = finished(whole, target, grid, dtype, goal)
    yield Made((one.anchors,), one.error)
    heads = separate(own, points, steps, target(np.array(points)))
    yield Made(*measured(heads, target, grid, dtype))


def _toward(ends: Sequence[float]) -> np.ndarray:
    """Points of the interval, even in every piece and crowding toward the splices on all scales."""
    parts = [np.array([ends[0], ends[-1]])]
    for i, (a, b) in enumerate(pairwise(ends)):
        share = np.concatenate([np.linspace(0, 1, 65), np.geomspace(1e-30, 0.5, 120)])
        parts += [a + share * (b - a)] if i else [a + np.linspace(0, 1, 65) * (b - a)]
        parts += [b - share[65:] * (b - a)] if i < len(ends) - 2 else []
    return np.unique(np.clip(np.concatenate(parts), ends[0], ends[-1]))
