from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.errors import InputError, PrecisionError, ShapeError
from anchorhead.forms import to_heads, to_prefix, to_sequence
from anchorhead.heads.product import RULES, SOFTEST, mirrored, product, signed_sum
from anchorhead.layers import Linear, Term
from anchorhead.network import Network


def excess(network, bound, X):
    """By how much the error exceeds the bound, against the exact product of the floats."""
    got = network(X)[:, 0]
    x, y = X.T
    rough = np.abs(got - x * y)
    worst = np.argsort(rough)[-20:]
    return max(
        float(abs(Fraction(got[i]) - Fraction(x[i]) * Fraction(y[i])) - Fraction(bound))
        for i in worst.tolist()
    )


def places(rng, x, y, count=400):
    """Random, on the edges, in the corners and at zero."""
    inside = np.column_stack([rng.uniform(*x, count), rng.uniform(*y, count)])
    edges = inside.copy()
    edges[::2, 0] = rng.choice(x, count // 2)
    edges[1::2, 1] = rng.choice(y, count // 2)
    corners = [[a, b] for a in x for b in y]
    return np.vstack([inside, edges, corners])


@pytest.mark.parametrize(("anchors", "error"), [(4, 4e-8), (5, 1e-10), (10, 2e-12), (13, 2e-13)])
def test_so_few_anchors_reach_so_much_on_the_square(anchors, error):
    made = product(-1.0, 1.0, -1.0, 1.0, error)
    assert made.network.size.anchors == anchors
    assert made.network.size.heads == 1
    assert made.bound <= error
    X = places(np.random.default_rng(anchors), (-1.0, 1.0), (-1.0, 1.0), 100_000)
    seen = np.abs(made.network(X)[:, 0] - X[:, 0] * X[:, 1]).max()
    assert seen <= made.bound
    assert made.error <= made.bound
    assert made.bound <= 4 * made.error  # and it is not far above
    assert excess(made.network, made.bound, X) <= 0


@given(
    st.floats(-50, 50),
    st.floats(1e-3, 100),
    st.floats(-50, 50),
    st.floats(1e-3, 100),
    st.floats(-12.5, -0.5),
    st.integers(0, 10**6),
)
def test_the_bound_holds_on_any_domain(low_x, width_x, low_y, width_y, digits, seed):
    x, y = (low_x, low_x + width_x), (low_y, low_y + width_y)
    error = 10.0**digits * max(map(abs, x)) * max(map(abs, y))
    made = product(*x, *y, error)
    assert made.bound <= error
    assert made.error <= made.bound
    assert excess(made.network, made.bound, places(np.random.default_rng(seed), x, y)) <= 0


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{len(rule.nodes)} points")
def test_rules_are_cubatures_of_their_degree_with_positive_weights(rule):
    s, t, w = rule.nodes.T
    assert (w > 0).all()
    assert (np.abs(rule.nodes[:4, :2]) == 1).all()
    assert len(set(w[:4])) == 1
    assert np.log(w.max() / w[0]) + 4 * SOFTEST < 4  # what the rounding bound supposes
    for order in range(rule.degree + 2):
        gaps = [
            abs(w @ (s**i * t ** (order - i)) - (i % 2 == 0) / (i + 1) / (order - i + 1))
            for i in range(0, order + 1, 2)
            if order % 2 == 0
        ]
        odd = [abs(w @ (s**i * t ** (order - i))) for i in range(order + 1) if i % 2 or order % 2]
        assert max(odd, default=0) < 1e-15
        assert (max(gaps, default=0) < 1e-15) == (order <= rule.degree or order % 2 == 1)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{len(rule.nodes)} points")
@pytest.mark.parametrize("delta", [SOFTEST, 0.02, 1e-3])
def test_the_exact_error_is_within_the_statement_and_near_it(rule, delta):
    above, below = rule.leading
    with mpmath.workdps(60):
        d = mpmath.mpf(delta)
        gain = 1 + (mpmath.mpf(above) - mpmath.mpf(below)) / 2 * d ** (rule.degree + 1)
        worst = mpmath.mpf(0)
        for place in [(1, 1), (1, 0.7), (0.6, 1), (0.75, 0.75), (1, -1), (0.4, -0.9)]:
            xi, eta = map(mpmath.mpf, place)
            # moments to full precision: leading terms are far below the nodes' own rounding
            rational = [_exact_node(rule, i) for i in range(len(rule.nodes))]
            D = mpmath.fsum(w * mpmath.exp(d * (xi * s + eta * t)) for s, t, w in rational)
            mean = mpmath.sinh(d * xi) / (d * xi) * mpmath.sinh(d * eta) / (d * eta)
            worst = max(worst, abs(gain * xi * eta * mean / D - xi * eta))
        assert 0.4 * rule.error(delta)[0] < worst <= rule.error(delta)[0] * (1 + 1e-9)


def _exact_node(rule, index):
    """The node with its square-rooted coordinates and its weight as the fractions they stand for."""
    s, t, w = rule.nodes[index]
    root = lambda z: mpmath.sign(z) * mpmath.sqrt(_fraction(z * z))  # noqa: E731
    return root(s), root(t), _fraction(w)


def _fraction(number):
    near = Fraction(float(number)).limit_denominator(3000)
    return mpmath.mpf(near.numerator) / near.denominator


def test_scaling_by_a_power_of_two_is_exact():
    X = places(np.random.default_rng(2), (-1.0, 1.0), (-1.0, 1.0))
    one = product(-1.0, 1.0, -1.0, 1.0, 1e-10)
    other = product(-8.0, 8.0, -0.25, 0.25, 2e-10)
    assert other.bound == 2 * one.bound
    np.testing.assert_array_equal(other.network(X * np.array([8.0, 0.25])), 2 * one.network(X))


def test_torch_and_all_forms_compute_the_same():
    made = product(-1.0, 2.0, -3.0, 1.0, 1e-8)
    X = places(np.random.default_rng(3), (-1.0, 2.0), (-3.0, 1.0), 40)
    expected = made.network(X)
    there = made.network(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(there, expected, rtol=0, atol=2 * made.bound)
    n = len(X)
    first, attention = made.network.layers
    fixed = Linear((n, 2), (n, 3), (Term(features=first.terms[0].features),), first.constant)
    strict = Network((fixed, attention))
    for form in (to_prefix, to_sequence, to_heads):
        np.testing.assert_allclose(form(strict)(X), expected, rtol=0, atol=2 * made.bound)


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ((1.0, 0.0, 0.0, 1.0, 1e-3), InputError, "give the smaller number as low_x"),
        ((0.0, 1.0, 2.0, 2.0, 1e-3), InputError, "low_y is 2.0 and high_y is 2.0"),
        ((0.0, np.inf, 0.0, 1.0, 1e-3), InputError, "high_x is inf"),
        ((0.0, 1.0, 0.0, 1.0, -1.0), InputError, "error is -1.0"),
        ((0.0, 1.0, 0.0, 1.0, 1e-13), PrecisionError, r"is 1\.9\de-13; ask for at least that"),
        ((0.0, 1e-200, 0.0, 1e-200, 1e-3), PrecisionError, "scale x and y to moderate size"),
        ((0.0, 1e200, 0.0, 1e200, 1e-3), PrecisionError, "scale x and y to moderate size"),
        ((0.0, 5e-324, 0.0, 1e300, 1e-3), PrecisionError, "scale x and y to moderate size"),
    ],
)
def test_bad_input_is_named(arguments, kind, says):
    with pytest.raises(kind, match=says):
        product(*arguments)


def test_the_least_error_named_is_one_that_can_be_had():
    with pytest.raises(PrecisionError) as told:
        product(0.0, 3.0, -7.0, 1.0, 1e-15)
    least = float(str(told.value).split("domain is ")[1].split(";")[0])
    assert product(0.0, 3.0, -7.0, 1.0, least * 1.001).bound <= least * 1.001


@given(
    st.integers(1, 60),
    st.integers(1, 3),
    st.sampled_from([1e-9, 0.5, 1.0, 3.0]),
    st.integers(0, 10**6),
)
def test_the_signed_sum_is_exact_to_rounding(count, width, kappa, seed):
    rng = np.random.default_rng(seed)
    g = rng.uniform(-1, 1, count) * (1 - 2.0**-40) / kappa
    x = rng.normal(size=(count, width)) * 10.0 ** rng.integers(-3, 4)
    made = signed_sum(count, width)
    assert made.error <= made.bound
    got = made.network(mirrored(x, g, kappa))
    assert got.shape == (count, width)
    exact = [
        sum(Fraction(kappa) * Fraction(a) * Fraction(b) for a, b in zip(g, row, strict=True))
        / count
        for row in x.T
    ]
    error = max(abs(Fraction(v) - e) for row in got for v, e in zip(row, exact, strict=True))
    assert error <= made.bound * np.abs(x).max()


def test_the_signed_sum_reaches_what_was_measured():
    assert signed_sum(100).error < 2e-15
    assert signed_sum(100).network.size.anchors == 0


def test_the_signed_sum_in_torch_and_in_batches():
    rng = np.random.default_rng(4)
    made = signed_sum(9, 2)
    tokens = np.stack([mirrored(rng.normal(size=(9, 2)), rng.uniform(-1, 1, 9), 0.9)] * 3)
    there = made.network(torch.from_numpy(tokens)).numpy()
    np.testing.assert_allclose(there, made.network(tokens), atol=1e-14)
    form = to_sequence(made.network)
    np.testing.assert_allclose(form(tokens), made.network(tokens), atol=1e-14)


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (lambda: signed_sum(0), InputError, "count is 0"),
        (lambda: signed_sum(2, 0), InputError, "width is 0"),
        (lambda: mirrored([[1.0]], [1.0], 1.0), InputError, "give a smaller kappa"),
        (lambda: mirrored([[1.0]], [0.5, 0.5], 1.0), ShapeError, "one for each row of values"),
        (lambda: mirrored([1.0], [0.5], 1.0), ShapeError, "values has shape"),
    ],
)
def test_bad_tokens_are_named(make, kind, says):
    with pytest.raises(kind, match=says):
        make()
