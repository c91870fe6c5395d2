import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.compiler.line import Wish
from anchorhead.compiler.space import ridge, separate_sum
from anchorhead.compiler.target import given as target_of

SQUARE = [(-1.0, 1.0), (-0.5, 2.0)]


def along_lines(kind, f, domain, error=1e-6, kinks=None, gates=True):
    target = target_of(f, domain)
    nothing = np.empty((0, len(domain)))
    return list(kind(target, Wish(error, "float64", 20.0, gates), kinks, nothing))


def off(candidate, f, domain, seed=0):
    low, high = np.array(domain).T
    X = np.random.default_rng(seed).uniform(low, high, (20_000, len(low)))
    return np.abs(candidate.network(X) - np.reshape(f(*X.T), (len(X), -1))).max()


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_ridges_along_any_direction_are_found(seed, variables):
    rng = np.random.default_rng(seed)
    w, shift = rng.normal(size=variables), rng.normal()
    domain = [(a, a + 10.0 ** rng.uniform(-1, 1)) for a in rng.normal(size=variables)]

    def f(*x):
        y = sum(each * column for each, column in zip(w, x, strict=True))
        return np.sin(y / np.abs(w).sum() + shift)

    made = along_lines(ridge, f, domain, 1e-5)
    assert made
    for candidate in made:
        assert candidate.construction == "ridge"
        assert off(candidate, f, domain) <= candidate.error * 1.01
    assert min(candidate.error for candidate in made) <= 1e-5


@pytest.mark.parametrize(
    ("f", "keys"),
    [
        (lambda x, y: np.abs(x - y), 4),
        (lambda x, y: np.maximum(x + y / 3 - 0.2, 0), 3),
        (lambda x, y: np.clip(np.pi * x + y, -1, 1), 5),
    ],
)
def test_kinks_may_lie_aslant(f, keys):
    """Kinks are found as finely in x − y as they are in one variable: it takes no more anchors."""
    heads, *gates = along_lines(ridge, f, SQUARE)
    assert heads.error <= 1e-6
    assert heads.network.size.anchors <= keys
    assert off(heads, f, SQUARE) <= 1e-6
    (gate,) = gates
    assert off(gate, f, SQUARE) <= gate.error <= 1e-6
    assert not any(
        head.sees == "self"
        for made in along_lines(ridge, f, SQUARE, gates=False)
        for head in made.network.layers[1].heads
    )


def test_directions_are_as_exact_as_they_can_be():
    """x/3 + y is read along exactly (1/3, 1): differences alone would give ten digits."""
    f = lambda x, y: np.sin(x / 3 + y)  # noqa: E731
    (made,) = along_lines(ridge, f, SQUARE, 1e-10)
    assert off(made, f, SQUARE) <= 1e-10
    features = made.network.layers[0].terms[0].features[:, 0]
    assert features[0] / features[1] == pytest.approx(1 / 3, rel=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x * y,
        lambda x, y: np.sin(x) + np.sin(y),
        lambda x, y: np.hypot(x, y),
        lambda x, y: np.sin(x + y) + 1e-3 * y * y,
        lambda x, y: (np.sin(x + y), np.sin(x - y)),
    ],
    ids=["product", "sum", "round", "nearly", "two directions"],
)
def test_what_is_no_ridge_is_not_taken_for_one(f):
    assert not along_lines(ridge, f, SQUARE)


def test_a_constant_is_a_ridge_along_any_axis():
    made = along_lines(ridge, lambda x, y: 0 * x + 3, SQUARE)
    assert all(off(each, lambda x, y: 0 * x + 3, SQUARE) <= 1e-6 for each in made)
    assert made[0].network.size.anchors == 1


def test_kinks_that_are_named_lie_along_axes():
    assert not along_lines(ridge, lambda x, y: np.abs(x - y), SQUARE, kinks=[[], []])


def test_several_outputs_along_one_line_are_one_ridge():
    f = lambda x, y: np.stack([np.sin(x + y), np.cos(x + y)], axis=-1)  # noqa: E731
    made = along_lines(ridge, f, SQUARE)
    assert min(off(each, f, SQUARE) for each in made) <= 1e-6


@pytest.mark.parametrize(
    ("f", "domain"),
    [
        (lambda x, y: np.sin(x) + np.exp(y), SQUARE),
        (lambda x, y: np.abs(x) + np.maximum(y - 0.5, 0), SQUARE),
        (lambda x, y, z: x * x - np.cos(z) + 3, [*SQUARE, (5.0, 6.0)]),
    ],
)
def test_sums_of_functions_of_one_variable_are_found(f, domain):
    (made,) = along_lines(separate_sum, f, domain)
    assert made.construction == "sum"
    assert off(made, f, domain) <= 1.003 * made.error <= 1e-6
    looked = made.network.layers[0].terms[0].features
    assert (np.count_nonzero(looked, axis=0) <= 1).all()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x * y,
        lambda x, y: np.sin(x) + np.sin(y) + 1e-5 * x * y,
        lambda x, y: np.abs(x - y),
        lambda x, y: np.sin(x) + 0 * y,
        lambda x, y: 0 * x,
    ],
    ids=["product", "nearly", "aslant", "one variable", "nought"],
)
def test_what_is_no_sum_of_two_is_not_taken_for_one(f):
    assert not along_lines(separate_sum, f, SQUARE)


def test_what_is_a_sum_but_for_less_than_a_hundredth_of_the_error_is_one():
    f = lambda x, y: np.sin(x) + np.sin(y) + 1e-9 * x * y  # noqa: E731
    (made,) = along_lines(separate_sum, f, SQUARE)
    assert off(made, f, SQUARE) <= 1e-6


def test_kinks_of_each_variable_are_taken_for_it():
    f = lambda x, y: np.abs(x - 0.25) + np.abs(y - 1)  # noqa: E731
    (made,) = along_lines(separate_sum, f, SQUARE, kinks=[[0.25], [1.0]])
    assert made.error <= 1e-6
    (wrong,) = along_lines(separate_sum, f, SQUARE, 1e-3, kinks=[[1.0 / 3], [1.0]])
    assert wrong.network.size.anchors > made.network.size.anchors or wrong.error > 1e-3
