"""Products and signed sums: what a head's positive weights give exactly, and what nearly.

The product. Let a = δξ, b = δη with (ξ, η) in the square [−1, 1]², and let anchors stand at points z
of that square with weights w_z that sum to 1: scores (a, b)·z + log w_z. Four of them stand at the
corners with the same weight A and the values ±V, V = (1 + κ')/(4Aδ²), the sign that of the product
of the corner's coordinates; all others have the value 0. The numerator is then 4AV sinh a sinh b, and

    F = (1 + κ') ξη I/D,    D = Σ_z w_z e^{(a,b)·z},    I = (sinh a / a)(sinh b / b).

I is the mean of e^{(a,b)·z} over the square. So anchors are a cubature of the square with positive
weights and equal corners: the anchors of value 0 only make the normaliser right, and a rule of
degree m makes F the product up to order δ^{m+1}. Four corners are the rule of degree 1 (F = V tanh a
tanh b); with the centre, weights 1, 1, 1, 1, 8, it is of degree 3, as Simpson's; 10 points do for
degree 5, 13 for degree 7.

Statement. Let μ_ij be the rule's moments, e_ij = (μ_ij − 1/((i+1)(j+1)))/(i! j!) for even i, j with
i + j = m + 1, P and −N the sums of the positive and of the negative e_ij, h = (P + N)/2, C = max(P, N)
and κ' = (P − N)/2 · δ^{m+1}. Then for δ ≤ 1/8, everywhere on the square, exactly computed,

    |F − ξη| ≤ δ^{m+1} (h + (d + 3C) δ²),    d = 1.01 · 2^{m+3}/(m+3)!.

Proof. By symmetry odd moments vanish, and D − I = δ^{m+1}(L + r) with L = Σ e_ij ξ^i η^j in [−N, P].
The moments of both lie in [0, 1], so the terms of order 2l of D − I are together at most
(|a| + |b|)^{2l}/(2l)! ≤ (2δ)^{2l}/(2l)!, and |r| ≤ dδ². As 1 ≤ D ≤ cosh 2δ ≤ 1 + 2.1δ²,
I/D − 1 = −δ^{m+1} L up to δ^{m+1}(dδ² + 2.1Cδ²). Multiplied by 1 + κ' it leaves |κ' − δ^{m+1} L| ≤
δ^{m+1} h, and the product of two small terms, at most δ^{2m+2} C(C + dδ²)/2 ≤ 0.9Cδ^{m+3}, as C ≤ 2/3
for these rules.

Rounding. With u = 2⁻⁵³ and exp within one unit in the last place, the weights p of the four corners
have relative errors that differ by at most 2u from exp, 2u from the shift by the largest score (log
w_z/A < 4 for these rules), u each from division and product, and 3u from adding them up; next to
nothing from scores, whose intercept at the corners is 0. Σ p|V| is 1/δ², up to less than a tenth. All
else is relative to F itself, at most 64u. So rounding adds 10u/δ² + 64u. Both, times max|x| max|y|,
are the bound of ``product``; δ is where they are least together, or larger where the error allows.

The signed sum. For |κ g_i| < 1 the scores log((1 ± κ g_i)/2) of a token (value x_i) and its mirror
image (value −x_i) have exponentials that add up to 1, so the normaliser is N and the head gives
(κ/N) Σ g_i x_i exactly. In float64, with scores from ``mirrored``, within (4N + 24)u max|x_i|: a score
l is rounded by at most (3|l| + 3)u when it is made and (|l| + 1)u when the largest is subtracted, and
exp adds 2u; with its weight, e^l/N, this is at most 9u over all tokens, since e^l |l| adds up to at
most log 2 for a pair. It counts twice, in the numerator and in the normaliser, as do the sums over
2N terms, 2N u in any order; forming κ g_i, division and products are the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorhead.errors import (
    InputError,
    PrecisionError,
    require_array,
    require_integer,
    require_number,
    require_positive,
    require_range,
    require_shape,
)
from anchorhead.heads.ramp import ROUNDOFF
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network

__all__ = ["Product", "SignedSum", "mirrored", "product", "signed_sum"]

SOFTEST = 2.0**-3
"""The largest δ: up to here the bound's remainder is proven."""


@dataclass(frozen=True, eq=False)
class Product:
    """A network n×2 → n×1 that multiplies the two features of each token.

    ``bound`` is proven on the domain, rounding in float64 included; ``error`` is the largest that
    was measured on a grid of the domain with its corners, dense toward its edges.
    """

    network: Network
    bound: float
    error: float


@dataclass(frozen=True, eq=False)
class SignedSum:
    """A network N×(d + 2) → N×d that writes (κ/N) Σ g_i x_i to every token.

    ``bound`` is proven and ``error`` measured, on random tokens and on the largest |κ g_i|; both are
    in units of the largest |x_i|, rounding in float64 included: there is no other error.
    """

    network: Network
    bound: float
    error: float


@dataclass(frozen=True, eq=False)
class _Rule:
    """A cubature of [−1, 1]²: orbits (s, t, weight) under changes of sign, the corners first."""

    degree: int
    orbits: tuple[tuple[float, float, float], ...]

    @property
    def nodes(self) -> np.ndarray:
        """Rows (s, t, weight), the first four the corners."""
        return np.array(
            [
                (sign_s * s, sign_t * t, weight)
                for s, t, weight in self.orbits
                for sign_s in ((1, -1) if s else (1,))
                for sign_t in ((1, -1) if t else (1,))
            ]
        )

    @property
    def leading(self) -> tuple[float, float]:
        """P and N: the positive and the negative part of the error's terms of order m + 1."""
        s, t, w = self.nodes.T
        order = self.degree + 1
        terms = [
            (float(w @ (s**i * t ** (order - i))) - 1 / ((i + 1) * (order - i + 1)))
            / (math.factorial(i) * math.factorial(order - i))
            for i in range(0, order + 1, 2)
        ]
        return sum(e for e in terms if e > 0), -sum(e for e in terms if e < 0)

    def error(self, delta: float) -> tuple[float, float]:
        """How far F may be from ξη: in exact arithmetic, and what rounding adds."""
        order, (above, below) = self.degree + 1, self.leading
        d = 1.01 * 2.0 ** (order + 2) / math.factorial(order + 2)
        rest = (d + 3 * max(above, below)) * delta**2
        return delta**order * ((above + below) / 2 + rest), (10 / delta**2 + 64) * ROUNDOFF

    def delta(self, error: float) -> float:
        """The largest δ within ``error``; where there is none, about that of the least error.

        Truncation ~ δ^{m+1} h and rounding 10u/δ² are least together where δ^{m+3} = 20u/((m+1)h).
        """
        order, half = self.degree + 1, sum(self.leading) / 2
        low, high = (20 * ROUNDOFF / (order * half)) ** (1 / (order + 2)), SOFTEST
        if sum(self.error(high)) <= error:
            return high
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(self.error(middle)) <= error else (low, middle)
        return low


RULES = (
    _Rule(1, ((1, 1, 1 / 4),)),
    _Rule(3, ((1, 1, 1 / 12), (0, 0, 2 / 3))),
    _Rule(
        5,
        (
            (1, 1, 1 / 44),
            (math.sqrt(1 / 12), math.sqrt(9 / 20), 40 / 297),
            (math.sqrt(8 / 15), 0, 5 / 27),
        ),
    ),
    _Rule(
        7,
        (
            (1, 1, 1 / 100),
            (math.sqrt(3 / 8), math.sqrt(3 / 8), 256 / 2025),
            (math.sqrt(6 / 7), 0, 49 / 810),
            (0, math.sqrt(6 / 7), 49 / 810),
            (0, 0, 86 / 405),
        ),
    ),
)
"""With 4, 5, 10 and 13 points."""


def product(low_x: float, high_x: float, low_y: float, high_y: float, error: float) -> Product:
    """The network n×2 → n×1, for any n, that takes a token (x, y) to x·y within ``error``.

    One head over as few constant anchors as the error takes: 4, 5, 10 or 13. Relative to max|x| max|y|
    they reach 4e-8, 7e-11, 2e-12 and 2e-13; the head is centred at 0, whatever the domain.

    Args:
        low_x: Where x begins.
        high_x: Where x ends.
        low_y: Where y begins.
        high_y: Where y ends.
        error: The largest error allowed on the domain, rounding included.

    Raises:
        PrecisionError: The error is below what float64 can hold with any of these; says which that is.
    """
    x, y = _ends("x", low_x, high_x), _ends("y", low_y, high_y)
    error = require_positive("error", error)
    scale = np.array([max(map(abs, x)), max(map(abs, y))])
    with np.errstate(over="ignore", under="ignore"):
        size, slopes = float(scale.prod()), SOFTEST / scale
    if not 2.0**-900 < size < 2.0**900 or not np.isfinite(slopes).all():
        raise PrecisionError(
            f"x up to {scale[0]:.3g} times y up to {scale[1]:.3g} is beyond what float64 holds; "
            f"scale x and y to moderate size"
        )
    relative = error / size
    rule = next((r for r in RULES if sum(r.error(r.delta(relative))) <= relative), RULES[-1])
    delta = rule.delta(relative)
    reached = sum(rule.error(delta))
    if reached > relative:
        raise PrecisionError(
            f"error is {error:.3g} where the least that float64 can hold on this domain is "
            f"{1.001 * reached * size:.3g}; ask for at least that, or scale x and y down"
        )
    network = _multiplying(rule, delta, scale)
    return Product(network, reached * size, _measured(network, x, y))


def mirrored(values: Any, factors: Any, kappa: float) -> np.ndarray:
    """Tokens (x_i, log((1 + κ g_i)/2), log((1 − κ g_i)/2)) for ``signed_sum``: N×(d + 2).

    Args:
        values: The x_i, N×d.
        factors: The g_i, N numbers with |κ g_i| < 1.
        kappa: κ.
    """
    x = require_array("values", values, dimensions=2)
    g = require_array("factors", factors, dimensions=1)
    require_shape("factors", g, (len(x),), "one for each row of values")
    part = require_number("kappa", kappa) * g
    if not (np.abs(part) < 1).all():
        worst = int(np.abs(part).argmax())
        raise InputError(
            f"kappa·factors[{worst}] is {part[worst]:.3g} where it must lie strictly between −1 and "
            f"1; give a smaller kappa"
        )
    return np.column_stack([x, np.log1p(part) - math.log(2), np.log1p(-part) - math.log(2)])


def signed_sum(count: int, width: int = 1) -> SignedSum:
    """The network that takes ``count`` tokens from ``mirrored`` to (κ/N) Σ g_i x_i in every token.

    The linear map writes the tokens and below them their mirror images, 2N rows; one head, whose
    scores are what the tokens carry, sees them all. ``width`` is the number d of entries of an x_i.
    """
    N, d = require_integer("count", count, least=1), require_integer("width", width, least=1)
    lower = np.vstack([np.zeros((N, N)), np.eye(N)])
    sides = np.zeros((2, d + 2, d + 2))  # from (x, l⁺, l⁻) to (±x, score, 1)
    for side, sign in enumerate((1.0, -1.0)):
        sides[side, :d, :d] = sign * np.eye(d)
        sides[side, d + side, d] = 1.0
    one = np.eye(d + 2)[[d + 1]]
    double = Linear(
        (N, d + 2),
        (2 * N, d + 2),
        (Term(features=sides[0]), Term(features=sides[1], tokens=lower)),
        one,
    )
    head = Head(query=one.T, key=np.eye(d + 2)[:, [d]], value=np.eye(d + 2)[:, :d])
    network = Network((double, Attention((head,), keep=N)))

    rng = np.random.default_rng(N)
    x, worst = rng.uniform(-1, 1, (N, d)), 0.0
    signs = np.sign(rng.normal(size=N))
    for g in (rng.uniform(-1, 1, N), signs * (1 - 2.0**-40), np.full(N, 1 - 2.0**-52)):
        exact = (g[:, None] * x).mean(axis=0)
        worst = max(worst, float(np.abs(network(mirrored(x, g, 1.0)) - exact).max()))
    return SignedSum(network, (4 * N + 24) * ROUNDOFF, worst / float(np.abs(x).max()))


def _ends(axis: str, low: Any, high: Any) -> tuple[float, float]:
    low, high = require_number(f"low_{axis}", low), require_number(f"high_{axis}", high)
    if not low < high:
        raise InputError(
            f"low_{axis} is {low} and high_{axis} is {high}, where low_{axis} must be below "
            f"high_{axis}; give the smaller number as low_{axis}"
        )
    return require_range(low, high)


def _multiplying(rule: _Rule, delta: float, scale: np.ndarray) -> Network:
    """The head of this rule and δ: queries (a, b, 1), keys (z, log w_z/A), values ±V at the corners."""
    nodes, (above, below) = rule.nodes, rule.leading
    corner = nodes[0, 2]
    balance = 1 + (above - below) / 2 * delta ** (rule.degree + 1)
    values = np.zeros((len(nodes), 1))
    largest = float(scale.prod()) * balance / (4 * corner * delta**2)
    values[:4, 0] = largest * nodes[:4, 0] * nodes[:4, 1]
    query = Linear(
        (None, 2),
        (None, 3),
        (Term(features=np.eye(2, 3) * (delta / scale)[:, None]),),
        np.array([[0.0, 0.0, 1.0]]),
    )
    head = Head(
        query=np.eye(3),
        anchor_keys=np.column_stack([nodes[:, :2], np.log(nodes[:, 2] / corner)]),
        anchor_values=values,
        sees="anchors",
    )
    return Network((query, Attention((head,))))


def _measured(network: Network, x: tuple[float, float], y: tuple[float, float]) -> float:
    """The largest error on a grid of Chebyshev's points and the ends of both intervals."""
    place = (1 - np.cos(np.pi * np.arange(182) / 181)) / 2
    xs, ys = (np.clip(low + (high - low) * place, low, high) for low, high in (x, y))
    points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    return float(np.abs(network(points)[:, 0] - points[:, 0] * points[:, 1]).max())
