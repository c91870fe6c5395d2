"""An explicit ReLU network, one hidden layer, for any continuous function with a known modulus."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.fft import dctn
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from anchorhead.domain import Box
from anchorhead.errors import (
    InputError,
    ShapeError,
    SizeError,
    require_array,
    require_integer,
    require_positive,
)
from anchorhead.theorems.relu import ReLUNetwork
from anchorhead.theorems.ridges import Ridges, hat_matrix, primitive_directions

__all__ = ["relu_approximator"]

FIT_POINTS = 2**14
"""Points of the grid on which candidates are fitted."""

CHECK_POINTS = 2**21
"""The largest grid on which a candidate is checked."""

UNKNOWNS = 3000
"""The largest least-squares problem that is solved."""

FIT_WORK = 2**30
"""The largest number of products that setting up one least-squares problem may take."""

BLOCK = 2**14
"""Points that are looked at together."""


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
    target = _OnCube(f, box)
    if target.dimension == 0:
        raise InputError("domain fixes every entry; give at least one pair with low below high")
    bound = _checked_modulus(modulus)
    side, room = _checking_grid(target, error, bound)
    for candidate in _candidates(target, error, limit) if room > 0 else ():
        if _proven(candidate, target, side, room):
            return candidate.to_relu(box, target.shape_out)
    return _smoothed(target, error, bound, limit).to_relu(box, target.shape_out)


class _OnCube:
    """f in the variables of the unit cube, its values flattened to one row a point."""

    def __init__(self, f: Callable[[np.ndarray], Any], box: Box):
        self.f, self.box = f, box
        self.free = (box.high > box.low).ravel()
        self.dimension = int(self.free.sum())
        self.sides = (box.high - box.low).ravel()[self.free]
        middle = self._arrays(np.full((2, self.dimension), 0.5))
        single = require_array("f(X)", f(middle[0]))
        if single.ndim != 2:
            raise ShapeError(
                f"f(X) has shape {single.shape} where tokens × features are needed; "
                f"return a two-dimensional array"
            )
        self.shape_out = single.shape[0], single.shape[1]
        self.takes_batches = self._agrees_on(middle, single)

    def _agrees_on(self, batch: np.ndarray, single: np.ndarray) -> bool:
        """Whether f takes a batch and gives the same for each array in it."""
        try:
            result = np.asarray(self.f(batch))
        except Exception:  # a function of one array may fail on a batch in any way
            return False
        return result.shape == (2, *single.shape) and bool((result == single).all())

    def _arrays(self, t: np.ndarray) -> np.ndarray:
        X = np.tile(self.box.low.ravel(), (len(t), 1))
        X[:, self.free] += t * self.sides
        return np.minimum(X, self.box.high.ravel()).reshape(len(t), *self.box.shape)

    def __call__(self, t: np.ndarray) -> np.ndarray:
        X = self._arrays(t)
        Y = self.f(X) if self.takes_batches else np.stack([np.asarray(self.f(x)) for x in X])
        return require_array("f(X)", Y).reshape(len(t), -1)


def _checked_modulus(modulus: Callable[[float], float]) -> Callable[[float], float]:
    def bound(delta: float) -> float:
        value = float(modulus(delta))
        if not (math.isfinite(value) and value >= 0):
            raise InputError(
                f"modulus({delta:.3g}) is {value} where a number of at least 0 is needed"
            )
        return value

    return bound


def _candidates(target: _OnCube, error: float, limit: int) -> Iterator[Ridges]:
    """Least-squares fits that are good enough on the fitting grid, smallest first."""
    D = target.dimension
    side = max(3, math.floor(FIT_POINTS ** (1 / D)))
    if side**D > CHECK_POINTS:
        return
    t = _grid(D, np.linspace(0, 1, side))
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
    hats = hat_matrix(directions, cells, t)
    normal = (hats.T @ hats).toarray()
    normal[np.diag_indices_from(normal)] += 1e-10 * normal.trace() / len(normal)
    try:
        solved = cho_solve(cho_factor(normal, overwrite_a=True), hats.T @ values)
    except LinAlgError:
        return None
    return Ridges(directions, cells, solved)


def _checking_grid(
    target: _OnCube, error: float, modulus: Callable[[float], float]
) -> tuple[int, float]:
    """Points along a side of the grid for proofs, and the error less what f moves between them."""
    longest, finest = float(target.sides.max()), math.floor(CHECK_POINTS ** (1 / target.dimension))
    side = 2
    while modulus(longest / (2 * side)) > error / 16 and side < finest:
        side = min(finest, math.ceil(side * 1.25))
    return side, error - modulus(longest / (2 * side))


def _proven(candidate: Ridges, target: _OnCube, side: int, room: float) -> bool:
    """Whether the candidate is everywhere as near as it must be, shown on a grid.

    Every point is within half a step of a grid point. Between them f moves by what ``room`` has been
    lessened by already, and the candidate by at most its reach.
    """
    ticks = (np.arange(side) + 0.5) / side
    for t in _grid_blocks(target.dimension, ticks):
        reached = np.abs(candidate(t) - target(t)) + candidate.reach(t, 0.5 / side)
        if reached.max() > room * (1 - 1e-9):
            return False
    return True


def _smoothed(
    target: _OnCube, error: float, modulus: Callable[[float], float], limit: int
) -> Ridges:
    """The Fejér–Korovkin mean of the target as a sum of ridges; its error is at most ``error``."""
    D = target.dimension
    degree = _degree(target, error / 2, modulus)
    lines = (2 * degree + 1) ** D / 2
    if (degree + 1) ** D > CHECK_POINTS or lines > 64 * limit:
        raise SizeError(_too_large(error, D, degree, f"more than {max(lines, limit):.2g}", limit))
    nodes = (np.arange(degree + 1) + 0.5) / (degree + 1)
    values = np.concatenate([target(t) for t in _grid_blocks(D, nodes)])
    cube = values.reshape(*(degree + 1,) * D, -1)
    axes = tuple(range(D))
    cosines = dctn(cube, type=2, axes=axes) / (degree + 1) ** D
    kernel = _kernel(degree)
    kernel[0] /= 2
    for axis in axes:
        cosines *= np.expand_dims(kernel, tuple(i for i in range(D + 1) if i != axis))
    ridges = _cosines_as_ridges(cosines, error / 2, limit)
    if isinstance(ridges, int):
        raise SizeError(_too_large(error, D, degree, f"{ridges:,}", limit))
    return ridges


def _too_large(error: float, D: int, degree: int, needed: str, limit: int) -> str:
    return (
        f"error {error:g} in {D} variables needs {needed} neurons (degree {degree}) where limit is "
        f"{limit:,}; raise limit, ask for a larger error, or give a smaller domain"
    )


def _degree(target: _OnCube, error: float, modulus: Callable[[float], float]) -> int:
    """The least degree at which the kernel's moments and the modulus promise ``error``."""

    def promised(degree: int) -> float:
        moment = math.pi**2 / 2 * (1 - math.cos(math.pi / (degree + 2)))
        T = math.sqrt(float((target.sides**2).sum()) / math.pi**2 * moment)
        return min((1 + 2.0**-i) * modulus(T * 2.0**i) for i in range(-24, 6))

    degree = 1
    while promised(degree) > error:
        degree *= 2
        if degree > 2**40:
            raise InputError(
                "modulus does not fall below the error even for the smallest steps; "
                "give one that tends to 0"
            )
    low = degree // 2
    while degree - low > 1:
        middle = (low + degree) // 2
        low, degree = (low, middle) if promised(middle) <= error else (middle, degree)
    return degree


def _kernel(degree: int) -> np.ndarray:
    """Coefficients ρ_0 … ρ_K of Fejér and Korovkin's kernel 1 + 2 Σ ρ_k cos kt ≥ 0."""
    k, angle = np.arange(degree + 1), math.pi / (degree + 2)
    upper = (degree - k + 3) * np.sin((k + 1) * angle)
    lower = (degree - k + 1) * np.sin((k - 1) * angle)
    return (upper - lower) / (2 * (degree + 2) * math.sin(angle))


def _cosines_as_ridges(cosines: np.ndarray, error: float, limit: int) -> Ridges | int:
    """Σ_k c_k Π_i cos(k_i π t_i) as ridges within ``error``, or the number of neurons it needs.

    A product of s cosines is the mean of the cosines of its 2^(s−1) signed frequencies. All multiples
    m a of one direction make one g_a(φ) = Σ_m c_ma cos(π m φ). Interpolated with step δ_a it is wrong
    by at most B_a δ_a², B_a = Σ_m |c_ma| (π m)²/8; the δ_a that need the fewest cells for
    Σ_a B_a δ_a² ≤ error are proportional to (|a|₁/B_a)^{1/3}.
    """
    waves = _by_direction(cosines)
    constant = cosines.reshape(-1, cosines.shape[-1])[0]
    directions = np.array(list(waves))
    lengths = np.abs(directions).sum(axis=1)
    bends = np.array(
        [
            np.sum([np.abs(c) * (math.pi * m) ** 2 / 8 for m, c in terms], axis=0).max()
            for terms in waves.values()
        ]
    )
    bends = np.maximum(bends, 1e-12 * bends.max() + 1e-300)
    shape = (lengths / bends) ** (1 / 3)
    step = shape * math.sqrt(error / float((bends * shape**2).sum()))
    wanted = np.ceil(lengths / step)
    if wanted.sum() > limit:
        return int(wanted.sum())
    cells = wanted.astype(int)
    values = []
    for (a, terms), count, length in zip(waves.items(), cells, lengths, strict=True):
        start = sum(min(entry, 0) for entry in a)
        phase = math.pi * (start + length * np.arange(count + 1) / count)
        values.append(sum(np.cos(m * phase)[:, None] * c for m, c in terms))
    values[0] = values[0] + constant
    return Ridges(directions, cells, np.concatenate(values))


def _by_direction(cosines: np.ndarray) -> dict[tuple[int, ...], list[tuple[int, np.ndarray]]]:
    """For each primitive direction, its multiples m and their coefficients."""
    waves: dict[tuple[int, ...], list[tuple[int, np.ndarray]]] = {}
    size, D = cosines.shape[0], cosines.ndim - 1
    for k in itertools.product(range(size), repeat=D):
        if not any(k):
            continue
        m = math.gcd(*k)
        signs = [(1,) if entry == 0 else (1, -1) for entry in k]
        lead = next(i for i, entry in enumerate(k) if entry)
        signs[lead] = (1,)
        patterns = list(itertools.product(*signs))
        for pattern in patterns:
            a = tuple(s * entry // m for s, entry in zip(pattern, k, strict=True))
            waves.setdefault(a, []).append((m, cosines[k] / len(patterns)))
    return waves


def _grid(D: int, ticks: np.ndarray) -> np.ndarray:
    return np.concatenate(list(_grid_blocks(D, ticks)))


def _grid_blocks(D: int, ticks: np.ndarray) -> Iterator[np.ndarray]:
    """The points of the tensor grid, in row-major order, a block at a time."""
    total = len(ticks) ** D
    for start in range(0, total, BLOCK):
        index = np.arange(start, min(start + BLOCK, total))
        yield ticks[np.stack(np.unravel_index(index, (len(ticks),) * D), axis=1)]
