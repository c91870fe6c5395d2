"""The target of the first two theorems: n different ramps, one a token.

Range_[a,b](w_i·x_i + t_i), written to coordinate G(k_i) of token i and 0 elsewhere, where k_i is the
index of the anchor nearest to the ramp's value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from anchorhead.errors import (
    InputError,
    PrecisionError,
    ShapeError,
    SizeError,
    require_array,
    require_fraction,
    require_integer,
    require_range,
    require_shape,
)
from anchorhead.heads.anchors import Anchors
from anchorhead.heads.ramp import ROUNDOFF, Stretch, ramp
from anchorhead.heads.uniform import cell, nearest, sharpness, spacing, uniform

__all__ = ["PLACEMENTS", "Placement", "Ramps"]

Placement = Literal["uniform", "graded"]
"""Where anchors stand: the paper's lattice, or crowded in scale where the target has kinks."""

PLACEMENTS = ("uniform", "graded")

BAND = 0.05
"""Half the width, in units of Δ, of the band around a midpoint where slots change and no continuous
head can choose. The sharpness grows like 1/BAND."""


LEAST_SOFTMAX_ERROR = 1e-100
"""Smaller weights than this change no float64 result."""

MOST_VALUES = 2**28
"""Anchors times coordinates: more than this does not fit a machine's memory twice."""


@dataclass(frozen=True, eq=False)
class Ramps:
    """n ramps with p uniform anchors: checked arguments of the first two theorems."""

    weights: np.ndarray
    offsets: np.ndarray
    low: float
    high: float
    slots: np.ndarray
    width: int
    softmax_error: float

    @classmethod
    def of(
        cls,
        weights: Any,
        offsets: Any,
        low: Any,
        high: Any,
        count: int,
        slots: Any,
        width: Any,
        softmax_error: Any,
    ) -> Ramps:
        """Check what a user gave for ``count`` anchors and fill in what was left out."""
        weights = require_array("weights", weights, dimensions=2)
        offsets = require_array("offsets", offsets, dimensions=1)
        require_shape("offsets", offsets, (len(weights),), "one offset for each row of weights")
        low, high = require_range(low, high)
        if np.abs(offsets / 2 - (low / 4 + high / 4)).max() > np.finfo(float).max / 4:
            raise InputError(
                "offsets lie so far from low and high that float64 overflows; move them"
            )
        slots = _slots(slots, count)
        used = int(slots.max()) + 1
        reason = "slots writes to that many coordinates"
        width = (
            used if width is None else require_integer("width", width, least=used, reason=reason)
        )
        if count * width > MOST_VALUES:
            raise SizeError(
                f"width is so large that the anchors' values are more than the {MOST_VALUES:.3g} "
                f"numbers that are made; use fewer anchors or a smaller width"
            )
        softmax_error = require_fraction("softmax_error", softmax_error)
        if softmax_error < LEAST_SOFTMAX_ERROR:
            raise PrecisionError(
                f"softmax_error is {softmax_error:.3g}, finer than float64 can make use of; "
                f"give at least {LEAST_SOFTMAX_ERROR:g}"
            )
        return cls(weights, offsets, low, high, slots, width, softmax_error)

    @property
    def changes(self) -> np.ndarray:
        """Where G changes between anchor k and k + 1, for k = 0 … p − 2."""
        return np.diff(self.slots) != 0

    def anchors(self, margin: float = 1.0) -> Anchors:
        """The uniform anchors, so sharp that softmax_error/margin of the weight strays."""
        band = BAND if self.changes.any() else None
        h = sharpness(self.softmax_error / margin, band)
        return uniform(self.low, self.high, len(self.slots), h, self.slots, self.width)

    def bound(self) -> float:
        """The theorems' right-hand side max(|a|, |b|) ε₀ + (b − a)/p.

        Where N and S, the two nearest anchors, share a slot, they mix to a point within Δ/2 of the
        target, Δ = (b − a)/(p − 1); an anchor beyond them in the same slot moves the sum by its
        weight times at most (m + 1)Δ, one in another slot by its weight times max(|a|, |b|), there
        and in its own coordinate. Outside the band the same holds with N alone. With h ≥ 4 all of
        it is at most ε₀ max(|a|, |b|) + (½ + tail(h, 1))Δ, and ½ + tail(h, 1) ≤ 1 − 1/p for p ≥ 3.
        For p = 2 there is no third anchor and the mix is nearer than Δ/2 = (b − a)/p; for p = 1 the
        anchor is the middle of the range, (b − a)/2 from its ends. Beyond the ends of the range the
        end anchor is N and all others are beyond it on one side. Finite sharpness keeps the mix of N
        and S at least Δ/10 nearer than Δ/2, more than the rounding of the weights can move it.
        """
        largest = max(abs(self.low), abs(self.high))
        return largest * self.softmax_error + (self.high - self.low) / len(self.slots)

    def graded(self, heads: int, places: int) -> tuple[list[Anchors], float]:
        """Graded anchors: one head for each of so many equal parts of the lattice, and their bound.

        The lattice still decides where which coordinate is written: anchor k is nearest between the
        midpoints to its neighbours, and a run of anchors with equal slots is one stretch. The bound
        is that of ``heads.ramp`` with τ = BAND·Δ, plus 8(d + 8)u max(|a|, |b|): forming y_i moves it
        by (d + 8)u(Σ_r |w_ir x_ir| + |t_i|) at most, a ramp moves no more than that, and tokens whose
        terms are up to 8 max(|a|, |b|) together have this in the bound; with larger ones, float64
        adds (d + 8)u for each unit of them.
        """
        count = len(self.slots)
        delta, part = spacing(self.low, self.high, count), count // heads
        edges = self.low + (np.arange(count + 1) - 0.5) * delta
        edges[0], edges[-1] = self.low, self.high
        starts = np.flatnonzero(np.append(True, self.changes))
        stretches = []
        for first in range(0, count, part):
            inner = starts[(starts > first) & (starts < first + part)]
            marks = np.concatenate([[first], inner, [first + part]])
            entry = int(self.slots[max(first - 1, 0)])
            stretches.append(Stretch(edges[marks].tolist(), self.slots[marks[:-1]].tolist(), entry))
        laid, bound = ramp(stretches, places=places, width=self.width, band=BAND * delta)
        largest = max(abs(self.low), abs(self.high))
        return laid, bound + 8 * (self.weights.shape[1] + 8) * ROUNDOFF * largest

    def argument(self, X: np.ndarray) -> np.ndarray:
        """y_i = w_i·x_i + t_i for every token."""
        X = require_array("X", X)
        if X.shape[-2:] != self.weights.shape:
            n, d = self.weights.shape
            raise ShapeError(f"X has shape {X.shape} where (…, {n}, {d}) is needed")
        return (self.weights * X).sum(axis=-1) + self.offsets

    def target(self, X: np.ndarray) -> np.ndarray:
        """Range_[a,b](y_i) in coordinate G(k_i), 0 elsewhere."""
        value = np.clip(self.argument(X), self.low, self.high)
        if not self.changes.any():
            return value[..., None] * (np.arange(self.width) == self.slots[0])
        index = nearest(value, self.low, self.high, len(self.slots))
        chosen = np.arange(self.width) == self.slots[index][..., None]
        return np.where(chosen, value[..., None], 0.0)

    def applies(self, X: np.ndarray) -> np.ndarray:
        """Which tokens the bound holds for: all but those in the band where G changes.

        The band is the set of y within BAND·Δ of the midpoint between two anchors of different
        slots.
        """
        y = self.argument(X)
        if not self.changes.any():
            return np.ones(y.shape, dtype=bool)
        index, distance = cell(y, self.low, self.high, len(self.slots))
        return (distance >= BAND) | ~self.changes[index]


def _slots(slots: Any, count: int) -> np.ndarray:
    """The map G from anchors to coordinates, all to the first unless told otherwise."""
    if count > MOST_VALUES:
        raise SizeError(
            f"more anchors are asked for than the {MOST_VALUES:.3g} that are made; use fewer"
        )
    if slots is None:
        return np.zeros(count, dtype=int)
    try:
        given = np.asarray(slots)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.dtype.kind not in "iu":
        raise InputError(
            "slots does not hold whole numbers; give one coordinate (0, 1, …) for each anchor"
        )
    if given.shape != (count,):
        raise ShapeError(
            f"slots has shape {given.shape} where ({count},) is needed: one coordinate an anchor"
        )
    if given.max() >= MOST_VALUES:
        raise SizeError(f"slots names coordinate {given.max():.3g}; count coordinates from 0")
    if given.min() < 0:
        raise InputError("slots holds a negative coordinate; count coordinates from 0")
    return given.astype(int)
