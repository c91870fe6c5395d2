"""What a network really answers at points nobody chose: the last word on a target that is a black box.

A callable can be sampled, never proven. The points are fresh, and spread so that each equal part of
the domain holds one.
"""

from __future__ import annotations

from itertools import islice, product

import numpy as np

from anchorhead.compiler.cells import crowded
from anchorhead.compiler.target import Given
from anchorhead.errors import PrecisionError
from anchorhead.heads.response import Precision
from anchorhead.network import Network
from anchorhead.run import numpy as reference

__all__ = ["POINTS", "apart", "root_mean_square", "scattered", "spread", "strayed", "worst"]

POINTS = 4096
"""Fresh points at which every network is tried before it is handed out."""

PEAKS, AROUND = 64, 128
"""So many of the worst points are looked at closer, at so many points around each."""


def scattered(given: Given, count: int, seed: int) -> np.ndarray:
    """``count`` points of the box, count × variables: one in each of as many slices of every axis."""
    return _placed(given, _shares(given, count, seed))


def spread(given: Given, count: int, seed: int) -> np.ndarray:
    """``count`` points like ``scattered``, and more where volume is small.

    Of one variable they crowd toward both ends; of several, every other lies on faces and edges as
    well, and corners are among them.
    """
    shares = _shares(given, count, seed)
    if given.box.low.size == 1:
        return np.concatenate(
            [_placed(given, shares), crowded([*given.box.low, *given.box.high])[:, None]]
        )
    rng = np.random.default_rng(seed)
    outer = np.where(rng.uniform(size=shares.shape) < 0.5, np.rint(shares), shares)[::2]
    corners = np.array(list(islice(product((0.0, 1.0), repeat=given.box.low.size), count)))
    return _placed(given, np.concatenate([shares, outer, corners]))


def _shares(given: Given, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    variables = given.box.low.size
    share = (np.arange(count) + rng.uniform(size=(variables, count))) / count
    return (rng.permuted(share, axis=1) if variables > 1 else share).T


def _placed(given: Given, shares: np.ndarray) -> np.ndarray:
    low, high = given.box.low, given.box.high
    return np.clip(low + (high - low) * shares, low, high)


def apart(network: Network, given: Given, X: np.ndarray, dtype: Precision) -> np.ndarray:
    """How far the network, computed in ``dtype``, is from the target at the points X: m × width.

    Each point (a row of X, m × variables) is a token. It is taken as ``dtype`` holds it, so that what
    the target does between X and the nearest such number counts for nothing.
    """
    with np.errstate(over="ignore", under="ignore"):
        tokens = X.astype(dtype)
    if not np.isfinite(tokens).all():
        raise PrecisionError(f"domain is beyond what {dtype} holds; scale it to moderate size")
    inside = np.clip(tokens.astype(float), given.box.low, given.box.high)
    return np.abs(reference.evaluate(network, tokens).astype(float) - given.values(inside))


def strayed(
    network: Network, given: Given, error: float, dtype: Precision, seed: int
) -> np.ndarray:
    """The fresh points at which the network is off by more than ``error``, the worst first.

    Several variables are tried again around the worst points.
    """
    X = spread(given, POINTS, seed)
    errors = apart(network, given, X, dtype).max(axis=1)
    if given.box.low.size > 1:
        near = _around(given, X[np.argsort(-errors)[: PEAKS // 4]], seed)
        X = np.concatenate([X, near])
        errors = np.append(errors, apart(network, given, near, dtype).max(axis=1))
    order = np.argsort(-errors)
    return X[order[: int((errors > error).sum())]]


def root_mean_square(network: Network, given: Given, dtype: Precision, seed: int) -> float:
    """The root of the mean of the squared error over the domain, the largest of all outputs."""
    X = scattered(given, 4 * POINTS, seed)
    squares = np.square(apart(network, given, X, dtype))
    return float(np.sqrt(squares.mean(axis=0).max()))


def worst(network: Network, given: Given, X: np.ndarray, dtype: Precision) -> float:
    """The largest error at the points X, and around the worst of them; infinite where it overflows."""
    try:
        errors = apart(network, given, X, dtype).max(axis=1)
        near = _around(given, X[np.argsort(-errors)[:PEAKS]], seed=8)
        return max(float(errors.max()), float(apart(network, given, near, dtype).max()))
    except PrecisionError:
        return np.inf


def _around(given: Given, X: np.ndarray, seed: int) -> np.ndarray:
    """AROUND points of the box near each of the points X, on all scales."""
    rng = np.random.default_rng(seed)
    near = np.repeat(X, AROUND, axis=0)
    away = rng.uniform(-1, 1, near.shape) * 10.0 ** rng.uniform(-8, -1, (len(near), 1))
    return np.clip(near + away * (given.box.high - given.box.low), given.box.low, given.box.high)
