import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.descent import Samples
from anchorhead.heads.mesh import clustered
from anchorhead.heads.response import expected_rounding, response, weights
from anchorhead.heads.search import (
    EVEN,
    TUNED_ONLY,
    Found,
    damping_for,
    finished,
    measured,
    reweighted,
    sample_points,
    search,
)

SEEDS = st.integers(0, 10**6)
BETWEEN = 1.003
"""What is said of errors: between the points at which they are measured, a few thousandths more."""


def random_target(seed, width=1):
    """A sum of two waves and a bell for each output."""
    rng = np.random.default_rng(seed)
    w, c, at = rng.uniform(0.5, 6, (2, width)), rng.normal(size=(3, width)), rng.uniform(-1, 1)

    def target(u):
        u = u[:, None]
        return c[0] * np.sin(w[0] * u) + c[1] * np.cos(w[1] * u) + c[2] / (1 + 9 * (u - at) ** 2)

    return target


def towards_zero(count):
    return [clustered(-1, 1, [0.0], 2 * count + 8), np.array([-1.0, 1.0])]


def kink(u):
    return np.abs(u)[:, None]


def fresh(seed, count=4000):
    """Points of [−1, 1], half of them crowding toward 0 and the ends."""
    rng = np.random.default_rng(seed)
    at = rng.choice([-1.0, 0.0, 1.0], count)
    near = at + rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-12, 0, count)
    return np.clip(np.concatenate([rng.uniform(-1, 1, count), near]), -1, 1)


def off(head, target, u, dtype="float64"):
    return np.abs(response(head, u, dtype).astype(float) - target(u)).max()


@settings(max_examples=20)
@given(SEEDS, st.integers(2, 9), st.integers(1, 2), st.sampled_from([0.0, 1e-3, 1e-6]))
def test_no_fresh_point_is_farther_off_than_the_error_that_was_measured(seed, count, width, goal):
    target = random_target(seed, width)
    found = search(target, EVEN, count, goal)
    assert len(found.anchors) == count
    seen = off(found.anchors, target, fresh(seed))
    assert seen <= BETWEEN * found.error
    assert seen > 0.9 * found.error - 1e-12


@pytest.mark.parametrize("count", [5, 6, 7, 8, 11, 12])
def test_heads_of_kinks_keep_their_errors_on_every_scale(count):
    found = search(kink, towards_zero, count, 0.0)
    assert off(found.anchors, kink, fresh(count)) <= BETWEEN * found.error


def test_float32_keeps_the_error_that_counts_its_rounding():
    target = random_target(5)
    exact, rounded = (search(target, EVEN, 16, 0.0, dtype) for dtype in ("float64", "float32"))
    u = fresh(5).astype(np.float32).astype(float)
    assert off(rounded.anchors, target, u, "float32") <= rounded.error
    assert exact.error < 0.1 * rounded.error
    for array in (rounded.anchors.slopes, rounded.anchors.intercepts, rounded.anchors.values):
        np.testing.assert_array_equal(array, array.astype(np.float32))


def test_searches_are_repeated_bit_by_bit():
    one, other = (search(random_target(2, 2), EVEN, 6, 1e-5) for _ in range(2))
    for name in ("slopes", "intercepts", "values"):
        np.testing.assert_array_equal(getattr(one.anchors, name), getattr(other.anchors, name))
    assert (one.error, one.work) == (other.error, other.work)


def test_a_search_stops_when_the_goal_is_met():
    easy, hard = (search(random_target(3), EVEN, 8, goal) for goal in (1e-2, 0.0))
    assert easy.error <= 1e-2
    assert hard.error < 0.1 * easy.error
    assert easy.work < 0.2 * hard.work


def test_descent_gains_much_over_the_best_mesh_of_the_family():
    target = random_target(7)
    tuned = search(target, EVEN, 7, 0.0, stages=TUNED_ONLY)
    descended = search(target, EVEN, 7, 0.0)
    assert descended.error < 0.5 * tuned.error


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_finished_heads_have_stored_keys_and_values_no_worse_than_before(dtype):
    rng = np.random.default_rng(1)
    target = random_target(8)
    keys = np.sort(rng.normal(size=6)) * 3, rng.normal(size=6)
    points = sample_points(np.array([-1.0, 1.0]), 6)
    found = finished(Anchors(*keys, rng.normal(size=(6, 1))), target, points, dtype, 0.0)
    np.testing.assert_array_equal(found.anchors.slopes, keys[0].astype(dtype))
    np.testing.assert_array_equal(found.anchors.intercepts, keys[1].astype(dtype))
    u = np.linspace(-1, 1, 2001)
    P, f = weights(found.anchors, u), target(u)
    fit = np.abs(P @ np.linalg.lstsq(P, f, rcond=None)[0] - f).max()
    assert off(found.anchors, target, u) <= fit
    error = np.abs(P @ found.anchors.values - f).max()
    rounded = expected_rounding(found.anchors, u, dtype).max()
    assert error / BETWEEN <= found.error <= BETWEEN * (error + 2 * rounded)


def test_finished_values_are_exchanged_where_the_goal_asks_for_it():
    """Least squares alone leaves a largest error that is larger than it need be."""
    rng = np.random.default_rng(2)
    target, points = random_target(8), sample_points(np.array([-1.0, 1.0]), 6)
    head = Anchors(np.arange(6.0), -(np.arange(6.0) ** 2) / 9, rng.normal(size=(6, 1)))
    loose, tight = (finished(head, target, points, "float64", goal) for goal in (100.0, 0.0))
    assert tight.error < 0.9 * loose.error


def test_finished_keeps_values_that_are_better_than_solved_ones():
    """Values that are exact stay, where least squares with damping would blur them."""
    keys = np.arange(-3.0, 4.0), -(np.arange(-3.0, 4.0) ** 2)
    head = Anchors(*keys, np.random.default_rng(0).normal(size=(7, 1)) * 100)
    points = sample_points(np.array([-1.0, 1.0]), 7)
    found = finished(head, lambda u: weights(head, u) @ head.values, points, "float64", 1e3)
    np.testing.assert_array_equal(found.anchors.values, head.values)


def test_the_error_of_a_sum_of_heads_is_measured_where_any_of_them_is_fine():
    step = Anchors(np.array([-1e9, 1e9]), np.array([3e8, -3e8]), np.array([[0.0], [1.0]]))
    wave = search(random_target(1), EVEN, 8, 1e-6).anchors

    def without_step(u):
        return random_target(1)(u) + (u > 0.3)[:, None]

    points = np.linspace(-1, 1, 11)  # none is near 0.3
    stored, error = measured([step, wave], without_step, points, "float64")
    assert len(stored) == 2
    assert error == pytest.approx(0.5, abs=0.1)
    _, error = measured([wave], random_target(1), points, "float64")
    assert off(wave, random_target(1), points) <= error < 0.01


def test_points_with_large_errors_get_more_weight_and_company():
    target, u = kink, np.linspace(-1, 1, 41)
    head = search(target, towards_zero, 8, 0.0)
    samples = Samples(u, target(u))
    after = reweighted(samples, head, target)
    assert np.isin(samples.points, after.points).all()
    assert len(after.points) > 41
    np.testing.assert_array_equal(after.values, target(after.points))
    W = np.asarray(after.weights)
    apart = np.abs(response(head.anchors, after.points) - after.values).max(axis=1)
    assert W.max() == 1
    assert W[apart.argmax()] == 1
    again = reweighted(after, head, target)
    assert np.asarray(again.weights).min() < W.min()  # weights go on from those before


def test_no_point_is_given_up_even_where_the_error_is_nought():
    head = search(kink, towards_zero, 8, 0.0)
    u = np.linspace(-1, 1, 41)

    def target(u):
        return response(head.anchors, u) + (u > 0)[:, None]

    W = np.asarray(reweighted(Samples(u, target(u)), head, target).weights)
    assert 0 < W.min() < 0.05
    assert W.max() == 1


@given(st.integers(1, 60), st.integers(0, 60))
def test_sample_points_run_from_end_to_end_with_several_in_every_cell(count, cells):
    knots = clustered(-2.0, 1.0, [0.5], cells + 1)
    points = sample_points(knots, count)
    assert points[0] == -2
    assert points[-1] == 1
    assert (np.diff(points) > 0).all()
    assert len(points) <= max(6 * count, 9 * (len(knots) - 1) // 2, 64)
    inside = np.histogram(points, knots)[0]
    assert inside.min() >= 2


def test_damping_is_that_of_the_dtype_or_of_the_goal():
    assert damping_for(1e-3, "float64") == 1e-8
    assert damping_for(0.0, "float64") == 2**-51
    assert damping_for(1e-3, "float32") == 2**-22


def test_found_is_data():
    found = search(random_target(0), EVEN, 3, 0.0)
    assert isinstance(found, Found)
    with pytest.raises(AttributeError, match="cannot assign"):
        found.error = 0.0  # type: ignore[misc]
