import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.mesh import GHOSTS, SOFTNESS, Mesh, along, clustered, family
from anchorhead.heads.response import response, rounding

SEEDS = st.integers(0, 10**6)
COUNTS = st.integers(2, 40)
Y = np.linspace(-1, 1, 301)


def random_mesh(seed, count):
    """Breakpoints within and beyond [−1, 1], any widths."""
    rng = np.random.default_rng(seed)
    breakpoints = np.sort(rng.normal(size=count - 1) * 1.5)
    return breakpoints, 10.0 ** rng.uniform(-6, 1, count - 1)


def crossings(anchors):
    """Where neighbouring weights cross, and how fast."""
    gaps = np.diff(anchors.slopes)
    return -np.diff(anchors.intercepts) / gaps, 1 / gaps


@given(SEEDS, COUNTS)
def test_anchors_of_a_mesh_cross_where_it_says_over_the_widths_it_says(seed, count):
    breakpoints, widths = random_mesh(seed, count)
    anchors = Mesh.of(breakpoints, widths, -1, 1).anchors(np.zeros((count, 1)))
    at, wide = crossings(anchors)
    lost = np.finfo(float).eps * 4 * count / widths.min()  # of slopes that reach Σ 1/widths
    np.testing.assert_allclose(1 / wide, 1 / widths, rtol=1e-12, atol=lost)
    slack = lost * widths * (1 + np.abs(breakpoints).max()) + 1e-12
    assert (np.abs(at - breakpoints) <= slack * (1 + np.abs(breakpoints))).all()


@given(SEEDS, COUNTS)
def test_the_mesh_of_anchors_gives_back_the_same_head(seed, count):
    rng = np.random.default_rng(seed)
    mesh = Mesh.of(*random_mesh(seed, count), -1, 1)
    anchors = mesh.anchors(rng.normal(size=(count, 2)))
    again = Mesh.between(anchors, -1, 1)
    assert (np.abs(again.places) <= 1).all()
    returned = again.anchors(anchors.values)
    slack = rounding(anchors, Y, "float64") + rounding(returned, Y, "float64")
    assert (np.abs(response(returned, Y) - response(anchors, Y)) <= count * slack).all()


@given(SEEDS, COUNTS, st.integers(0, 39))
def test_the_head_does_not_depend_on_which_anchor_has_score_zero(seed, count, zero):
    """Adding a function of y to all scores changes nothing but rounding."""
    values = np.random.default_rng(seed).normal(size=(count, 1))
    anchors = Mesh.of(*random_mesh(seed, count), -1, 1).anchors(values)
    zero %= count
    other = Anchors(
        anchors.slopes - anchors.slopes[zero],
        anchors.intercepts - anchors.intercepts[zero],
        values,
    )
    slack = rounding(anchors, Y, "float64") + rounding(other, Y, "float64")
    assert (np.abs(response(anchors, Y) - response(other, Y)) <= count * slack).all()
    assert 0 in anchors.slopes


def test_scores_are_small_where_a_cluster_lies():
    """Toward 0 on [0, 1] on all scales: α τ + γ stays of the size of its own steps there."""
    knots = clustered(0, 1, [0.0], 60)
    mesh = along(knots, 30, 2.0)
    anchors = mesh.anchors(np.zeros((30, 1)))
    own = np.abs(anchors.slopes[:-1] * mesh.places) + np.abs(anchors.intercepts[:-1])
    assert anchors.slopes.max() - anchors.slopes.min() > 1e4
    assert own.max() < 300


def test_anchors_are_sorted_where_a_gap_is_negative():
    mesh = Mesh(np.array([1.0, -3.0]), np.array([0.0, 0.5]), np.array([0.2, -0.1]))
    anchors = mesh.anchors(np.array([[1.0], [2.0], [3.0]]))
    scores = np.stack([0 * Y, Y - 0.2, Y - 0.2 - 3 * (Y + 0.1) + 0.5], axis=1)
    P = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(response(anchors, Y), P @ [[1.0], [2.0], [3.0]], rtol=1e-14)
    np.testing.assert_array_equal(anchors.values[:, 0], [3.0, 1.0, 2.0])


def test_equal_slopes_have_no_breakpoint_and_make_a_mesh_all_the_same():
    anchors = Anchors(np.array([-1.0, 1.0, 1.0]), np.array([0.0, 0.3, -2.0]), np.eye(3))
    again = Mesh.between(anchors, -1, 1).anchors(anchors.values)
    np.testing.assert_allclose(response(again, Y), response(anchors, Y), rtol=1e-13)


def test_rows_and_stacks_undo_each_other():
    meshes = [Mesh.of(*random_mesh(seed, 5), -1, 1) for seed in range(3)]
    stacked = Mesh.stack(meshes)
    for row, mesh in enumerate(meshes):
        for name in ("gaps", "offsets", "places"):
            np.testing.assert_array_equal(
                getattr(stacked.rows(np.array([row])), name)[0], getattr(mesh, name)
            )


@given(st.integers(3, 40), st.sampled_from(SOFTNESS), st.integers(0, 4))
def test_even_knots_make_even_anchors(count, softness, ghosts):
    ghosts = min(ghosts, (count - 2) // 2)
    mesh = along(np.array([-1.0, 1.0]), count, softness, ghosts)
    at, wide = crossings(mesh.anchors(np.zeros((count, 1))))
    step = 2 / (count - 1 - 2 * ghosts)
    np.testing.assert_allclose(np.diff(at), step, rtol=1e-9)
    np.testing.assert_allclose(at + at[::-1], 0, atol=1e-12)
    np.testing.assert_allclose(wide, softness * step, rtol=1e-9)
    assert ((at < -1).sum(), (at > 1).sum()) == (ghosts, ghosts)


def test_anchors_crowd_where_knots_do():
    mesh = along(clustered(-1, 1, [0.25], 80), 40, 1.0)
    at, wide = crossings(mesh.anchors(np.zeros((40, 1))))
    nearest = np.abs(at - 0.25).argmin()
    assert wide[nearest] < 1e-3 * wide[0]
    order = np.argsort(np.abs(at - 0.25))
    assert np.corrcoef(np.log(wide[order]), np.log(np.abs(at - 0.25)[order] + 1e-9))[0, 1] > 0.9


@given(
    st.lists(st.floats(-1, 2), min_size=0, max_size=4, unique=True),
    st.integers(1, 80),
    st.floats(1, 5),
)
def test_clustered_knots_reach_both_ends_and_shrink_to_every_point(toward, count, rate):
    knots = clustered(-1.0, 2.0, toward, count, rate=rate)
    assert knots[0] == -1
    assert knots[-1] == 2
    assert (np.diff(knots) > 0).all()
    assert len(knots) <= 2 + max(count + 1, 4 * len(toward))
    m = max(2, (count + 1) // (2 * max(len(toward), 1)))
    for point in toward:
        assert np.abs(knots - point).min() <= 3 * np.exp(-rate * (np.sqrt(m) - 1))


def test_clustered_knots_are_newmans():
    knots = clustered(-1.0, 1.0, [0.0], 16, rate=3.0)
    j = np.arange(1, 9)
    np.testing.assert_allclose(knots[knots > 0], np.exp(-3.0 * (np.sqrt(8) - np.sqrt(j))))
    np.testing.assert_allclose(knots, -knots[::-1])
    between = clustered(-1.0, 1.0, [-0.5, 0.5], 32)
    assert np.abs(between[(between > -0.5) & (between < 0.5)]).min() == 0  # they meet half way


@pytest.mark.parametrize("count", [2, 3, 7, 20])
def test_a_family_holds_every_softness_with_every_number_of_ghosts_that_fits(count):
    courses = [clustered(-1, 1, [0.0], 30), np.array([-1.0, 1.0])]
    meshes = family(courses, count)
    fitting = sum(count - 1 - 2 * ghosts >= 1 for ghosts in GHOSTS)
    assert meshes.gaps.shape == (2 * fitting * len(SOFTNESS), count - 1)
    assert (meshes.gaps > 0).all()
    assert (np.abs(meshes.places) <= 1).all()
