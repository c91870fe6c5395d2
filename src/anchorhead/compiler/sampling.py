"""What a network really answers at points nobody chose: the last word on a target that is a black box.

A callable can be sampled, never proven. The points are fresh, and spread so that each equal part of
the domain holds one.
"""

from __future__ import annotations

import numpy as np

from anchorhead.compiler.target import Given
from anchorhead.heads.response import Precision
from anchorhead.network import Network
from anchorhead.run import numpy as reference

__all__ = ["POINTS", "apart", "root_mean_square", "scattered", "strayed", "worst"]

POINTS = 4096
"""Fresh points at which every network is tried before it is handed out."""

PEAKS, AROUND = 64, 128
"""So many of the worst points are looked at closer, at so many points around each."""


def scattered(given: Given, count: int, seed: int) -> np.ndarray:
    """``count`` points of the box, count × variables: one in each of as many slices of every axis."""
    rng = np.random.default_rng(seed)
    low, high = given.box.low, given.box.high
    share = (np.arange(count) + rng.uniform(size=(low.size, count))) / count
    slices = rng.permuted(share, axis=1) if low.size > 1 else share
    return np.clip(low + (high - low) * slices.T, low, high)


def apart(network: Network, given: Given, X: np.ndarray, dtype: Precision) -> np.ndarray:
    """How far the network, computed in ``dtype``, is from the target at the points X: m × width.

    Each point (a row of X, m × variables) is a token. It is taken as ``dtype`` holds it, so that what
    the target does between X and the nearest such number counts for nothing.
    """
    tokens = X.astype(dtype)
    inside = np.clip(tokens.astype(float), given.box.low, given.box.high)
    return np.abs(reference.evaluate(network, tokens).astype(float) - given.values(inside))


def strayed(
    network: Network, given: Given, error: float, dtype: Precision, seed: int
) -> np.ndarray:
    """The fresh points at which the network is off by more than ``error``, the worst first."""
    X = scattered(given, POINTS, seed)
    worst = apart(network, given, X, dtype).max(axis=1)
    order = np.argsort(-worst)
    return X[order[: int((worst > error).sum())]]


def root_mean_square(network: Network, given: Given, dtype: Precision, seed: int) -> float:
    """The root of the mean of the squared error over the domain, the largest of all outputs."""
    X = scattered(given, 4 * POINTS, seed)
    squares = np.square(apart(network, given, X, dtype))
    return float(np.sqrt(squares.mean(axis=0).max()))


def worst(network: Network, given: Given, X: np.ndarray, dtype: Precision) -> float:
    """The largest error at the points X, and around the worst of them on all scales."""
    errors = apart(network, given, X, dtype).max(axis=1)
    near = np.repeat(X[np.argsort(-errors)[:PEAKS]], AROUND, axis=0)
    rng = np.random.default_rng(8)
    low, high = given.box.low, given.box.high
    away = rng.uniform(-1, 1, near.shape) * 10.0 ** rng.uniform(-8, -1, (len(near), 1))
    near = np.clip(near + away * (high - low), low, high)
    return max(float(errors.max()), float(apart(network, given, near, dtype).max()))
