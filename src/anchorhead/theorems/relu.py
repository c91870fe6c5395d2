"""A ReLU network with one hidden layer on vec(X): what the last two theorems start from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorhead.domain import Box
from anchorhead.errors import ShapeError, require_array, require_shape, require_sizes

__all__ = ["ReLUNetwork"]


@dataclass(frozen=True, eq=False)
class ReLUNetwork:
    """f(X) = C max(W vec(X) + t, 0) + c, from n×d arrays to n'×d' arrays; vec goes row by row.

    ``hidden_weights`` W is N×nd, ``hidden_offsets`` t has N entries, ``output_weights`` C is n'd'×N
    and ``output_offsets`` c has n'd' entries.
    """

    hidden_weights: np.ndarray
    hidden_offsets: np.ndarray
    output_weights: np.ndarray
    output_offsets: np.ndarray
    shape_in: tuple[int, int]
    shape_out: tuple[int, int]

    def __post_init__(self):
        for name, dimensions in (
            ("hidden_weights", 2),
            ("hidden_offsets", 1),
            ("output_weights", 2),
            ("output_offsets", 1),
        ):
            array = require_array(name, getattr(self, name), dimensions=dimensions)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        entries_in, entries_out = (self._entries(name) for name in ("shape_in", "shape_out"))
        hidden = len(self.hidden_weights)
        for name, shape, reason in (
            ("hidden_weights", (hidden, entries_in), "neurons × entries of shape_in"),
            ("hidden_offsets", (hidden,), "one for each row of hidden_weights"),
            ("output_weights", (entries_out, hidden), "entries of shape_out × neurons"),
            ("output_offsets", (entries_out,), "one for each entry of shape_out"),
        ):
            require_shape(name, getattr(self, name), shape, reason)

    def _entries(self, name: str) -> int:
        shape = require_sizes(name, getattr(self, name))
        if len(shape) != 2:
            raise ShapeError(f"{name} is {shape} where a pair (tokens, features) is needed")
        object.__setattr__(self, name, shape)
        return math.prod(shape)

    @property
    def hidden(self) -> int:
        """The number N of hidden neurons."""
        return len(self.hidden_weights)

    def __call__(self, X: Any) -> np.ndarray:
        """f(X) for one array or any leading batch of them."""
        X = require_array("X", X)
        if X.shape[-2:] != tuple(self.shape_in):
            raise ShapeError(f"X has shape {X.shape} where (…, {self.shape_in}) is needed")
        before = X.reshape(*X.shape[:-2], -1) @ self.hidden_weights.T + self.hidden_offsets
        after = np.maximum(before, 0) @ self.output_weights.T + self.output_offsets
        return after.reshape(*X.shape[:-2], *self.shape_out)

    def active_ranges(self, box: Box) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest value of every hidden neuron after its ReLU, over the box.

        Exact up to rounding, which is added outward.
        """
        low, high = box.low.ravel(), box.high.ravel()
        W, t = self.hidden_weights, self.hidden_offsets
        middle, half = W @ ((low + high) / 2) + t, np.abs(W) @ ((high - low) / 2)
        slack = self.rounding(box)
        return np.maximum(middle - half - slack, 0), np.maximum(middle + half + slack, 0)

    def rounding(self, box: Box) -> np.ndarray:
        """How far float64 may compute each hidden neuron wrong over the box, in any order of summation.

        γ_{k+4} times the sum of the absolute values of the k products and the offset, with
        γ_m = m u/(1 − m u); the spare steps are those of forming the box's middle and half.
        """
        farthest = np.maximum(np.abs(box.low), np.abs(box.high)).ravel()
        unit = (len(farthest) + 4) * np.finfo(float).eps
        largest = np.abs(self.hidden_weights) @ farthest + np.abs(self.hidden_offsets)
        return unit / (1 - unit) * largest
