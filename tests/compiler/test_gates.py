import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.compiler.gates import gated
from anchorhead.compiler.line import Wish
from anchorhead.run import numpy as reference


def found(f, error=1e-6, low=-1.0, high=1.0, dtype="float64", kinks=None):
    return list(gated(lambda y: f(y)[:, None], low, high, Wish(error, dtype, 0.0), kinks))


def straight(seed, count):
    """A function with kinks in some places, and these places."""
    rng = np.random.default_rng(seed)
    places = np.sort(-0.9 + 1.8 * (np.arange(count) + rng.uniform(0.1, 0.9, count)) / count)
    jumps, slope, start = rng.choice([-2.0, 1.5], count), rng.choice([0.0, 1.0]), rng.normal()
    return lambda y: start + slope * y + np.maximum(y[:, None] - places, 0) @ jumps, places


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(-9, -2))
def test_functions_straight_in_pieces_are_made_within_their_error(seed, count, log_error):
    f, places = straight(seed, count)
    (gate,) = found(f, 10.0**log_error)
    assert gate.construction == "gate"
    assert gate.error <= 10.0**log_error
    near = places[:, None] + np.linspace(-10, 10, 201) * 10.0**log_error
    y = np.clip(np.append(near.ravel(), np.linspace(-1, 1, 2001)), -1, 1)
    assert np.abs(gate.network(y[:, None])[:, 0] - f(y)).max() <= gate.error
    assert gate.network.size.heads <= count + 1


@pytest.mark.parametrize(
    "f",
    [np.sin, lambda y: np.sqrt(np.abs(y)), lambda y: np.abs(y) + 1e-4 * y * y],
    ids=["sine", "root", "nearly straight"],
)
def test_what_is_bent_is_no_gate(f):
    assert not found(f)


def test_what_is_bent_by_less_than_the_error_is_one_and_the_bend_counts():
    def f(y):
        return np.abs(y) + 1e-8 * np.sin(9 * y)

    (gate,) = found(f, 1e-5)
    (plain,) = found(np.abs, 1e-5)
    assert 0.9e-8 < gate.error - plain.error < 2.1e-8


def test_a_straight_line_needs_no_kink_and_a_flat_piece_no_head():
    (gate,) = found(lambda y: 3 * y - 1)
    assert gate.network.size.heads <= 2
    y = np.linspace(-1, 1, 101)
    assert np.abs(gate.network(y[:, None])[:, 0] - (3 * y - 1)).max() <= gate.error
    (gate,) = found(lambda y: np.maximum(y, 0) + 2)
    assert gate.network.size.heads == 1


def test_several_outputs_are_left_to_others():
    assert not list(
        gated(lambda y: np.stack([y, -y], 1), -1.0, 1.0, Wish(1e-6, "float64", 0), None)
    )


def test_rounding_in_float32_counts():
    (gate,) = found(lambda y: np.clip(y, -0.5, 0.5), 1e-5, dtype="float32")
    (exact,) = found(lambda y: np.clip(y, -0.5, 0.5), 1e-5)
    y = np.random.default_rng(0).uniform(-1, 1, (20_000, 1)).astype(np.float32)
    answer = reference.evaluate(gate.network, y).astype(float)
    assert np.abs(answer - np.clip(y.astype(float), -0.5, 0.5)).max() <= gate.error
    assert gate.error >= exact.error


def test_the_target_is_asked_for_nothing_outside_its_domain():
    """Even where the nearest float32 number lies there."""

    def f(y):
        assert (y >= 0).all()
        assert (y <= 0.3).all()
        return np.abs(y - 0.1)

    assert found(f, 1e-4, 0.0, 0.3, "float32")


def test_a_kink_is_one_however_large_the_error():
    """Where soft anchors would blur it too, a gate still takes fewer keys."""
    for error in (0.1, 1e-2, 1e-3):
        (gate,) = found(np.abs, error)
        assert gate.error <= error


@pytest.mark.parametrize("faint", [lambda y: 1e-6 * (y > 0.3), lambda y: 1e-7 * np.sin(1e9 * y)])
def test_what_is_rough_by_less_than_the_error_does_not_matter(faint):
    for gate in found(lambda y: np.abs(y) + faint(y), 1e-3):
        assert gate.error <= 1e-3


def test_kinks_that_are_named_are_taken():
    assert found(lambda y: np.abs(y - 0.25), kinks=[0.25])
    assert not found(lambda y: np.abs(y - 0.25), kinks=[0.5])
