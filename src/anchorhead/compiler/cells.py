"""Cells of an interval on which low polynomials are the function: how fine it is, and where.

The interval is cut until on every cell a Chebyshev interpolant has converged.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from anchorhead.heads.search import Target

__all__ = ["CUT", "FIRST_CELLS", "MOST_CELLS", "TINY", "crowded", "resolved", "with_overlooked"]

FIRST_CELLS = 13
"""Cells of the first look: with 17 points each, 209 points in all."""

CUT = 0.4938271604938271
"""Where a cell is cut: not in the middle, so that kinks at round numbers never fall on a cut, where
both sides would look smooth."""

MOST_CELLS = 4096
"""More than this and the function counts as rough everywhere."""

DEEPEST = 260
"""Cuts of one cell; a cell shrinks to 10⁻⁷⁸ of the interval, where floating point allows it."""

TINY = 2.0**-20
"""Cells below this part of the interval gather around a point where the function is not smooth."""

LOOKED = 4096
"""Points at which the interpolants on all cells are tried."""

MOST_OVERLOOKED = 6
"""Narrow features that are found that way at most."""

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, are spread evenly however many there are."""


def resolved(
    f: Target,
    low: float,
    high: float,
    tolerance: float,
    degree: int,
    watched: Sequence[float] = (),
) -> np.ndarray | None:
    """The ends of cells on which interpolants of this ``degree`` are good to ``tolerance``.

    None if there are too many. A cell counts as resolved when its last three Chebyshev coefficients
    are below the tolerance, or below what rounding makes of its values; or when floating point
    cannot cut it.
    """
    nodes = (1 - np.cos(np.pi * np.arange(degree + 1) / degree)) / 2
    last = _last_coefficients(degree)
    ends = _first_ends(low, high, watched)
    left, right = ends[:-1], ends[1:]
    done, largest = [left], 0.0
    for _ in range(DEEPEST):
        y = left[:, None] + (right - left)[:, None] * nodes
        y[:, -1] = right
        values = f(y.ravel()).reshape(len(left), degree + 1, -1)
        tails = np.abs(np.einsum("tn,cnw->ctw", last, values)).max(axis=(1, 2))
        sizes = np.abs(values).max(axis=(1, 2))
        largest = max(largest, float(sizes.max()))
        floor = 16 * np.finfo(float).eps * np.maximum(sizes, largest / 64)
        cut = left + CUT * (right - left)
        rough = (tails > np.maximum(tolerance, floor)) & (cut > left) & (cut < right)
        rough &= right - left > 16 * np.spacing(np.maximum(np.abs(left), np.abs(right)))
        if not rough.any():
            break
        left, cut, right = left[rough], cut[rough], right[rough]
        done.append(cut)
        left, right = np.concatenate([left, cut]), np.concatenate([cut, right])
        if sum(map(len, done)) > MOST_CELLS:
            return None
    return np.append(np.unique(np.concatenate(done)), high)


def crowded(ends: Sequence[float]) -> np.ndarray:
    """Points of the interval, even in every piece and crowding toward all its ends on all scales."""
    share = np.concatenate([np.linspace(0, 1, 65), np.geomspace(1e-30, 0.5, 120)])
    parts = [np.array([ends[0], ends[-1]])]
    for a, b in pairwise(ends):
        parts += [a + share * (b - a), b - share * (b - a)]
    return np.unique(np.clip(np.concatenate(parts), ends[0], ends[-1]))


def with_overlooked(
    f: Target, low: float, high: float, tolerance: float, watched: Sequence[float]
) -> list[float]:
    """The points that are watched, and those where f is not what its cells say it is.

    On every cell the interpolant is compared with f between its points, LOOKED times in all.
    """
    found = list(watched)
    for _ in range(MOST_OVERLOOKED):
        ends = resolved(f, low, high, tolerance / 10, 8, found)
        point = None if ends is None else _misread(f, ends, tolerance)
        if point is None:
            break
        found.append(point)
    return found


def _misread(f: Target, ends: np.ndarray, tolerance: float) -> float | None:
    """The point where the cells' interpolants are worst, if they are off by more than ``tolerance``."""
    left, sizes = ends[:-1], np.diff(ends)
    large = sizes > TINY * (ends[-1] - ends[0])
    if not large.any():
        return None
    left, sizes = left[large], sizes[large]
    nodes = (1 - np.cos(np.pi * np.arange(9) / 8)) / 2
    t = (np.arange(max(6, LOOKED // len(left))) * GOLDEN + 0.1) % 1
    weights = np.where(np.arange(9) % 2, -1.0, 1.0) * np.where(np.arange(9) % 8, 1.0, 0.5)
    M = weights / (t[:, None] - nodes)
    M /= M.sum(axis=1, keepdims=True)
    at_nodes = f((left[:, None] + sizes[:, None] * nodes).ravel()).reshape(len(left), 9, -1)
    y = left[:, None] + sizes[:, None] * t
    off = np.abs(np.einsum("tn,cnw->ctw", M, at_nodes) - f(y.ravel()).reshape(*y.shape, -1))
    off = off.max(axis=2)
    worst = int(off.argmax())
    return float(y.ravel()[worst]) if off.ravel()[worst] > tolerance else None


def _first_ends(low: float, high: float, watched: Sequence[float]) -> np.ndarray:
    """Even cells, and around each point that is watched cells that halve toward it."""
    ends = np.linspace(low, high, FIRST_CELLS + 1)
    reach = (high - low) * 2.0 ** -np.arange(5, 16)
    near = [point + side * reach for point in watched for side in (-1, 1)]
    if near:
        ends = np.union1d(ends, np.concatenate(near))
    return ends[(ends >= low) & (ends <= high)]


def _last_coefficients(degree: int) -> np.ndarray:
    """The matrix from values at a cell's points to the last three Chebyshev coefficients."""
    j, k = np.arange(degree + 1), np.arange(degree - 2, degree + 1)
    matrix = 2 / degree * np.cos(np.pi * k[:, None] * j / degree)
    matrix[:, [0, -1]] /= 2
    matrix[-1] /= 2
    return matrix
