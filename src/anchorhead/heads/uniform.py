"""Uniform anchors, the paper's construction: the nearest of p equally spaced points wins.

On the lattice L_k = low + kΔ, k = 0 … p−1, Δ = (high − low)/(p − 1), the score −h(y − L_k)²/Δ² is,
up to a term that all anchors share, h(2κ_k u − κ_k²) with u = (y − centre)/Δ and κ_k = k − (p−1)/2:
affine in y, with slopes and intercepts that floating point hardly rounds.

How little weight the far anchors get: let y be rΔ from its nearest anchor N, r ≤ ½, and S the
second nearest, on the other side of y. The m-th anchor beyond N has at most e^{−h((m+r)² − r²)}
≤ e^{−h m²} of N's weight, the m-th beyond S at most e^{−h((m+1−r)² − r²)} ≤ e^{−h m(m+1)}.
"""

from __future__ import annotations

import math

import numpy as np

from anchorhead.errors import (
    InputError,
    PrecisionError,
    ShapeError,
    require_integer,
    require_positive,
    require_range,
)
from anchorhead.heads.anchors import Anchors

__all__ = [
    "cell",
    "nearest",
    "points",
    "sharpness",
    "spacing",
    "staircase_error",
    "tail",
    "uniform",
]

SOFTEST = 4.0
"""The least sharpness used: from here on ``tail(h)`` is at most 1.02 e^{−h}."""


def sharpness(softmax_error: float, band: float | None = None) -> float:
    """A sharpness h that leaves at most ``softmax_error`` of the weight to the wrong anchors.

    The right ones are the two nearest: h = log(1.02/ε₀). With a ``band`` the right one is the
    nearest alone, for every y at least band·Δ from the midpoint between two anchors: there the
    second has relative weight at most e^{−2·band·h}, and h = log(2.04/ε₀)/(2·band) leaves ε₀/2 to
    it and ε₀/2 to all others.
    """
    if band is None:
        return max(SOFTEST, math.log(1.02 / softmax_error))
    return max(SOFTEST, math.log(2.04 / softmax_error) / min(1.0, 2 * band))


def tail(h: float, power: int = 0) -> float:
    """Σ_{m≥1} (m+1)^power (e^{−h m²} + e^{−h m(m+1)}): the far anchors' weight or first moment."""
    m = np.arange(1, 40)
    return float(((m + 1) ** power * (np.exp(-h * m * m) + np.exp(-h * m * (m + 1)))).sum())


def staircase_error(h: float) -> float:
    """The error of a uniform head in units of Δ: sup |F(y) − clip(y)| ≤ (½ + tail(h, 1)) Δ.

    The two nearest anchors mix to a point within Δ/2 of y, because the nearer one weighs more; the
    m-th anchor beyond them lies within (m + 1)Δ of that point. Where y is beyond the ends, the end
    anchor is the target itself and the others only add to the tail.
    """
    return 0.5 + tail(h, 1)


def spacing(low: float, high: float, count: int) -> float:
    """Δ for ``count`` anchors on [low, high], the ends included."""
    return (high - low) / max(count - 1, 1)


def points(low: float, high: float, count: int) -> np.ndarray:
    """The anchors L_k themselves; a single one sits in the middle."""
    return np.linspace(low, high, count) if count > 1 else np.array([low + (high - low) / 2])


def uniform(
    low: float,
    high: float,
    count: int,
    h: float,
    slots: np.ndarray | None = None,
    width: int = 1,
) -> Anchors:
    """``count`` uniform anchors on [low, high] of sharpness h, value L_k in coordinate slots[k].

    With all slots alike the head approximates clip(y, low, high) within (½ + tail(h, 1)) Δ.
    """
    low, high = require_range(low, high)
    count = require_integer("count", count, least=1)
    h = require_positive("h", h)
    delta = spacing(low, high, count)
    if delta < 2.0**10 * np.spacing(max(abs(low), abs(high))):
        raise PrecisionError(
            f"{count} anchors between {low} and {high} lie {delta:.3g} apart, too close for "
            f"float64 to tell them apart there; use fewer anchors or a wider range"
        )
    if not np.isfinite(1 / delta):
        raise PrecisionError(
            f"low {low} and high {high} are so near to each other that 1/(high − low) overflows; "
            f"scale the range up"
        )
    width = require_integer("width", width, least=1)
    slots = np.zeros(count, dtype=int) if slots is None else np.asarray(slots)
    if slots.shape != (count,) or slots.dtype.kind not in "iu":
        raise ShapeError(f"slots has shape {slots.shape}; give one coordinate for each anchor")
    if slots.min() < 0 or slots.max() >= width:
        raise InputError(
            f"slots runs from {slots.min()} to {slots.max()}; stay below width {width}"
        )
    kappa = np.arange(count) - (count - 1) / 2
    values = np.zeros((count, width))
    values[np.arange(count), slots] = points(low, high, count)
    return Anchors(2 * h * kappa, -h * kappa**2, values, low + (high - low) / 2, delta)


def nearest(y: np.ndarray, low: float, high: float, count: int) -> np.ndarray:
    """The index of the anchor nearest to y."""
    place = (np.clip(y, low, high) - low) / spacing(low, high, count)
    return np.minimum(np.rint(place), count - 1).astype(int)


def cell(y: np.ndarray, low: float, high: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The pair of anchors k, k + 1 nearest to y, as k, and y's distance from their midpoint in Δ."""
    place = (y - low) / spacing(low, high, count)
    index = np.clip(np.floor(place), 0, max(count - 2, 0)).astype(int)
    return index, np.abs(place - index - 0.5)
