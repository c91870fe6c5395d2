"""The four theorems with graded anchors: the paper's shapes and meaning, the construction's bounds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead import Attention, Box, Linear, Softmax
from anchorhead.errors import InputError, PrecisionError, ShapeError
from anchorhead.forms import to_prefix
from anchorhead.reproduce.sequences import hard_inputs, random_relu
from anchorhead.theorems import (
    ReLUNetwork,
    multi_head,
    one_layer_softmax,
    single_head,
    two_layers,
)
from anchorhead.theorems.ramps import BAND
from networks import relu_network

RAMPS = pytest.mark.parametrize("theorem", [single_head, multi_head])
BOTH = pytest.mark.parametrize("theorem", [two_layers, one_layer_softmax])


def make(theorem, weights, offsets, low, high, size, anchors="graded", **options):
    """``size`` is the number p of anchors in the first theorem and H of heads in the second."""
    if theorem is single_head:
        return single_head(weights, offsets, low, high, anchors, count=size, **options)
    return multi_head(weights, offsets, low, high, size, anchors=anchors, **options)


def hard_values(rng, low, high, anchors, part, count):
    """Values of y where errors are largest: the ends, the parts' edges and the bands' on all scales."""
    delta = (high - low) / (anchors - 1)
    midpoints = low + (np.arange(anchors - 1) + 0.5) * delta
    chosen = rng.choice(midpoints, count // 3)
    sides = rng.choice([-1.0, 1.0], count // 3)
    bands = chosen + sides * delta * (BAND + 10 ** rng.uniform(-16, -1, count // 3))
    points = np.concatenate([[low, high], midpoints[part - 1 :: part]])
    kinks = rng.choice(points, count // 3) + rng.choice([-1.0, 0.0, 1.0], count // 3) * (
        (high - low) * 10 ** rng.uniform(-17, 2, count // 3)
    )
    between = rng.uniform(low - 0.3 * (high - low), high + 0.3 * (high - low), count)
    return np.concatenate([bands, kinks, between])[:count]


@st.composite
def ramps(draw, theorem):
    """(construction, shape, slots, X): random ramps on ranges of any size anywhere."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(4, 12)), draw(st.integers(1, 5))
    length = 10.0 ** draw(st.floats(-9, 9))
    low = draw(st.floats(-2, 2)) * length * 10.0 ** draw(st.sampled_from([0, 0, 5]))
    heads = 1 if theorem is single_head else draw(st.integers(1, 12))
    part = draw(st.integers(n + 1, 60)) if theorem is single_head else n - 2
    places = part if theorem is single_head else n
    slots = None
    if draw(st.booleans()):
        runs = [int(rng.integers(1, min(part, (places - 2) // 2) + 1)) for _ in range(heads)]
        cuts = [np.sort(rng.choice(np.arange(1, part), r - 1, replace=False)) for r in runs]
        cut = [np.diff(np.concatenate([[0], c, [part]])) for c in cuts]
        slots = np.concatenate([np.repeat(rng.integers(0, 4, len(c)), c) for c in cut])
    high = low + length
    weights, offsets = rng.normal(size=(n, d)), rng.uniform(low, high, n)
    size = part if theorem is single_head else heads
    made = make(theorem, weights, offsets, low, high, size, slots=slots)
    y = hard_values(rng, low, high, heads * part, part, 60 * n).reshape(60, n)
    X = (y - offsets)[..., None] / d / weights
    return made, (n, d, heads, part), slots, X


def check_ramps(made, shape, slots, X):
    n, d, heads, _ = shape
    error = np.abs(made.network(X) - made.target(X)).max(axis=-1)
    applies = made.applies(X)
    assert slots is not None or applies.all()
    assert error[applies].max(initial=0.0) <= made.bound
    width = 1 if slots is None else slots.max() + 1
    first, attention = made.network.layers
    assert isinstance(first, Linear)
    assert isinstance(attention, Attention)
    assert first.shape_in == (n, d)
    assert made.network.shape_out == (n, width)
    assert len(attention.heads) == heads
    return first, width


@given(ramps(single_head))
def test_single_head_is_within_its_bound_in_the_papers_shape(drawn):
    (_, d, _, count) = drawn[1]
    first, width = check_ramps(*drawn)
    assert first.shape_out == (count, 2 * d + width + 2)
    assert drawn[0].network.size.anchors == count


@given(ramps(multi_head))
def test_multi_head_is_within_its_bound_in_the_papers_shape(drawn):
    (n, d, heads, part) = drawn[1]
    first, _ = check_ramps(*drawn)
    assert first.shape_out == (n, d + n)
    assert part == n - 2
    assert drawn[0].network.size.anchors == n * heads


def on_a_line(theorem, size, slots=None, anchors="graded", n=6, count=6000):
    """The construction for y = x alone, and inputs that crowd where it is hard."""
    ones, zeros = np.ones((n, 1)), np.zeros(n)
    made = make(theorem, ones, zeros, -1.0, 2.0, size, anchors, slots=slots)
    total, part = (size, size) if theorem is single_head else (size * (n - 2), n - 2)
    y = hard_values(np.random.default_rng(0), -1.0, 2.0, total, part, count)
    return made, y.reshape(-1, n, 1)


def worst(made, X, network=None):
    error = np.abs((network or made.network)(X) - made.target(X)).max(axis=-1)
    return error[made.applies(X)].max()


CASES = {
    "one run": (lambda count: None, 1e-11),
    "two slots": (lambda count: np.repeat([0, 1], count // 2), 1e-8),
    "slots of one anchor": (lambda count: np.repeat([0, 1, 0, 2], [1, 1, 1, count - 3]), 1e-7),
}


@RAMPS
@pytest.mark.parametrize("case", CASES)
def test_the_bound_is_near_the_error_and_far_below_uniform_anchors(theorem, case):
    slots, least = CASES[case]
    size, count = (40, 40) if theorem is single_head else (10, 40)
    n = 12 if theorem is multi_head and case == "slots of one anchor" else 6
    size = size if n == 6 else 4
    made, X = on_a_line(theorem, size, slots(count), n=n)
    error = worst(made, X)
    assert error <= made.bound <= 30 * error
    assert made.bound < least
    paper, _ = on_a_line(theorem, size, slots(count), "uniform", n=n)
    assert made.bound < 1e-5 * paper.bound
    assert (made.target(X) == paper.target(X)).all()
    assert (made.applies(X) == paper.applies(X)).all()


@RAMPS
def test_the_band_is_needed(theorem):
    made, _ = on_a_line(theorem, 40 if theorem is single_head else 10, np.repeat([0, 1], 20))
    x = np.linspace(0.45, 0.55, 6001)[:6000].reshape(-1, 6, 1)
    error = np.abs(made.network(x) - made.target(x)).max(axis=-1)
    assert 0 < (~made.applies(x)).sum() < 1000
    assert error[~made.applies(x)].max() > 0.1


@RAMPS
def test_ends_are_saturated(theorem):
    made, _ = on_a_line(theorem, 40)
    far = made.network(
        np.array([-1e9, -1e3, -1.5, 2.5, 1e3, 1e9])[:, None, None] * np.ones((6, 6, 1))
    )
    np.testing.assert_allclose(far[..., 0].T, [[-1, -1, -1, 2, 2, 2]] * 6, atol=made.bound)


def test_silent_anchors_round_nothing():
    """With copies of the constants in the places left, 10,000 anchors round by more than the bound."""
    made = single_head(np.ones((3, 1)), np.zeros(3), -1.0, 2.0, "graded", count=10_000)
    X = np.linspace(-1.5, 2.5, 1201)[:, None, None] * np.ones((1, 3, 1))
    assert worst(made, X) <= made.bound


def test_products_that_cancel_within_the_range_do_not_cost_the_bound():
    """w_i ∘ x_i whose sizes sum to less than 8 max(|a|, |b|): their rounding is in the bound."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5, 40))
    X -= X.mean(axis=-1, keepdims=True)
    X *= 5.0 / np.abs(X).sum(axis=-1, keepdims=True)
    X += rng.uniform(-1, 1, (300, 5, 1)) / 40
    made = multi_head(np.ones((5, 40)), np.zeros(5), -1.0, 1.0, 3, anchors="graded")
    exact = np.clip(X.astype(np.longdouble).sum(axis=-1), -1, 1)
    assert np.abs(made.network(X)[..., 0] - exact).max() <= made.bound


FAULTS = {
    "flatter kinks": lambda heads: [scaled(head, "key", 1e-4) for head in heads],
    "values of another head": lambda heads: [replace(h, value=heads[0].value) for h in heads],
    "missing head": lambda heads: heads[1:],
    "larger values": lambda heads: [scaled(head, "value", 1 + 1e-9) for head in heads],
}


def scaled(head, name, factor):
    return replace(head, **{name: factor * getattr(head, name)})


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_weight_breaks_the_bound(fault):
    made, X = on_a_line(multi_head, 10)
    first, layer = made.network.layers
    heads = tuple(FAULTS[fault](list(layer.heads)))
    broken = replace(made.network, layers=(first, replace(layer, heads=heads)))
    assert worst(made, X, broken) > 10 * made.bound


@BOTH
@pytest.mark.parametrize("seed", range(6))
def test_random_relu_networks_within_a_millionth_with_ten_anchors(theorem, seed):
    relu, box = random_relu(20, 5, 10, seed), Box.cube(-1, 1, (20, 5))
    X = hard_inputs(relu, box, 1500, seed + 100)
    exact = relu(X)
    span = np.ptp(exact)
    made = theorem(relu, box, 1e-6 * span, anchors="graded")
    error = np.abs(to_prefix(made.network)(X) - exact).max()
    assert error <= made.bound <= 1e-6 * span
    assert np.abs(made.network(X[::20]) - exact[::20]).max() <= made.bound
    assert made.bound <= 30 * error
    assert made.network.size.anchors == 10
    assert made.network.size.heads == (2 if theorem is two_layers else 1)


@BOTH
@settings(max_examples=40)
@given(data=st.data())
def test_any_relu_network_on_any_box(theorem, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, d = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    out = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    relu = relu_network(n, d, data.draw(st.integers(1, 90)), seed, shape_out=out)
    middle = rng.normal(size=(n, d))
    half = rng.exponential(size=(n, d)) * (rng.random((n, d)) < 0.8)
    box = Box(middle - half, middle + half)
    error = data.draw(st.sampled_from([3.0, 0.1, 1e-4, 1e-7, 1e-9]))
    made = theorem(relu, box, error, anchors="graded")
    assert made.bound <= error
    X = np.vstack([hard_inputs(relu, box, 60, seed), at_kinks(relu, box, rng, 40)])
    assert np.abs(made.network(X) - relu(X)).max() <= made.bound
    assert made.applies(X).all()
    assert not made.applies(X + 10).any()


def at_kinks(relu, box, rng, count):
    """Inputs at which a neuron's argument is 0 up to 1e-16 … 1, where the box reaches so far."""
    Z = box.sample(count, seed=0).reshape(count, -1)
    half = (box.high - box.low).ravel()
    for z in Z:
        neuron = rng.integers(relu.hidden)
        w = relu.hidden_weights[neuron]
        entry = np.argmax(np.abs(w) * half)
        miss = 10 ** rng.uniform(-16, 0) * rng.choice([-1, 1])
        z[entry] -= (w @ z + relu.hidden_offsets[neuron] - miss) / w[entry]
    return np.clip(Z.reshape(-1, *box.shape), box.low, box.high)


@BOTH
@pytest.mark.parametrize("kind", ["dead", "always active", "fixed input", "no effect", "far away"])
def test_degenerate_networks(theorem, kind):
    relu = relu_network(2, 2, 4, seed=3)
    offsets = {"dead": -99.0, "always active": 99.0}.get(kind)
    relu = ReLUNetwork(
        relu.hidden_weights,
        relu.hidden_offsets if offsets is None else np.full(4, offsets),
        relu.output_weights * (kind != "no effect"),
        relu.output_offsets + 1e6 * (kind == "far away"),
        (2, 2),
        (2, 2),
    )
    box = Box.cube(-1, 1, (2, 2))
    box = Box(box.low, box.low) if kind == "fixed input" else box
    made = theorem(relu, box, 1e-6, anchors="graded")
    X = box.sample(50, seed=0)
    assert np.abs(made.network(X) - relu(X)).max() <= made.bound <= 1e-6


@pytest.mark.parametrize(("hidden", "rows"), [(2, 5), (5, 5), (30, 30)])
def test_one_head_of_one_anchor_a_row_and_the_layers_of_the_theorems(hidden, rows):
    relu, domain = relu_network(3, 2, hidden, seed=0), [(-1, 1)] * 6
    made = two_layers(relu, domain, 1e-6, anchors="graded")
    assert [type(layer) for layer in made.network.layers] == [
        *(Linear, Attention, Linear, Attention, Linear)
    ]
    made = one_layer_softmax(relu, domain, 1e-6, anchors="graded")
    assert [type(layer) for layer in made.network.layers] == [
        *(Linear, Attention, Linear, Softmax, Linear, Linear)
    ]
    first, attention, score = made.network.layers[:3]
    assert first.shape_out == (rows, 5)
    assert len(attention.heads) == 1
    assert made.network.size.anchors == rows
    assert score.shape_out == (6, 3)


@BOTH
@pytest.mark.parametrize("error", [1e-1, 1e-3, 1e-6, 1e-9])
def test_the_error_is_used_not_wasted(theorem, error):
    made = theorem(random_relu(20, 5, 10, seed=0), [(-1, 1)] * 100, error, anchors="graded")
    assert 0.99 * error < made.bound <= error


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (("fancy",), {"count": 8}, "anchors is 'fancy'; use 'uniform' or 'graded'"),
        (("graded",), {}, "count is missing where anchors is 'graded'; give the number"),
        (("uniform",), {}, "count is missing where anchors is 'uniform'; give the number"),
        ((8,), {"count": 9}, "count is 9 where anchors is 8 already; leave one of them out"),
        ((None,), {"count": 8}, "anchors is None where a whole number is needed"),
        (("graded",), {"count": 8.0}, "count is 8.0 where a whole number is needed"),
        (
            ("graded",),
            {"count": 4},
            "count is 4 where at least 5 is needed .the theorem needs p > n",
        ),
        (("graded",), {"count": 8, "slots": [0, 1] * 4}, "slots has 8 runs .* take 18; use"),
    ],
)
def test_bad_anchors_of_a_single_head_are_named(arguments, options, says):
    with pytest.raises(InputError, match=says):
        single_head(np.ones((4, 2)), np.zeros(4), -1.0, 1.0, *arguments, **options)


def test_count_and_anchors_may_agree_and_a_word_is_the_same_as_a_number():
    given = np.ones((4, 2)), np.zeros(4), -1.0, 1.0
    X = np.random.default_rng(0).normal(size=(9, 4, 2))
    by_number, by_word = single_head(*given, 8), single_head(*given, "uniform", count=8)
    assert single_head(*given, 8, count=8).bound == by_number.bound == by_word.bound
    assert (by_number.network(X) == by_word.network(X)).all()


def test_a_single_token_needs_four_anchors():
    with pytest.raises(InputError, match="3 anchors a head, where a ramp takes 4; use anchors='un"):
        single_head(np.ones((1, 2)), np.zeros(1), -1.0, 1.0, "graded", count=3)


@pytest.mark.parametrize(
    ("n", "options", "kind", "says"),
    [
        (5, {"anchors": "Graded"}, InputError, "anchors is 'Graded'; use 'uniform' or 'graded'"),
        (5, {"anchors": 8}, InputError, "anchors is 8; use 'uniform' or 'graded'"),
        (3, {}, ShapeError, "weights has 3 rows where anchors='graded' needs at least 4"),
        (5, {"slots": [0, 1, 0] * 2}, InputError, "slots has 3 runs in one head.* take 8; use"),
    ],
)
def test_bad_anchors_of_several_heads_are_named(n, options, kind, says):
    with pytest.raises(kind, match=says):
        multi_head(np.ones((n, 2)), np.zeros(n), -1.0, 1.0, 2, **{"anchors": "graded", **options})


@RAMPS
@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (1e9, 1e9 + 1e-6, "too short for float64 there; use fewer anchors, a wider range"),
        (0.0, 1e-300, "scale the range up"),
        (-1e300, 1e300, "scale the range down"),
    ],
)
def test_ranges_float64_cannot_resolve_are_named(theorem, low, high, says):
    with pytest.raises(PrecisionError, match=says):
        make(theorem, np.ones((4, 2)), np.zeros(4), low, high, 8)


@BOTH
def test_outputs_far_from_zero_leave_less_room(theorem):
    relu = relu_network(2, 2, 4, seed=0)
    far = replace(relu, output_offsets=np.full(4, 1e6))
    with pytest.raises(PrecisionError, match=r"may move the network's output .* larger error"):
        theorem(far, [(-1, 1)] * 4, 1e-9, anchors="graded")


@BOTH
@pytest.mark.parametrize(
    ("error", "domain", "anchors", "kind", "says"),
    [
        (1e-13, 1, "graded", PrecisionError, "error .* rounding .*; ask for a larger error"),
        (
            1e-12,
            1,
            "graded",
            PrecisionError,
            "error is so small that rounding alone, .*; ask for a la",
        ),
        (5e-324, 1, "graded", PrecisionError, "ask for a larger error"),
        (1e-6, 1e9, "graded", PrecisionError, "ask for a larger error or scale relu's weights"),
        (0.1, 1, "crowded", InputError, "anchors is 'crowded'; use 'uniform' or 'graded'"),
        (0.1, 1, 64, InputError, "anchors is 64; use 'uniform' or 'graded'"),
        (0.0, 1, "graded", InputError, "error is 0.0"),
    ],
)
def test_bad_input_to_the_last_theorems_is_named(theorem, error, domain, anchors, kind, says):
    relu = relu_network(2, 2, 4, seed=0)
    with pytest.raises(kind, match=says):
        theorem(relu, [(-domain, domain)] * 4, error, anchors=anchors)
