"""What the paper's construction would need: uniform anchors, of which softmax picks the nearest.

With p anchors on each axis and the target's own values there, the answer is the target at the nearest
anchor: a staircase. Its error falls like 1/p where the target is Lipschitz, more slowly at a branch
point. It is measured for as many anchors as are quick to try, and continued at the rate measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from anchorhead.compiler.sampling import scattered
from anchorhead.compiler.target import Given
from anchorhead.heads.response import Precision
from anchorhead.heads.uniform import sharpness

__all__ = ["Staircase", "staircase"]

TRIED = 2**15
"""Anchors on one axis, or points in several, up to which staircases are measured."""

SOFTMAX_ERROR = 1e-9
"""The weight that strays from the right anchors."""

SLOWEST = 0.05
"""A rate slower than p^{−1/20} is none that could be continued."""


@dataclass(frozen=True)
class Staircase:
    """``each`` anchors on each of the axes, whose scores reach ``largest``; and the error by dtype."""

    each: float
    axes: int
    largest: float
    errors: dict[Precision, float]

    @property
    def anchors(self) -> float:
        """How many anchors there are in all; infinite where no number is enough."""
        return self.each**self.axes


def staircase(given: Given, error: float) -> Staircase:
    """The paper's construction for a target and an error, in exact arithmetic.

    In floating point scores of size hp²/4 are rounded by 4u of that, so that an anchor at a distance
    of R√(8u), R half the domain, may win in place of the nearest: the errors given are that of the
    staircase and as much as the target changes over this distance.
    """
    p, step = 16.0, math.inf
    reached = _measured(given, p)
    while reached > error and p < TRIED:
        step, p = reached, 2 * p
        reached = _measured(given, p)
    if reached > error:
        rate = max(math.log2(step / reached), SLOWEST)
        p *= (reached / error) ** (1 / rate)
    else:
        p *= max(reached / error, 0.5)
    p = float(math.ceil(max(p, 2.0)))
    errors: dict[Precision, float] = {}
    for dtype in ("float64", "float32"):
        unit = float(np.finfo(dtype).eps) / 2
        errors[dtype] = error + _change(given, math.sqrt(8 * unit) / 2)
    return Staircase(p, given.box.low.size, sharpness(SOFTMAX_ERROR) * p * p / 4, errors)


def _measured(given: Given, p: float) -> float:
    """The largest difference between the target and its value at the nearest anchor."""
    low, high = given.box.low, given.box.high
    if low.size == 1:
        k = np.arange(int(p))[:, None]
    else:
        k = np.rint((scattered(given, TRIED, seed=4) - low) / (high - low) * (p - 1))
    spacing = (high - low) / (p - 1)
    anchors = low + k * spacing
    values, worst = given.values(anchors), 0.0
    for share in (-0.5, -0.25, 0.25, 0.5):
        near = np.clip(anchors + share * spacing, low, high)
        worst = max(worst, float(np.abs(given.values(near) - values).max()))
    return worst


def _change(given: Given, part: float) -> float:
    """How much the target changes, at most, over so small a part of the domain."""
    low, high = given.box.low, given.box.high
    X = scattered(given, 4096, seed=5)
    moved = np.clip(X + part * (high - low), low, high)
    return float(np.abs(given.values(moved) - given.values(X)).max())
