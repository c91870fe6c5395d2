"""Mixtures F = Σ_k v_k e^{s_k} / Σ_k e^{s_k} as series: what a softmax head gives on a cell.

A function added to all scores changes nothing: scores are taken relative to the largest at the cell's
middle and to the mean slope there, so that over the cell only what differs from what matters there
spreads. Where the keys are a grid, scores being sums over the coordinates, the weights are products of
the weights of each coordinate, series in one variable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, arb_mat, arb_series

from anchorhead.enclosure.expressions import ZERO, Sum
from anchorhead.enclosure.series import Jet, Series, exponents, function

if TYPE_CHECKING:
    from anchorhead.enclosure.place import Numbers, Place

__all__ = ["Grid", "grid_of", "mixture"]

UNIT = arb(0, 1)
"""The ball [−1, 1]."""

Pair = tuple[Series, Series]
"""A series at the middle of a cell, and one that holds for every point of it."""

Grid = list[list[tuple[arb, arb]]]
"""For each coordinate the constants and slopes of its scores; keys run with the last one fastest."""


def grid_of(scores: Sequence[Sum], variables: int) -> Grid | None:
    """The scores as sums over the coordinates, where keys are a grid in row-major order, exactly."""
    if variables < 2 or any(s.rest for s in scores):
        return None
    slopes = [tuple(dict(s.lin).get(a, ZERO) for a in range(variables)) for s in scores]
    sizes = [len({row[a] for row in slopes}) for a in range(variables)]
    if math.prod(sizes) != len(scores) or min(sizes) < 2:
        return None
    index = np.arange(len(scores)).reshape(sizes)
    axes = []
    for a in range(variables):
        line = np.moveaxis(index, a, 0).reshape(sizes[a], -1)[:, 0].tolist()
        axes.append([(scores[k].const - scores[0].const, slopes[k][a]) for k in line])
    for place, at in np.ndenumerate(index):
        k = int(at)
        parts = [axis[i] for axis, i in zip(axes, place, strict=True)]
        const = sum((c for c, _ in parts), scores[0].const)
        if const != scores[k].const or tuple(slope for _, slope in parts) != slopes[k]:
            return None
    return [[(arb(c), arb(slope)) for c, slope in axis] for axis in axes]


def mixture(place: Place, scores: Sequence[Numbers], values: Sequence[Numbers]) -> Pair:
    """The series of a mixture over the cell that ``place`` is."""
    if any(rest for _, _, rest in scores) or any(rest for _, _, rest in values):
        return _general(place, scores, values)
    weights = [_scaled(place, const, lin) for const, lin, _ in scores]
    s, wide, slopes = _relative([x for x, _ in weights], [row for _, row in weights])
    if place.variables == 1:
        return _weighted(place, _exponentials(s, wide, [row[0] for row in slopes]), values)
    return _in_several(place, (s, wide), slopes, values)


def _scaled(place: Place, const: arb, lin: Sequence[tuple[int, arb]]) -> tuple[arb, list[arb]]:
    """An affine score at the middle of the cell, and its slopes in t."""
    slopes = [arb(0)] * place.variables
    for a, c in lin:
        const += c * place.middle[a]
        if a < place.variables:
            slopes[a] = c * place.half[a]
    return const, slopes


def _relative(
    s: list[arb], slopes: list[list[arb]]
) -> tuple[list[arb], list[arb], list[list[arb]]]:
    """Scores at the middle, over the cell, and slopes, relative to what matters there."""
    heights = np.array([float(x) for x in s])
    with np.errstate(all="ignore"):  # what overflows has no value, and its range serves
        weights = np.exp(heights - heights.max())
        mean = weights @ np.array([[float(x) for x in row] for row in slopes]) / weights.sum()
    shift, centre = arb(float(heights.max())), [arb(float(x)) for x in mean]
    s = [x - shift for x in s]
    slopes = [[x - c for x, c in zip(row, centre, strict=True)] for row in slopes]
    wide = [reduce(_add_spread, row, x) for x, row in zip(s, slopes, strict=True)]
    return s, wide, slopes


def _add_spread(total: arb, slope: arb) -> arb:
    return total + slope * UNIT


def _exponentials(s: list[arb], wide: list[arb], slopes: list[arb]) -> list[Pair]:
    """e^{s + slope t} in one variable."""
    return [
        (arb_series([x, slope]).exp(), arb_series([w, slope]).exp())
        for x, w, slope in zip(s, wide, slopes, strict=True)
    ]


def _general(place: Place, scores: Sequence[Numbers], values: Sequence[Numbers]) -> Pair:
    """Scores or values that are no affine functions."""
    pairs = [place.pair(score) for score in scores]
    shift = arb(-max(float(P[0]) for P, _ in pairs))
    E = [(function("exp", P + shift), function("exp", R + shift)) for P, R in pairs]
    return _weighted(place, E, values)


def _weighted(place: Place, E: Sequence[Pair], values: Sequence[Numbers]) -> Pair:
    """Σ v_k e_k / Σ e_k."""
    quotient = []
    terms = [place.pair(v) if v[1] or v[2] else (v[0], v[0]) for v in values]
    for i in range(2):
        N = reduce(_plus, (e[i] * v[i] for e, v in zip(E, terms, strict=True)))
        D = reduce(_plus, (e[i] for e in E))
        quotient.append(N * function("inv", D))
    return quotient[0], quotient[1]


def _plus(a: Series, b: Series) -> Series:
    return a + b


def _in_several(
    place: Place, s: tuple[list[arb], list[arb]], slopes: list, values: Sequence[Numbers]
) -> Pair:
    """Scores affine in several variables: sums of weights times monomials, as matrix products.

    An affine value is its constant and, for each coordinate it has, the coordinate times a number.
    """
    G = arb_mat([_monomials(row, place.shape) for row in slopes])
    rows = [[arb(1)] * len(values), [v[0] for v in values]]
    affine = sorted({a for v in values for a, _ in v[1]})
    rows += [[dict(v[1]).get(a, arb(0)) for v in values] for a in affine]
    made = []
    for which, scores in enumerate(s):
        e = [x.exp() for x in scores]
        W = arb_mat([[r * x for r, x in zip(row, e, strict=True)] for row in rows])
        D, N, *others = (Jet(place.shape, list(c)) for c in (W * G).tolist())
        for a, other in zip(affine, others, strict=True):
            N = N + other * place.affine(arb(0), [(a, arb(1))])[which]
        made.append(N * function("inv", D))
    return made[0], made[1]


def _monomials(slopes: Sequence[arb], shape: tuple[int, int]) -> list[arb]:
    """The coefficients s^κ/κ! of exp(Σ s_a t_a)."""
    powers = []
    for s in slopes:
        row = [arb(1)]
        for i in range(1, shape[1] + 1):
            row.append(row[-1] * s / i)
        powers.append(row)
    return [reduce(arb.__mul__, (powers[a][i] for a, i in enumerate(k))) for k in exponents(*shape)]


def gridded(place: Place, grid: Grid, values: Sequence[Numbers]) -> Pair:
    """The mixture of a grid of keys with constant values: the tensor of values times all weights.

    Coordinate by coordinate T_k = Σ_i w_i[k] T_i, k the power of t. Large values cancel at the middle
    of the cell, and not in balls: over the cell coefficients are taken from those at the middle,
    w[k](t) = Σ_{j<q} C(j, k) w[j] t^{j−k} + C(q, k) w[q](τ) t^{q−k}, after the sum.
    """
    terms = place.shape[1] + 1
    middle = whole = [v[0] for v in values]
    for a, axis in enumerate(grid):  # contract the leading index, put that of the powers last
        weights = _axis_weights(place, a, axis)
        at, over = (arb_mat([[w[i][k] for w in weights] for k in range(terms)]) for i in range(2))
        shape = len(weights), len(middle) // len(weights)
        spread, last = _shifted(place.shape[1])
        W = arb_mat(*shape, whole)
        known = spread * (at * W) + last * (over * W)
        middle = (at * arb_mat(*shape, middle)).transpose().entries()
        whole = known.transpose().entries()
    index = [np.ravel_multi_index(k, (terms,) * len(grid)) for k in exponents(*place.shape)]
    made = (Jet(place.shape, [T[i] for i in index]) for T in (middle, whole))
    return next(made), next(made)


@lru_cache
def _shifted(order: int) -> tuple[arb_mat, arb_mat]:
    """Two matrices: C(j, k) [−1, 1]^{j−k} for j below the order, and for j the order, by k and j."""
    both = ([], [])
    for k in range(order + 1):
        for which, rows in enumerate(both):
            rows.append(
                [
                    arb(math.comb(j, k)) * (UNIT if j > k else 1) * ((j == order) == bool(which))
                    for j in range(order + 1)
                ]
            )
    return arb_mat(both[0]), arb_mat(both[1])


def _axis_weights(place: Place, a: int, axis: list[tuple[arb, arb]]) -> list[Pair]:
    """The softmax weights of one coordinate as series in it."""
    s = [const + slope * place.middle[a] for const, slope in axis]
    s, wide, slopes = _relative(s, [[slope * place.half[a]] for _, slope in axis])
    E = _exponentials(s, wide, [row[0] for row in slopes])
    inverse = [function("inv", reduce(_plus, (e[i] for e in E))) for i in range(2)]
    return [(e[0] * inverse[0], e[1] * inverse[1]) for e in E]
