import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.heads import Anchors, pointwise, uniform
from networks import evaluate_anchors


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
