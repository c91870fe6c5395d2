"""Theorems 3 and 4 on the same cases: ReLU networks, and functions that are none."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead import Attention, Box, Linear, Softmax
from anchorhead.errors import InputError, PrecisionError, ShapeError, SizeError
from anchorhead.forms import to_prefix
from anchorhead.reproduce.sequences import (
    hard_inputs,
    moving_average_sine,
    random_relu,
    sorted_tokens,
)
from anchorhead.theorems import ReLUNetwork, one_layer_softmax, relu_approximator, two_layers
from anchorhead.theorems.neurons import ramp_anchors, ramp_error
from networks import relu_network

BOTH = pytest.mark.parametrize("theorem", [two_layers, one_layer_softmax])


@BOTH
@pytest.mark.parametrize(("n", "d", "hidden"), [(20, 5, 10), (50, 10, 10)])
def test_random_relu_networks_of_the_papers_sizes(theorem, n, d, hidden):
    relu = random_relu(n, d, hidden, seed=0)
    box = Box.cube(-1, 1, (n, d))
    made = theorem(relu, box, 0.1)
    assert made.bound <= 0.1
    X = hard_inputs(relu, box, 10_000, seed=2)
    assert len(X) > 10_000
    fast = to_prefix(made.network)(torch.tensor(X)).numpy()
    assert np.abs(fast - relu(X)).max() <= made.bound
    few = slice(None, None, len(X) // 50)
    assert np.abs(made.network(X[few]) - fast[few]).max() <= 1e-9
    assert made.applies(X).all()


@BOTH
@settings(max_examples=25)
@given(data=st.data())
def test_any_relu_network_on_any_box(theorem, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, d = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    out = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    hidden = data.draw(st.integers(1, 90))
    relu = relu_network(n, d, hidden, seed, shape_out=out)
    middle = rng.normal(size=(n, d))
    half = rng.exponential(size=(n, d)) * (rng.random((n, d)) < 0.8)
    box = Box(middle - half, middle + half)
    error = data.draw(st.sampled_from([1.0, 0.1, 0.02]))
    made = theorem(relu, box, error)
    assert made.bound <= error
    X = hard_inputs(relu, box, 60, seed)
    assert np.abs(made.network(X) - relu(X)).max() <= made.bound
    assert made.applies(X).all()
    assert made.applies(X).shape == (len(X), out[0])
    assert not made.applies(X + 10).any()


@BOTH
@pytest.mark.parametrize("kind", ["dead", "always active", "fixed input", "no effect"])
def test_degenerate_networks(theorem, kind):
    relu = relu_network(2, 2, 4, seed=3)
    offsets = {"dead": -99.0, "always active": 99.0}.get(kind)
    relu = ReLUNetwork(
        relu.hidden_weights,
        relu.hidden_offsets if offsets is None else np.full(4, offsets),
        relu.output_weights * (kind != "no effect"),
        relu.output_offsets,
        (2, 2),
        (2, 2),
    )
    box = Box.cube(-1, 1, (2, 2))
    box = Box(box.low, box.low) if kind == "fixed input" else box
    made = theorem(relu, box, 0.05)
    X = box.sample(50, seed=0)
    assert np.abs(made.network(X) - relu(X)).max() <= max(made.bound, 1e-12)


def test_two_layers_are_two_attention_layers():
    made = two_layers(random_relu(20, 5, 10, seed=0), [(-1, 1)] * 100, 0.1)
    kinds = [type(layer) for layer in made.network.layers]
    assert kinds == [Linear, Attention, Linear, Attention, Linear]
    assert len(made.network.layers[1].heads) > 1


def test_one_layer_is_one_attention_layer_and_a_softmax():
    made = one_layer_softmax(random_relu(20, 5, 10, seed=0), [(-1, 1)] * 100, 0.1)
    kinds = [type(layer) for layer in made.network.layers]
    assert kinds == [Linear, Attention, Linear, Softmax, Linear, Linear]
    assert len(made.network.layers[1].heads) > 1


@BOTH
def test_the_error_is_used_not_wasted(theorem):
    relu = random_relu(20, 5, 10, seed=0)
    assert theorem(relu, [(-1, 1)] * 100, 0.1).bound > 0.09


@given(st.floats(1e-5, 3.0))
def test_ramp_anchors_keep_their_word_with_few(error):
    anchors = ramp_anchors(error)
    assert ramp_error(anchors, shared=True) <= error
    assert len(anchors) <= 2 + 0.52 / min(error, 1.0)


@BOTH
@pytest.mark.parametrize(
    ("name", "f", "box"),
    [
        ("sorting", sorted_tokens, Box.cube(0, 1, (2, 1))),
        ("moving average and sine", moving_average_sine, Box.cube(-2, 2, (3, 1))),
    ],
)
def test_the_whole_road_from_a_bare_function(theorem, name, f, box):
    relu = relu_approximator(f, box, 0.05, lambda delta: delta)
    made = theorem(relu, box, 0.05)
    X = hard_inputs(relu, box, 2000, seed=3)
    assert np.abs(made.network(X) - f(X)).max() <= 0.05 + made.bound <= 0.1


def test_the_functions_of_the_road_mix_tokens_and_are_no_relu_network():
    """Each output depends on several tokens, and the second differences are not those of a ReLU."""
    X = np.array([[0.2], [0.7]])
    assert (sorted_tokens(X[::-1]) == X).all()
    Z = np.zeros((3, 1))
    moved = moving_average_sine(np.array([[0.0], [0.5], [0.0]]))
    assert (moved != moving_average_sine(Z)).any(axis=1).tolist() == [False, True, True]


@BOTH
@pytest.mark.parametrize(
    ("domain", "error", "kind", "says"),
    [
        ([(-1, 1)] * 3, 0.1, ShapeError, "one pair"),
        ([(1, -1)] * 4, 0.1, InputError, "low"),
        ([(-1, np.inf)] * 4, 0.1, InputError, "domain"),
        ([(-1, 1)] * 4, 0.0, InputError, "error"),
        ([(-1, 1)] * 4, -1, InputError, "error"),
        ([(-1, 1)] * 4, np.nan, InputError, "error"),
        ([(-1, 1)] * 4, 1e-12, SizeError, "larger error"),
        ([(-1, 1)] * 4, 5e-324, PrecisionError, "larger error"),
        ([(-1e308, 1e308)] * 4, 1.0, PrecisionError, "scale"),
        ([(-1e15, 1e15)] * 4, 0.1, PrecisionError, "rounding"),
    ],
)
def test_bad_input_is_named(theorem, domain, error, kind, says):
    with pytest.raises(kind, match=says):
        theorem(relu_network(2, 2, 4, seed=0), domain, error)


@BOTH
def test_applies_checks_its_shape(theorem):
    made = theorem(relu_network(2, 2, 4, seed=0), [(-1, 1)] * 4, 0.1)
    assert made.applies(np.zeros((2, 2))).tolist() == [True, True]
    for X in (np.zeros((3, 7)), 0.5, np.zeros(2), np.zeros((1, 1))):
        with pytest.raises(ShapeError, match="X has shape"):
            made.applies(X)


@BOTH
def test_a_relu_is_needed(theorem):
    with pytest.raises(InputError, match="ReLUNetwork"):
        theorem(np.tanh, [(-1, 1)] * 4, 0.1)
