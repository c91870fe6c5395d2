import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.compiler.sampling import POINTS, apart, root_mean_square, scattered, spread, strayed
from anchorhead.compiler.target import given as target_of
from anchorhead.heads import Anchors, pointwise
from anchorhead.layers import Linear, Term
from anchorhead.network import Network


def of_box(low, high, f=lambda *x: sum(x)):
    return target_of(f, list(zip(low, high, strict=True)))


def identity(variables=1):
    """The network that adds up its variables."""
    sum_of = Linear((None, variables), (None, 1), (Term(features=np.ones((variables, 1))),))
    return Network((sum_of,))


@given(st.integers(1, 4), st.integers(1, 200), st.integers(0, 10**6))
def test_each_of_as_many_slices_of_every_axis_holds_one_point(variables, count, seed):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=variables)
    high = low + rng.exponential(size=variables) + 0.1
    X = scattered(of_box(low, high), count, seed)
    assert X.shape == (count, variables)
    assert ((low <= X) & (high >= X)).all()
    slices = np.floor((X - low) / (high - low) * count * (1 - 1e-12)).astype(int)
    for axis in range(variables):
        held = np.bincount(np.clip(slices[:, axis], 0, count - 1), minlength=count)
        assert np.count_nonzero(held != 1) <= 2  # a point may be rounded across a border


def test_points_depend_on_the_seed_and_on_nothing_else():
    box = of_box([0.0, 0.0], [1.0, 1.0])
    np.testing.assert_array_equal(scattered(box, 50, 3), scattered(box, 50, 3))
    assert not np.isclose(scattered(box, 50, 3), scattered(box, 50, 4)).any()


def test_slices_of_several_axes_are_not_in_step():
    X = scattered(of_box([0.0, 0.0], [1.0, 1.0]), 4096, 0)
    assert abs(np.corrcoef(X.T)[0, 1]) < 0.1


def test_what_is_apart_is_the_difference_in_the_dtype():
    box = of_box([-1.0], [1.0], lambda x: x + 0.25 * (x > 0))
    X = np.array([[-0.5], [0.5]])
    np.testing.assert_array_equal(apart(identity(), box, X, "float64"), [[0.0], [0.25]])
    shifted = Network((Linear((None, 1), (None, 1), (Term(),), np.array([[1e-9]])),))
    assert apart(shifted, box, X, "float64")[0, 0] == pytest.approx(1e-9)
    assert apart(shifted, box, X, "float32")[0, 0] == 0  # float32 does not see it


def test_points_count_as_the_dtype_holds_them():
    """A network that is exact at every float32 number is not blamed for numbers between them."""
    box = of_box([1e6 - 1], [1e6 + 1], lambda x: x - 1e6)
    network = Network((Linear((None, 1), (None, 1), (Term(),), np.array([[-1e6]])),))
    X = scattered(box, 100, 0)
    assert np.abs(X - X.astype(np.float32)).max() > 0.01
    assert apart(network, box, X, "float32").max() == 0


def test_the_target_is_asked_for_nothing_outside_its_domain():
    """Even where the nearest float32 number lies there."""
    box = of_box([0.0], [0.3], lambda x: np.sqrt(0.3 - x))
    assert float(np.float32(0.3)) > 0.3
    apart(identity(), box, np.array([[0.3]]), "float32")


def test_strayed_points_come_worst_first_and_none_is_missed():
    box = of_box([-1.0], [1.0], lambda x: x + np.maximum(x - 0.5, 0))
    X = strayed(identity(), box, 0.25, "float64", seed=1)
    assert (np.diff(X[:, 0]) <= 0).all()
    fresh = spread(box, POINTS, 1)
    np.testing.assert_array_equal(np.sort(X[:, 0]), np.sort(fresh[fresh > 0.75]))
    assert len(strayed(identity(), box, 0.5, "float64", seed=1)) == 0


@pytest.mark.parametrize("variables", [1, 2])
def test_the_root_mean_square_is_that_of_the_integral(variables):
    """∫ (x/2)² over [−1, 1] is 1/12 of its length, and so is the sum's for each variable."""
    low, high = [-1.0] * variables, [1.0] * variables
    box = of_box(low, high, lambda *x: 1.5 * sum(x))
    assert root_mean_square(identity(variables), box, "float64", 5) == pytest.approx(
        np.sqrt(variables / 12), rel=0.01
    )


def test_the_root_mean_square_is_the_largest_of_all_outputs():
    box = of_box([0.0], [1.0], lambda x: (0 * x, 0 * x + 2))
    ones = pointwise(Anchors(np.zeros(1), np.zeros(1), np.array([[1.0, 5.0]])))
    assert root_mean_square(ones, box, "float64", 0) == pytest.approx(3)


def test_spread_points_come_near_ends_and_hold_corners_and_faces():
    line = spread(of_box([-1.0], [2.0], lambda x: x), 64, 0)[:, 0]
    for end in (-1.0, 2.0):
        away = np.sort(np.abs(line - end))
        assert away[0] == 0
        assert away[away > 0][0] < 1e-15
    cube = spread(of_box([0.0] * 3, [1.0] * 3, lambda x, y, z: x), 64, 0)
    on_faces = ((cube == 0) | (cube == 1)).sum(axis=1)
    assert len(np.unique(cube[on_faces == 3], axis=0)) == 8
    assert (on_faces == 1).any()
    assert (on_faces == 2).any()
