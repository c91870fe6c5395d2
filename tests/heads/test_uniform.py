import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.errors import InputError, PrecisionError
from anchorhead.heads.uniform import (
    SOFTEST,
    cell,
    nearest,
    points,
    sharpness,
    spacing,
    staircase_error,
    tail,
    uniform,
)
from networks import evaluate_anchors as evaluate


def weights(y, count, h):
    """Softmax weights of anchors 0 … count − 1 at distance 1, by their definition."""
    scores = -h * (y[:, None] - np.arange(count)) ** 2
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@given(st.floats(0.5, 40))
def test_tail_is_its_series(h):
    with mpmath.workdps(30):
        terms = (
            (m + 1) * (mpmath.exp(-h * m * m) + mpmath.exp(-h * m * (m + 1))) for m in range(1, 99)
        )
        exact = mpmath.fsum(terms)
    assert tail(h, 1) == pytest.approx(float(exact), rel=1e-12)
    assert tail(h) <= tail(h, 1)


@given(st.floats(SOFTEST, 40), st.integers(3, 40))
def test_far_anchors_weigh_no_more_than_the_tail(h, count):
    y = np.linspace(-1, count, 40 * count + 1)
    w = np.sort(weights(y, count, h), axis=1)
    assert w[:, :-2].sum(axis=1).max() <= tail(h) * (1 + 1e-9)


@given(st.floats(1e-15, 0.99))
def test_sharpness_keeps_its_word(error):
    assert tail(sharpness(error)) <= error
    h = sharpness(error, band=0.05)
    assert tail(h) + np.exp(-2 * 0.05 * h) <= error * (1 + 1e-12)


def test_sharpness_is_not_wasteful():
    h = sharpness(1e-9)
    assert tail(0.98 * h) > 1e-9


@given(st.floats(-50, 50), st.floats(0.01, 100), st.integers(2, 60), st.floats(SOFTEST, 60))
def test_staircase_error_holds(low, length, count, h):
    high = low + length
    y = np.linspace(low - length, high + length, 5001)
    error = np.abs(evaluate(uniform(low, high, count, h), y)[:, 0] - np.clip(y, low, high)).max()
    assert error <= staircase_error(h) * spacing(low, high, count)


def test_staircase_error_is_approached():
    h = 400.0
    y = np.linspace(0, 1, 200_001)
    error = np.abs(evaluate(uniform(0.0, 1.0, 11, h), y)[:, 0] - y).max()
    assert error > 0.95 * staircase_error(h) * 0.1


def test_one_anchor_sits_in_the_middle():
    assert points(1.0, 3.0, 1) == [2.0]
    assert (evaluate(uniform(1.0, 3.0, 1, 5.0), np.array([-9.0, 9.0])) == 2).all()


def test_nearest_and_cell():
    y = np.array([-5.0, 0.0, 0.26, 0.5, 0.74, 1.0, 9.0])
    assert nearest(y, 0.0, 1.0, 3).tolist() == [0, 0, 1, 1, 1, 2, 2]
    index, distance = cell(y, 0.0, 1.0, 3)
    assert index.tolist() == [0, 0, 0, 1, 1, 1, 1]
    np.testing.assert_allclose(distance[1:6], [0.5, 0.02, 0.5, 0.02, 0.5])
    assert (distance[[0, -1]] > 0.5).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((1.0, 0.0, 3, 4.0), "low"), ((0.0, 1.0, 0, 4.0), "count"), ((0.0, 1.0, 3, 0.0), "h is")],
)
def test_bad_input_is_named(arguments, says):
    with pytest.raises(InputError, match=says):
        uniform(*arguments)


def test_anchors_too_close_for_float64_are_refused():
    with pytest.raises(PrecisionError, match="fewer anchors or a wider range"):
        uniform(1e9, 1e9 + 1e-3, 1000, 4.0)
