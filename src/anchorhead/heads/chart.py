"""A chart of an interval: the variable u in which a head is searched for, and where anchors go.

y = origin + length · u. On an interval where the target is equally fine at both ends u runs from −1
to 1. Where the target is ever finer toward one end, that end is the origin: near 0 floating point
tells numbers apart at every scale, and scores of any slope stay small there.

The query of the head that comes back is (y − centre)/unit. With a power of two as unit, and a centre
that the dtype holds, the query is rounded once, relative to itself, wherever the interval lies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anchorhead.heads.anchors import moved
from anchorhead.heads.response import Precision
from anchorhead.heads.search import Found, Target, finished, sample_points

__all__ = ["Chart"]


@dataclass(frozen=True, eq=False)
class Chart:
    """[low, high] with knots: values of u from end to end, dense where anchors are wanted."""

    low: float
    high: float
    origin: float
    length: float
    knots: np.ndarray

    @classmethod
    def even(cls, low: float, high: float) -> Chart:
        """The chart of an interval on which the target is equally fine everywhere."""
        half = high / 2 - low / 2
        return cls(low, high, low + half, half, np.array([-1.0, 1.0]))

    @classmethod
    def of(cls, ends: np.ndarray, origin: float | None = None) -> Chart:
        """The chart of an interval cut into cells with these ends, from one of its ends if told."""
        low, high = float(ends[0]), float(ends[-1])
        middle = cls.even(low, high)
        if origin is None:
            origin, length = middle.origin, middle.length
        else:
            length = high - low
        knots = (ends - origin) / length
        return cls(low, high, origin, length, knots)

    @property
    def is_even(self) -> bool:
        """Whether anchors are wanted everywhere alike."""
        return len(self.knots) == 2

    def cuts(self, most: int) -> Iterator[tuple[Chart, ...]]:
        """The chart whole, in halves, in quarters and so on: ``most`` times, by the number of knots."""
        parts = (self,)
        yield parts
        for _ in range(most):
            parts = tuple(half for part in parts for half in part._halves())
            yield parts

    def _halves(self) -> tuple[Chart, Chart]:
        """The chart cut at the middle knot, or in the middle; an end that is the origin stays so."""
        ends = np.unique(self.points(self.knots))
        if len(ends) < 4:
            ends = np.linspace(self.low, self.high, 3)
        middle = len(ends) // 2
        parts = ends[: middle + 1], ends[middle:]
        left, right = (
            Chart.of(part, self.origin if self.origin in part[[0, -1]] else None) for part in parts
        )
        return left, right

    def points(self, u: np.ndarray) -> np.ndarray:
        """The points y with these u."""
        return np.clip(self.origin + self.length * u, self.low, self.high)

    def layout(self, count: int) -> Sequence[np.ndarray]:
        """Courses along which meshes are tried: the knots, and evenly from end to end."""
        return [self.knots] if self.is_even else [self.knots, self.knots[[0, -1]]]

    def charted(self, target: Target) -> Target:
        """The target as a function of u."""

        def of_u(u: np.ndarray) -> np.ndarray:
            return target(self.points(u))

        return of_u

    def frame(self, dtype: Precision) -> tuple[float, float]:
        """The centre and the unit of queries."""
        return float(np.dtype(dtype).type(self.origin)), 2.0 ** math.ceil(math.log2(self.length))

    def placed(self, found: Found, target: Target, goal: float, dtype: Precision) -> Found:
        """A head found for ``charted(target)`` as a head on [low, high].

        Its keys are rounded to ``dtype``, its values are solved anew and its error is measured.
        """
        own = replace(found.anchors, centre=self.origin, unit=self.length)
        y = np.unique(self.points(sample_points(self.layout(len(own))[0], len(own))))
        anchors = moved(own, *self.frame(dtype))
        return replace(finished(anchors, target, y, dtype, goal), work=found.work)
