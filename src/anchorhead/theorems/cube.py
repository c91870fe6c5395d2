"""A function on the unit cube: what the approximation of a bare function works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anchorhead.domain import Box
from anchorhead.errors import InputError, ShapeError, require_array

__all__ = ["OnCube", "grid", "grid_blocks"]

BLOCK = 2**14
"""Points that are looked at together."""


class OnCube:
    """f in the variables of the unit cube, its values flattened to one row a point."""

    def __init__(self, f: Callable[[np.ndarray], Any], box: Box):
        self.f, self.box = f, box
        self.free = (box.high > box.low).ravel()
        self.dimension = int(self.free.sum())
        self.sides = (box.high - box.low).ravel()[self.free]
        if not callable(f):
            raise InputError(f"f is a {type(f).__name__} where a function of an array is needed")
        if (self.sides < 1 / np.finfo(float).max).any():
            raise InputError("domain has a side too short for float64; scale it up")
        some = self._arrays(np.random.default_rng(0).random((3, self.dimension)))
        first = require_array("f(X)", f(some[0]))
        if first.ndim != 2:
            raise ShapeError(
                f"f(X) has shape {first.shape} where tokens × features are needed; "
                f"return a two-dimensional array"
            )
        self.shape_out = first.shape[0], first.shape[1]
        self.takes_batches = self._takes_batches(some)

    def _takes_batches(self, batch: np.ndarray) -> bool:
        """Whether f takes a batch and gives for each array in it what it gives for it alone."""
        try:
            together = np.asarray(self.f(batch))
        except Exception:  # a function of one array may fail on a batch in any way
            return False
        alone = self._one_by_one(batch)
        if together.shape != alone.shape:
            return False
        return bool(np.abs(together - alone).max() <= 1e-9 * np.ptp(alone))

    def _one_by_one(self, batch: np.ndarray) -> np.ndarray:
        values = [np.asarray(self.f(X)) for X in batch]
        if any(value.shape != self.shape_out for value in values):
            raise ShapeError(f"f(X) does not always have the shape {self.shape_out}; make it so")
        return np.stack(values)

    def _arrays(self, t: np.ndarray) -> np.ndarray:
        X = np.tile(self.box.low.ravel(), (len(t), 1))
        X[:, self.free] += t * self.sides
        return np.minimum(X, self.box.high.ravel()).reshape(len(t), *self.box.shape)

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """The values at the points t, one row each."""
        X = self._arrays(t)
        Y = self.f(X) if self.takes_batches else self._one_by_one(X)
        return require_array("f(X)", Y).reshape(len(t), -1)


def grid(D: int, ticks: np.ndarray) -> np.ndarray:
    """All points of the tensor grid with these ticks on every axis, in row-major order."""
    return np.concatenate(list(grid_blocks(D, ticks)))


def grid_blocks(D: int, ticks: np.ndarray) -> Iterator[np.ndarray]:
    """The points of the tensor grid, in row-major order, a block at a time."""
    total = len(ticks) ** D
    for start in range(0, total, BLOCK):
        index = np.arange(start, min(start + BLOCK, total))
        yield ticks[np.stack(np.unravel_index(index, (len(ticks),) * D), axis=1)]
