"""Where a target is to be approximated: an interval for one number, a box for an array of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorhead.errors import (
    InputError,
    ShapeError,
    require_array,
    require_integer,
    require_range,
    require_sizes,
)

__all__ = ["Box", "Interval"]


@dataclass(frozen=True)
class Interval:
    """The closed interval [low, high], low < high."""

    low: float
    high: float

    def __post_init__(self):
        low, high = require_range(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def length(self) -> float:
        """The length high − low."""
        return self.high - self.low


@dataclass(frozen=True, eq=False)
class Box:
    """All arrays X with low ≤ X ≤ high, entry by entry; ``low`` and ``high`` share X's shape.

    An entry may be fixed (low equal to high).
    """

    low: np.ndarray
    high: np.ndarray

    def __post_init__(self):
        low, high = require_array("low", self.low), require_array("high", self.high)
        if low.ndim == 0 or low.shape != high.shape:
            raise ShapeError(
                f"low has shape {low.shape} and high {high.shape}; give both the same "
                f"shape, of one dimension or more"
            )
        if (low > high).any():
            place = tuple(int(i) for i in np.argwhere(low > high)[0])
            raise InputError(
                f"low{list(place)} is {low[place]}, above high{list(place)} = {high[place]}; "
                f"give the smaller number as low"
            )
        for bound in (low, high):
            bound.setflags(write=False)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @classmethod
    def of(cls, domain: Any) -> Box:
        """A box from a box, an interval, or pairs (low, high) nested like the array they bound."""
        if isinstance(domain, Box):
            return domain
        if isinstance(domain, Interval):
            return cls(np.array([domain.low]), np.array([domain.high]))
        pairs = require_array("domain", domain)
        if pairs.ndim < 2 or pairs.shape[-1] != 2:
            raise ShapeError(
                f"domain has shape {pairs.shape} where pairs (low, high) are needed; "
                f"give a list of pairs, such as [(-1, 1), (0, 2)]"
            )
        return cls(pairs[..., 0], pairs[..., 1])

    @classmethod
    def cube(cls, low: float, high: float, shape: tuple[int, ...]) -> Box:
        """The box whose every entry, in an array of this ``shape``, lies in [low, high]."""
        low, high = require_range(low, high)
        shape = require_sizes("shape", shape)
        return cls(np.full(shape, low), np.full(shape, high))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the arrays in the box."""
        return self.low.shape

    def reshape(self, shape: tuple[int, ...]) -> Box:
        """The same bounds on the same entries, in row-major order, of arrays of another shape."""
        shape = require_sizes("shape", shape)
        if self.low.size != math.prod(shape):
            raise ShapeError(
                f"domain bounds {self.low.size} entries where {shape} has {math.prod(shape)}; "
                f"give one pair (low, high) for each entry"
            )
        return Box(self.low.reshape(shape), self.high.reshape(shape))

    def contains(self, X: np.ndarray) -> np.ndarray:
        """Whether X (any leading batch dimensions) lies in the box: one truth value an array."""
        X = require_array("X", X)
        if X.shape[max(X.ndim - self.low.ndim, 0) :] != self.shape:
            raise ShapeError(f"X has shape {X.shape} where (…, {str(self.shape)[1:-1]}) is needed")
        inside = (self.low <= X) & (self.high >= X)
        return np.asarray(inside.all(axis=tuple(range(-self.low.ndim, 0))))

    def sample(self, count: int, seed: int) -> np.ndarray:
        """``count`` arrays drawn uniformly from the box."""
        count = require_integer("count", count, least=1)
        rng = np.random.default_rng(require_integer("seed", seed, least=0))
        return rng.uniform(self.low, self.high, (count, *self.shape))

    def __str__(self) -> str:
        return f"Box of shape {self.shape}, entries from {self.low.min():g} to {self.high.max():g}"
