import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.compiler.line import Wish, on_line
from anchorhead.heads.response import response

WISH = Wish(1e-6, "float64", 50.0)


def summed(made, y):
    return sum(response(head, y) for head in made.heads)


def waves(y):
    return np.stack([np.sin(y), np.cos(y)], axis=1)


def test_one_output_is_made_once():
    assert len(list(on_line(lambda y: np.sin(y)[:, None], -1, 1, WISH))) == 1


def test_several_outputs_come_with_common_weights_and_with_their_own():
    together, apart = on_line(waves, 0.0, 6.0, WISH)
    y = np.linspace(0, 6, 3001)
    for made in (together, apart):
        assert np.abs(summed(made, y) - waves(y)).max() <= 1.003 * made.error <= 1e-6
    assert len(together.heads) == 1
    assert len(apart.heads) == 2
    for i, head in enumerate(apart.heads):
        assert not np.delete(head.values, i, axis=1).any()
    assert together.keys < apart.keys


def test_outputs_with_nothing_in_common_are_smaller_by_themselves():
    def f(y):
        return np.stack([np.maximum(y - 0.3, 0), np.sin(9 * y)], axis=1)

    together, apart = on_line(f, -1.0, 1.0, WISH)
    assert apart.error <= 1e-6
    assert apart.keys < together.keys or together.error > 1e-6


@settings(max_examples=10)
@given(st.integers(-30, 30))
def test_a_target_times_a_power_of_two_gives_the_same_heads_times_it(power):
    scale = 2.0**power

    def f(y):
        return np.sin(3 * y)[:, None]

    (plain,) = on_line(f, -1.0, 1.0, Wish(1e-4, "float64", 0.0))
    (times,) = on_line(lambda y: scale * f(y), -1.0, 1.0, Wish(scale * 1e-4, "float64", 0.0))
    for one, other in zip(plain.heads, times.heads, strict=True):
        np.testing.assert_array_equal(one.slopes, other.slopes)
        np.testing.assert_array_equal(one.intercepts, other.intercepts)
        np.testing.assert_array_equal(scale * one.values, other.values)
    assert times.error == scale * plain.error
    assert times.construction == plain.construction


def test_a_target_smaller_than_the_error_is_a_constant():
    (made,) = on_line(lambda y: 1e-9 * np.sin(y)[:, None], -1.0, 1.0, WISH)
    assert made.keys == 1
    (made,) = on_line(lambda y: 0 * y[:, None], -1.0, 1.0, WISH)
    assert made.keys == 1
    assert made.error == 0


@pytest.mark.parametrize("kinks", [None, [0.25]])
def test_kinks_are_searched_for_or_taken(kinks):
    (made,) = on_line(lambda y: np.abs(y - 0.25)[:, None], -1.0, 1.0, WISH, kinks)
    assert made.construction == "spliced"
    assert made.error <= 1e-6
