"""Arrays with their rounding errors: what is exact, how far it varies on a cell, how wrong it is.

The statements are those of ``rounding``. Everything is computed with floats, as sums and products of
numbers above 0; SLACK covers what that rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["SLACK", "Dtype", "Spread", "added", "behind", "joined", "mapped", "mixed"]

EXP = 4
"""Units in the last place by which an exponential may be wrong."""

LEAST = 1e-300
"""More than what an exponential that is 0 has lost."""

SLACK = 1 + 1e-9
"""More than what the sums and products here can lose."""


class Spread(NamedTuple):
    """An array over cells: exact values within ``far`` of ``mid``, computed ones ``err`` from them."""

    mid: np.ndarray
    far: np.ndarray
    err: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """No smaller than any computed value."""
        return np.abs(self.mid) + self.far + self.err

    def at(self, index: Any) -> Spread:
        """A part of the array."""
        return Spread(*(array[index] for array in self))


class Dtype(NamedTuple):
    """A dtype, its unit roundoff, its smallest normal number and its largest."""

    name: str
    unit: float
    tiny: float
    most: float

    @classmethod
    def of(cls, name: str) -> Dtype:
        """The dtype of this name."""
        info = np.finfo(name)
        return cls(name, float(info.eps) / 2, float(info.tiny), float(info.max))

    def gamma(self, count: Any) -> Any:
        """What ``count`` roundings make of 1 at most, less 1."""
        k = np.asarray(count) * self.unit
        return np.where(k < 0.5, k / np.maximum(1 - k, 0.5), np.inf) * SLACK

    def held(self, size: np.ndarray) -> np.ndarray:
        """0 where numbers of this size and their sums do not overflow, else inf."""
        return np.where(size < self.most / 8, 0.0, np.inf)

    def lost(self, weights: np.ndarray) -> np.ndarray:
        """How far the dtype's numbers are from these."""
        with np.errstate(over="ignore"):
            stored = weights.astype(self.name).astype(float)
        stored = np.where(np.abs(stored) < self.tiny, 0.0, stored)  # some machines do so
        return np.abs(stored - weights)


def mapped(X: Spread, W: np.ndarray | None, kind: Dtype) -> Spread:
    """The map X W of the last axis."""
    if W is None:
        return X
    A = np.abs(W)
    mantissas = np.frexp(A[A > 0])[0] if A.any() else np.empty(0)
    inexact = np.zeros(W.shape, bool)
    inexact[A > 0] = mantissas != 0.5
    count = np.maximum((A > 0).sum(axis=0) - 1, 0) + inexact.any(axis=0)
    size = X.size @ A
    err = X.err @ A + X.size @ kind.lost(W) + kind.gamma(count) * size + kind.held(size)
    err = err + 2 * kind.tiny * ((A > 0) & ((A != 1) | (count > 0))).sum(axis=0)
    return Spread(X.mid @ W, X.far @ A + (len(W) + 8) * 2.0**-52 * size, err * SLACK)


def added(terms: Sequence[Spread], kind: Dtype) -> Spread:
    """The sum of arrays, in any order; what is 0 throughout counts for nothing."""
    mid, far, err = (np.sum(parts, axis=0) for parts in zip(*terms, strict=True))
    size = np.sum([term.size for term in terms], axis=0)
    count = np.maximum(sum((term.size > 0).astype(float) for term in terms) - 1, 0)
    err = err + kind.gamma(count) * size + count * kind.tiny + kind.held(size)
    return Spread(mid, far + (len(terms) + 4) * 2.0**-52 * size, err * SLACK)


def joined(cells: Spread) -> Spread:
    """All cells as one."""
    low = (cells.mid - cells.far).min(axis=0, keepdims=True)
    high = (cells.mid + cells.far).max(axis=0, keepdims=True)
    return Spread((low + high) / 2, (high - low) / 2 * SLACK, cells.err.max(axis=0, keepdims=True))


def behind(scores: np.ndarray, far: np.ndarray) -> np.ndarray:
    """How far each score may lie below the largest."""
    top = (scores + far).max(axis=1, keepdims=True)
    return np.maximum(top - (scores - far), 0)


def mixed(
    scores: np.ndarray,
    far: np.ndarray,
    wrong: np.ndarray,
    values: Spread,
    kind: Dtype,
    windows: bool = False,
) -> Spread:
    """The mixture of values (… × keys × width) with scores (cells × keys) within ``far``, and wrong.

    |v_k − F| ≤ |v_k − f| + |F − f| for any f. Here f is the mixture at the middle of the cell, and
    F − f = Σ (p_k − w_k)(v_k − f) with w_k the weights there.
    """
    top = (scores + far).max(axis=1, keepdims=True)
    high, low = np.exp(scores + far - top) + LEAST, np.exp(scores - far - top)
    others = [  # the other keys' share, at least and at most
        np.maximum(side.sum(axis=1, keepdims=True) * (1 + sign * 2.0**-40) - side, 0)
        for side, sign in ((low, -1), (high, 1))
    ]
    most = (high / (high + others[0]) * SLACK)[..., None]
    least = (low / (low + others[1] + LEAST) / SLACK)[..., None]
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = (weights / weights.sum(axis=1, keepdims=True))[..., None]
    mid = (weights * values.mid).sum(axis=1)
    varied = np.maximum(most - weights, weights - least) + 2.0**-48 * most
    apart = np.abs(values.mid - mid[:, None]) + values.far
    widest = apart.max(axis=1)
    away = np.minimum((varied * apart + most * values.far).sum(axis=1), widest) * SLACK
    apart = apart + away[:, None]

    theta = np.expm1(np.minimum(wrong, 700.0)) * (1 + 2 * EXP * kind.unit) + 2 * EXP * kind.unit
    theta = np.where(wrong < 700, theta, np.inf)[..., None]
    total = np.minimum((most * theta).sum(axis=1), theta.max(axis=1))
    known = total < 0.5
    theta, rest = np.where(known[:, None], theta, 0.0), np.where(known, 1 - total, 0.5)
    moved = np.minimum((most * theta * apart).sum(axis=1), (theta * apart).max(axis=1)) / rest
    most = np.where(known[:, None], np.minimum(most * (1 + theta) / rest[:, None], 1), 1.0)
    moved = np.where(known, moved, 2 * widest)

    mass = np.minimum((most * values.size).sum(axis=1), values.size.max(axis=-2))
    err = moved + np.minimum((most * values.err).sum(axis=1), values.err.max(axis=-2))
    err = err + _summed(most * values.size, mass, kind) + mass * _summed(most, np.ones(1), kind)
    err = err + 3 * kind.unit * mass + 2 * len(scores[0]) * kind.tiny * (1 + widest)
    err = err + (2 * kind.unit * widest if windows else 0)
    err = err + kind.held(widest + values.size.max(axis=-2))
    err = err + np.where(np.isfinite(wrong).all(axis=1), 0.0, np.inf)[:, None]
    return Spread(mid, away + 2.0**-40 * mass, err * SLACK)


def _summed(terms: np.ndarray, mass: np.ndarray, kind: Dtype) -> np.ndarray:
    """What rounding does to a sum of terms of these sizes (cells × terms × width), in any order.

    An addition is wrong by u times its result at most, and by no more than either summand. So the m − 1
    additions that join the m largest terms are wrong by γ_m times the mass, the total of all sizes,
    and those that join the others, of mass τ, by τ(1 + 2γ_p); m is chosen for the least.
    """
    sizes = -np.sort(-terms, axis=1)
    behind = np.cumsum(sizes[:, ::-1], axis=1)[:, ::-1]
    tail = np.concatenate([behind[:, 1:], np.zeros_like(behind[:, :1])], axis=1)
    count = np.arange(terms.shape[1])[:, None]
    joined = kind.gamma(count) * mass[:, None] if mass.ndim == 2 else kind.gamma(count) * mass
    return (joined + tail * (1 + 2 * kind.gamma(terms.shape[1]))).min(axis=1) * SLACK
