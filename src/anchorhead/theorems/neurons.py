"""The first attention layer of theorems 3 and 4: every hidden neuron of a ReLU network at once.

Over the box the neuron j takes values in [a_j, b_j] after its ReLU, so it is a_j + (b_j − a_j) times
the unit ramp Range_[0,1] of z_j = (w_j·vec(X) + t_j − a_j)/(b_j − a_j). A linear map gathers z_j
into row j; one multi-head layer, the same anchors for every row, turns it into the ramp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anchorhead.domain import Box
from anchorhead.errors import InputError, PrecisionError, ShapeError, SizeError, require_array
from anchorhead.heads.anchors import Anchors, share
from anchorhead.heads.ramp import ROUNDOFF, Stretch, filled, ramp, segment
from anchorhead.heads.uniform import sharpness, staircase_error, uniform
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.theorems.ramps import Placement
from anchorhead.theorems.relu import ReLUNetwork

__all__ = ["Neurons", "ramp_anchors", "ramp_error", "selection", "unit_ramp"]

ROWS = 66
"""The least number of rows of the first layer: 64 anchors and two sentinels a head.

H heads of p/H anchors store 3p numbers in the rows and about 15 H² in their own matrices; √(15p)
rows keep the second below the first.
"""

STRAY = 1e-9
"""The weight that may stray from the right anchors, as in the first two theorems; a hundredth of the
ramp's error where that is less."""

MOST_ANCHORS = 2**22
"""More anchors than this are refused: a uniform mesh is the wrong one for such an error."""


@dataclass(frozen=True, eq=False)
class Neurons:
    """A ReLU network over a box, each neuron as a unit ramp: a + (b − a)·Range_[0,1](z)."""

    relu: ReLUNetwork
    box: Box

    @classmethod
    def of(cls, relu: Any, domain: Any) -> Neurons:
        """Check what a user gave: a ReLU network, and a box or pairs for the entries of its input."""
        if not isinstance(relu, ReLUNetwork):
            raise InputError(
                f"relu is a {type(relu).__name__} where a ReLUNetwork is needed; make one from a "
                f"function with relu_approximator"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            neurons = cls(relu, Box.of(domain).reshape(relu.shape_in))
            ranges = neurons.output_ranges()
        if not (np.isfinite(ranges).all() and np.isfinite(neurons.inverse_widths).all()):
            raise PrecisionError(
                "relu takes values on this domain whose size, or the inverse of it, overflows "
                "float64; scale its weights or the domain"
            )
        return neurons

    def require_resolvable(self, error: float) -> None:
        """Check that float64 tells the hidden neurons' values apart as finely as ``error`` needs."""
        if self.rounding > error / 16:
            raise PrecisionError(
                f"error is {error:.3g} where rounding alone may move relu's output by "
                f"{self.rounding:.1e} on this domain; ask for a larger error or scale relu's weights"
            )

    @cached_property
    def rounding(self) -> float:
        """How far the output moves when every neuron is rounded as far as float64 may."""
        return float((np.abs(self.relu.output_weights) @ self.relu.rounding(self.box)).max())

    def allowance(self, placement: Placement, error: float) -> float:
        """What rounding outside the heads may add: the part of ``error`` that is set aside for it.

        Twice ``rounding`` for forming the neurons, in the network and in relu; N + 8 steps of size
        u for the sum of N neurons in either, twice that in all. Uniform anchors stay below their
        bound by more than this and set nothing aside.
        """
        if placement == "uniform":
            return 0.0
        largest = np.abs(self.relu.output_weights) @ sum(self.ranges)
        size = float((largest + np.abs(self.relu.output_offsets)).max())
        spent = 2 * self.rounding + 4 * (self.relu.hidden + 8) * ROUNDOFF * size
        if spent > error / 2:
            raise PrecisionError(
                f"error is {error:.3g} where rounding may move the network's output by "
                f"{spent:.1e} on this domain; ask for a larger error or scale relu's weights"
            )
        return spent

    @cached_property
    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Start a_j and width b_j − a_j of every neuron after its ReLU."""
        low, high = self.relu.active_ranges(self.box)
        return low, high - low

    @property
    def inverse_widths(self) -> np.ndarray:
        """1/(b_j − a_j), and 0 for neurons that do not vary."""
        width = self.ranges[1]
        return np.divide(1, width, out=np.zeros(len(width)), where=width > 0)

    @property
    def gains(self) -> np.ndarray:
        """What the output takes of every unit ramp: C_oj (b_j − a_j), outputs × neurons."""
        return self.relu.output_weights * self.ranges[1]

    @property
    def offsets(self) -> np.ndarray:
        """The output where every unit ramp is 0."""
        return self.relu.output_weights @ self.ranges[0] + self.relu.output_offsets

    @property
    def amplification(self) -> float:
        """max_o Σ_j |C_oj| (b_j − a_j): ramps wrong by η move no output by more than η times this."""
        return float(np.abs(self.gains).sum(axis=1).max())

    def output_ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Start and width of an interval that holds each output over the box."""
        down = np.minimum(self.gains, 0).sum(axis=1)
        up = np.maximum(self.gains, 0).sum(axis=1)
        return self.offsets + down, up - down

    def applies(self, X: np.ndarray) -> np.ndarray:
        """For every token of the output, whether X lies in the box."""
        X = require_array("X", X)
        if X.ndim < 2:
            raise ShapeError(f"X has shape {X.shape} where (…, {self.relu.shape_in}) is needed")
        inside = self.box.contains(X)
        return np.broadcast_to(inside[..., None], (*inside.shape, self.relu.shape_out[0]))

    def layers(
        self, pieces: Sequence[Anchors], output: np.ndarray | None
    ) -> tuple[Linear, Attention]:
        """The gathering map and the attention layer; row j of the result is neuron j's unit ramp.

        There is one head for each of the pieces, which hold one anchor for each row. The columns are
        z_j − ½, a constant 1, and for each head the slope, the intercept and the value of the anchor
        that the row holds for it.
        """
        n, d = self.relu.shape_in
        hidden = self.relu.hidden
        rows, (centre, unit) = len(pieces[0]), (pieces[0].centre, pieces[0].unit)
        columns = 2 + 3 * len(pieces)
        start, inverse = self.ranges[0], self.inverse_widths

        constant = np.zeros((rows, columns))
        constant[:hidden, 0] = (self.relu.hidden_offsets - start) * inverse - centre
        constant[:, 1] = 1
        held = [np.column_stack([piece.keys, piece.values]) for piece in pieces]
        constant[:, 2:] = np.column_stack(held)

        gather = (self.relu.hidden_weights * inverse[:, None]).reshape(hidden, n, d)
        tokens = np.concatenate([gather, np.zeros((rows - hidden, n, d))])
        to_first = np.eye(d)[:, :, None] * np.eye(1, columns)
        terms = [Term(features=to_first[r], tokens=tokens[:, :, r]) for r in range(d)]

        pick = np.eye(columns)
        query = np.column_stack([pick[:, 0] / unit, pick[:, 1]])
        heads = [
            Head(
                query=query, key=pick[:, at : at + 2], value=pick[:, at + 2 : at + 3], output=output
            )
            for at in range(2, columns, 3)
        ]
        gathered = Linear((n, d), (rows, columns), tuple(terms), constant)
        return gathered, Attention(tuple(heads), keep=hidden)


def unit_ramp(placement: Placement, error: float, hidden: int) -> tuple[list[Anchors], float]:
    """Heads for the unit ramp with at least ``hidden`` anchors each, and a bound of their sum."""
    if placement == "uniform":
        anchors = ramp_anchors(error)
        pieces = share(anchors, max(hidden, ROWS, math.isqrt(15 * len(anchors))))
        return pieces, ramp_error(anchors, len(pieces) > 1)
    (alone,), bound = ramp([Stretch((0.0, 1.0), (0,), 0)], error=min(error, 1.0))
    return [filled(alone, hidden)], bound


def selection(placement: Placement, error: float) -> tuple[Anchors, float]:
    """Anchors that return y on [0, 1], and their bound."""
    if placement == "uniform":
        anchors = ramp_anchors(error)
        return anchors, ramp_error(anchors, shared=False)
    return segment(min(error, 1.0))


def ramp_anchors(error: float) -> Anchors:
    """Uniform anchors for the unit ramp with ``ramp_error`` at most ``error``, as few as that takes."""
    error = min(error, 1.0)
    stray = min(STRAY, error / 100)
    if error * MOST_ANCHORS < 0.5:
        raise SizeError(
            f"error is so small that it needs more than {MOST_ANCHORS:,} uniform anchors, a "
            f"{error:.1e} part of what a neuron contributes; ask for a larger error or a smaller domain"
        )
    h = sharpness(stray / 8)
    count = max(2, 1 + math.ceil(staircase_error(h) / (error - stray)))
    return uniform(0.0, 1.0, count, h)


def ramp_error(anchors: Anchors, shared: bool) -> float:
    """A bound for the unit ramp by these uniform anchors, in one head or ``shared`` among several.

    (½ + tail(h, 1))Δ for the whole head; sharing adds at most 8.16 e^{−h}, as in ``multi_head``.
    """
    h = float(-anchors.intercepts[0] / ((len(anchors) - 1) / 2) ** 2)
    return staircase_error(h) * anchors.unit + (8.16 * math.exp(-h) if shared else 0.0)
