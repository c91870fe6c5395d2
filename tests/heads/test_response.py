import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.response import (
    expected_rounding,
    natural_grid,
    response,
    rounding,
    softmax,
    weights,
)
from networks import evaluate_anchors

SEEDS = st.integers(0, 10**6)


def random_head(seed, dtype="float64", least=1):
    """A head of soft to very sharp anchors whose weights are numbers of the dtype."""
    rng = np.random.default_rng(seed)
    count, sharp = int(rng.integers(least, 40)), 10.0 ** rng.uniform(-1, 4)
    slopes = np.sort(rng.normal(size=count)) * sharp
    crossings = np.sort(rng.uniform(-1, 1, count - 1))
    intercepts = -np.append(0.0, np.cumsum(np.diff(slopes) * crossings))
    values = rng.normal(size=(count, 2)) * 10.0 ** rng.uniform(-2, 3)
    slopes, intercepts, values = (
        a.astype(dtype).astype(float) for a in (slopes, intercepts, values)
    )
    centre, unit = float(np.dtype(dtype).type(rng.normal() * 3)), 2.0 ** rng.integers(-3, 4)
    return Anchors(slopes, intercepts, values, centre, unit)


def points_of(head, seed, count=500, dtype="float64"):
    u = np.random.default_rng(seed).uniform(-1.2, 1.2, count)
    return (head.centre + head.unit * u).astype(dtype).astype(float)


def by_long_doubles(head, y):
    """The head's answer with eleven more bits."""
    q = (y.astype(np.longdouble) - np.longdouble(head.centre)) / np.longdouble(head.unit)
    scores = q[:, None] * head.slopes.astype(np.longdouble) + head.intercepts
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    return P @ head.values.astype(np.longdouble) / P.sum(axis=1, keepdims=True)


@given(SEEDS)
def test_weights_and_output_are_those_of_the_definition(seed):
    head = random_head(seed)
    y = points_of(head, seed)
    P = weights(head, y)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-14)
    exact = evaluate_anchors(head, y)
    slack = 2 * rounding(head, y, "float64")
    assert (np.abs(response(head, y) - exact) <= slack).all()
    assert (np.abs(P @ head.values - exact) <= slack).all()


def test_more_weights_than_a_block_holds_change_nothing(monkeypatch):
    head = random_head(4, least=30)
    y = points_of(head, 4)
    whole = response(head, y)
    monkeypatch.setattr("anchorhead.heads.response.BLOCK", 100)
    assert (np.abs(response(head, y) - whole) <= rounding(head, y, "float64")).all()


def test_softmax_of_large_scores_does_not_overflow():
    np.testing.assert_array_equal(
        softmax(np.array([[1e300, 1e300], [-1e300, 1e300]])), [[0.5, 0.5], [0.0, 1.0]]
    )


@given(SEEDS)
def test_rounding_dominates_what_float32_adds(seed):
    head = random_head(seed, "float32")
    y = points_of(head, seed, dtype="float32")
    moved = np.abs(response(head, y, "float32") - response(head, y))
    assert response(head, y, "float32").dtype == np.float32
    assert (moved <= rounding(head, y, "float32")).all()


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="long doubles are doubles on this machine"
)
@given(SEEDS)
def test_rounding_dominates_what_float64_adds(seed):
    head = random_head(seed)
    y = points_of(head, seed)
    moved = np.abs(response(head, y) - by_long_doubles(head, y))
    assert (moved <= rounding(head, y, "float64")).all()


def test_rounding_is_seldom_ten_times_what_float32_adds():
    shares = []
    for seed in range(100):
        head = random_head(seed, "float32", least=2)
        y = points_of(head, seed, dtype="float32")
        moved = np.abs(response(head, y, "float32") - response(head, y)).max()
        shares.append(moved / rounding(head, y, "float32").max())
    assert np.median(shares) > 0.1


def test_the_rounding_expected_in_float32_holds_at_points_that_were_not_tried():
    for seed in range(60):
        head = random_head(seed, "float32", least=4)
        tried = natural_grid(head, np.sort(points_of(head, seed, 1000)))
        tried = np.unique(tried.astype(np.float32).astype(float))
        expected, bound = (
            expected_rounding(head, tried, "float32"),
            rounding(head, tried, "float32"),
        )
        assert (expected <= bound).all()
        y = points_of(head, seed + 1000, 1000, "float32")
        moved = np.abs(response(head, y, "float32") - response(head, y))
        assert moved.max() <= expected.max()


def test_expected_rounding_in_float64_is_the_bound():
    head = random_head(3)
    y = points_of(head, 3)
    np.testing.assert_array_equal(
        expected_rounding(head, y, "float64"), rounding(head, y, "float64")
    )


@given(SEEDS, st.floats(0.05, 1.0))
def test_between_points_of_the_natural_grid_no_head_turns_more_than_stated(seed, finest):
    """√p moves on the unit sphere at half the speed √Var_p(α): the arc is at most finest/2."""
    head = random_head(seed)
    ends = head.centre + head.unit * np.array([-1.2, 1.2])
    grid = natural_grid(head, ends, finest)
    assert grid[0] == ends[0]
    assert grid[-1] == ends[-1]
    assert (np.diff(grid) > 0).all()
    cells = np.random.default_rng(seed).integers(0, len(grid) - 1, 200)
    for share in (0.3, 1.0):
        y = grid[cells] + share * (grid[cells + 1] - grid[cells])
        roots = np.sqrt(weights(head, grid[cells])), np.sqrt(weights(head, y))
        chord = np.linalg.norm(roots[0] - roots[1], axis=1)
        blurred = np.abs(head.slopes).max() * np.spacing(np.abs(grid).max()) / head.unit
        assert (2 * np.arcsin(chord / 2) <= finest / 2 + blurred).all()


def test_the_natural_grid_keeps_its_points_and_its_limit():
    head = random_head(8, least=20)
    points = points_of(head, 8)
    points.sort()
    assert np.isin(points, natural_grid(head, points, finest=0.01)).all()
    coarse = natural_grid(head, points[[0, -1]], finest=1e-3, most=1000)
    assert 1000 <= len(coarse) < 2000


def test_the_natural_grid_finds_a_step_as_narrow_as_floating_point_allows():
    step = Anchors(np.array([-1e14, 1e14]), np.array([0.3e14, -0.3e14]), np.array([[0.0], [1.0]]))
    grid = natural_grid(step, np.array([-1.0, 1.0]))
    assert np.abs(grid - 0.3).min() < 1e-15
    assert len(grid) < 200
