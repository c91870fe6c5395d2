import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead import Box
from anchorhead.errors import InputError, ShapeError, SizeError
from anchorhead.theorems import approximator, relu_approximator, smoothing
from anchorhead.theorems.ridges import Ridges, primitive_directions


def lipschitz(constant):
    return lambda delta: constant * delta


def distance(relu, f, box, count=20_000):
    X = box.sample(count, seed=0)
    return np.abs(relu(X) - f(X)).max()


CASES = {
    "sort": (lambda X: np.sort(X, axis=-2), Box.cube(0, 1, (2, 1)), 0.02, lipschitz(1)),
    "sine": (lambda X: np.sin(5 * X), Box.cube(-1, 2, (1, 1)), 0.02, lipschitz(5)),
    "root": (lambda X: np.sqrt(np.abs(X)), Box.cube(-1, 1, (1, 1)), 0.05, np.sqrt),
    "product": (
        lambda X: X[..., :1, :] * X[..., 1:, :],
        Box.cube(-1, 1, (2, 1)),
        0.1,
        lipschitz(2),
    ),
    "two features": (
        lambda X: np.abs(X.sum(axis=-1, keepdims=True)),
        Box.cube(-1, 1, (1, 2)),
        0.05,
        lipschitz(2),
    ),
    "constant": (lambda X: 0 * X + 3, Box.cube(-1, 1, (2, 1)), 0.1, lipschitz(0)),
    "one entry fixed": (
        lambda X: np.sin(X.sum(axis=(-1, -2), keepdims=True)),
        Box(np.array([[-1.0], [0.5]]), np.array([[1.0], [0.5]])),
        0.02,
        lipschitz(2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_within_the_error(name):
    f, box, error, modulus = CASES[name]
    relu = relu_approximator(f, box, error, modulus)
    assert relu.shape_in == box.shape
    assert distance(relu, f, box) <= error


@pytest.mark.parametrize(
    ("name", "error"), [("sine", 0.3), ("sort", 0.3), ("product", 0.6), ("root", 0.4)]
)
def test_the_classical_construction_needs_no_luck(name, error, monkeypatch):
    """Without candidates the smoothed series answers, within the error."""
    monkeypatch.setattr(approximator, "_candidates", lambda *_: iter(()))
    f, box, _, modulus = CASES[name]
    relu = relu_approximator(f, box, error, modulus, limit=10**6)
    assert distance(relu, f, box) <= error


@given(st.integers(1, 40))
def test_the_kernel_is_positive_with_the_moment_it_should_have(degree):
    rho = smoothing._kernel(degree)
    t = np.linspace(-np.pi, np.pi, 2001)
    kernel = rho[0] + 2 * (rho[1:, None] * np.cos(np.outer(np.arange(1, degree + 1), t))).sum(0)
    assert rho[0] == pytest.approx(1)
    assert rho[1] == pytest.approx(np.cos(np.pi / (degree + 2)))
    assert kernel.min() >= -1e-9


@settings(max_examples=30)
@given(st.integers(1, 3), st.integers(0, 10**6), st.floats(1e-3, 0.2))
def test_reach_holds(D, seed, radius):
    rng = np.random.default_rng(seed)
    directions = primitive_directions(D, 1)
    cells = rng.integers(1, 9, len(directions))
    ridges = Ridges(directions, cells, rng.normal(size=(int((cells + 1).sum()), 2)))
    t = rng.random((50, D))
    moved = np.clip(t + rng.choice([-radius, radius], t.shape), 0, 1)
    assert (np.abs(ridges(moved) - ridges(t)) <= ridges.reach(t, radius) + 1e-9).all()


@settings(max_examples=30)
@given(st.integers(1, 3), st.integers(0, 10**6))
def test_ridges_as_a_relu_network(D, seed):
    rng = np.random.default_rng(seed)
    directions = primitive_directions(D, 2)
    cells = rng.integers(1, 5, len(directions))
    ridges = Ridges(directions, cells, rng.normal(size=(int((cells + 1).sum()), 3)))
    low, length = rng.normal(size=(D, 1)), rng.exponential(size=(D, 1)) + 0.1
    box = Box(low, low + length)
    relu = ridges.to_relu(box, (3, 1))
    assert relu.hidden == ridges.hidden
    t = rng.random((40, D))
    X = low + t[:, :, None] * length
    np.testing.assert_allclose(relu(X)[..., 0], ridges(t), atol=1e-9)


def test_primitive_directions_name_each_line_once():
    lines = primitive_directions(2, 2).tolist()
    assert sorted(lines) == sorted(
        [[0, 1], [1, -2], [1, -1], [1, 0], [1, 1], [1, 2], [2, -1], [2, 1]]
    )


def test_what_hides_from_the_fit_does_not_hide_from_the_proof():
    """A spike between the points of the fitting grid, which the modulus admits."""
    side = int(np.sqrt(approximator.FIT_POINTS))
    centre = (side // 2 + 0.5) / (side - 1)

    def spike(X):
        away = np.abs(X - centre).max(axis=(-1, -2), keepdims=True)
        return np.maximum(0, 0.5 - 200 * away)

    ticks = np.linspace(0, 1, side)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1)[..., None]
    assert not spike(grid).any()
    with pytest.raises(SizeError):
        relu_approximator(spike, Box.cube(0, 1, (2, 1)), 0.1, lipschitz(200))


def test_a_function_of_one_array_is_wrapped():
    def one(x):
        assert x.shape == (2, 1)
        return [[float(max(x[0, 0], x[1, 0]))]]

    relu = relu_approximator(one, [(0, 1), (0, 1)], 0.1, lipschitz(1))
    assert abs(relu(np.array([[0.3], [0.8]]))[0, 0] - 0.8) <= 0.1


def test_a_function_that_only_seems_to_take_batches_is_wrapped():
    def sort_tokens(X):
        return np.sort(X, axis=0)

    relu = relu_approximator(sort_tokens, [(0, 1), (0, 1)], 0.1, lipschitz(1))
    assert distance(relu, lambda X: np.sort(X, axis=-2), Box.cube(0, 1, (2, 1))) <= 0.1


@pytest.mark.parametrize("small", ["values", "box"])
def test_small_numbers_are_not_taken_for_equal(small):
    scale, side = (1e-9, 1) if small == "values" else (1, 1e-9)

    def sort_tokens(X):
        return scale * np.sort(X, axis=0)

    relu = relu_approximator(sort_tokens, [(0, side)] * 2, 1e-10, lipschitz(scale))
    exact = lambda X: scale * np.sort(X, axis=-2)  # noqa: E731
    assert distance(relu, exact, Box.cube(0, side, (2, 1))) <= 1e-10


def test_it_says_what_it_would_need():
    def mean(X):
        return np.sin(X.sum(axis=(-1, -2), keepdims=True))

    with pytest.raises(SizeError, match=r"6 variables needs .* neurons .* limit is 20,000"):
        relu_approximator(mean, Box.cube(-1, 1, (6, 1)), 0.01, lipschitz(6))
    with pytest.raises(SizeError, match=r"100 variables needs more than 10\^"):
        relu_approximator(mean, Box.cube(-1, 1, (20, 5)), 1e-3, lipschitz(1))
    with pytest.raises(SizeError, match="limit is 3"):
        relu_approximator(mean, Box.cube(-9, 9, (1, 1)), 0.01, lipschitz(1), limit=3)


def test_the_limit_is_kept():
    f, box, _, modulus = CASES["sine"]
    relu = relu_approximator(f, box, 0.2, modulus, limit=40)
    assert relu.hidden <= 40


@pytest.mark.parametrize(
    ("f", "domain", "error", "modulus", "kind", "says"),
    [
        (np.sin, [(0, 1)], 0.0, lipschitz(1), InputError, "error"),
        (np.sin, [(1, 0)], 0.1, lipschitz(1), InputError, "low"),
        (np.sin, [[[(0, 1)]]], 0.1, lipschitz(1), ShapeError, "domain"),
        (np.sin, [(1, 1)], 0.1, lipschitz(1), InputError, "fixes every entry"),
        (np.log, [(-1, 1)], 0.1, lipschitz(1), InputError, "f"),
        (np.sum, [(0, 1)], 0.1, lipschitz(1), ShapeError, "f"),
        (np.sin, [(0, 1)], 0.1, lambda delta: -delta, InputError, "modulus"),
        (np.sin, [(0, 1)], 0.1, lambda delta: np.nan, InputError, "modulus"),
        (np.sin, [(0, 1)], 0.1, lambda delta: 7.0, InputError, "tends to 0"),
        (np.sin, [(0, 1)], 0.1, None, InputError, "modulus is not a function"),
        (np.sin, [(0, 1)], 0.1, lambda delta: None, InputError, "modulus is not a function"),
        (None, [(0, 1)], 0.1, lipschitz(1), InputError, "f is a NoneType"),
        (np.sin, [(0, 1e-310)], 0.1, lipschitz(1), InputError, "domain has a side"),
        (lambda X: np.ones((int(9 * X.mean()) + 1, 1)), [(0, 1)], 0.1, np.sqrt, ShapeError, "f"),
    ],
)
@pytest.mark.filterwarnings("ignore:(invalid|divide by zero):RuntimeWarning")
def test_bad_input_is_named(f, domain, error, modulus, kind, says):
    with pytest.raises(kind, match=says):
        relu_approximator(f, domain, error, modulus)
