import gc
import weakref

import numpy as np
import pytest
import torch
from hypothesis import given

from anchorhead import Attention, Head, Network
from anchorhead.errors import InputError, PrecisionError, ShapeError
from anchorhead.run import torch as fast
from memory import measured
from networks import networks


@given(networks())
def test_module_equals_the_reference(drawn):
    network, X = drawn
    batch = np.stack([X, -X, X + 1]).reshape(3, 1, *X.shape)
    expected = network(batch)
    scale = max(1.0, np.abs(expected).max())
    for module in (network.to_torch(), network.to_torch(trainable=True)):
        result = module(torch.tensor(batch))
        assert result.dtype == torch.float64
        assert np.abs(result.detach().numpy() - expected).max() <= 1e-12 * scale


def test_theorems_equal_the_reference(construction):
    made, X = construction
    result = made.network.to_torch()(torch.tensor(X)).numpy()
    inside = made.applies(X)
    assert np.abs(result - made.network(X))[inside].max() <= 1e-12


def test_the_kind_that_goes_in_comes_out(construction):
    made, X = construction
    assert isinstance(made.network(X), np.ndarray)
    result = made.network(torch.tensor(X))
    assert isinstance(result, torch.Tensor)
    assert made.network(torch.tensor(X, dtype=torch.float32)).dtype == torch.float32


@given(networks())
def test_streaming_changes_nothing(drawn):
    network, X = drawn
    batch = torch.tensor(np.stack([X, -X, 2 * X]), requires_grad=True)
    module = network.to_torch(trainable=True)
    leaves = [batch, *module.parameters()]

    def value_and_gradients():
        value = module(batch)
        return value, torch.autograd.grad((value**2).sum(), leaves, materialize_grads=True)

    whole, gradients = value_and_gradients()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "SCORES", 7)
        pieces, streamed = value_and_gradients()
        with torch.no_grad():
            torch.testing.assert_close(module(batch), whole, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(pieces, whole, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(streamed, gradients, rtol=1e-7, atol=1e-7)


@given(networks())
def test_gradients_are_those_of_finite_differences(drawn):
    network, X = drawn
    module = network.to_torch()
    assert torch.autograd.gradcheck(module, torch.tensor(X, requires_grad=True), atol=1e-4)


def test_gradients_flow_through_a_call(constructions):
    made, X = constructions["two_layers"]
    x = torch.tensor(X, requires_grad=True)
    made.network(x).sum().backward()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


def test_state_dict_round_trip(construction):
    made, X = construction
    module = made.network.to_torch(trainable=True)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    stored = sum(value.numel() for value in state.values())
    assert stored == made.network.size.parameters
    with torch.no_grad():
        before = module(torch.tensor(X))
        for parameter in module.parameters():
            parameter.zero_()
        assert not torch.equal(module(torch.tensor(X)), before)
        module.load_state_dict(state)
        assert torch.equal(module(torch.tensor(X)), before)


def test_trainable_says_what_is_a_parameter(constructions):
    network = constructions["multi_head"][0].network
    assert not list(network.to_torch().parameters())
    assert all(p.requires_grad for p in network.to_torch(trainable=True).parameters())


def test_training_moves_the_weights():
    rng = np.random.default_rng(0)
    head = Head(query=rng.normal(size=(2, 2)), key=rng.normal(size=(2, 2)))
    module = Network((Attention((head,)),)).to_torch(dtype=torch.float32, trainable=True)
    x, y = torch.randn(32, 4, 2, generator=torch.Generator().manual_seed(0)), torch.zeros(32, 4, 2)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = ((module(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]


def test_heads_of_one_kind_are_stacked(constructions):
    module = constructions["multi_head"][0].network.to_torch()
    assert len(module.layers[1].stacks) == 1


def test_modules_of_a_network_are_kept(constructions):
    made, X = constructions["single_head"]
    made.network(torch.tensor(X))
    kept = vars(made.network)[fast._KEPT]
    first = kept[torch.float64, torch.device("cpu")]
    made.network(torch.tensor(X))
    assert kept[torch.float64, torch.device("cpu")] is first


def test_a_call_without_gradients_does_not_spoil_later_ones():
    network = Network((Attention((Head(query=np.eye(2), key=np.eye(2)),)),))
    with torch.inference_mode():
        network(torch.zeros(2, 2))
    x = torch.zeros(2, 2, requires_grad=True)
    network(x).sum().backward()
    assert x.grad is not None


def test_a_network_and_its_modules_go_together():
    network = Network((Attention((Head(query=np.eye(2), key=np.eye(2)),)),))
    network(torch.zeros(3, 2))
    gone = weakref.ref(network)
    del network
    gc.collect()
    assert gone() is None


PREPARE = """
import torch
from anchorhead.forms import to_prefix
from anchorhead.reproduce.sequences import random_relu
from anchorhead.theorems import one_layer_softmax

network = one_layer_softmax(random_relu(50, 10, 10, 0), [(-1, 1)] * 500, 0.1).network
network = to_prefix(network)
X = torch.rand(2000, 50, 10, dtype=torch.float64)
network(X[:20])
"""


def test_memory_does_not_grow_with_the_batch():
    _, added = measured(PREPARE, "network(X)")
    assert added < 100, "MiB; the result is 8"


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda net, x: net(x.int()), InputError, "X.double"),
        (lambda net, x: net(x[:, :2]), ShapeError, "takes"),
        (lambda net, x: net(x * torch.nan), InputError, "NaN"),
        (lambda net, x: net(x[:0]), ShapeError, "empty"),
        (lambda net, x: net.to_torch()(x[:0]), ShapeError, "empty"),
        (lambda net, x: net.to_torch()(x.numpy()), InputError, "torch tensor"),
        (lambda net, x: net(x.to_sparse()), InputError, "dense"),
        (lambda net, x: net.to_torch()(x.float()), InputError, "convert one"),
        (lambda net, x: net(x * 1e306), PrecisionError, "so large"),
        (lambda net, x: net.to_torch(dtype=torch.int32), InputError, "floating"),
        (lambda net, x: net.to_torch(dtype="float64"), InputError, "floating"),
        (lambda net, x: net.to_torch(dtype=torch.float16), PrecisionError, "largest weight"),
        (lambda net, x: net.to_torch()(x[:, :2]), ShapeError, "takes"),
    ],
)
def test_bad_input_is_named(constructions, call, kind, says):
    made, X = constructions["single_head with slots"]
    with pytest.raises(kind, match=says):
        call(made.network, torch.tensor(X))
