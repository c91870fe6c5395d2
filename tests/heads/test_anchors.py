from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.errors import InputError, ShapeError
from anchorhead.heads.anchors import Anchors, merge, pad, share, sharing_error
from anchorhead.heads.uniform import uniform
from networks import evaluate_anchors as evaluate


def random_anchors(seed, count, sharp=1.0):
    rng = np.random.default_rng(seed)
    slopes = np.sort(rng.normal(size=count)) * sharp
    return Anchors(slopes, rng.normal(size=count), rng.normal(size=(count, 2)), 0.3, 0.7)


Y = np.linspace(-3, 3, 4001)


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 4), st.integers(0, 4))
def test_pad_keeps_the_function_and_merge_undoes_it(seed, count, before, after):
    anchors = random_anchors(seed, count)
    padded = pad(anchors, before, after)
    assert len(padded) == count + before + after
    np.testing.assert_allclose(evaluate(padded, Y), evaluate(anchors, Y), atol=1e-12)
    joined = merge(padded)
    assert len(joined) == count
    np.testing.assert_allclose(joined.intercepts, anchors.intercepts, atol=1e-12)
    np.testing.assert_allclose(joined.values, anchors.values, atol=1e-12)


def test_merge_keeps_the_function_of_equal_slopes_with_other_values():
    anchors = Anchors(np.array([-1.0, 0.5, 0.5, 2.0]), np.array([0.0, 1.0, -1.0, 0.3]), np.eye(4))
    joined = merge(anchors)
    assert len(joined) == 3
    np.testing.assert_allclose(evaluate(joined, Y), evaluate(anchors, Y), atol=1e-14)


@given(
    st.integers(2, 60),
    st.integers(3, 20),
    st.floats(1.0, 30.0),
    st.integers(0, 10**6),
)
def test_pieces_add_up_within_the_sharing_error(count, places, h, seed):
    values = np.random.default_rng(seed).normal(size=(count, 2))
    anchors = replace(uniform(-1.0, 2.0, count, h), values=values)
    pieces = share(anchors, places)
    assert all(len(piece) == places for piece in pieces)
    assert len(pieces) == -(-count // (places - 2))
    summed = sum(evaluate(piece, Y) for piece in pieces)
    error = np.abs(summed - evaluate(anchors, Y)).max()
    assert error <= sharing_error(anchors, places) + 1e-12


def test_sharing_error_is_not_far_above_what_is_seen():
    anchors = uniform(-1.0, 2.0, 40, h=3.0)
    y = np.linspace(-1, 2, 200_001)
    summed = sum(evaluate(piece, y) for piece in share(anchors, 7))
    seen = np.abs(summed - evaluate(anchors, y)).max()
    assert seen > 1e-5
    assert sharing_error(anchors, 7) < 1000 * seen


def test_soft_or_crossing_anchors_cannot_be_shared():
    crossing = Anchors(np.arange(9.0), np.arange(9.0) ** 2, np.ones((9, 1)))
    assert sharing_error(crossing, 5) == np.inf
    equal = Anchors(np.zeros(9), np.zeros(9), np.ones((9, 1)))
    assert sharing_error(equal, 5) == np.inf
    assert sharing_error(crossing, 11) == 0


def test_anchors_are_checked():
    with pytest.raises(InputError, match="sort"):
        Anchors(np.array([1.0, 0.0]), np.zeros(2), np.zeros((2, 1)))
    with pytest.raises(ShapeError, match="intercepts"):
        Anchors(np.zeros(2), np.zeros(3), np.zeros((2, 1)))
    with pytest.raises(ShapeError, match="values"):
        Anchors(np.zeros(2), np.zeros(2), np.zeros((3, 1)))
