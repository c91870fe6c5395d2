"""An explicit ReLU network, one hidden layer, for any continuous function with a known modulus."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anchorhead.domain import Box
from anchorhead.errors import (
    InputError,
    ShapeError,
    require_integer,
    require_positive,
)
from anchorhead.theorems.cube import OnCube, grid, grid_blocks
from anchorhead.theorems.relu import ReLUNetwork
from anchorhead.theorems.ridges import Ridges, hat_matrix, primitive_directions
from anchorhead.theorems.smoothing import smoothed

__all__ = ["relu_approximator"]

FIT_POINTS = 2**14
"""Points of the grid on which candidates are fitted."""

CHECK_POINTS = 2**21
"""The largest grid on which a candidate is checked."""

UNKNOWNS = 3000
"""The largest least-squares problem that is solved."""

FIT_WORK = 2**30
"""The largest number of products that setting up one least-squares problem may take."""


def relu_approximator(
    f: Callable[[np.ndarray], Any],
    domain: Any,
    error: float,
    modulus: Callable[[float], float],
    *,
    limit: int = 20_000,
) -> ReLUNetwork:
    """A ReLU network that differs from f by at most ``error`` in every entry, on the whole box.

    Statement. Let f be continuous on the box with |f(X) − f(Y)| ≤ modulus(δ) in every entry whenever
    |X − Y| ≤ δ in every entry. Then there is a ReLU network with one hidden layer within ``error``
    of f, and this function gives one, a sum of ridge functions Σ_a g_a(a·x) with integer a.

    Small networks are tried first: directions with entries up to A, equal cells, knot values by
    least squares. A candidate is taken only if it is proven on a grid: a point of the box is within
    half a step of a grid point, where f moves by at most the modulus and the candidate by at most
    its own slopes allow.

    If none within ``limit`` neurons passes, the classical construction is used, which needs no
    luck: f, continued evenly and periodically in each variable, is smoothed by the positive kernel
    of Fejér and Korovkin of degree K, on the (K+1)^D points where f has to be known. Its moment
    E|t|² ≤ (π²/2)(1 − cos(π/(K+2))) gives an error of at most (1 + T/δ) modulus(δ) for every δ > 0,
    T² = Σ_i (ℓ_i/π)² E|t|² with the box's sides ℓ_i. The result is a sum of cosines of integer
    directions, each replaced by its piecewise linear interpolant. The size is exponential in the
    number of entries: about (2K)^D directions.

    Args:
        f: Takes an n×d array (or a batch of them) to an n'×d' array (or a batch).
        domain: A ``Box`` of n×d arrays, pairs (low, high) nested likewise, or a flat list of pairs
            for n tokens of one feature.
        error: The largest difference allowed in any entry.
        modulus: A modulus of continuity of f in the largest-entry norm, such as
            ``lambda delta: 3 * delta`` for a Lipschitz constant of 3.
        limit: The largest number of neurons.

    Raises:
        SizeError: More neurons are needed; the message says how many.
    """
    error = require_positive("error", error)
    limit = require_integer("limit", limit, least=1)
    box = Box.of(domain)
    box = box.reshape((*box.shape, 1)) if len(box.shape) == 1 else box
    if len(box.shape) != 2:
        raise ShapeError(f"domain has shape {box.shape} where tokens × features are needed")
    target = OnCube(f, box)
    if target.dimension == 0:
        raise InputError("domain fixes every entry; give at least one pair with low below high")
    bound = _checked_modulus(modulus)
    side, room = _checking_grid(target, error, bound)
    doubts = np.empty((0, target.dimension))
    for candidate in _candidates(target, error, limit) if room > 0 else ():
        against = _counterexample(candidate, target, side, room, doubts)
        if against is None:
            return candidate.to_relu(box, target.shape_out)
        doubts = np.vstack([doubts, against])
    return smoothed(target, error, bound, limit).to_relu(box, target.shape_out)


def _checked_modulus(modulus: Callable[[float], float]) -> Callable[[float], float]:
    def bound(delta: float) -> float:
        try:
            value = float(modulus(delta))
        except TypeError:
            raise InputError(
                "modulus is not a function from a distance to a number; give one, such as "
                "lambda delta: 3 * delta"
            ) from None
        if not (math.isfinite(value) and value >= 0):
            raise InputError(
                f"modulus({delta:.3g}) is {value} where a number of at least 0 is needed"
            )
        return value

    return bound


def _candidates(target: OnCube, error: float, limit: int) -> Iterator[Ridges]:
    """Least-squares fits that are good enough on the fitting grid, smallest first."""
    D = target.dimension
    side = max(3, math.floor(FIT_POINTS ** (1 / D)))
    if side**D > CHECK_POINTS:
        return
    t = grid(D, np.linspace(0, 1, side))
    values = target(t)
    sizes = sorted({round(2 ** (i / 2)) for i in range(2 * limit.bit_length())})
    shapes = []
    for largest in range(1, 9):
        if (2 * largest + 1) ** D > 2 * UNKNOWNS:
            break
        directions = primitive_directions(D, largest)
        shapes += [(len(directions) * cells, cells, directions) for cells in sizes]
    for hidden, cells, directions in sorted(shapes, key=lambda shape: shape[:2]):
        work = len(t) * (2 * len(directions)) ** 2
        if hidden + len(directions) <= UNKNOWNS and hidden <= limit and work <= FIT_WORK:
            fit = _fitted(directions, np.full(len(directions), cells), t, values)
            if fit is not None and np.abs(fit(t) - values).max() < error:
                yield fit


def _fitted(
    directions: np.ndarray, cells: np.ndarray, t: np.ndarray, values: np.ndarray
) -> Ridges | None:
    """Knot values by least squares; a trace of damping picks the smallest of equal fits."""
    from scipy.linalg import cho_factor, cho_solve

    hats = hat_matrix(directions, cells, t)
    normal = (hats.T @ hats).toarray()
    normal[np.diag_indices_from(normal)] += 1e-10 * normal.trace() / len(normal)
    try:
        solved = cho_solve(cho_factor(normal, overwrite_a=True), hats.T @ values)
    except np.linalg.LinAlgError:
        return None
    return Ridges(directions, cells, solved)


def _checking_grid(
    target: OnCube, error: float, modulus: Callable[[float], float]
) -> tuple[int, float]:
    """Points along a side of the grid for proofs, and the error less what f moves between them."""
    longest, finest = float(target.sides.max()), math.floor(CHECK_POINTS ** (1 / target.dimension))
    side = 2
    while modulus(longest / (2 * side)) > error / 16 and side < finest:
        side = min(finest, math.ceil(side * 1.25))
    return side, error - modulus(longest / (2 * side))


def _counterexample(
    candidate: Ridges, target: OnCube, side: int, room: float, doubts: np.ndarray
) -> np.ndarray | None:
    """A point where the candidate is not shown to be near enough, or None: then it is everywhere.

    Every point is within half a step of a grid point. Between them f moves by what ``room`` has been
    lessened by already, and the candidate by at most its reach. ``doubts``, grid points that spoke
    against earlier candidates, are looked at first.
    """
    ticks = (np.arange(side) + 0.5) / side
    for t in itertools.chain([doubts], grid_blocks(target.dimension, ticks)):
        if len(t) == 0:
            continue
        values = target(t)
        reached = np.abs(candidate(t) - values) + candidate.reach(t, 0.5 / side)
        rounding = 1e-10 * (room + np.abs(values).max())
        if reached.max() > room - rounding:
            return t[reached.max(axis=1).argmax()]
    return None
