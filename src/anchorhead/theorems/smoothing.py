"""Fejér and Korovkin's mean of a continuous function as a sum of ridges: it needs no luck.

f on the unit cube, continued evenly and periodically in each variable, is smoothed by a positive
kernel of degree K. The mean is taken over the 2(K+1) equally spaced points of each circle, which is
exact for trigonometric polynomials up to degree 2K+1: so the weights are positive, their sum is 1 and
the mean of 1 − cos t under them is that of the kernel, 1 − ρ_1 = 1 − cos(π/(K+2)). By the even
continuation f has to be known at (K+1)^D points only. The distance T from a point to where f is looked
at then has E T² ≤ Σ_i (ℓ_i/π)² (π²/2)(1 − ρ_1), and f differs there by at most ω(T) ≤ (1 + T/δ) ω(δ),
because a box lets one walk from X to Y in ⌈T/δ⌉ steps of δ. The result is a sum of cosines of integer
directions, and each direction's cosines are interpolated piecewise linearly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from anchorhead.errors import InputError, SizeError
from anchorhead.theorems.cube import OnCube, grid_blocks
from anchorhead.theorems.ridges import Ridges

__all__ = ["smoothed"]

MOST_POINTS = 2**21
"""The largest number of points at which the function is asked for."""


def smoothed(target: OnCube, error: float, modulus: Callable[[float], float], limit: int) -> Ridges:
    """The Fejér–Korovkin mean of the target as a sum of ridges; its error is at most ``error``."""
    from scipy.fft import dctn

    D = target.dimension
    degree = _degree(target, error / 2, modulus)
    lines = D * math.log10(2 * degree + 1) - math.log10(2)
    if (degree + 1) ** D > MOST_POINTS or lines > math.log10(64 * limit):
        least = max(lines, math.log10(limit))
        needed = f"more than 10^{least:.0f}" if least > 9 else f"more than {10**least:,.0f}"
        raise SizeError(_too_large(error, D, degree, needed, limit))
    nodes = (np.arange(degree + 1) + 0.5) / (degree + 1)
    values = np.concatenate([target(t) for t in grid_blocks(D, nodes)])
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


def _degree(target: OnCube, error: float, modulus: Callable[[float], float]) -> int:
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
