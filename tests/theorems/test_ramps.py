"""Theorems 1 and 2 on the same cases: shapes, bound, rate, what they refuse."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.errors import InputError, PrecisionError, ShapeError, SizeError
from anchorhead.heads.anchors import sharing_error
from anchorhead.heads.uniform import sharpness, tail
from anchorhead.layers import Linear
from anchorhead.reproduce.rates import multi_head_rate, single_head_rate
from anchorhead.theorems import multi_head, single_head
from anchorhead.theorems.ramps import BAND, Ramps


@st.composite
def ramps(draw, theorem):
    """(construction, arguments, inputs): random ramps whose inputs reach all of the range."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(3 if theorem is multi_head else 1, 8)), draw(st.integers(1, 5))
    low = draw(st.floats(-20, 20))
    high = low + draw(st.floats(0.01, 40))
    if theorem is single_head:
        size = draw(st.integers(n + 1, 80))
        anchors = size
    else:
        size = draw(st.integers(1, 12))
        anchors = size * (n - 2)
    slots, width = None, draw(st.none() | st.integers(4, 6))
    if draw(st.booleans()):
        runs = draw(st.integers(1, 4))
        slots = rng.integers(0, 4, anchors)
        slots = slots[np.sort(rng.integers(0, anchors, anchors))] if runs > 2 else slots
    error = draw(st.sampled_from([0.3, 1e-2, 1e-5, 1e-9, 1e-13]))
    weights = rng.normal(size=(n, d)) * (high - low)
    offsets = rng.uniform(low, high, n)
    made = theorem(weights, offsets, low, high, size, slots=slots, width=width, softmax_error=error)
    X = rng.normal(size=(300, n, d))
    y = rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low), (300, n))
    X[150:] -= ((weights * X).sum(-1) + offsets - y)[150:, :, None] * (
        weights / (weights**2).sum(-1, keepdims=True)
    )
    return made, (weights, offsets, low, high, anchors, slots, width, error), X


def check_bound(made, X):
    error = np.abs(made.network(X) - made.target(X)).max(axis=-1)
    applies = made.applies(X)
    assert applies.shape == error.shape
    assert error[applies].max(initial=0.0) <= made.bound
    return applies


@given(ramps(single_head))
def test_single_head_is_within_its_bound(drawn):
    made, (weights, _, low, high, anchors, slots, width, error), X = drawn
    n, d = weights.shape
    applies = check_bound(made, X)
    assert slots is not None or applies.all()
    width = width or (1 if slots is None else slots.max() + 1)
    first = made.network.layers[0]
    assert isinstance(first, Linear)
    assert first.shape_in == (n, d)
    assert first.shape_out == (anchors, 2 * d + width + 2)
    assert made.network.shape_out == (n, width)
    assert made.network.size.heads == 1
    assert made.bound == pytest.approx(max(abs(low), abs(high)) * error + (high - low) / anchors)


@given(ramps(multi_head))
def test_multi_head_is_within_its_bound(drawn):
    made, (weights, _, low, high, anchors, slots, _, error), X = drawn
    n, d = weights.shape
    applies = check_bound(made, X)
    assert slots is not None or applies.all()
    first = made.network.layers[0]
    assert isinstance(first, Linear)
    assert first.shape_in == (n, d)
    assert first.shape_out == (n, d + n)
    assert made.network.size.heads == anchors // (n - 2)
    assert made.network.size.anchors == n * made.network.size.heads
    assert made.bound == pytest.approx(max(abs(low), abs(high)) * error + (high - low) / anchors)


def on_a_line(theorem, size, slots=None, count=20_001, error=1e-9, n=3):
    """The construction for y = x alone, and inputs that run densely through and past [−1, 2]."""
    made = theorem(np.ones((n, 1)), np.zeros(n), -1.0, 2.0, size, slots=slots, softmax_error=error)
    x = np.linspace(-1.5, 2.5, count)
    return made, np.broadcast_to(x[:, None, None], (count, n, 1))


@pytest.mark.parametrize(("theorem", "size"), [(single_head, 40), (multi_head, 40)])
@pytest.mark.parametrize("slots", [None, "alternating"])
def test_the_bound_is_what_the_construction_gives(theorem, size, slots):
    """Dense inputs come to more than a third of the bound and never beyond it."""
    slots = None if slots is None else np.arange(40) % 2
    made, X = on_a_line(theorem, size, slots)
    error = np.abs(made.network(X) - made.target(X)).max(axis=-1)[made.applies(X)].max()
    assert made.bound / 3 < error <= made.bound


@pytest.mark.parametrize("theorem", [single_head, multi_head])
def test_the_band_is_where_no_head_can_choose_and_no_larger(theorem):
    made, X = on_a_line(theorem, 40, np.arange(40) % 2, count=200_001)
    applies = made.applies(X)
    inside = (X[..., 0] > -1) & (X[..., 0] < 2)
    assert applies[~inside].all()
    assert applies[inside].mean() == pytest.approx(1 - 2 * BAND, abs=1e-3)
    error = np.abs(made.network(X) - made.target(X)).max(axis=-1)
    assert error[~applies].max() > 10 * made.bound


@pytest.mark.parametrize("theorem", [single_head, multi_head])
def test_a_slot_that_never_changes_nearby_is_not_left_out(theorem):
    made, X = on_a_line(theorem, 40, np.repeat([0, 1], 20))
    left_out = X[..., 0][~made.applies(X)]
    assert left_out.min() > 0.4
    assert left_out.max() < 0.6


def test_other_coordinates_hold_only_what_strays():
    made, X = on_a_line(single_head, 40, np.repeat([0, 1], 20))
    result = made.network(X)
    index = np.argmax(np.abs(made.target(X)), axis=-1)
    others = np.take_along_axis(result, 1 - index[..., None], axis=-1)[..., 0]
    away = np.abs(X[..., 0] - 0.5) > 0.1
    assert np.abs(others[away]).max() <= 2 * 1e-9


@pytest.mark.parametrize("theorem", [single_head, multi_head])
@pytest.mark.parametrize("slots", [None, "alternating"])
def test_products_that_cancel_do_not_cost_the_bound(theorem, slots):
    """w_i ∘ x_i of size 10⁸ whose sum lies in the range: only the sum's own rounding may show."""
    rng = np.random.default_rng(0)
    large, count = 1e8, 4096 if theorem is single_head else 2048
    slots = None if slots is None else np.arange(count) % 2
    size = count if theorem is single_head else count // 2
    X = rng.normal(size=(200, 4, 4))
    X[..., 0] = rng.uniform(-1, 1, (200, 4)) / large - X[..., 1:].sum(-1)
    made = theorem(np.full((4, 4), large), np.zeros(4), -1.0, 1.0, size, slots=slots)
    check_bound(made, X)


def test_ends_are_saturated():
    for theorem in (single_head, multi_head):
        made, _ = on_a_line(theorem, 40)
        far = made.network(np.array([-1e6, -3.0, 4.0, 1e6])[:, None, None] * np.ones((4, 3, 1)))
        np.testing.assert_allclose(far[:, 0, 0], [-1, -1, 2, 2], atol=1e-8)


@pytest.mark.parametrize("fault", ["value", "slope", "missing piece"])
def test_a_wrong_weight_breaks_the_bound(fault):
    """The checks above can fail: each fault is larger than the bound allows."""
    made, X = on_a_line(multi_head, 40)
    first, layer = made.network.layers
    heads = list(layer.heads)
    if fault == "missing piece":
        del heads[20]
    else:
        name = "value" if fault == "value" else "key"
        changed = getattr(heads[20], name).copy()
        changed[:, 0] *= 1.5
        heads[20] = replace(heads[20], **{name: changed})
    broken = replace(made.network, layers=(first, replace(layer, heads=tuple(heads))))
    assert np.abs(broken(X) - made.target(X)).max() > made.bound


@given(st.integers(3, 9), st.integers(1, 60), st.sampled_from([0.3, 1e-3, 1e-9, 1e-13]))
def test_what_sharing_adds_is_within_the_softmax_error(n, heads, error):
    """The proof in ``multi_head`` against the general bound for sharing, where that is sharp."""
    count = heads * (n - 2)
    ramp = Ramps.of(np.ones((n, 1)), np.zeros(n), 0.0, 1.0, count, None, None, error)
    laid = ramp.anchors(margin=8.0)
    h = sharpness(error / 8)
    np.testing.assert_allclose(laid.intercepts[0], -h * ((count - 1) / 2) ** 2)
    assert tail(h) <= error / 8
    # The general bound adds up all sentinels at their worst, so it grows with the heads.
    assert sharing_error(laid, n) <= 2 * heads * 1.1 * math.exp(-2 * h)


@pytest.mark.parametrize("rate", [single_head_rate, multi_head_rate])
def test_the_error_falls_like_one_over_the_size(rate):
    measured = rate()
    assert measured.slope == pytest.approx(-1, abs=0.05)
    for error, bound in zip(measured.errors, measured.bounds, strict=True):
        assert error <= bound


GOOD = {
    "weights": np.ones((3, 2)),
    "offsets": np.zeros(3),
    "low": -1.0,
    "high": 1.0,
    "size": 8,
    "slots": None,
    "width": None,
    "softmax_error": 1e-9,
}


def make(theorem, **changes):
    given = {**GOOD, **changes}
    size = given.pop("size")
    named = {name: given.pop(name) for name in ("slots", "width", "softmax_error")}
    return theorem(*given.values(), size, **named)


@pytest.mark.parametrize("theorem", [single_head, multi_head])
@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ({"weights": np.ones(3)}, ShapeError, "weights"),
        ({"weights": np.ones((0, 2))}, ShapeError, "weights is empty"),
        ({"weights": np.ones((3, 2), dtype=int)}, InputError, "weights.astype"),
        ({"weights": np.full((3, 2), np.nan)}, InputError, r"weights\[0, 0\] is nan"),
        ({"offsets": np.zeros(2)}, ShapeError, "offsets"),
        ({"offsets": [0, np.inf, 0]}, InputError, r"offsets\[1\] is inf"),
        ({"low": 1.0}, InputError, "low must be below high"),
        ({"low": 2.0}, InputError, "low must be below high"),
        ({"high": np.nan}, InputError, "high is nan"),
        ({"size": 0}, InputError, "at least"),
        ({"size": 8.0}, InputError, "whole number"),
        ({"slots": [0, 1]}, ShapeError, "slots"),
        ({"slots": np.full(8, -1)}, InputError, "slots"),
        ({"slots": np.full(8, 0.5)}, InputError, "slots"),
        ({"slots": np.arange(8), "width": 3}, InputError, "width is 3"),
        ({"width": 0}, InputError, "width"),
        ({"softmax_error": 0.0}, InputError, "softmax_error"),
        ({"softmax_error": 1.0}, InputError, "softmax_error"),
        ({"low": 1e12, "high": 1e12 + 1e-2}, PrecisionError, "fewer anchors"),
        ({"low": 0.0, "high": 1e-308}, PrecisionError, "high"),
        ({"low": 1e308, "high": 1.1e308, "offsets": np.full(3, -1.7e308)}, InputError, "offsets"),
        ({"low": 10**400}, InputError, "low"),
        ({"softmax_error": 5e-324}, PrecisionError, "softmax_error"),
        ({"softmax_error": "1e-9"}, InputError, "softmax_error"),
        ({"size": 10**13}, SizeError, "fewer"),
        ({"size": 10**400}, SizeError, "fewer"),
        ({"width": 10**13}, SizeError, "width"),
        ({"slots": np.full(8, 2**63, dtype=np.uint64)}, SizeError, "slots"),
        ({"slots": [[0], [1, 2]]}, InputError, "slots"),
    ],
)
def test_bad_input_is_named(theorem, changes, kind, says):
    with pytest.raises(kind, match=says):
        make(theorem, **changes)


def test_too_few_anchors_or_tokens():
    with pytest.raises(InputError, match="the theorem needs p > n, and n is 3"):
        make(single_head, size=3)
    with pytest.raises(ShapeError, match="at least 3"):
        make(multi_head, weights=np.ones((2, 2)), offsets=np.zeros(2))


def test_bad_inputs_to_what_comes_back():
    made = make(single_head)
    for call in (made.network, made.target, made.applies):
        with pytest.raises(InputError, match="X"):
            call(np.zeros((3, 2), dtype=int))
        with pytest.raises(ShapeError, match="X"):
            call(np.zeros((4, 2)))
