import numpy as np
import pytest
from hypothesis import given

from anchorhead import Attention, Head, Linear, Network, Softmax
from anchorhead.errors import InputError, PrecisionError, ShapeError
from anchorhead.run import numpy as reference
from memory import measured
from networks import networks


def oracle(network, X):
    """What the definitions say, with dense matrices on vec(X) and one token at a time."""
    for layer in network.layers:
        if isinstance(layer, Linear):
            X = _dense_linear(layer, X)
        elif isinstance(layer, Attention):
            X = _attention_by_token(layer, X)
        else:
            X = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    return X


def _dense_linear(layer, X):
    (rows_in, width_in), (rows_out, width_out) = layer.shape_in, layer.shape_out
    total = np.zeros(rows_out * width_out)
    for term in layer.terms:
        scale = np.ones(X.shape) if term.scale is None else term.scale
        tokens = np.eye(rows_out, rows_in) if term.tokens is None else term.tokens
        features = np.eye(width_in) if term.features is None else term.features
        total += np.kron(tokens, features.T) @ np.diag(scale.ravel()) @ X.ravel()
    Y = total.reshape(rows_out, width_out)
    return Y if layer.constant is None else Y + layer.constant


def _attention_by_token(layer, Z):
    rows = layer.keep or len(Z)
    Y = np.zeros((rows, layer.width_out))
    for i in range(rows):
        for head in layer.heads:
            pairs = []
            for j in range(len(Z)):
                hidden = (head.sees == "self" and j != i) or (head.causal and j > i)
                if head.sees != "anchors" and not hidden:
                    value = Z[j] if head.value is None else Z[j] @ head.value
                    pairs.append((Z[j] @ head.key, value))
            if head.anchors:
                pairs += list(zip(head.anchor_keys, head.anchor_values, strict=True))
            scores = np.array([Z[i] @ head.query @ key for key, _ in pairs])
            weights = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
            mixed = sum(w * value for w, (_, value) in zip(weights, pairs, strict=True))
            Y[i] += mixed if head.output is None else mixed @ head.output
    return Y + Z[:rows] if layer.residual else Y


@given(networks())
def test_reference_is_what_the_definitions_say(drawn):
    network, X = drawn
    expected = oracle(network, X)
    assert network(X).shape == tuple(network.shape_out)
    np.testing.assert_allclose(network(X), expected, rtol=1e-9, atol=1e-9)


@given(networks())
def test_batches_are_the_arrays_one_by_one(drawn):
    network, X = drawn
    batch = np.stack([X, -X, 2 * X, X + 1, X, X]).reshape(2, 3, *X.shape)
    together = network(batch)
    for i in range(2):
        for j in range(3):
            np.testing.assert_allclose(together[i, j], network(batch[i, j]), rtol=1e-9, atol=1e-9)


@given(networks())
def test_streaming_changes_nothing(drawn):
    network, X = drawn
    batch = np.stack([X, -X, 2 * X])
    whole = network(batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "SCORES", 7)
        np.testing.assert_allclose(network(batch), whole, rtol=1e-9, atol=1e-9)


def test_input_is_not_changed():
    head = Head(query=np.eye(2), key=np.eye(2))
    network = Network((Attention((head,), residual=True),))
    X = np.random.default_rng(0).normal(size=(3, 2))
    before = X.copy()
    network(X)
    assert (before == X).all()


def test_any_number_of_tokens():
    head = Head(
        query=np.eye(1), anchor_keys=[[0.0], [1.0]], anchor_values=[[0.0], [1.0]], sees="anchors"
    )
    network = Network((Attention((head,)),))
    for n in (1, 5, 1000):
        x = np.linspace(-3, 3, n)[:, None]
        np.testing.assert_allclose(network(x), 1 / (1 + np.exp(-x)), atol=1e-15)


def test_softmax_rows():
    network = Network((Linear((2, 3), (2, 3), (), np.log([[1.0, 2.0, 5.0]])), Softmax()))
    np.testing.assert_allclose(network(np.zeros((2, 3))), [[0.125, 0.25, 0.625]] * 2)


@pytest.mark.parametrize(
    ("X", "kind", "says"),
    [
        (np.zeros((3, 3)), ShapeError, "takes"),
        (np.zeros(2), ShapeError, "takes"),
        (np.zeros((4, 2, 3)), ShapeError, "takes"),
        (np.zeros((2, 2), dtype=int), InputError, "X.astype"),
        (np.full((2, 2), np.nan), InputError, r"X\[0, 0\] is nan"),
        (np.zeros((0, 2, 2)), ShapeError, "empty"),
        ("text", InputError, "real numbers"),
    ],
)
def test_bad_input_is_named(X, kind, says):
    network = Network((Linear((2, 2), (2, 2), ()),))
    with pytest.raises(kind, match=says) as caught:
        network(X)
    assert "X" in str(caught.value)


def test_too_few_tokens_to_keep():
    network = Network((Attention((Head(query=np.eye(2), key=np.eye(2)),), keep=3),))
    with pytest.raises(ShapeError, match="keeps 3"):
        network(np.zeros((2, 2)))


def test_only_the_first_kept_rows_bind_a_network_of_any_length():
    head = Head(query=np.eye(1), key=np.eye(1))
    layers = Attention((head,), keep=2), Linear((2, 1), (8, 1), ()), Attention((head,), keep=8)
    assert Network(layers)(np.ones((5, 1))).shape == (8, 1)


def test_overflow_is_told(constructions):
    construction, X = constructions["single_head"]
    with pytest.raises(PrecisionError, match="so large"):
        construction.network(X * 1e306)


PREPARE = """
import numpy as np
from anchorhead.heads import pointwise, uniform

network = pointwise(uniform(-1.0, 1.0, 64, h=20.0))
X = np.linspace(-2, 2, 100_000)[:, None]
if sys.argv[1] == "torch":
    import torch
    X = torch.tensor(X)
network(X[:10])
"""

RUN = """
Y = np.asarray(network(X))
assert np.abs(Y - np.clip(np.asarray(X), -1, 1)).max() < 2 / 64
"""


@pytest.mark.parametrize("runner", ["numpy", "torch"])
def test_a_hundred_thousand_tokens_stay_under_one_gibibyte(runner):
    whole, added = measured(PREPARE, RUN, runner)
    assert whole < 1024
    assert added < 40, "MiB; the n×p scores alone would be 49"
