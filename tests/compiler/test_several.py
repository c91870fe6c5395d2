import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.compiler.several import on_grid
from anchorhead.errors import InputError, PrecisionError, ShapeError, SizeError
from anchorhead.heads import grid

SQUARE = [(-1.0, 1.0)] * 2
UNIT = [(0.0, 1.0)] * 2


def franke(x, y):
    return (
        0.75 * np.exp(-((9 * x - 2) ** 2 + (9 * y - 2) ** 2) / 4)
        + 0.75 * np.exp(-((9 * x + 1) ** 2) / 49 - (9 * y + 1) / 10)
        + 0.5 * np.exp(-((9 * x - 7) ** 2 + (9 * y - 3) ** 2) / 4)
        - 0.2 * np.exp(-((9 * x - 4) ** 2) - (9 * y - 7) ** 2)
    )


def of_points(f):
    return lambda X: np.asarray(f(*X.T)).reshape(-1, len(X)).T


def made(f, domain, goal, dtype="float64", **more):
    low, high = np.array(domain, dtype=float).T
    return on_grid(of_points(f), low, high, goal, dtype, 100.0, **more)


def fresh_points(domain, count=100_000, seed=5):
    """Random points, one in twenty of them on the boundary."""
    low, high = np.array(domain, dtype=float).T
    rng = np.random.default_rng(seed)
    share = rng.uniform(size=(count, len(low)))
    share[::20] = np.round(share[::20])
    return np.clip(low + (high - low) * share, low, high)


def fresh_error(result, f, domain):
    X = fresh_points(domain)
    return np.abs(grid.network(result.lattice)(X[:, None])[:, 0] - of_points(f)(X)).max()


CASES = {
    "Franke": (franke, UNIT, 1e-6, (14, 14)),
    "product": (lambda x, y: x * y, SQUARE, 1e-6, (2, 2)),
    "finer product": (lambda x, y: x * y, SQUARE, 1e-9, (3, 3)),
    "sum": (lambda x, y: x * x + y * y, SQUARE, 1e-6, (3, 3)),
    "exponential": (lambda x, y: np.exp(x * y), SQUARE, 1e-6, (7, 7)),
    "wave": (lambda x, y: np.sin(3 * x + 2 * y), SQUARE, 1e-6, (9, 8)),
    "constant": (lambda x, y: 0 * x + 3, SQUARE, 1e-6, (1, 1)),
    "of one variable": (lambda x, y: np.sin(3 * y) + 0 * x, SQUARE, 1e-6, (1, 7)),
    "kink": (lambda x, y: np.abs(x) * y, SQUARE, 1e-6, (6, 3)),
    "kinks of both": (lambda x, y: abs(x - 1 / 3) * abs(y + 0.3), SQUARE, 1e-5, (6, 6)),
    "root": (lambda x, y: np.sqrt(x) * np.cos(y), UNIT, 1e-5, (20, 4)),
    "three": (lambda x, y, z: np.exp(-x * x - y * y - z * z), [(-1, 1)] * 3, 1e-5, (5, 5, 5)),
    "four": (lambda x, y, z, w: 1 / (2 + x + y + z + w), [(0, 1)] * 4, 1e-4, (4, 4, 4, 4)),
    "vector": (lambda x, y: (np.sin(x + y), np.cos(x - y)), SQUARE, 1e-6, (7, 7)),
    "far": (
        lambda x, y: np.sin(3 * (x - 1e3) + 1e3 * y),
        [(1e3, 1e3 + 1), (-1e-3, 2e-3)],
        1e-6,
        (7, 8),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_fresh_points_never_exceed_the_goal_and_sizes_are_small(name):
    f, domain, goal, sizes = CASES[name]
    result = made(f, domain, goal)
    assert result.error <= goal
    assert fresh_error(result, f, domain) <= goal
    assert np.prod(result.lattice.sizes) <= np.prod(sizes)


@pytest.mark.parametrize(
    ("f", "goal"),
    [(lambda x, y: np.sin(3 * x + 2 * y), 1e-4), (lambda x, y: abs(x - 0.2) * y, 1e-3)],
)
def test_float32_meets_the_goal_when_run_in_float32(f, goal):
    torch = pytest.importorskip("torch")
    result = made(f, SQUARE, goal, "float32")
    X = fresh_points(SQUARE).astype(np.float32)
    module = grid.network(result.lattice).to_torch(torch.float32)
    answer = module(torch.tensor(X)[:, None]).double().numpy()[:, 0]
    assert np.abs(answer - of_points(f)(X.astype(float))).max() <= result.error <= goal


@settings(deadline=None, max_examples=3)
@given(
    st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
)
def test_shifted_and_scaled_variables_take_the_same_sizes(shift, scale):
    def f(x, y):
        return np.exp(x * y) + x

    shift, unit = np.array(shift), 10.0 ** np.array(scale)
    domain = [(s - u, s + u) for s, u in zip(shift, unit, strict=True)]

    def moved(x, y):
        return f((x - shift[0]) / unit[0], (y - shift[1]) / unit[1])

    result = made(moved, domain, 1e-4)
    plain = made(f, SQUARE, 1e-4)
    assert all(np.frexp(axis.unit)[0] == 0.5 for axis in result.lattice.axes)
    assert abs(len(result.lattice) - len(plain.lattice)) <= 0.35 * len(plain.lattice)
    assert fresh_error(result, moved, domain) <= 1e-4


def test_swapped_variables_swap_the_sizes():
    one = made(lambda x, y: np.sqrt(x) * y, UNIT, 1e-4)
    two = made(lambda x, y: np.sqrt(y) * x, UNIT, 1e-4)
    assert one.lattice.sizes[0] > 2 * one.lattice.sizes[1]
    assert two.lattice.sizes[1] > 2 * two.lattice.sizes[0]


def test_where_the_error_is_unforeseen_is_looked_at():
    result = made(np.hypot, SQUARE, 2e-3)
    assert fresh_error(result, np.hypot, SQUARE) <= 2e-3


def test_kinks_that_are_given_are_used():
    def f(x, y):
        return np.abs(x - 0.1) * np.abs(y + 0.3)

    result = made(f, SQUARE, 1e-4, kinks=[[0.1], [-0.3]])
    assert fresh_error(result, f, SQUARE) <= 1e-4
    assert len(result.lattice) <= 16
    with pytest.raises(ShapeError, match="kinks has 1 entries for 2 variables; give one for each"):
        made(f, SQUARE, 1e-5, kinks=[[0.1]])


def test_slanted_kinks_are_refused_with_the_error_that_can_be_had():
    with pytest.raises(InputError, match=r"do not run along the axes .*; ask for no less, or turn"):
        made(lambda x, y: np.abs(x - y), SQUARE, 1e-4)


def test_jumps_are_refused_by_variable():
    with pytest.raises(InputError, match=r"along variable 1, target jumps by .* at 0.25"):
        made(lambda x, y: np.where(y > 0.25, 1.0, 0.0) * x, SQUARE, 1e-3)


def test_what_rounding_forbids_is_refused():
    with pytest.raises(
        PrecisionError, match=r"rounding in float32 allows for values .* or use float64"
    ):
        made(lambda x, y: np.sin(x * y) + 1, SQUARE, 1e-7, "float32")


def test_too_many_anchors_are_refused():
    with pytest.raises(SizeError, match="takes more anchors than a grid may have"):
        made(lambda *x: np.cos(sum(x)), [(0, 2)] * 9, 1e-6)
