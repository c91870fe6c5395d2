import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.compiler.structure import structure_of
from anchorhead.errors import InputError, PrecisionError


def column(f):
    return lambda y: f(y)[:, None]


@pytest.mark.parametrize(
    ("f", "low", "high", "points"),
    [
        (np.sin, -1, 1, []),
        (lambda x: 1 / (1 + 1e4 * x * x), -1, 1, []),
        (np.abs, -1, 1, [0.0]),
        (np.abs, -1, 2, [0.0]),
        (lambda x: np.clip(x, -0.5, 0.5), -1, 1, [-0.5, 0.5]),
        (lambda x: np.abs(x - 0.3) + np.abs(x + 1 / 3), -1, 1, [-1 / 3, 0.3]),
        (lambda x: np.abs(np.sin(12 * x)), -1, 1, np.pi / 12 * np.arange(-3, 4)),
        (lambda x: np.sqrt(np.abs(x)), -1, 1, [0.0]),
        (lambda x: np.abs(x) ** 1.5, -1, 1, [0.0]),
        (lambda x: np.where(x < 0, np.sin(3 * x), x * x), -2, 1, [0.0]),
        (lambda x: np.maximum(x - 1e6, 0), 1e6 - 1, 1e6 + 1, [1e6]),
        (np.sqrt, 0, 1, []),
        (lambda x: np.sqrt(1 - x * x), -1, 1, [0.0]),
    ],
)
def test_kinks_and_branch_points_are_found_where_they_are(f, low, high, points):
    found = structure_of(column(f), low, high, 1e-6)
    assert len(found.points) == len(points)
    np.testing.assert_allclose(found.points, points, atol=4e-15 * max(1, abs(low)))
    assert len(found.charts) == len(points) + 1
    assert found.charts[0].low == low
    assert found.charts[-1].high == high


@given(st.lists(st.floats(-0.9, 0.9), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_kinks_anywhere_are_found_as_finely_as_values_are_rounded(places, seed):
    places = np.unique(np.round(places, 2))
    jumps = np.random.default_rng(seed).uniform(0.5, 2, len(places))
    f = column(lambda x: np.sin(x) + np.abs(x[:, None] - places) @ jumps)
    found = structure_of(f, -1, 1, 1e-7)
    np.testing.assert_allclose(found.points, places, atol=1e-13)


def test_a_kink_too_faint_to_matter_is_none():
    f = column(lambda x: np.sin(x) + 1e-5 * np.abs(x - 0.2))
    assert structure_of(f, -1, 1, 1e-4).points == ()
    assert structure_of(f, -1, 1, 1e-8).points == pytest.approx((0.2,), abs=1e-9)


def test_given_kinks_are_taken_instead():
    found = structure_of(column(np.sin), -1, 1, 1e-6, kinks=[0.5, -0.25])
    assert found.points == (-0.25, 0.5)


def test_narrow_features_are_resolved_and_the_narrowest_when_watched():
    def bump(width):
        return column(lambda x: np.exp(-(((x - 0.1234) / width) ** 2)))

    knots = structure_of(bump(1e-3), -1, 1, 1e-6).charts[0].knots
    assert np.diff(knots).min() < 1e-3
    narrow = bump(1e-5)
    assert len(structure_of(narrow, -1, 1, 1e-6).charts[0].knots) == 2
    knots = structure_of(narrow, -1, 1, 1e-6, watched=[0.123405]).charts[0].knots
    assert np.diff(knots).min() < 1e-5


@pytest.mark.parametrize(
    ("f", "kind", "message"),
    [
        (lambda x: np.sign(x - 0.3), InputError, r"jumps by 2 at 0\.3"),
        (lambda x: np.floor(3 * x), InputError, "jumps by 1"),
        (lambda x: 1 / np.sqrt(np.abs(x) + 1e-300), InputError, "grows without bound near"),
        (lambda x: np.sin(1 / np.where(x == 0, 1, x)), PrecisionError, "rough everywhere"),
        (lambda x: np.random.default_rng(0).normal(size=len(x)), PrecisionError, "rough"),
    ],
)
def test_what_no_network_of_attention_can_do_is_told(f, kind, message):
    with pytest.raises(kind, match=message):
        structure_of(column(f), -1, 1, 1e-3)


def test_a_jump_smaller_than_the_error_is_no_jump():
    f = column(lambda x: np.sin(x) + 1e-8 * (x > 0.2))
    structure_of(f, -1, 1, 1e-6)
