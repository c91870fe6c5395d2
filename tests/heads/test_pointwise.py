from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.errors import InputError, ShapeError
from anchorhead.heads import Anchors, pointwise, uniform
from networks import evaluate_anchors

ONE = Anchors(np.zeros(2), np.zeros(2), np.zeros((2, 1)))


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 3), st.integers(1, 50))
def test_every_token_gets_the_head_by_its_definition(seed, count, width, tokens):
    rng = np.random.default_rng(seed)
    anchors = Anchors(
        np.sort(rng.normal(size=count)),
        rng.normal(size=count),
        rng.normal(size=(count, width)),
        centre=float(rng.normal()),
        unit=float(rng.exponential() + 0.1),
    )
    y = rng.normal(size=tokens) * 3
    network = pointwise(anchors)
    assert network.shape_in == (None, 1)
    assert network.size.anchors == count
    np.testing.assert_allclose(network(y[:, None]), evaluate_anchors(anchors, y), atol=1e-10)


def test_uniform_anchors_make_a_ramp():
    y = np.linspace(-3, 4, 10_001)[:, None]
    ramp = pointwise(uniform(-1.0, 2.0, 64, h=20.0))
    assert np.abs(ramp(y) - np.clip(y, -1, 2)).max() <= 0.5 * 3 / 63


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3))
def test_heads_that_look_along_directions_add_up(seed, count, variables):
    """Σ_i F_i(w_i·x), each head in its own centre and unit, some of them along the same direction."""
    rng = np.random.default_rng(seed)
    heads = [
        Anchors(
            np.sort(rng.normal(size=3)),
            rng.normal(size=3),
            rng.normal(size=(3, 2)),
            centre=float(rng.normal()),
            unit=float(rng.exponential() + 0.1),
        )
        for _ in range(count)
    ]
    W = rng.normal(size=(count, variables))[rng.integers(0, count, count)]
    X = rng.normal(size=(20, variables)) * 2
    network = pointwise(*heads, directions=W)
    exact = sum(evaluate_anchors(head, X @ w) for head, w in zip(heads, W, strict=True))
    assert network.shape_in == (None, variables)
    assert network.shape_out == (None, 2)
    np.testing.assert_allclose(network(X), exact, atol=1e-10)
    assert network.size.anchors == 3 * count


def test_heads_far_from_the_origin_read_their_tokens_without_rounding():
    """Units are powers of two here, so (y − centre)/unit is exact, however far the centre is."""
    near = Anchors(np.array([-3.0, 1.0, 4.0]), np.zeros(3), np.array([[1.0], [-2.0], [0.5]]))
    far = replace(near, centre=2.0**40, unit=0.5)
    u = np.linspace(-1, 1, 65)
    network = pointwise(far)
    np.testing.assert_array_equal(
        network((2.0**40 + 0.5 * u)[:, None]), pointwise(near)(u[:, None])
    )


def test_a_number_of_tokens_is_kept():
    ramp = uniform(-1.0, 1.0, 8, h=2.0)
    network = pointwise(ramp, tokens=5)
    assert network.shape_in == (5, 1)
    X = np.linspace(-2, 2, 5)[:, None]
    np.testing.assert_array_equal(network(X), pointwise(ramp)(X))
    with pytest.raises(ShapeError):
        network(X[:4])


@pytest.mark.parametrize(
    ("heads", "options", "message"),
    [
        ((), {}, "heads are not all Anchors; give at least one"),
        ((3,), {}, "heads are not all Anchors"),
        ((ONE, replace(ONE, values=np.zeros((2, 3)))), {}, "heads differ in width"),
        ((ONE,), {"directions": np.ones((2, 1))}, "directions has shape"),
        ((ONE,), {"directions": np.ones(1)}, "directions has shape"),
        ((ONE,), {"directions": [[np.nan]]}, "directions"),
        ((ONE,), {"tokens": 0}, "tokens is 0"),
    ],
)
def test_bad_input_is_told_in_one_sentence(heads, options, message):
    with pytest.raises(InputError, match=message):
        pointwise(*heads, **options)
