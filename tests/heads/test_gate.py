from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.errors import FormError, InputError, PrecisionError, ShapeError
from anchorhead.forms import to_heads, to_prefix, to_sequence
from anchorhead.heads.gate import NEAR, clip, piecewise_linear, relu


def exactly(points, values, left, right, y):
    """f(y) in rational arithmetic, from the points and values themselves."""
    t, v, y = [Fraction(p) for p in points], [Fraction(p) for p in values], Fraction(y)
    if y <= t[0]:
        return v[0] + Fraction(left) * (y - t[0])
    if y >= t[-1]:
        return v[-1] + Fraction(right) * (y - t[-1])
    i = next(i for i in range(len(t)) if y < t[i + 1])
    return v[i] + (v[i + 1] - v[i]) / (t[i + 1] - t[i]) * (y - t[i])


def shortfall(gate, points, values, left, right, y):
    """By how much, at most, the error at the points y exceeds the bound: above 0 it is broken."""
    got = gate.network(y[:, None])[:, 0]
    return max(
        float(abs(Fraction(g) - exactly(points, values, left, right, each)))
        - (gate.bound + gate.rounding * abs(each))
        for g, each in zip(got.tolist(), y.tolist(), strict=True)
    )


def looked_at(points, beta, rng):
    """At and near every kink on all scales, between kinks, and far outside."""
    t = np.asarray(points)
    near = np.concatenate([-NEAR, NEAR, rng.normal(size=8) * 3]) / beta
    hull = t[-1] - t[0] + 1.0
    inside = rng.uniform(t[0] - hull, t[-1] + hull, 60)
    far = np.array([-1e9, -1e4, 1e4, 1e9]) * hull
    return np.concatenate([np.add.outer(t, near).ravel(), inside, far])


def steepest(network):
    keys = [h.anchor_keys for h in network.layers[1].heads if h.anchor_keys is not None]
    return max((float(np.abs(k[:, 0]).max()) for k in keys), default=1.0)


@st.composite
def curves(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count = draw(st.integers(1, 8))
    scale, shift = 10.0 ** draw(st.integers(-6, 6)), draw(st.sampled_from([0.0, 1.0, -300.0]))
    gaps = rng.choice([1e-3, 0.1, 1.0], count) * rng.uniform(0.5, 1, count)
    points = (np.cumsum(gaps) + shift) * scale
    values = rng.normal(size=count) * 10.0 ** draw(st.integers(-3, 3))
    values[rng.random(count) < 0.3] = values[0]  # flat pieces
    left, right = rng.normal(size=2) * draw(st.sampled_from([0.0, 1.0, 30.0])) / scale
    return points.tolist(), values.tolist(), float(left), float(right), rng


@given(curves(), st.sampled_from([1e-1, 1e-4, 1e-7]))
def test_a_piecewise_linear_function_is_within_its_bound_everywhere(curve, relative):
    points, values, left, right, rng = curve
    error = relative * max(map(abs, values))
    try:
        gate = piecewise_linear(points, values, error, left, right)
    except PrecisionError:
        # kinks 1e-3 apart among values of 1e3: rounding is above, and the message says by how much
        assert relative < 1e-4
        return
    assert gate.bound <= error
    y = looked_at(points, steepest(gate.network), rng)
    assert shortfall(gate, points, values, left, right, y) <= 0
    assert gate.error <= gate.bound + gate.rounding * np.abs(y).max()


@given(curves())
def test_the_bound_holds_at_the_least_error_float64_can_hold(curve):
    points, values, left, right, rng = curve
    with pytest.raises(PrecisionError, match="ask for at least that") as told:
        piecewise_linear(points, [v + 1 for v in values], 1e-300, left, right)
    least = float(str(told.value).split("function is ")[1].split(";")[0]) * 1.01
    lifted = [v + 1 for v in values]
    gate = piecewise_linear(points, lifted, least, left, right)
    assert gate.bound <= least
    y = looked_at(points, steepest(gate.network), rng)
    assert shortfall(gate, points, lifted, left, right, y) <= 0


@given(st.floats(-14, 2), st.integers(0, 10**6))
def test_relu_takes_two_keys_at_any_error(digits, seed):
    error = 10.0**digits
    gate = relu(error)
    assert gate.keys == 2
    assert 0.49 * error < gate.bound <= error
    assert gate.error > 0.99 * gate.bound  # no smaller bound would do
    y = looked_at([0.0], steepest(gate.network), np.random.default_rng(seed))
    assert shortfall(gate, [0.0], [0.0], 0.0, 1.0, y) <= 0


def test_relu_far_below_the_rounding_of_one():
    gate = relu(1e-100)
    assert gate.bound <= 1e-100
    y = np.array([-1.0, -1e-50, 1e-99, 1e-50, 1.0])
    got, exact = gate.network(y[:, None])[:, 0], np.maximum(y, 0)
    assert (np.abs(got - exact) <= gate.bound + gate.rounding * np.abs(y)).all()


@given(
    st.floats(-100, 100),
    st.floats(1e-3, 100),
    st.sampled_from([1e-2, 1e-6, 1e-9]),
    st.integers(0, 10**6),
)
def test_clip_takes_three_keys_and_ends_exactly(low, length, relative, seed):
    high = low + length
    gate = clip(low, high, relative * length)
    assert gate.keys == 3
    assert gate.rounding == 0
    assert gate.bound <= relative * length
    beta = steepest(gate.network)
    y = looked_at([low, high], beta, np.random.default_rng(seed))
    assert shortfall(gate, [low, high], [low, high], 0.0, 0.0, y) <= 0
    ends = np.array([[low - 800 / beta - length], [high + 800 / beta + length]])
    assert gate.network(ends).ravel() == pytest.approx([low, high], rel=1e-15, abs=0)


@given(st.integers(-20, 20), st.integers(0, 10**6))
def test_scaling_by_a_power_of_two_scales_the_network_exactly(power, seed):
    rng = np.random.default_rng(seed)
    t, v = np.cumsum(rng.uniform(0.1, 1, 5)), rng.normal(size=5)
    y, scale = rng.uniform(0, 4, (50, 1)), 2.0**power
    one = piecewise_linear(t, v, 1e-6, 0.5, -1.0)
    other = piecewise_linear(scale * t, scale * v, scale * 1e-6, 0.5, -1.0)
    assert other.bound == scale * one.bound
    np.testing.assert_array_equal(other.network(scale * y), scale * one.network(y))


def test_a_kink_far_from_zero_is_as_good_as_one_at_zero():
    at_zero = piecewise_linear([-1.0, 0.0, 1.0], [0.0, 1.0, 0.0], 1e-9)
    far = piecewise_linear([2.0**40 - 1, 2.0**40, 2.0**40 + 1], [0.0, 1.0, 0.0], 1e-9)
    y = np.linspace(-2, 2, 4001)[:, None]
    y = (y + 2.0**40) - 2.0**40
    np.testing.assert_array_equal(far.network(y + 2.0**40), at_zero.network(y))
    assert far.bound == at_zero.bound


def test_kinks_do_not_add_up():
    rng = np.random.default_rng(3)
    t, v = np.cumsum(rng.uniform(0.01, 1, 100)), rng.normal(size=100)
    gate = piecewise_linear(t, v, 1e-8)
    assert gate.bound <= 1e-8
    assert gate.error <= gate.bound
    assert gate.keys == 3 * 99


def test_flat_pieces_and_points_on_a_line_take_no_keys():
    dead_zone = piecewise_linear([-1.0, 1.0], [0.0, 0.0], 1e-9, 1.0, 1.0)
    assert dead_zone.keys == 4
    hat = piecewise_linear([-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 0.0, 0.0], 1e-9)
    assert hat.keys == 6
    line = piecewise_linear([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1e-9, 2.0, 2.0)
    assert line.keys == 1
    constant = piecewise_linear([0.0, 1.0], [5.0, 5.0], 1e-9)
    assert constant.keys == 1
    y = np.linspace(-3, 3, 61)[:, None]
    for gate, f in (
        (dead_zone, lambda y: y - np.clip(y, -1, 1)),
        (hat, lambda y: np.maximum(1 - np.abs(y), 0)),
        (line, lambda y: 1 + 2 * y),
        (constant, lambda y: 0 * y + 5),
    ):
        assert np.abs(gate.network(y) - f(y)).max() <= gate.bound + 3 * gate.rounding


@given(st.floats(-3, 9), st.integers(1, 5), st.integers(0, 10**6))
def test_only_the_change_of_slope_costs(digits, count, seed):
    rng = np.random.default_rng(seed)
    slope, points = 10.0**digits, np.cumsum(rng.uniform(0.5, 1, count))
    turns = rng.uniform(0.5, 1, count)
    values = np.append(0.0, np.cumsum((slope + np.cumsum(turns))[:-1] * np.diff(points)))
    error = 1e-3 + 1e-13 * slope
    right = slope + float(turns.sum())
    gate = piecewise_linear(points, values, error, slope, right)
    assert gate.bound <= error
    assert steepest(gate.network) <= max(2 * 0.2785 * (turns.max() + 1e-10 * slope) / 5e-4, 128)
    y = looked_at(points, steepest(gate.network), rng)
    y = y[np.abs(y) < 1e3]
    assert shortfall(gate, points.tolist(), values.tolist(), slope, right, y) <= 0


def test_many_kinks_nearer_than_the_error_do_not_add_up():
    points = np.linspace(0, 1e-3, 50)
    values = np.append(0.0, np.cumsum(np.arange(1, 50) * np.diff(points)))
    gate = piecewise_linear(points, values, 0.05, 0.0, 50.0)
    assert gate.bound <= 0.05
    y = looked_at(points, steepest(gate.network), np.random.default_rng(0))
    assert shortfall(gate, points.tolist(), values.tolist(), 0.0, 50.0, y) <= 0


def test_kinks_nearer_than_the_error_are_still_within_it():
    points, values = [0.0, 1e-6, 2e-6, 1.0], [0.0, 1e-6, -1e-6, 1.0]
    gate = piecewise_linear(points, values, 0.1)
    assert gate.bound <= 1e-4  # scores are as steep as the nearest kinks need
    y = looked_at(points, steepest(gate.network), np.random.default_rng(0))
    assert shortfall(gate, points, values, 0.0, 0.0, y) <= 0


def test_torch_computes_the_same():
    points, values = [-1.0, 0.5, 2.0], [0.0, 1.0, -1.0]
    gate = piecewise_linear(points, values, 1e-9, 0.5, 2.0)
    y = looked_at(points, steepest(gate.network), np.random.default_rng(1))[:, None]
    there = gate.network(torch.from_numpy(y)).numpy()
    slack = 2 * (gate.rounding * np.abs(y) + 1e-14)
    assert (np.abs(there - gate.network(y)) <= slack).all()
    single = relu(1e-3).network(torch.linspace(-1, 1, 101).reshape(-1, 1))
    expected = torch.linspace(-1, 1, 101).clamp(min=0).reshape(-1, 1)
    assert float((single - expected).abs().max()) <= 1e-3


def test_tokens_do_not_see_each_other():
    gate = relu(1e-9)
    y = np.random.default_rng(0).normal(size=(3, 7, 1))
    each = np.stack([gate.network(token[None]) for token in y.reshape(-1, 1)])
    np.testing.assert_array_equal(gate.network(y).ravel(), each.ravel())


def test_forms_say_what_they_cannot_write():
    gate = clip(-1.0, 1.0, 1e-6)
    y = np.linspace(-2, 2, 11)[:, None]
    np.testing.assert_array_equal(to_prefix(gate.network)(y), gate.network(y))
    with pytest.raises(FormError, match="keep the prefix form"):
        to_sequence(gate.network)
    with pytest.raises(FormError):
        to_heads(gate.network)


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (lambda: relu(0.0), InputError, "error is 0.0 where a number above 0"),
        (lambda: relu(1e-200), PrecisionError, "ask for a larger error"),
        (lambda: clip(1.0, 1.0, 1e-3), InputError, "give the smaller number as low"),
        (lambda: clip(0.0, 1.0, 1e-15), PrecisionError, r"hold for this function is 8\.11e-15"),
        (lambda: clip(0.0, 1e-160, 1e-170), PrecisionError, "scale the points up"),
        (lambda: piecewise_linear([], [], 1e-3), ShapeError, "points is empty"),
        (lambda: piecewise_linear([1.0, 0.0], [0.0, 0.0], 1e-3), InputError, "sort the points"),
        (lambda: piecewise_linear([0.0, 1.0], [0.0], 1e-3), ShapeError, "values has shape"),
        (lambda: piecewise_linear([0.0], [0.0], 1e-3, np.nan), InputError, "left_slope is nan"),
        (
            lambda: piecewise_linear([0.0, 1e-300], [0.0, 1.0], 1e-3),
            PrecisionError,
            "scale them to moderate size",
        ),
        (
            lambda: piecewise_linear([0.0, 1e-14, 1.0], [0.0, 1e-20, 1.0], 1e-3),
            PrecisionError,
            "make one point of them",
        ),
    ],
)
def test_bad_input_is_named(make, kind, says):
    with pytest.raises(kind, match=says):
        make()
