"""One of several variables: a function of it with many outputs, and heads of every size for that.

The target is looked at along the variable where the others have a number of values. Its kinks and its
scales say where anchors go. Of the outputs only the principal components count that are not lost in
the error asked for: in the mean square over all outputs they tell the same as all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from anchorhead.compiler.pieces import in_one, least_steps
from anchorhead.compiler.structure import Structure
from anchorhead.heads.anchors import Anchors, moved
from anchorhead.heads.chart import Chart
from anchorhead.heads.descent import STAGES, Samples, descend
from anchorhead.heads.grid import Target, factors
from anchorhead.heads.mesh import Mesh, family
from anchorhead.heads.response import Precision, natural_grid, weights
from anchorhead.heads.search import (
    AFTERWARDS,
    NEAR,
    ROUNDS,
    Found,
    reweighted,
    sample_points,
)
from anchorhead.heads.smallest import STALE

__all__ = ["Along", "Axis", "Purse"]

COMPONENTS = 8
"""No more principal components are followed."""

LOST = 0.02
"""Components below this part of the error asked for do not count."""

LADDER = (
    1,
    2,
    3,
    4,
    6,
    8,
    10,
    12,
    14,
    17,
    20,
    24,
    28,
    33,
    40,
    48,
    57,
    68,
    82,
    100,
    120,
    145,
    175,
    210,
    256,
)
"""Numbers of anchors of a smooth piece that are tried in turn until one suffices."""

AHEAD = 0.5
"""A head is searched for until it is this much better than asked for; so it need not be again."""

ENTRIES = 4_000_000
"""Numbers in the derivatives of all heads that descend at once, at most."""

SPARSE = 5
"""Of the meshes of a family each one of so many is tried where there is no descent."""

USUAL = 1e5
"""Values times anchors squared of a usual search: in larger ones a step counts for more."""

SPARE = 24
"""Numbers of anchors up to which all are tried, however far the error is."""

FAR = 30.0
"""A head this many times worse than asked for is not searched for again."""

PIECES = 0.6
"""The part of the error that pieces may take where there are several; splices get the rest."""


@dataclass(frozen=True, eq=False)
class Along:
    """A head of one variable, how much points y count for its values, and its error on the slices."""

    anchors: Anchors
    y: np.ndarray
    shares: np.ndarray
    error: float

    def weighed(self, y: np.ndarray) -> np.ndarray:
        """How much these points count."""
        return np.interp(y, self.y, self.shares)


@dataclass(eq=False)
class Purse:
    """Steps of descent that are left; once they are spent, the best mesh of a family has to do."""

    left: float


@dataclass(frozen=True, eq=False)
class _Tuned:
    """A head in the variable of a chart, its samples, its error and how small that was to be."""

    anchors: Anchors
    samples: Samples
    error: float
    goal: float


@dataclass(eq=False)
class _Piece:
    """A smooth piece of one variable, and the best head of every number of anchors looked for."""

    chart: Chart
    columns: Target
    damping: float
    purse: Purse
    found: dict[int, _Tuned] = field(default_factory=dict)

    def smallest(self, goal: float) -> _Tuned:
        """The head of the least number of anchors within ``goal``, or the best if none is.

        More anchors are taken to be of no use once a number of rungs has brought little; or, where
        there is no descent any more, if the error will not do even if it falls as their number grows.
        """
        fails, best, stale = 0, np.inf, 0
        for count in LADDER:
            tuned = self._head(count, goal)
            if tuned.error <= goal:
                return self._halved(count, fails, goal) if self.purse.left > 0 else tuned
            if self.purse.left <= 0 and tuned.error * count > goal * LADDER[-1] and count > SPARE:
                break
            hopeful = tuned.error**2 * count < best**2 * fails or best > 100 * goal
            fails, best, stale = count, min(best, tuned.error), 0 if hopeful else stale + 1
            if stale == STALE:
                break
        return min(self.found.values(), key=lambda tuned: tuned.error)

    def _halved(self, count: int, fails: int, goal: float) -> _Tuned:
        while count - fails > 1:
            middle = (count + fails) // 2
            if self._head(middle, goal).error <= goal:
                count = middle
            else:
                fails = middle
        return self.found[count]

    def _head(self, count: int, goal: float) -> _Tuned:
        known = self.found.get(count)
        if known is None or (known.goal > goal and goal < known.error <= FAR * goal):
            tuned = self._constant() if count == 1 else self._searched(count, goal)
            if known is None or tuned.error < known.error:
                known = tuned
            self.found[count] = replace(known, goal=tuned.goal)
        return self.found[count]

    def _constant(self) -> _Tuned:
        """A single anchor: the middle between the largest and the least value."""
        samples = self._samples(16)
        middle = (samples.values.max(axis=0) + samples.values.min(axis=0)) / 2
        anchors = Anchors(np.zeros(1), np.zeros(1), middle[None])
        return _Tuned(anchors, samples, self._error(anchors, samples), 0.0)

    def _searched(self, count: int, goal: float) -> _Tuned:
        """The best head found by descent, and where it is near the goal, by weighing errors anew."""
        samples, of_u = self._samples(count), self.chart.charted(self.columns)
        start = family(self.chart.layout(count), count)
        if self.purse.left <= 0:
            best, *_ = self._solved(start.rows(np.arange(0, len(start.gaps), SPARSE)), samples)
            return replace(best, goal=0.0)
        entries = samples.values.shape[1] * (len(samples.points) + count) * 2 * count
        if len(start.gaps) * entries > ENTRIES:
            best = self._solved(start, samples)[: max(1, int(ENTRIES / entries))]
            ends = samples.points[[0, -1]]
            start = Mesh.stack([Mesh.between(each.anchors, *ends) for each in best])
        best = tuned = self._descended(samples, start, AHEAD * goal, STAGES)
        for _ in range(ROUNDS):
            if self.purse.left <= 0 or best.error <= goal or tuned.error > NEAR * goal:
                break
            samples = reweighted(samples, Found(tuned.anchors, tuned.error), of_u)
            mesh = Mesh.stack([Mesh.between(tuned.anchors, *samples.points[[0, -1]])])
            tuned = self._descended(samples, mesh, 0.0, AFTERWARDS)
            best = min(best, tuned, key=lambda each: each.error)
        return replace(best, goal=AHEAD * goal)

    def _descended(self, samples: Samples, start: Mesh, goal: float, stages) -> _Tuned:
        anchors, work = descend(samples, start, goal, self.damping, stages)
        self.purse.left -= work * samples.values.size * len(anchors) ** 2 / USUAL
        return _Tuned(anchors, samples, self._error(anchors, samples), goal)

    def _solved(self, meshes: Mesh, samples: Samples) -> list[_Tuned]:
        """The meshes as they are, values solved, the best first."""
        tuned = []
        for row in range(len(meshes.gaps)):
            mesh = meshes.rows(np.array([row]))
            mesh = Mesh(mesh.gaps[0], mesh.offsets[0], mesh.places[0])
            anchors = mesh.anchors(np.zeros((mesh.gaps.size + 1, 1)))
            P = weights(anchors, samples.points)
            Q, R = factors(P, np.ones(len(P)), self.damping)
            values = np.linalg.solve(R, Q @ samples.values)
            apart = float(np.abs(P @ values - samples.values).max())
            tuned.append(_Tuned(replace(anchors, values=values), samples, apart, 0.0))
        tuned.sort(key=lambda each: each.error)
        tuned[0] = replace(tuned[0], error=self._error(tuned[0].anchors, samples))
        return tuned

    def _samples(self, count: int) -> Samples:
        points = sample_points(self.chart.layout(count)[0], count)
        return Samples(points, self.chart.charted(self.columns)(points))

    def _error(self, anchors: Anchors, samples: Samples) -> float:
        """The largest error between the samples, with what bounds the price of large values."""
        number = len(samples.points)
        fine = np.interp(np.arange(0, number - 0.5, 0.5), np.arange(number), samples.points)
        grid = natural_grid(anchors, fine)
        P = weights(anchors, grid)
        apart = np.abs(P @ anchors.values - self.chart.charted(self.columns)(grid)).max()
        return float(apart + self.damping * (P @ np.abs(anchors.values)).max())


@dataclass(frozen=True, eq=False)
class Axis:
    """One variable from ``low`` to ``high``, with the target along it: a column for every slice.

    ``goal`` is the error asked for in the end; ``damping`` is what values cost.
    """

    low: float
    high: float
    slices: Target
    structure: Structure
    goal: float
    damping: float
    dtype: Precision
    purse: Purse
    made: dict[tuple[int, ...], Along] = field(default_factory=dict)

    @cached_property
    def columns(self) -> Target:
        """The principal components of the slices, so scaled that their errors are those of slices.

        A slice is Σ_k W_jk c_k with orthonormal columns of W; errors of c_k that do not conspire add
        up to ‖W_j‖ times one of them.
        """
        charts = self.structure.charts
        F = self.slices(np.concatenate([c.points(sample_points(c.knots, 16)) for c in charts]))
        U, S, Wt = np.linalg.svd(F, full_matrices=False)
        rank = 1
        while rank < min(COMPONENTS, len(S)):
            if np.abs(F - (U[:, :rank] * S[:rank]) @ Wt[:rank]).max() <= LOST * self.goal:
                break
            rank += 1
        W = Wt[:rank].T
        W = W * np.linalg.norm(W, axis=1).max()
        return lambda y: self.slices(y) @ W

    @cached_property
    def pieces(self) -> tuple[_Piece, ...]:
        """The smooth pieces."""
        charts = self.structure.charts
        return tuple(_Piece(chart, self.columns, self.damping, self.purse) for chart in charts)

    def head(self, goal: float) -> Along:
        """The smallest head found whose error is about ``goal``, on the slices."""
        share = PIECES if len(self.pieces) > 1 else 1.0
        parts = [piece.smallest(share * goal) for piece in self.pieces]
        counts = tuple(len(part.anchors) for part in parts)
        if counts not in self.made or self.made[counts].error > 2 * goal:
            along = self._spliced(parts, goal)
            if counts not in self.made or along.error < self.made[counts].error:
                self.made[counts] = along
        return self.made[counts]

    def _spliced(self, parts: Sequence[_Tuned], goal: float) -> Along:
        """One head of all pieces, the splices as steep as the error asks for."""
        charts = self.structure.charts
        groups, y, shares = [], [], []
        for chart, part in zip(charts, parts, strict=True):
            own = replace(part.anchors, centre=chart.origin, unit=chart.length)
            groups.append(moved(own, *chart.frame(self.dtype)))
            W = part.samples.weights
            y.append(chart.points(part.samples.points))
            shares.append(np.ones(len(y[-1])) if W is None else W)
        head = groups[0]
        if len(groups) > 1:
            spare = max(goal, 1.3 * max(part.error for part in parts))
            head = self._joined(groups, spare)
        points, W = np.concatenate(y), np.concatenate(shares)
        along = Along(head, points, W, np.inf)
        return replace(along, error=self._error(along))

    def _joined(self, groups: Sequence[Anchors], error: float) -> Anchors:
        ends = (self.low, *self.structure.points, self.high)
        return in_one(groups, ends, least_steps(groups, ends, self.columns, error), self.dtype)

    def points(self, head: Anchors, each: int) -> np.ndarray:
        """About ``each`` points for every anchor, more where pieces are fine or the head turns."""
        parts = []
        for chart in self.structure.charts:
            cells = len(chart.knots) - 1
            number = max(each * (len(head) // len(self.pieces) + 1), min(each, 5) * cells)
            share = (1 - np.cos(np.pi * np.arange(number) / (number - 1))) / 2
            u = np.interp(share * cells, np.arange(cells + 1), chart.knots)
            parts.append(chart.points(u))
        return natural_grid(head, np.unique(np.concatenate(parts)), 5 / each)

    def _error(self, along: Along) -> float:
        """How far the head, its values solved for every slice, is from the slices."""
        head = along.anchors
        y, fine = self.points(head, 6), self.points(head, 15)
        Q, R = factors(weights(head, y), along.weighed(y), self.damping)
        values = np.linalg.solve(R, Q @ self.slices(y))
        return float(np.abs(weights(head, fine) @ values - self.slices(fine)).max())
