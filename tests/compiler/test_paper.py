import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.compiler.paper import SOFTMAX_ERROR, staircase
from anchorhead.compiler.target import given as target_of
from anchorhead.heads import pointwise, uniform
from anchorhead.heads.uniform import sharpness


def stairs(f, error, low=0.0, high=1.0):
    return staircase(target_of(f, (low, high)), error)


@given(st.floats(1e-9, 0.4))
def test_a_straight_line_needs_one_step_for_every_two_errors(error):
    """f(x) = x on [0, 1]: half a step is the error, so p = ⌈1/(2e)⌉ + 1."""
    exact = math.ceil(1 / (2 * error)) + 1
    assert abs(stairs(lambda x: x, error).anchors - exact) <= 1 + 1e-9 * exact


@pytest.mark.parametrize(
    ("f", "low", "high", "slope"),
    [
        (lambda x: np.maximum(x, 0), -1.0, 1.0, 1.0),
        (lambda x: np.sin(7 * x), -2.0, 3.0, 7.0),
        (lambda x: np.abs(x - 0.3) * 20, 0.0, 1.0, 20.0),
    ],
)
def test_lipschitz_functions_have_rate_one(f, low, high, slope):
    """Steps of 2e/Lipschitz: (high − low) · slope/(2e) of them."""
    for error in (1e-2, 1e-4, 1e-7):
        exact = (high - low) * slope / (2 * error)
        assert stairs(f, error, low, high).anchors == pytest.approx(exact + 1, rel=2 * error + 1e-3)


@pytest.mark.parametrize("power", [0.5, 0.25])
def test_branch_points_have_the_rate_of_their_exponent(power):
    """|x|^a on [0, 1]: (Δ/2)^a is the error, so p = e^{−1/a}/2 + 1."""
    for error in (0.05, 1e-4, 1e-6):
        exact = error ** (-1 / power) / 2 + 1
        assert stairs(lambda x: x**power, error).anchors == pytest.approx(exact, rel=0.01)


def test_a_constant_needs_no_more_than_two():
    assert stairs(lambda x: 0 * x + 3, 1e-9).anchors == 2


def test_waves_are_not_mistaken_for_a_constant_where_all_anchors_meet_them_alike():
    """sin 8πx vanishes at all j/8."""
    assert stairs(lambda x: np.sin(8 * np.pi * x), 0.5).anchors > 16


@pytest.mark.parametrize("sign", [-1, 1])
def test_in_several_variables_a_step_in_every_direction_counts(sign):
    """x ± y on the square changes by a whole step from an anchor to a corner of its cell."""
    given = target_of(lambda x, y: x + sign * y, [(0, 1), (0, 1)])
    made = staircase(given, 1e-3)
    assert made.axes == 2
    assert made.each == pytest.approx(1001, abs=1)
    assert made.anchors == made.each**2
    part = math.sqrt(8 * 2.0**-24) / 2
    assert made.errors["float32"] == pytest.approx(1e-3 + 2 * part, rel=1e-6)


@pytest.mark.parametrize("p", [9, 200])
def test_the_largest_weight_is_that_of_the_network(p):
    made = stairs(lambda x: x, 1 / (2 * (p - 1)) * (1 + 1e-9))
    network = pointwise(uniform(0.0, 1.0, p, sharpness(SOFTMAX_ERROR)))
    assert made.anchors == p
    assert made.largest == pytest.approx(network.size.largest_weight)


def test_the_staircase_measured_is_the_paper_network_s():
    """Built, the network is off by the error that was asked for, and by no less."""
    f, error = np.cos, 1e-2
    p = int(stairs(f, error, 0.0, 3.0).anchors)
    y = np.linspace(0, 3, p)
    head = uniform(0.0, 3.0, p, 200.0)
    head = type(head)(head.slopes, head.intercepts, f(y)[:, None], head.centre, head.unit)
    X = np.linspace(0, 3, 20_001)[:, None]
    off = np.abs(pointwise(head)(X) - f(X)).max()
    assert 0.9 * error < off < 1.01 * error


def test_errors_of_dtypes_grow_with_their_roundoff():
    made = stairs(lambda x: x, 1e-6)
    for dtype in ("float64", "float32"):
        moved = math.sqrt(4 * np.finfo(dtype).eps) / 2
        assert made.errors[dtype] == pytest.approx(1e-6 + moved, rel=1e-6)


def test_where_no_number_is_enough_it_is_infinite():
    """1/(2 − log x) is continuous at 0 and slower than every power."""
    given = target_of(lambda x, y: 1 / (2 - np.log(x)) + y, [(0, 1), (0, 1)])
    assert staircase(given, 1e-20).anchors == math.inf
    assert staircase(given, 1e-200).each == math.inf
