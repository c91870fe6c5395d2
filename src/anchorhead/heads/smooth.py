"""Smooth anchors: a function that is analytic on an interval as one head of so many anchors.

Statement. Scores α_k u + γ_k with equal steps in α and breakpoints in equal steps are, up to what all
anchors share, −(h/2)(u/Δ − k)²: the weights are samples of a Gaussian, normalised. Their span holds
polynomials in e^{hu/Δ} over a common factor, so for analytic f the least error falls geometrically
with the number of anchors; with h → 0 it tends to that of polynomials, at the price of values that
grow. Sharpness h, the anchors beyond each end (ghosts) and the values are chosen by total error:
approximation and what rounding makes of large values in the dtype. Refined, breakpoints and widths
leave the even lattice and descend (``heads/descent.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anchorhead.errors import (
    InputError,
    require_choice,
    require_flag,
    require_integer,
    require_range,
)
from anchorhead.heads.chart import Chart
from anchorhead.heads.descent import STAGES
from anchorhead.heads.response import Precision
from anchorhead.heads.search import TUNED_ONLY, Found, Target, search

__all__ = ["placed_head", "smooth"]


def smooth(
    target: Callable[[np.ndarray], Any],
    low: float,
    high: float,
    count: int,
    *,
    refine: bool = True,
    dtype: Precision = "float64",
) -> Found:
    """The best head found of ``count`` anchors for a smooth function on [low, high].

    Args:
        target: Takes points (n) to values, (n) or (n × width).
        low: Lower end.
        high: Upper end.
        count: The number of anchors, at least 2.
        refine: Whether anchors may leave the even lattice.
        dtype: "float64" or "float32": where rounding is counted.

    Returns:
        The head and its error, measured on a grid finer than the head turns, rounding included.
    """
    low, high = require_range(low, high)
    return placed_head(target, Chart.even(low, high), count, refine, dtype)


def placed_head(
    target: Callable[[np.ndarray], Any], chart: Chart, count: int, refine: bool, dtype: Precision
) -> Found:
    """The best head found of ``count`` anchors along the courses of a chart."""
    count = require_integer("count", count, least=2)
    refine = require_flag("refine", refine)
    require_choice("dtype", dtype, ("float64", "float32"))
    values = _columns(target)
    stages = STAGES if refine else TUNED_ONLY
    found = search(chart.charted(values), chart.layout, count, 0.0, dtype, stages)
    return chart.placed(found, values, 0.0, dtype)


def _columns(target: Callable[[np.ndarray], Any]) -> Target:
    """The target with its values as points × width, checked."""
    if not callable(target):
        raise InputError(
            f"target is a {type(target).__name__}; give a function of an array of points"
        )

    def values(y: np.ndarray) -> np.ndarray:
        answer = np.asarray(target(y), dtype=float)
        if answer.shape[:1] != y.shape or answer.ndim > 2:
            raise InputError(
                f"target answers {len(y)} points with shape {answer.shape}; give one row for each"
            )
        if not np.isfinite(answer).all():
            raise InputError("target is not finite on all of [low, high]; choose another interval")
        return answer.reshape(len(y), -1)

    return values
