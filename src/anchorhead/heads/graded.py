"""Graded anchors: one head whose anchors crowd toward kinks and branch points on all scales.

Statement. With breakpoints at c ± R e^{−σ(√m − √j)}, j = 1 … m, and widths in proportion to their
spacing, the least error at a function that is analytic but for a kink |y − c| or a branch point
|y − c|^a falls like e^{−C√p}, the rate of the best rational approximation (Newman; Stahl: 8e^{−π√p}
for |x|). For a kink alone ``heads/spliced.py`` needs a few anchors whatever the error; for branch
points this is the way. Widths, ghosts and values are chosen as in ``heads/smooth.py``; refined, the
mesh descends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anchorhead.errors import (
    InputError,
    require_array,
    require_integer,
    require_positive,
    require_range,
)
from anchorhead.heads.chart import Chart
from anchorhead.heads.mesh import clustered
from anchorhead.heads.response import Precision
from anchorhead.heads.search import Found
from anchorhead.heads.smooth import placed_head

__all__ = ["RATES", "graded"]

RATES = (2.0, 2.5, 3.0, 4.0)
"""Rates σ that are tried: fast for few anchors; slower for many, whose slopes would grow beyond what
rounding allows."""


def graded(
    target: Callable[[np.ndarray], Any],
    low: float,
    high: float,
    count: int,
    toward: Any,
    *,
    rate: float | None = None,
    refine: bool = True,
    dtype: Precision = "float64",
) -> Found:
    """The best head found of ``count`` anchors that crowd toward the points ``toward``.

    Args:
        target: Takes points (n) to values, (n) or (n × width).
        low: Lower end.
        high: Upper end.
        count: The number of anchors, at least 2.
        toward: Points of [low, high]: kinks, branch points.
        rate: σ, how fast the mesh shrinks; without it the best of RATES.
        refine: Whether anchors may leave the mesh.
        dtype: "float64" or "float32": where rounding is counted.

    Returns:
        The head and its error, measured on a grid finer than the head turns, rounding included.
    """
    low, high = require_range(low, high)
    points = np.unique(require_array("toward", toward, dimensions=1))
    if points[0] < low or points[-1] > high:
        raise InputError(
            f"toward holds {points.tolist()}, not all inside [{low:g}, {high:g}]; leave those out"
        )
    rates = RATES if rate is None else (require_positive("rate", rate),)
    origin = float(points[0]) if len(points) == 1 and points[0] in (low, high) else None
    count = require_integer("count", count, least=2)
    found = []
    for each in rates:
        ends = clustered(low, high, points.tolist(), 2 * count + 8, rate=each)
        found.append(placed_head(target, Chart.of(ends, origin), count, refine, dtype))
    return min(found, key=lambda head: head.error)
