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
"""Steps between anchors on an axis up to which staircases are measured."""

POINTS = 2**16
"""Points at which the finest are measured: at least one in each step."""

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
        return _power(self.each, self.axes)


def staircase(given: Given, error: float) -> Staircase:
    """The paper's construction for a target and an error, in exact arithmetic.

    In floating point scores of size h(p − 1)²/4 are rounded by 4u of that, so that an anchor at a
    distance of R√(8u), R half the domain, may win in place of the nearest: the errors given are that
    of the staircase and as much as the target changes over this distance.
    """
    steps, before = 1.0, math.inf
    reached = _measured(given, steps)
    while reached > error and steps < TRIED:
        steps, before = 2 * steps, reached
        reached = _measured(given, steps)
    rate = max(math.log2(before / reached), SLOWEST) if reached else math.inf
    steps *= max(_power(reached / error, 1 / rate), 0.5)
    steps = float(math.ceil(max(steps, 1.0))) if steps < math.inf else steps
    errors: dict[Precision, float] = {}
    for dtype in ("float64", "float32"):
        unit = float(np.finfo(dtype).eps) / 2
        errors[dtype] = error + _change(given, math.sqrt(8 * unit) / 2)
    largest = sharpness(SOFTMAX_ERROR) * steps * steps / 4
    return Staircase(steps + 1, given.box.low.size, largest, errors)


def _power(base: float, exponent: float) -> float:
    """The power, infinite beyond all floats."""
    try:
        return base**exponent
    except OverflowError:
        return math.inf


def _measured(given: Given, steps: float) -> float:
    """The largest difference between the target and its value at the nearest anchor.

    Tried at scattered points, and at two opposite corners of the cells around their anchors.
    """
    low, high = given.box.low, given.box.high
    spacing = (high - low) / steps
    count = POINTS if low.size > 1 else int(min(max(4 * steps, 2**10), POINTS))
    X = scattered(given, count, seed=4)
    anchors = np.clip(low + np.rint((X - low) / spacing) * spacing, low, high)
    corner = np.where(X < anchors, -0.5, 0.5) * spacing
    values = given.values(anchors)
    return max(
        float(np.abs(given.values(np.clip(near, low, high)) - values).max())
        for near in (X, anchors + corner, anchors - corner)
    )


def _change(given: Given, part: float) -> float:
    """How much the target changes, at most, over so small a part of the domain."""
    low, high = given.box.low, given.box.high
    X = scattered(given, 4096, seed=5)
    sides = np.random.default_rng(5).choice([-1.0, 1.0], X.shape)
    moved = np.clip(X + sides * part * (high - low), low, high)
    return float(np.abs(given.values(moved) - given.values(X)).max())
