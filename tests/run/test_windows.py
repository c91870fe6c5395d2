from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.errors import PrecisionError
from anchorhead.heads import Anchors, pointwise, uniform
from anchorhead.heads.anchors import pad
from anchorhead.layers import Attention, Head
from anchorhead.network import Network
from anchorhead.run import windows
from memory import measured

ULP = 2.0**-52


@pytest.fixture
def plainly(monkeypatch):
    """Runs a network without windows."""

    def run(network, X):
        with monkeypatch.context() as patch:
            patch.setattr(windows, "pay", lambda head, Q: False)
            return network(X)

    return run


@pytest.fixture
def used(monkeypatch):
    """Counts the calls for which windows were used."""
    calls = []
    mix = windows.mix

    def counted(head, Q):
        calls.append(len(head.anchor_keys))
        return mix(head, Q)

    monkeypatch.setattr(windows, "mix", counted)
    return calls


def head_of(slopes, intercepts, values):
    keys = np.column_stack([slopes, intercepts])
    return Head(query=np.eye(2), anchor_keys=keys, anchor_values=values, sees="anchors")


def plain(head, Q):
    """The head by its definition."""
    scores = Q @ head.anchor_keys.T
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ head.anchor_values


def assert_same(head, Q):
    """Equal to a few ulps of the largest value, whatever anchors were left out."""
    mixed = windows.mix(head, Q)
    assert mixed.shape == (*Q.shape[:-1], head.value_width)
    p, largest = head.anchors, np.abs(head.anchor_values).max(axis=0)
    assert (np.abs(mixed - plain(head, Q)) <= (8 + np.sqrt(p)) * ULP * largest).all()


def queries(rng, *shape, scale=1.5, second=1.0):
    q = rng.normal(size=shape) * scale
    return np.stack([q, np.full(shape, second)], axis=-1)


@st.composite
def heads(draw):
    """Heads of many kinds: sharp, soft, in no order, with equal slopes, padded, huge."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, width = draw(st.integers(1, 200)), draw(st.integers(1, 3))
    values = rng.normal(size=(p, width)) * 10.0 ** rng.integers(-3, 6)
    kind = draw(st.sampled_from(["random", "uniform", "equal", "padded", "huge", "one point"]))
    sharp = 10.0 ** draw(st.integers(-2, 6))
    slopes, intercepts = rng.normal(size=p) * sharp, rng.normal(size=p) * sharp
    if kind == "uniform":
        anchors = uniform(-1.0, 1.0, p, draw(st.floats(0.01, 60)))
        slopes, intercepts = anchors.slopes / anchors.unit, anchors.intercepts
    elif kind == "equal":
        slopes = np.round(rng.normal(size=p)) * sharp
    elif kind == "padded":
        anchors = pad(Anchors(np.sort(slopes), intercepts, values), 30, 3)
        slopes, intercepts, values = anchors.slopes, anchors.intercepts, anchors.values
    elif kind == "huge":
        slopes = rng.normal(size=p) * 1e12
        intercepts = -slopes * rng.normal(size=p)
    elif kind == "one point":
        intercepts = -0.3 * slopes
    order = rng.permutation(len(slopes))
    return head_of(slopes[order], intercepts[order], values[order])


@given(heads(), st.integers(0, 10**6), st.integers(1, 3000), st.sampled_from([1.0, -2.5, 0.0]))
def test_windows_change_nothing(head, seed, n, second):
    assert_same(head, queries(np.random.default_rng(seed), n, second=second))


@given(heads(), st.integers(0, 10**6))
def test_windows_change_nothing_where_every_block_is_split_to_the_last_query(head, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "SCORES", 1)
        assert_same(head, queries(np.random.default_rng(seed), 2, 20))


@given(heads(), st.integers(0, 10**6))
def test_what_is_left_out_weighs_next_to_nothing(head, seed):
    Q = queries(np.random.default_rng(seed), 300)
    Q = Q[np.argsort(Q[:, 0])]
    scores = Q @ head.anchor_keys.T
    scores = scores - scores.max(axis=1, keepdims=True)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    seen = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "SCORES", 100)
        for block, near in windows.windows(Q, head.anchor_keys):
            assert block.start == seen
            seen = block.stop
            left_out = np.delete(weights[block], near, axis=1).sum(axis=1)
            assert (left_out <= windows.EPSILON).all()
    assert seen == len(Q)


def test_windows_are_narrow():
    anchors = uniform(-1.0, 1.0, 1000, h=20.0)
    q = np.linspace(-1, 1, 50_000) / anchors.unit
    found = list(windows.windows(np.column_stack([q, np.ones_like(q)]), anchors.keys))
    assert sum((block.stop - block.start) * len(near) for block, near in found) < 60 * len(q)


@pytest.mark.parametrize("shape", [(4000,), (50, 80), (3, 2, 1500)])
def test_networks_use_windows_and_keep_batches(shape, used, plainly):
    anchors = uniform(-1.0, 2.0, 300, h=20.0)
    network = pointwise(anchors, anchors)
    X = np.random.default_rng(1).uniform(-2, 3, (*shape, 1))
    Y = network(X)
    assert used
    np.testing.assert_allclose(Y, plainly(network, X), atol=8 * ULP, rtol=0)


def test_a_layer_keeps_rows_residual_and_output(used, plainly):
    anchors = uniform(-1.0, 1.0, 100, h=9.0, slots=np.arange(100) % 3, width=3)
    output = np.array([[1.0, -2.0], [0.5, 1.0], [0.0, 3.0]])
    head = Head(
        query=np.array([[1 / anchors.unit, 0.0], [0.0, 1.0]]),
        anchor_keys=anchors.keys,
        anchor_values=anchors.values,
        output=output,
        sees="anchors",
    )
    network = Network((Attention((head,), residual=True, keep=1500),))
    X = np.random.default_rng(2).uniform(-1.5, 1.5, (2, 2000, 2))
    X[..., 1] = 1.0
    Y = network(X)
    assert used
    np.testing.assert_allclose(Y, plainly(network, X), atol=64 * ULP, rtol=0)


def test_queries_that_differ_in_their_second_entry_are_no_case_for_windows(used):
    head = head_of(np.arange(100.0) * 50, -(np.arange(100.0) ** 2), np.arange(100.0)[:, None])
    X = np.random.default_rng(3).uniform(0, 4, (4000, 2))
    np.testing.assert_allclose(Network((Attention((head,)),))(X), plain(head, X), rtol=1e-12)
    assert not used


def test_soft_and_small_heads_are_run_plainly(used):
    X = np.linspace(-1, 1, 30_000)[:, None]
    pointwise(uniform(-1.0, 1.0, 64, h=0.01))(X)
    pointwise(uniform(-1.0, 1.0, 15, h=20.0))(X)
    pointwise(uniform(-1.0, 1.0, 64, h=20.0))(X[:900])
    assert not used
    pointwise(uniform(-1.0, 1.0, 64, h=20.0))(X)
    assert used


def test_overflow_is_told_by_windows_too(used):
    network = pointwise(uniform(-1.0, 1.0, 200, h=20.0))
    X = np.linspace(-1, 1, 5000)[:, None]
    X[4321] = 1e306
    with pytest.raises(PrecisionError, match="so large"):
        network(X)
    assert used


def best(call, repeats=3):
    call()
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return min(seconds)


def test_windows_are_at_least_five_times_faster_for_thousands_of_anchors(plainly):
    network = pointwise(uniform(-1.0, 1.0, 4096, h=20.0))
    X = np.random.default_rng(4).uniform(-1, 1, (20_000, 1))
    windowed = best(lambda: network(X))
    assert best(lambda: plainly(network, X), 1) > 5 * windowed


def test_looking_for_windows_in_vain_costs_little(plainly):
    network = pointwise(uniform(-1.0, 1.0, 16, h=0.1))
    X = np.random.default_rng(5).uniform(-1, 1, (20_000, 1))
    looked = best(lambda: network(X), 9)
    assert looked < 1.5 * best(lambda: plainly(network, X), 9)


PREPARE = """
import numpy as np
from anchorhead.heads import pointwise, uniform

network = pointwise(uniform(-1.0, 1.0, 4096, h=20.0))
X = np.random.default_rng(0).uniform(-2, 2, (2_000_000, 1))
network(X[:100])
"""

RUN = """
Y = network(X)
assert np.abs(Y - np.clip(X, -1, 1)).max() < 2 / 4095
"""


def test_two_million_tokens_take_no_more_memory_than_their_queries_and_outputs():
    _, added = measured(PREPARE, RUN)
    assert added < 4 * 16 + 40, "MiB; a column of two million numbers takes 16"
