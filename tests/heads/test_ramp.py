"""Graded anchors of a ramp: the bound on every scale, with jumps, over several heads."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.errors import InputError, PrecisionError
from anchorhead.heads.ramp import Stretch, filled, ramp, segment
from networks import evaluate_anchors as evaluate


def around(points, length):
    """The points themselves, and both sides of them on all scales from float64's to ``length``."""
    steps = length * np.concatenate([[0.0], np.geomspace(1e-17, 3.0, 120)])
    return np.add.outer(points, np.concatenate([steps, -steps])).ravel()


def ramp_points(low, high):
    far = (high - low) * np.geomspace(1, 1e9, 10)
    dense = np.linspace(low - 0.2 * (high - low), high + 0.2 * (high - low), 2001)
    return np.concatenate([dense, around([low, high], high - low), low - far, high + far])


def ramp_error(heads, low, high):
    y = ramp_points(low, high)
    total = sum(evaluate(head, y)[:, 0] for head in heads)
    return np.abs(total - np.clip(y, low, high)).max()


signed = st.builds(lambda e, s: s * 10.0**e, st.floats(-9, 9), st.sampled_from([-1.0, 0.0, 1.0]))
length = st.floats(-9, 9).map(lambda e: 10.0**e)


@given(signed, length, st.none() | st.floats(-9, 0), st.sampled_from([4, 5, 9, None]))
def test_one_ramp_is_within_its_bound_and_the_error_asked_for(low, length, exponent, places):
    high = low + length
    if high - low < 2**12 * np.spacing(max(abs(low), abs(high))):
        return
    rounding = 1e-14 * max(abs(low), abs(high))
    error = None if exponent is None else 10.0**exponent * length + rounding
    heads, bound = ramp([Stretch((low, high), (0,), 0)], places=places, error=error)
    assert len(heads) == 1
    assert len(heads[0]) == (places or 5)
    assert error is None or bound <= error
    assert ramp_error(heads, low, high) <= bound


@st.composite
def several(draw):
    """Stretches of up to 4 runs of any lengths, a width, and a band that fits them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    heads, width = draw(st.sampled_from([1, 2, 3, 12])), draw(st.integers(1, 3))
    stretches, edge, slot = [], draw(signed), int(rng.integers(width))
    unit = max(draw(length), 1e-8 * abs(edge))
    for number in range(heads):
        runs = int(rng.integers(1, 5)) if width > 1 else 1
        edges = [edge, *(edge + np.cumsum(unit * 10 ** rng.uniform(-1.5, 0, runs)))]
        first = slot if rng.random() < 0.5 else int(rng.integers(width))
        slots = [first]
        for _ in range(runs - 1):
            slots.append(int(slots[-1] + rng.integers(1, width)) % width)
        stretches.append(Stretch(edges, slots, slot if number else first))
        edge, slot = edges[-1], slots[-1]
    shortest = min(part.halves.min() for part in stretches)
    band = draw(st.sampled_from([math.inf, 1.0, 0.1, 0.01])) * shortest
    return stretches, width, band, min(band, shortest)


@given(several())
def test_heads_and_runs_add_up_to_the_target_outside_the_bands(drawn):
    stretches, width, band, tau = drawn
    heads, bound = ramp(stretches, width=width, band=band)
    edges = np.concatenate([part.edges[:-1] for part in stretches] + [stretches[-1].edges[-1:]])
    slots = np.concatenate([part.slots for part in stretches])
    jumps = edges[1:-1][np.diff(slots) != 0]
    span = edges[-1] - edges[0]
    y = np.concatenate(
        [
            np.linspace(edges[0] - 0.1 * span, edges[-1] + 0.1 * span, 1001),
            around(edges, span / len(edges)),
            around(np.concatenate([jumps + tau, jumps - tau]), tau),
        ]
    )
    y = y[(np.abs(y[:, None] - jumps) >= tau).all(axis=1)]
    value = np.clip(y, edges[0], edges[-1])
    run = np.clip(np.searchsorted(edges, value, side="right") - 1, 0, len(slots) - 1)
    target = np.where(np.arange(width) == slots[run][:, None], value[:, None], 0.0)
    total = sum(evaluate(head, y) for head in heads)
    assert np.abs(total - target).max() <= bound


@pytest.mark.parametrize("places", [4, 5])
@pytest.mark.parametrize("error", [None, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 2.0), (-7e-5, 3e-5), (20.0, 400.0)])
def test_the_bound_is_less_than_thirty_times_the_error(low, high, error, places):
    error = None if error is None else error * (high - low)
    heads, bound = ramp([Stretch((low, high), (0,), 0)], places=places, error=error)
    assert bound <= 30 * ramp_error(heads, low, high)
    assert error is None or bound > 0.9 * error


def test_what_float64_can_show():
    """About the least error: 1e-11 of the length with two anchors in the middle, 1e-12 with three."""
    for places, least in ((4, 3e-10), (5, 3e-12)):
        _, bound = ramp([Stretch((-1.0, 1.0), (0,), 0)], places=places)
        assert bound < least


def test_many_heads_cost_no_more_than_a_few():
    bounds = []
    for count in (4, 400):
        edges = np.linspace(-1.0, 1.0, count + 1)
        parts = [Stretch(edges[i : i + 2].tolist(), [0], 0) for i in range(count)]
        heads, bound = ramp(parts, places=5)
        assert ramp_error(heads, -1.0, 1.0) <= bound
        bounds.append(bound)
    assert bounds[1] < bounds[0]


@pytest.mark.parametrize("short", [1e-6, 1e-8, 1e-10])
def test_a_kink_beside_a_short_run_is_as_steep_as_that_takes(short):
    """Then rounding is all that the bound adds up, and it is near the error."""
    (head,), bound = ramp([Stretch((0, 1, 1 + short), (0, 1), 0)], width=2)
    y = np.append(1 - short * np.geomspace(0.5, 1e3, 200), np.linspace(0, 0.999, 2001))
    error = np.abs(evaluate(head, y) - np.outer(y, [1, 0])).max()
    assert error <= bound <= 4 * error


def test_silent_anchors_have_no_weight_at_all():
    """Values of size h/δ cancel: thousands of copies that share a weight would round each time."""
    (head,), bound = ramp([Stretch((-1.0, 2.0), (0,), 0)])
    assert filled(head, 3).keys.tolist() == head.keys.tolist()
    full = filled(head, 10_000)
    assert len(full) == 10_000
    y = np.append(around([-1.0, 2.0], 0.1), np.linspace(-2, 3, 101))[:, None]
    scores = (y - full.centre) / full.unit * full.slopes + full.intercepts
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert (weights[:, 5:] == 0).all()
    assert (weights[:, :5].max(axis=0) > 0).all()
    assert np.abs(evaluate(full, y[:, 0])[:, 0] - np.clip(y[:, 0], -1, 2)).max() <= bound
    far = np.array([-1e9, 1e9])  # scores so large that 800 is lost in them: the value is the same
    assert np.abs(evaluate(full, far)[:, 0] - [-1, 2]).max() <= bound


@given(st.floats(-11, 0).map(lambda e: 10.0**e))
def test_segment_is_the_identity_within_its_bound_and_no_steeper(error):
    line, bound = segment(error)
    y = np.linspace(0, 1, 2001)
    assert bound <= error
    assert np.abs(evaluate(line, y)[:, 0] - y).max() <= bound
    assert len(line) == 3
    steps = np.diff(evaluate(line, y)[:, 0]) / np.diff(y)
    assert steps.max() <= 1 + 1e-8


@pytest.mark.parametrize(
    ("edges", "slots", "options", "kind", "says"),
    [
        ((0, 1), (0,), {"places": 3}, InputError, "3 anchors a head, where a ramp takes 4; use"),
        ((0, 1, 2), (0, 1), {"places": 5}, InputError, "slots has 2 runs in one head.* take 6"),
        ((1e9, 1e9 + 1e-5), (0,), {}, PrecisionError, "too short for float64"),
        ((0, 1, 1 + 1e-14), (0, 1), {}, PrecisionError, "too short for float64"),
        ((0, 1e-300), (0,), {}, PrecisionError, "scale the range up"),
        ((-1e300, 1e300), (0,), {}, PrecisionError, "scale the range down"),
        ((0, 1), (0,), {"error": 1e-13}, PrecisionError, "error is so small .* larger error"),
        ((0, 1), (0,), {"error": 1e-16}, PrecisionError, "error is so small .* larger error"),
    ],
)
def test_what_cannot_be_made_is_named(edges, slots, options, kind, says):
    with pytest.raises(kind, match=says):
        ramp([Stretch(edges, slots, 0)], width=2, **options)
