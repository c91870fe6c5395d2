"""Truncated power series with balls as coefficients, in one variable or several."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from threading import RLock
from typing import Any, TypeAlias

from flint import arb, arb_series, ctx

__all__ = ["BITS", "Jet", "Series", "exponents", "finite", "function", "precise", "up"]

BITS = 128
"""The precision of all balls, in bits."""


_ONE_AT_A_TIME = RLock()
"""Threads share flint's settings."""


@contextmanager
def precise(order: int) -> Iterator[None]:
    """Balls of BITS bits and series up to t^order."""
    with _ONE_AT_A_TIME:
        before = ctx.prec, ctx.cap
        ctx.prec, ctx.cap = BITS, order + 1
        try:
            yield
        finally:
            ctx.prec, ctx.cap = before


def up(ball: arb) -> float:
    """A float that is no smaller than the ball's absolute value anywhere; inf where none is."""
    number = float(ball.abs_upper())
    return math.nextafter(number, math.inf) if number < math.inf else math.inf


@lru_cache
def exponents(variables: int, order: int) -> tuple[tuple[int, ...], ...]:
    """The exponents κ with |κ| ≤ order, by |κ|."""
    every = product(range(order + 1), repeat=variables)
    return tuple(sorted((k for k in every if sum(k) <= order), key=lambda k: (sum(k), k)))


@lru_cache
def places(variables: int, order: int) -> dict[tuple[int, ...], int]:
    """Where each exponent stands among them."""
    return {k: i for i, k in enumerate(exponents(variables, order))}


@lru_cache
def pairs(variables: int, order: int) -> list[list[tuple[int, int]]]:
    """For every exponent the pairs of exponents that add up to it, by place."""
    index = places(variables, order)
    return [
        [(index[j], index[tuple(a - b for a, b in zip(k, j, strict=True))]) for j in below]
        for k in index
        for below in [list(product(*(range(a + 1) for a in k)))]
    ]


@lru_cache
def steps(variables: int, order: int) -> list[tuple[int, list[tuple[int, int, int]]]]:
    """For every exponent κ but the first κ_a for its largest a, and (place of j, of κ − j, j_a)."""
    index, found = places(variables, order), []
    for k in exponents(variables, order)[1:]:
        axis = k.index(max(k))
        below = product(*(range(a + 1) for a in k))
        group = [
            (index[j], index[tuple(a - b for a, b in zip(k, j, strict=True))], j[axis])
            for j in below
            if j[axis]
        ]
        found.append((k[axis], group))
    return found


class Jet:
    """A truncated power series in several variables, with the operations of ``arb_series``."""

    __slots__ = ("c", "shape")

    def __init__(self, shape: tuple[int, int], c: list[arb]):
        self.shape = shape
        self.c = c + [arb(0)] * (len(exponents(*shape)) - len(c))

    def __getitem__(self, i: int) -> arb:
        return self.c[i]

    def __add__(self, other: Jet | arb) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.shape, [a + b for a, b in zip(self.c, other.c, strict=True)])
        return Jet(self.shape, [self.c[0] + other, *self.c[1:]])

    def __mul__(self, other: Jet | arb) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.shape, [a * other for a in self.c])
        here = [not a.is_zero() for a in self.c]
        c = []
        for group in pairs(*self.shape):
            total = arb(0)
            for i, j in group:
                if here[i]:
                    total += self.c[i] * other.c[j]
            c.append(total)
        return Jet(self.shape, c)

    __rmul__, __radd__ = __mul__, __add__

    def exp(self) -> Jet:
        """The exponential e, from κ_a e_κ = Σ_j j_a g_j e_{κ−j} for an axis a with κ_a > 0."""
        here = [not a.is_zero() for a in self.c]
        e = [self.c[0].exp()]
        for degree, group in steps(*self.shape):
            total = arb(0)
            for i, below, times in group:
                if here[i]:
                    total += self.c[i] * e[below] * times
            e.append(total / degree)
        return Jet(self.shape, e)

    def apply(self, kind: str) -> Jet:
        """A function of one number composed with the series, by Horner's rule."""
        outer = function(kind, arb_series([self.c[0], arb(1)]))
        rest = Jet(self.shape, [arb(0), *self.c[1:]])
        total = Jet(self.shape, [outer[self.shape[1]]])
        for i in reversed(range(self.shape[1])):
            total = total * rest + outer[i]
        return total


Series: TypeAlias = Any
"""An ``arb_series``, or a ``Jet``: they have the same operations."""


def function(kind: str, g: Series) -> Series:
    """A function of one argument composed with a series; nan where it is not defined all over."""
    if isinstance(g, Jet):
        return g.exp() if kind == "exp" else g.apply(kind)
    if kind in ("sinh", "cosh"):
        sign = arb(1 if kind == "cosh" else -1)
        return (g.exp() + sign * (-g).exp()) * arb(0.5)
    slopes = {
        "tanh": lambda: (function("cosh", g) * function("cosh", g)).inv(),
        "asinh": lambda: (g * g + arb(1)).rsqrt(),
        "acosh": lambda: (g * g + arb(-1)).rsqrt(),
        "atanh": lambda: (-(g * g) + arb(1)).inv(),
    }
    if kind in slopes:  # h(g) = h(g_0) + ∫ h′(g) g′
        return (slopes[kind]() * g.derivative()).integral() + getattr(g[0], kind)()
    try:
        return getattr(g, kind)()
    except (ValueError, ZeroDivisionError):  # the inverse of exactly 0
        return arb_series([arb.nan()])


def finite(g: Series) -> bool:
    """Whether all coefficients are finite."""
    return all(c.is_finite() for c in (g.c if isinstance(g, Jet) else g.coeffs()))
