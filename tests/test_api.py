"""``compile`` and ``plan`` as a user calls them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import anchorhead
from anchorhead.errors import InputError, PrecisionError


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


TARGETS = {
    "ramp": (lambda x: np.clip(x, -0.5, 0.5), (-1, 1), 1e-6, 56),
    "relu": (lambda x: np.maximum(x, 0), (-1, 1), 1e-6, 30),
    "abs": (np.abs, (-1, 1), 1e-6, 32),
    "sqrt abs": (lambda x: np.sqrt(np.abs(x)), (-1, 1), 1e-5, 40),
    "sin 3x": (lambda x: np.sin(3 * x), (-1, 1), 1e-12, 16),
    "exp": (np.exp, (-1, 1), 1e-12, 16),
    "runge": (lambda x: 1 / (1 + 25 * x * x), (-1, 1), 1e-8, 60),
    "sin 20x": (lambda x: np.sin(20 * x), (-1, 1), 1e-8, 32),
    "gelu": (gelu, (-20, 25), 1e-6, 64),
    "tanh": (np.tanh, (-12, 12), 1e-8, 64),
}
"""Name: function, domain, error asked for, anchors at most."""


def clustered(low, high, seed, count=20_000):
    """Fresh points, half of them crowding toward the middle, the ends and round numbers."""
    rng = np.random.default_rng(seed)
    even = rng.uniform(low, high, count)
    at = rng.choice([low, high, 0.0, 0.5, -0.5], count)
    near = at + rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-17, 0, count)
    return np.clip(np.concatenate([even, near]), low, high)[:, None]


def off(network, f, X):
    exact = np.asarray(f(X[:, 0]), dtype=float).reshape(len(X), -1)
    return np.abs(network(X) - exact).max()


@pytest.mark.parametrize("name", TARGETS)
def test_the_error_asked_for_is_met_with_no_more_anchors_than_allowed(name):
    f, domain, error, most = TARGETS[name]
    network = anchorhead.compile(f, domain, error)
    assert network.size.anchors <= most
    assert network.shape_in == (None, 1)
    assert off(network, f, clustered(*domain, seed=1)) <= error


def test_gelu_for_float32_is_good_when_float32_runs_it():
    f, domain, _, most = TARGETS["gelu"]
    network = anchorhead.compile(f, domain, 2e-5, dtype="float32")
    X = clustered(*domain, seed=2).astype(np.float32)
    answer = network.to_torch(dtype=torch.float32)(torch.tensor(X)).numpy()
    assert network.size.anchors <= most
    assert np.abs(answer - f(X.astype(float))).max() <= 2e-5


@st.composite
def functions(draw):
    """Sums of a wave, a bell, a kink and a root, shifted and scaled; with a domain and an error."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    c = rng.normal(size=4) * (rng.uniform(size=4) < 0.6) * 10.0 ** rng.uniform(-2, 2)
    w, low, kink, width = (
        rng.uniform(0.5, 8),
        rng.uniform(-3, 3),
        rng.uniform(),
        rng.uniform(0.1, 1),
    )
    high = low + 10.0 ** rng.uniform(-1, 1)
    kink = low + (high - low) * kink

    def f(x):
        y = (x - low) / (high - low)
        bell = np.exp(-(((y - 0.4) / width) ** 2))
        return c[0] * np.sin(w * y) + c[1] * bell + c[2] * np.abs(x - kink) + c[3] * np.sqrt(y)

    return f, (low, high), 10.0 ** rng.uniform(-6, -2) * max(1.0, np.abs(c).max())


@settings(max_examples=25)
@given(functions(), st.integers(0, 10**6))
def test_no_network_is_off_by_more_than_was_asked_for(drawn, seed):
    f, (low, high), error = drawn
    network = anchorhead.compile(f, (low, high), error)
    X = np.random.default_rng(seed).uniform(low, high, (5000, 1))
    assert off(network, f, np.clip(X, low, high)) <= error


LAWS = {
    "sin 3x": (lambda x: np.sin(3 * x), 1e-8),
    "runge": (lambda x: 1 / (1 + 25 * x * x), 1e-6),
    "relu": (lambda x: np.maximum(x, 0), 1e-6),
    "sqrt abs": (lambda x: np.sqrt(np.abs(x)), 1e-3),
    "sine of abs": (lambda x: np.sin(3 * np.abs(x)), 1e-6),
    "quintic": (lambda x: x**5 - x, 1e-6),
}


@pytest.mark.parametrize("name", LAWS)
def test_shifting_scaling_and_reflecting_the_target_does_the_same_to_the_answer(name):
    f, error = LAWS[name]
    size = anchorhead.compile(f, (-1, 1), error).size.anchors
    X = np.linspace(-1, 1, 2001)[:, None]
    scaled = anchorhead.compile(lambda x: 3.7 * f(x), (-1, 1), 3.7 * error)
    shifted = anchorhead.compile(lambda x: f(x - 17.25), (16.25, 18.25), error)
    stretched = anchorhead.compile(lambda x: f(x / 5), (-5, 5), error)
    reflected = anchorhead.compile(lambda x: f(-x), (-1, 1), error)
    assert all(
        abs(n.size.anchors - size) <= 1 + size // 20  # rounding decides which steps are taken
        for n in (scaled, shifted, stretched, reflected)
    )
    exact = f(X)
    assert np.abs(scaled(X) / 3.7 - exact).max() <= error
    assert np.abs(shifted(X + 17.25) - exact).max() <= error
    assert np.abs(stretched(5 * X) - exact).max() <= error
    assert np.abs(reflected(-X) - exact).max() <= error


def test_a_target_times_a_power_of_two_gives_the_same_values_times_it():
    f, error = LAWS["quintic"]
    plain, scaled = (
        anchorhead.compile(lambda x, c=c: c * f(x), (-1, 1), c * error) for c in (1, 64)
    )
    (one,), (other,) = plain.layers[1].heads, scaled.layers[1].heads
    assert (one.anchor_keys == other.anchor_keys).all()
    assert (64 * one.anchor_values == other.anchor_values).all()


@pytest.mark.parametrize("name", LAWS)
def test_a_function_on_a_part_of_the_domain_never_needs_more_anchors(name):
    f, error = LAWS[name]
    most = anchorhead.compile(f, (-1, 1), error).size.anchors
    rng = np.random.default_rng(3)
    for _ in range(6):
        low, high = np.sort(rng.uniform(-1, 1, 2))
        assert anchorhead.compile(f, (low, high + 0.01), error).size.anchors <= most


@pytest.mark.parametrize(
    ("f", "domain"),
    [
        (lambda x: np.sqrt(1 - x * x), (-1, 1)),
        (np.log, (1e-3, 10)),
        (lambda x: np.where(x < 0, np.sin(3 * x), x * x), (-2, 1)),
    ],
)
def test_networks_for_float32_hold_when_float32_runs_them(f, domain):
    network = anchorhead.compile(f, domain, 2e-5, dtype="float32")
    X = np.clip(clustered(*domain, seed=12).astype(np.float32), *map(np.float32, domain))
    X = X[(X >= domain[0]) & (X <= domain[1])][:, None]
    answer = network.to_torch(dtype=torch.float32)(torch.tensor(X)).numpy()
    assert np.abs(answer - f(X.astype(float))).max() <= 2e-5


def test_what_is_too_much_for_one_search_is_cut():
    network = anchorhead.compile(lambda x: np.sin(150 * x), (-1, 1), 1e-3)
    X = np.linspace(-1, 1, 100_001)[:, None]
    assert np.abs(network(X) - np.sin(150 * X)).max() <= 1e-3
    assert network.size.heads == 1


def test_kinks_of_several_variables_are_given_by_name():
    def f(x, y):
        return np.abs(x - 0.25) * np.cos(y)

    domain = {"x": (-1, 1), "y": (0, 1)}
    X = anchorhead.Box.of([(-1, 1), (0, 1)]).sample(20_000, seed=13)
    for kinks in ({"x": [0.25]}, [[0.25], []]):
        network = anchorhead.compile(f, domain, 1e-5, kinks=kinks)
        assert np.abs(network(X)[:, 0] - f(*X.T)).max() <= 1e-5


@pytest.mark.parametrize("name", ["ramp", "abs", "sin 3x", "tanh"])
def test_the_best_of_a_plan_is_what_is_compiled(name):
    f, domain, error, _ = TARGETS[name]
    best, network = anchorhead.plan(f, domain, error).best, anchorhead.compile(f, domain, error)
    X = clustered(*domain, seed=14)
    assert best.anchors == network.size.anchors
    assert (best.network(X) == network(X)).all()


@pytest.mark.parametrize(
    ("f", "domain"),
    [
        (lambda x: np.sqrt(np.maximum(1 - x * x, 0)), (-1, 1)),
        (np.arccos, (-1, 1)),
        (lambda x: np.sqrt(x * (1 - x)), (0, 1)),
    ],
)
def test_branch_points_at_both_ends_are_met_down_to_the_last_digit(f, domain):
    network = anchorhead.compile(f, domain, 1e-4)
    t = np.geomspace(1e-16, 1, 20_000) * (domain[1] - domain[0])
    X = np.clip(np.concatenate([domain[0] + t, domain[1] - t]), *domain)[:, None]
    assert off(network, f, X) <= 1e-4


def test_a_corner_is_not_overlooked():
    def f(x, y):
        return np.maximum(0, x - 0.95) * np.maximum(0, y - 0.95) / 0.0025

    network = anchorhead.compile(f, [(-1, 1)] * 2, 1e-2)
    X = np.random.default_rng(16).uniform(0.9, 1, (20_000, 2))
    assert np.abs(network(X)[:, 0] - f(*X.T)).max() <= 1e-2


def test_a_bump_the_first_look_half_sees_is_found():
    def f(x):
        return np.exp(-(((x - 0.3123) / 1e-3) ** 2))

    network = anchorhead.compile(f, (-1, 1), 1e-3)
    assert off(network, f, np.linspace(0.3, 0.32, 20_001)[:, None]) <= 1e-3


def test_something_narrow_that_was_overlooked_is_found_by_trying_the_network():
    def f(x):
        return np.sin(3 * x) + np.exp(-(((x - 0.1234) / 3e-4) ** 2))

    network = anchorhead.compile(f, (-1, 1), 1e-6)
    X = np.linspace(0.12, 0.13, 20_001)[:, None]
    assert off(network, f, X) <= 1e-6


def test_several_outputs_share_one_softmax_where_that_is_smaller():
    def waves(x):
        return np.sin(x), np.cos(x)

    network = anchorhead.compile(waves, (0, 6), 1e-8)
    assert network.size.heads == 1
    assert network.shape_out == (None, 2)
    X = np.linspace(0, 6, 5001)[:, None]
    assert off(network, lambda x: np.stack(waves(x), -1), X) <= 1e-8
    alone = [anchorhead.compile(f, (0, 6), 1e-8).size.anchors for f in (np.sin, np.cos)]
    assert network.size.anchors < sum(alone)


def test_kinks_that_are_named_are_not_searched_for():
    f, error = LAWS["sine of abs"]
    assert (
        anchorhead.compile(f, (-1, 1), error, kinks=[0.0]).size.anchors
        == anchorhead.compile(f, (-1, 1), error).size.anchors
    )
    named, found = (
        anchorhead.compile(lambda x: np.abs(x - 0.3), (-1, 1), 1e-4, kinks=kinks).size.anchors
        for kinks in ([0.5], None)
    )
    assert named > found


def test_the_root_mean_square_takes_fewer_anchors_than_the_largest_error():
    def f(x):
        return np.sqrt(np.abs(x))

    network = anchorhead.compile(f, (-1, 1), 1e-4, norm="rms")
    X = np.random.default_rng(4).uniform(-1, 1, (200_000, 1))
    assert np.sqrt(np.square(network(X)[:, 0] - f(X[:, 0])).mean()) <= 1e-4
    assert network.size.anchors < anchorhead.compile(f, (-1, 1), 1e-4).size.anchors


@pytest.mark.parametrize("form", ["sequence", "heads"])
@pytest.mark.parametrize("name", ["relu", "runge"])
def test_every_form_computes_the_same(form, name):
    f, error = LAWS[name]
    network = anchorhead.compile(f, (-1, 1), error, form=form)
    tokens = network.shape_in[0]
    assert all(head.anchors == 0 for layer in network.layers[1:] for head in layer.heads)
    X = np.random.default_rng(5).uniform(-1, 1, (2000, tokens, 1))
    assert np.abs(network(X) - f(X)).max() <= error


@pytest.mark.parametrize(
    ("f", "variables", "error", "most"),
    [
        (lambda x, y: np.sin(3 * x + 2 * y), 2, 1e-8, 12),
        (lambda x, y: np.abs(x - y), 2, 1e-6, 4),
        (lambda x, y: np.maximum(x + 0.3 * y, 0), 2, 1e-6, 3),
        (lambda x, y: x * x + y * y, 2, 1e-6, 8),
        (lambda x, y: np.abs(x) + np.exp(y), 2, 1e-6, 9),
        (lambda x, y, z: 1 / (1 + np.exp(-(np.pi * x + y - 0.3 * z))), 3, 1e-8, 3),
        (lambda x, y: np.maximum(x, y), 2, 1e-6, 2),
        (lambda x, y, z: np.logaddexp(x + z, 2 * y), 3, 1e-6, 8),
        (lambda x, y: 0 * x + 2.5, 2, 1e-9, 1),
        (lambda x, y: y, 2, 1e-6, 2),
    ],
)
def test_functions_that_look_along_lines_need_no_grid(f, variables, error, most):
    domain = [(-1, 1)] * (variables - 1) + [(-0.5, 2)]
    network = anchorhead.compile(f, domain, error)
    X = anchorhead.Box.of(domain).sample(20_000, seed=6)
    assert network.size.anchors <= most
    assert np.abs(network(X)[:, 0] - f(*X.T)).max() <= error


def test_a_ridge_and_a_plane_need_no_gates():
    network = anchorhead.compile(lambda x, y: np.maximum(x, y), [(-1, 1)] * 2, 1e-6, form="heads")
    X = np.random.default_rng(15).uniform(-1, 1, (3000, network.shape_in[0], 2))
    assert np.abs(network(X)[..., 0] - X.max(axis=-1)).max() <= 1e-6


def test_targets_of_plain_numbers_and_named_variables_are_compiled():
    network = anchorhead.compile(math.exp, (-1, 1), 1e-6)
    assert off(network, np.exp, clustered(-1, 1, seed=7)) <= 1e-6
    network = anchorhead.compile(lambda b, a: 2 * a - b, {"a": (0, 1), "b": (3, 4)}, 1e-6)
    np.testing.assert_allclose(network(np.array([[0.5, 3.5]])), [[-2.5]], atol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_error_below_what_a_dtype_holds_is_told_with_what_could_be_met(dtype):
    with pytest.raises(PrecisionError, match=r"ask for .* or more") as told:
        anchorhead.compile(np.sin, (-1, 1), 1e-18, dtype=dtype)
    met = float(str(told.value).split("ask for ")[1].split()[0])
    assert met < (1e-4 if dtype == "float32" else 1e-13)
    X = np.linspace(-1, 1, 2001)[:, None]
    assert off(anchorhead.compile(np.sin, (-1, 1), met, dtype=dtype), np.sin, X) <= met
    assert ("float64" in str(told.value).split("ask for")[1]) == (dtype == "float32")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.sin, (-1, 1), 0.0), {}, "error"),
        ((np.sin, (-1, 1), -1e-3), {}, "error"),
        ((np.sin, (-1, 1), "small"), {}, "error"),
        ((np.sin, (-1, 1)), {"dtype": "float16"}, "dtype is 'float16'; use 'float64' or 'float32'"),
        ((np.sin, (-1, 1)), {"norm": "L2"}, "norm is 'L2'; use 'sup' or 'rms'"),
        ((np.sin, (-1, 1)), {"form": "token"}, "form is 'token'; use 'prefix' or"),
        ((np.sin, (-1, 1)), {"kinks": [2.0]}, "kinks holds"),
        ((np.sin, (-1, 1)), {"kinks": ["a"]}, "kinks holds something that is no number"),
        ((np.sin, (-1, 1)), {"kinks": {"x": [0.5]}}, "kinks has 'x'"),
        ((np.hypot, [(-1, 1)] * 2), {"kinks": [0.5]}, "kinks has 1 lists for 2 variables"),
        ((np.hypot, [(-1, 1)] * 2), {"kinks": 0.5}, "kinks is 0.5 for 2 variables"),
        ((np.sin, (-1, 1)), {"kinks": "0"}, "kinks holds something that is no number"),
        ((np.sign, (-1, 1)), {}, "jumps by 2 at 0"),
        ((np.tanh, (0, 1e308)), {}, "domain has variable 0 .* scale the variable"),
        ((np.tanh, (0, 5e-324)), {}, "domain has variable 0 .* scale the variable"),
        ((lambda x: x / 1e200, (0, 1e200)), {"dtype": "float32"}, "domain reaches 1e.200"),
        ((lambda x: 1e-200 * x, (0, 1)), {"dtype": "float32"}, "target reaches 1e-200"),
        ((lambda x: {}["a"], (0, 1)), {}, "target fails at"),
    ],
)
def test_bad_input_is_told_in_one_sentence(arguments, options, message):
    with pytest.raises(InputError, match=message):
        anchorhead.compile(*arguments, **options)
