"""A function that is smooth in pieces as one head: a few anchors for each piece, spliced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise

import numpy as np

from anchorhead.compiler.cells import crowded
from anchorhead.compiler.structure import Structure
from anchorhead.heads.anchors import Anchors
from anchorhead.heads.chart import Chart
from anchorhead.heads.response import Precision
from anchorhead.heads.search import Found, Target, finished, measured
from anchorhead.heads.smallest import smallest
from anchorhead.heads.spliced import identity, joined, separate, steepness

__all__ = ["STRAIGHT", "Made", "in_one", "in_pieces", "least_steps"]

SHARES = (0.9, 0.6, 0.3)
"""What part of the error the pieces may take, tried in turn; splices and rounding get the rest."""

HOPELESS = 3.0
"""Splices that are off by so many goals are not mended by better pieces."""

MOST_CUTS = 3
"""How often a smooth piece for which no head is large enough may be cut in halves."""

NOISE = 2.0**8
"""Errors below so many roundings of the piece's size are not mended by cutting it."""

STEEPER = (1.0, 4.0, 16.0, 64.0, 256.0)
"""How much steeper than in one head the steps between heads of their own are made, in turn."""

STRAIGHT = 1e-3
"""A piece this much nearer to a straight line than the error asked for is made as one."""


@dataclass(frozen=True, eq=False)
class Made:
    """Heads that add up to a function, the largest error measured with what rounding adds, and how.

    The construction is "smooth" where one group of anchors stands evenly, "graded" where it crowds
    toward one place, "spliced" where several groups are joined.
    """

    heads: tuple[Anchors, ...]
    error: float
    construction: str

    @property
    def keys(self) -> int:
        """How many anchors all heads hold together."""
        return sum(map(len, self.heads))


def in_pieces(
    target: Target,
    structure: Structure,
    goal: float,
    dtype: Precision,
    budget: float,
) -> Made:
    """The smallest head found that is within ``goal``, with one group of anchors a smooth piece.

    Where rounding forbids one head for all pieces, one head for each piece; if nothing meets the
    goal, the best that was found.
    """
    budget /= len(structure.charts)
    whole: tuple[Chart, Found] | None = None
    if len(structure.charts) == 1:
        (chart,) = structure.charts
        found = _piece(target, chart, goal, dtype, budget)
        whole = chart, found
        if found.error <= goal or not _worth_cutting(found, target, chart, dtype):
            return Made((found.anchors,), found.error, "smooth" if chart.is_even else "graded")

    @cache
    def groups(share: float) -> _Groups:
        parts = [
            part
            for chart in structure.charts
            for part in _parts(target, chart, share * goal, dtype, budget, whole)
        ]
        ends = (*(chart.low for chart, _ in parts), parts[-1][0].high)
        return _Groups.of([found for _, found in parts], ends, target, goal, dtype)

    best: Made | None = None
    for join in (_Groups.in_one_head, _Groups.in_a_head_each):
        for share in SHARES:
            made = join(groups(share))
            if best is None or made.error < best.error:
                best = made
            if made.error <= goal:
                return made
            if made.error > HOPELESS * goal:
                break
    assert best is not None
    return best


def _parts(
    target: Target,
    chart: Chart,
    goal: float,
    dtype: Precision,
    budget: float,
    whole: tuple[Chart, Found] | None = None,
) -> list[tuple[Chart, Found]]:
    """The smallest heads for a piece, which is cut where it has too much in it for one.

    The first part tells whether a cut is worth it: the others are looked at only then. ``whole`` is
    the piece with what was found for it, if that is known to be too little.
    """
    for charts in islice(chart.cuts(MOST_CUTS), int(whole is not None), None):
        found = _piece(target, charts[0], goal, dtype, budget / len(charts))
        whole = whole or (chart, found)
        if found.error <= goal:
            rest = [(c, _piece(target, c, goal, dtype, budget / len(charts))) for c in charts[1:]]
            return [(charts[0], found), *rest]
        if not _worth_cutting(found, target, charts[0], dtype):
            break
    assert whole is not None
    return [whole]


def _worth_cutting(found: Found, target: Target, chart: Chart, dtype: Precision) -> bool:
    """Whether a head is off by more than rounding could explain."""
    size = float(np.abs(target(np.linspace(chart.low, chart.high, 257))).max())
    return found.error > NOISE * float(np.finfo(dtype).eps) * size


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


def least_steps(
    groups: Sequence[Anchors], ends: Sequence[float], target: Target, error: float
) -> list[float]:
    """How steep scores must become where neighbouring groups meet, for splices within ``error``."""
    return [
        steepness(left, right, ends[i + 1], target, ends[i], ends[i + 2], error)
        for i, (left, right) in enumerate(pairwise(groups))
    ]


def in_one(
    groups: Sequence[Anchors], ends: Sequence[float], steps: Sequence[float], dtype: Precision
) -> Anchors:
    """All groups as one head, its queries centred where scores are steepest."""
    steepest = groups[int(np.argmax([np.abs(g.slopes).max() / g.unit for g in groups]))]
    _, unit = Chart.even(ends[0], ends[-1]).frame(dtype)
    return joined(groups, ends[1:-1], steps, steepest.centre, unit)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups of anchors, one for each piece, and how steep scores become where pieces meet."""

    own: Sequence[Anchors]
    ends: Sequence[float]
    steps: Sequence[float]
    target: Target
    goal: float
    dtype: Precision

    @classmethod
    def of(
        cls,
        found: Sequence[Found],
        ends: Sequence[float],
        target: Target,
        goal: float,
        dtype: Precision,
    ) -> _Groups:
        """The groups with the least steps at which splices meet the goal, as far as pieces do."""
        own = [group.anchors for group in found]
        spare = 0.97 * max(goal, 1.05 * max(group.error for group in found))
        return cls(own, ends, least_steps(own, ends, target, spare), target, goal, dtype)

    def in_one_head(self) -> Made:
        """All groups in one head."""
        whole = in_one(self.own, self.ends, self.steps, self.dtype)
        one = finished(whole, self.target, crowded(self.ends), self.dtype, self.goal)
        return Made((one.anchors,), one.error, "spliced")

    def in_a_head_each(self) -> Made:
        """A head for each group, which is small where others are in charge: rounding hurts less.

        Each is joined to constants, against which its weight varies more than against a neighbour's,
        so that steeper steps may be needed than in one head.
        """
        if len(self.own) == 1:
            return self.in_one_head()
        points, best = self.ends[1:-1], None
        values = self.target(np.array(points))
        for steeper in STEEPER:
            steps = [steeper * step for step in self.steps]
            heads = separate(self.own, points, steps, values)
            made = Made(*measured(heads, self.target, crowded(self.ends), self.dtype), "spliced")
            if best is None or made.error < best.error:
                best = made
            elif made.error > 2 * best.error:
                break
            if best.error <= self.goal:
                break
        assert best is not None
        return best
