import math
from itertools import product

import mpmath
import numpy as np
import pytest
from flint import arb, arb_series, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.enclosure.series import BITS, Jet, exponents, finite, function, precise, up
from enclosure.sums import KINDS

SEEDS = st.integers(0, 10**6)
DIGITS = 60

INSIDE = {
    **dict.fromkeys(("sqrt", "log", "gamma", "lgamma", "inv"), (0.3, 4)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-0.9, 0.9)),
    **dict.fromkeys(("exp", "sin", "cos", "sinh", "cosh", "tanh", "asinh", "atan"), (-3, 3)),
    **dict.fromkeys(("erf", "erfc"), (-2, 2)),
    "tan": (-1.4, 1.4),
    "acosh": (1.1, 5),
}
"""Every function of one argument, and where it is defined."""


def number(x):
    """A float exactly, or the middle of a ball, as mpmath has it."""
    if isinstance(x, arb):
        man, exp = (int(part) for part in x.mid().man_exp())
        return mpmath.ldexp(man, exp)
    return mpmath.mpf(x)


def holds(ball, expected, slack=1e-25):
    """Whether a ball holds a number that is known to 25 digits, and is no wider than that."""
    assert ball.is_finite()
    apart = abs(number(ball) - expected)
    size = slack * (1 + abs(expected))
    return apart <= number(ball.rad()) + size and number(ball.rad()) <= size


def jet(coefficients, shape):
    return Jet(shape, [arb(c) for c in coefficients])


def some_jet(rng, shape, first=None, sparse=0.7):
    c = rng.normal(size=len(exponents(*shape))) * (rng.random(len(exponents(*shape))) < sparse)
    c[0] = c[0] if first is None else first
    return c


def polynomial(c, shape):
    """The polynomial with these coefficients, as a function of mpmath's numbers."""
    terms = [(mpmath.mpf(x), k) for x, k in zip(c, exponents(*shape), strict=True) if x]

    def at(t):
        powers = (mpmath.fprod(s**e for s, e in zip(t, k, strict=True)) for _, k in terms)
        return mpmath.fsum(x * p for (x, _), p in zip(terms, powers, strict=True))

    return at


def along(found, shape, direction):
    """The coefficients of a jet on the line t = s · direction, by powers of s."""
    sums = [arb(0)] * (shape[1] + 1)
    for i, k in enumerate(exponents(*shape)):
        factor = math.prod(d**e for d, e in zip(direction, k, strict=True))
        sums[sum(k)] += found[i] * factor
    return sums


def agrees(found, f, shape):
    """Whether a jet is the Taylor series of a function at 0, on lines through it."""
    with mpmath.workdps(DIGITS):
        for direction in list(product((-1, 1, 2), repeat=shape[0]))[:: 3 ** (shape[0] - 1)]:
            expected = mpmath.taylor(lambda s, d=direction: f([s * e for e in d]), 0, shape[1])
            for ball, c in zip(along(found, shape, direction), expected, strict=True):
                assert holds(ball, c)


SHAPES = [(2, 4), (3, 3), (2, 1), (4, 2)]


# Jets


@given(st.integers(1, 4), st.integers(0, 5))
def test_exponents_are_all_those_of_a_degree_at_most_the_order(variables, order):
    listed = exponents(variables, order)
    assert len(set(listed)) == len(listed) == math.comb(variables + order, order)
    assert [sum(k) for k in listed] == sorted(sum(k) for k in listed)
    assert all(len(k) == variables and min(k) >= 0 for k in listed)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_sums_products_and_exponentials_of_jets_are_those_of_functions(shape, seed):
    rng = np.random.default_rng(seed)
    a, b = (some_jet(rng, shape) for _ in range(2))
    f, g = polynomial(a, shape), polynomial(b, shape)
    with precise(shape[1]):
        P, Q = jet(a, shape), jet(b, shape)
        c = arb(0.75)
        made = [
            (P + Q, lambda t: f(t) + g(t)),
            (P + c, lambda t: f(t) + 0.75),
            (c + P, lambda t: f(t) + 0.75),
            (P * c, lambda t: f(t) * 0.75),
            (c * P, lambda t: f(t) * 0.75),
            (P * Q, lambda t: f(t) * g(t)),
            (P * P * Q, lambda t: f(t) ** 2 * g(t)),
            (P.exp(), lambda t: mpmath.exp(f(t))),
            ((P * Q).exp() * Q, lambda t: mpmath.exp(f(t) * g(t)) * g(t)),
        ]
        for found, h in made:
            agrees(found, h, shape)


@pytest.mark.parametrize("kind", INSIDE)
def test_functions_of_jets_are_those_of_functions(kind):
    rng = np.random.default_rng(len(kind))
    own = {**KINDS, "lgamma": mpmath.loggamma}
    for shape in ((2, 4), (3, 2)):
        c = some_jet(rng, shape, first=rng.uniform(*INSIDE[kind]))
        f = polynomial(c, shape)
        with precise(shape[1]):
            found = function(kind, jet(c, shape))
            agrees(found, lambda t, f=f: own[kind](f(t)), shape)


@pytest.mark.parametrize("kind", INSIDE)
def test_functions_of_series_are_those_of_functions(kind):
    rng = np.random.default_rng(len(kind))
    own = {**KINDS, "lgamma": mpmath.loggamma}
    for order in (1, 2, 6):
        c = [rng.uniform(*INSIDE[kind]), *rng.normal(size=order)]
        with precise(order), mpmath.workdps(DIGITS):
            found = function(kind, arb_series([arb(x) for x in c]))
            expected = mpmath.taylor(
                lambda t, c=c: own[kind](mpmath.polyval([mpmath.mpf(x) for x in c[::-1]], t)),
                0,
                order,
            )
            assert all(holds(found[i], expected[i]) for i in range(order + 1))


def within(rng, middle, radii):
    """A random point of each ball, often near an end."""
    return middle + 0.999 * radii * np.clip(rng.uniform(-1.5, 1.5, len(middle)), -1, 1)


@given(SEEDS)
@settings(max_examples=30)
def test_balls_of_jets_hold_what_their_points_give(seed):
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    size = len(exponents(*shape))
    middles = [some_jet(rng, shape) for _ in range(2)]
    radii = [10.0 ** rng.uniform(-8, -0.5, size) * (rng.random(size) < 0.8) for _ in range(2)]
    kind = str(rng.choice(list(INSIDE)))
    low, high = INSIDE[kind]
    middles[0][0] = rng.uniform(low + 0.05, high - 0.05)
    radii[0][0] = min(radii[0][0], 0.04)

    def made(P, Q):
        return [P + Q, P * Q, P * P, P.exp(), Q.exp() * P, function(kind, P), P * arb(0.3)]

    with precise(shape[1]):
        balls = [
            Jet(shape, [arb(m, r) for m, r in zip(*pair, strict=True)])
            for pair in zip(middles, radii, strict=True)
        ]
        wide = made(*balls)
        for _ in range(8):
            points = (within(rng, m, r) for m, r in zip(middles, radii, strict=True))
            for ball, thin in zip(wide, made(*(jet(c, shape) for c in points)), strict=True):
                held = (b.contains(t) for b, t in zip(ball.c, thin.c, strict=True))
                assert all(held)


@given(SEEDS)
@settings(max_examples=30)
def test_balls_of_series_hold_what_their_points_give(seed):
    rng = np.random.default_rng(seed)
    order = int(rng.integers(1, 6))
    with precise(order):
        for kind, (low, high) in INSIDE.items():
            middle = np.append(rng.uniform(low + 0.05, high - 0.05), rng.normal(size=order))
            radii = np.append(0.04, 10.0 ** rng.uniform(-8, -1, order)) * rng.random()
            wide = function(
                kind, arb_series([arb(m, r) for m, r in zip(middle, radii, strict=True)])
            )
            thin = function(kind, arb_series([arb(c) for c in within(rng, middle, radii)]))
            assert all(wide[i].contains(thin[i]) for i in range(order + 1))


UNDEFINED = [
    ("sqrt", -0.1, 0.5),
    ("sqrt", -2, -1),
    ("log", 0, 1),
    ("log", -2, -1),
    ("inv", -1, 1),
    ("inv", 0, 1),
    ("asin", 0.9, 1.1),
    ("acos", -1.1, -0.9),
    ("acosh", 0.9, 1.1),
    ("acosh", -2, 0),
    ("atanh", 0.9, 1.1),
    ("atanh", 1.5, 2.5),
    ("tan", 1, 2),
    ("gamma", -1.1, -0.9),
    ("gamma", 0, 1),
    ("lgamma", -0.5, 0.5),
    ("lgamma", -3, -1),
]


@pytest.mark.parametrize(("kind", "low", "high"), UNDEFINED)
def test_a_function_that_is_not_defined_all_over_a_ball_is_not_finite_there(kind, low, high):
    ball = arb((low + high) / 2, (high - low) / 2)
    for order in (1, 4):
        with precise(order):
            assert not finite(function(kind, arb_series([ball, arb(1)])))
            assert not finite(function(kind, Jet((2, order), [ball, arb(1), arb(1)])))


def test_the_inverse_of_0_is_not_finite():
    with precise(3):
        assert not finite(function("inv", Jet((2, 3), [arb(0)])))
        assert not finite(function("inv", arb_series([arb(0)])))


def test_a_zero_times_what_is_not_finite_keeps_the_rest():
    """Only what is exactly 0 throughout is left out."""
    with precise(2):
        lost = Jet((2, 2), [arb.nan()] * 6)
        assert not finite(lost * jet([1, 0, 0, 0, 0, 0], (2, 2)))
        assert not finite(jet([0, 1, 0, 0, 0, 0], (2, 2)) * lost)
        assert not finite(lost.exp())
        assert not finite(lost + arb(1))


# Numbers


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1e300),
    st.integers(-200, 200),
)
def test_up_is_above_the_absolute_value_all_over_the_ball(middle, radius, shift):
    with precise(1):
        ball = arb(middle, radius) * arb(3) / arb(7) * arb(2) ** shift
        above = up(ball)
        assert above == math.inf or (ball <= above and ball >= -above)
        assert above == math.inf or above <= 1.01 * float(ball.abs_upper()) + 1e-323


@pytest.mark.parametrize("ball", [arb.nan(), arb.pos_inf(), arb.neg_inf(), arb(1e308) * arb(1e308)])
def test_up_of_what_no_float_bounds_is_infinite(ball):
    assert up(ball) == math.inf


def test_precision_is_set_and_given_back():
    before = ctx.prec, ctx.cap
    with precise(5):
        assert (ctx.prec, ctx.cap) == (BITS, 6)
        with precise(2):
            assert ctx.cap == 3
        assert ctx.cap == 6
    assert (ctx.prec, ctx.cap) == before
    with pytest.raises(KeyError), precise(9):
        raise KeyError
    assert (ctx.prec, ctx.cap) == before
