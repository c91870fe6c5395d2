import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead import Box
from anchorhead.errors import InputError, ShapeError
from anchorhead.theorems import ReLUNetwork
from networks import relu_network


def test_value_is_the_formula():
    relu = relu_network(3, 2, 5, seed=0, shape_out=(2, 4))
    X = np.random.default_rng(1).normal(size=(3, 2))
    hidden = [
        max(w @ X.ravel() + t, 0)
        for w, t in zip(relu.hidden_weights, relu.hidden_offsets, strict=True)
    ]
    expected = relu.output_weights @ hidden + relu.output_offsets
    np.testing.assert_allclose(relu(X), expected.reshape(2, 4))
    np.testing.assert_allclose(relu(np.stack([X, X]))[1], relu(X))


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 4))
def test_active_ranges_hold_and_are_reached(seed, n, d):
    relu = relu_network(n, d, 6, seed)
    rng = np.random.default_rng(seed)
    middle, half = rng.normal(size=(n, d)), rng.exponential(size=(n, d))
    box = Box(middle - half, middle + half)
    low, high = relu.active_ranges(box)
    W = relu.hidden_weights
    top = np.where(W > 0, box.high.ravel(), box.low.ravel())
    bottom = np.where(W > 0, box.low.ravel(), box.high.ravel())
    reached = [np.maximum((W * x).sum(1) + relu.hidden_offsets, 0) for x in (bottom, top)]
    assert (low <= reached[0]).all()
    assert (high >= reached[1]).all()
    np.testing.assert_allclose(low, reached[0], atol=1e-12)
    np.testing.assert_allclose(high, reached[1], atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"hidden_weights": np.ones((5, 3))}, "hidden_weights"),
        ({"hidden_weights": np.ones((5, 4), dtype=int)}, "hidden_weights.astype"),
        ({"hidden_offsets": np.ones(4)}, "hidden_offsets"),
        ({"output_weights": np.ones((3, 5))}, "output_weights"),
        ({"output_offsets": [np.nan, 0.0]}, "output_offsets"),
        ({"shape_in": (4,)}, "shape_in"),
        ({"shape_in": (4, 0)}, "shape_in is 0"),
        ({"shape_out": (2.0, 1)}, "shape_out"),
        ({"shape_out": "ab"}, "shape_out"),
    ],
)
def test_bad_input_is_named(changes, says):
    good = {
        "hidden_weights": np.ones((5, 4)),
        "hidden_offsets": np.ones(5),
        "output_weights": np.ones((2, 5)),
        "output_offsets": np.ones(2),
        "shape_in": (2, 2),
        "shape_out": (2, 1),
    }
    ReLUNetwork(**good)
    with pytest.raises(InputError, match=says):
        ReLUNetwork(**{**good, **changes})


def test_input_of_another_shape():
    with pytest.raises(ShapeError, match="X has shape"):
        relu_network(3, 2, 5, seed=0)(np.zeros((2, 3)))
