import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.errors import InputError, ShapeError
from anchorhead.heads import grid
from anchorhead.heads.anchors import Anchors
from anchorhead.heads.grid import Lattice
from anchorhead.heads.mesh import along


def random_axis(rng, count):
    return Anchors(
        np.sort(rng.normal(size=count)),
        rng.normal(size=count),
        np.zeros((count, 1)),
        centre=float(rng.normal()),
        unit=float(rng.exponential() + 0.1),
    )


def random_lattice(seed, sizes, width):
    rng = np.random.default_rng(seed)
    axes = tuple(random_axis(rng, count) for count in sizes)
    return Lattice(axes, rng.normal(size=(*sizes, width)))


def by_definition(lattice, X):
    """Σ v e^s / Σ e^s, anchor by anchor."""
    above, below = np.zeros((len(X), lattice.width)), np.zeros((len(X), 1))
    for index in np.ndindex(lattice.sizes):
        score = np.zeros(len(X))
        for axis, k, y in zip(lattice.axes, index, X.T, strict=True):
            score += axis.slopes[k] * (y - axis.centre) / axis.unit + axis.intercepts[k]
        above += np.exp(score)[:, None] * lattice.values[index]
        below += np.exp(score)[:, None]
    return above / below


def even_axes(sizes, softness=1.5):
    """Axes on [−1, 1] with breakpoints evenly apart."""
    ends, alone = np.array([-1.0, 1.0]), Anchors(np.zeros(1), np.zeros(1), np.zeros((1, 1)))
    return [
        along(ends, p, softness, 1).anchors(np.zeros((p, 1))) if p > 1 else alone for p in sizes
    ]


def wave(X):
    return np.stack([np.sin(X @ np.arange(1.0, X.shape[1] + 1)), np.cos(X.sum(axis=1))], axis=1)


SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)
CHEBYSHEV = np.cos(np.pi * np.arange(41) / 40)[::-1]


@given(st.integers(0, 10**6), SIZES, st.integers(1, 3), st.integers(1, 20))
def test_network_and_factorised_head_agree_with_the_definition(seed, sizes, width, tokens):
    lattice = random_lattice(seed, sizes, width)
    X = np.random.default_rng(seed).normal(size=(tokens, len(sizes))) * 2
    network = grid.network(lattice)
    assert network.shape_in == (None, len(sizes))
    assert network.size.anchors == len(lattice) == np.prod(sizes)
    expected = by_definition(lattice, X)
    np.testing.assert_allclose(network(X), expected, atol=1e-9)
    np.testing.assert_allclose(grid.apply(lattice, X), expected, atol=1e-9)


def test_torch_computes_the_same():
    torch = pytest.importorskip("torch")
    lattice = random_lattice(3, (4, 3, 2), 2)
    X = np.random.default_rng(0).normal(size=(50, 3))
    network = grid.network(lattice)
    answer = network.to_torch()(torch.tensor(X)).numpy()
    np.testing.assert_allclose(answer, network(X), atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 10**6), SIZES, st.integers(1, 3))
def test_values_of_a_lattice_are_found_again_from_its_own_answers(seed, sizes, width):
    rng = np.random.default_rng(seed)
    axes = even_axes(sizes, 0.8)
    lattice = Lattice(tuple(axes), rng.normal(size=(*sizes, width)))
    points = [CHEBYSHEV[:: rng.integers(1, 3)] for _ in sizes]
    again = grid.solved(axes, lambda X: grid.apply(lattice, X), points, 1e-13)
    np.testing.assert_allclose(again.values, lattice.values, atol=1e-6)


def test_values_are_those_of_least_squares_on_the_whole_grid():
    axes, points = even_axes((4, 3)), [CHEBYSHEV[::4], CHEBYSHEV[::8]]
    shares = [np.linspace(1, 2, len(y)) for y in points]
    solved = grid.solved(axes, wave, points, 1e-12, shares)
    X = np.stack([y.ravel() for y in np.meshgrid(*points, indexing="ij")], axis=1)
    W = np.outer(*shares).ravel()[:, None]
    rows = [grid.apply(Lattice(tuple(axes), e.reshape(4, 3, 1)), X)[:, 0] for e in np.eye(12)]
    values = np.linalg.lstsq(W * np.stack(rows, axis=1), W * wave(X), rcond=None)[0]
    np.testing.assert_allclose(solved.flat_values, values, atol=1e-7)


def test_the_target_is_asked_for_little_at_a_time(monkeypatch):
    axes, points = even_axes((5, 4, 3)), [CHEBYSHEV] * 3
    whole = grid.solved(axes, wave, points, 1e-10)
    monkeypatch.setattr(grid, "BLOCK", 2000)
    most = 0

    def counted(X):
        nonlocal most
        most = max(most, X.size)
        return wave(X)

    np.testing.assert_allclose(
        grid.solved(axes, counted, points, 1e-10).values, whole.values, atol=1e-7
    )
    assert 0 < most <= 2000
    at = grid.measured(whole, wave, points, "float64")
    monkeypatch.undo()
    np.testing.assert_allclose(
        at.error, grid.measured(whole, wave, points, "float64").error, rtol=1e-12
    )


@pytest.mark.parametrize("sizes", [(9,), (7, 11), (6, 5, 7)])
def test_measured_error_is_that_of_fresh_points(sizes):
    axes = even_axes(sizes)
    points = [np.unique(np.append(CHEBYSHEV, np.linspace(-1, 1, 40))) for _ in sizes]
    lattice = grid.solved(axes, wave, points, 1e-10)
    at = grid.measured(lattice, wave, points, "float64")
    X = np.random.default_rng(1).uniform(-1, 1, (100_000, len(sizes)))
    seen = np.abs(grid.apply(lattice, X) - wave(X)).max()
    assert 0.8 * at.error <= seen <= 1.001 * at.error
    where = np.abs(grid.apply(lattice, at.where[None]) - wave(at.where[None])).max()
    assert where == pytest.approx(at.error, rel=1e-3)


def test_a_narrow_error_between_the_points_of_the_grid_is_looked_into():
    lattice = Lattice(tuple(even_axes((1, 1))), np.zeros((1, 1, 1)))
    y = np.linspace(-1, 1, 21)

    def peak(X):
        return np.exp(-((X - 0.05) ** 2).sum(axis=1) / 0.01)[:, None]

    at = grid.measured(lattice, peak, [y, y], "float64")
    assert 0.97 < at.error <= 1.001
    np.testing.assert_allclose(at.where, 0.05, atol=0.02)


@pytest.mark.parametrize("softness", [1.0, 3.0])
def test_float32_stays_within_the_error_measured_for_it(softness):
    torch = pytest.importorskip("torch")
    axes = even_axes((9, 8), softness)
    lattice = grid.stored(grid.solved(axes, wave, [CHEBYSHEV] * 2, 1e-8), "float32")
    at = grid.measured(lattice, wave, [CHEBYSHEV] * 2, "float32")
    X = np.random.default_rng(2).uniform(-1, 1, (20_000, 2)).astype(np.float32)
    answer = grid.network(lattice).to_torch(torch.float32)(torch.tensor(X)).double().numpy()
    rounded = np.abs(answer - grid.apply(lattice, X.astype(float))).max()
    assert 0 < rounded <= at.rounding
    assert rounded > at.rounding / 300
    assert np.abs(answer - wave(X.astype(float))).max() <= at.error
    exact = grid.measured(lattice, wave, [CHEBYSHEV] * 2, "float64")
    assert exact.rounding < 1e-6 * at.rounding
    assert at.error > exact.error


def test_stored_numbers_are_those_of_the_dtype():
    lattice = grid.stored(random_lattice(0, (3, 2), 1), "float32")
    for array in (lattice.values, *(axis.slopes for axis in lattice.axes)):
        np.testing.assert_array_equal(array, array.astype(np.float32))


def test_lattices_are_checked():
    axis = even_axes((3,))[0]
    with pytest.raises(ShapeError, match=r"values has shape .* axes have \(3, 3\) anchors; give"):
        Lattice((axis, axis), np.zeros((3, 2, 1)))
    with pytest.raises(ShapeError, match="values"):
        Lattice((axis, axis), np.zeros((3, 3)))
    with pytest.raises(InputError, match="axes is empty; give"):
        Lattice((), np.zeros((1, 1)))
    with pytest.raises(InputError, match=r"axes\[1\] is a list"):
        Lattice((axis, [1.0]), np.zeros((3, 3, 1)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="head is a list; give a Lattice"):
        grid.network([axis])  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"points has 1 rows .* give one"):
        grid.solved([axis, axis], wave, [CHEBYSHEV], 1e-9)
    with pytest.raises(ShapeError, match=r"shares has 1 rows .* give one"):
        grid.solved([axis, axis], wave, [CHEBYSHEV] * 2, 1e-9, [CHEBYSHEV])
    with pytest.raises(ValueError, match="read-only"):
        random_lattice(0, (2, 2), 1).values[0, 0, 0] = 1.0
