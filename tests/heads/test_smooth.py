import numpy as np
import pytest
from numpy.polynomial import Chebyshev

from anchorhead.errors import InputError
from anchorhead.heads.response import response
from anchorhead.heads.smooth import smooth

U = np.linspace(-1, 1, 4001)
TARGETS = {
    "sin 3x": lambda x: np.sin(3 * x),
    "exp": np.exp,
    "runge": lambda x: 1 / (1 + 25 * x * x),
    "sin 20x": lambda x: np.sin(20 * x),
}


def off(found, f, y, dtype="float64"):
    return np.abs(response(found.anchors, y, dtype)[:, 0] - f(y)).max()


@pytest.mark.parametrize(
    ("name", "count", "most"),
    [
        ("sin 3x", 8, 6e-6),
        ("exp", 8, 8e-7),
        ("runge", 16, 1e-2),
        ("runge", 32, 9e-5),
        ("sin 20x", 16, 1e-1),
        ("sin 20x", 32, 7e-9),
    ],
)
def test_even_anchors_are_no_worse_than_the_prototypes_of_the_theory(name, count, most):
    f = TARGETS[name]
    found = smooth(f, -1, 1, count, refine=False)
    assert found.error <= most
    assert off(found, f, U) <= 1.003 * found.error


@pytest.mark.parametrize("name", TARGETS)
def test_anchors_do_no_worse_than_the_polynomial_with_as_many_coefficients(name):
    """For h → 0 the span of the weights tends to that of the polynomials of degree p − 1."""
    f = TARGETS[name]
    for count in (3, 5, 8, 12):
        polynomial = Chebyshev.interpolate(f, count - 1)
        least = np.abs(polynomial(U) - f(U)).max()
        assert smooth(f, -1, 1, count).error <= max(least, 1e-12)


@pytest.mark.parametrize(("name", "counts"), [("runge", (8, 16, 24, 32)), ("exp", (3, 5, 7, 9))])
def test_errors_of_analytic_functions_fall_geometrically(name, counts):
    """log error against p: a straight line at least, never a curve that levels off."""
    errors = [smooth(TARGETS[name], -1, 1, count, refine=False).error for count in counts]
    rates = -np.diff(np.log(errors))
    assert (rates > 1).all()
    assert (rates[1:] > 0.5 * rates[0]).all()


@pytest.mark.parametrize("name", TARGETS)
def test_refined_anchors_are_better_and_leave_the_lattice(name):
    f = TARGETS[name]
    count = 20 if name == "sin 20x" else 7
    even, free = (smooth(f, -1, 1, count, refine=refine) for refine in (False, True))
    assert free.error < even.error

    def unevenness(found):
        gaps = np.diff(found.anchors.slopes)
        breakpoints = -np.diff(found.anchors.intercepts) / gaps
        return max(np.ptp(gaps) / gaps.mean(), np.ptp(np.diff(breakpoints)))

    assert unevenness(even) < 1e-9
    assert unevenness(free) > 1e-3


def test_float32_counts_the_rounding_of_large_values():
    f = TARGETS["sin 3x"]
    double, single = (smooth(f, -1, 1, 16, dtype=dtype) for dtype in ("float64", "float32"))
    y = U.astype(np.float32).astype(float)
    assert double.error < 1e-11
    assert off(single, f, y, "float32") <= single.error < 2e-5
    assert np.abs(single.anchors.values).max() < 0.1 * np.abs(double.anchors.values).max()
    assert off(double, f, y, "float32") > 2 * single.error  # so the dtype matters


def test_several_outputs_share_their_weights():
    found = smooth(lambda x: np.stack([np.sin(x), np.cos(x)], axis=1), 0, 6, 12)
    y = np.linspace(0, 6, 2001)
    assert (
        np.abs(response(found.anchors, y) - np.stack([np.sin(y), np.cos(y)], axis=1)).max() < 1e-6
    )
    assert found.error < 1e-6


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.sin, 1, -1, 8), {}, "low"),
        ((np.sin, -1, np.inf, 8), {}, "high"),
        ((np.sin, -1, 1, 1), {}, "count is 1 where at least 2"),
        ((np.sin, -1, 1, 2.5), {}, "count is 2.5 where a whole number"),
        ((np.sin, -1, 1, 8), {"refine": "yes"}, "refine"),
        ((np.sin, -1, 1, 8), {"dtype": "float16"}, "dtype is 'float16'; use"),
        ((3.0, -1, 1, 8), {}, "target is a float; give a function"),
        ((lambda x: 1.0, -1, 1, 8), {}, r"target answers 64 points with shape \(\); give one row"),
        ((lambda x: x[None], -1, 1, 8), {}, "target answers 64 points with shape"),
        ((lambda x: np.where(x > 0, np.nan, x), -1, 1, 8), {}, "target is not finite on all of"),
    ],
)
def test_bad_input_is_told_in_one_sentence(arguments, options, message):
    with pytest.raises(InputError, match=message):
        smooth(*arguments, **options)
