import numpy as np
import pytest

from anchorhead.heads import descent
from anchorhead.heads.descent import STAGES, Samples, descend
from anchorhead.heads.mesh import Mesh, clustered, family
from anchorhead.heads.response import response, weights

U = np.cos(np.pi * np.arange(80, -1, -1) / 80)
EVEN = [np.array([-1.0, 1.0])]
SINE = Samples(U, np.sin(4 * U)[:, None])
WAVES = Samples(U, np.stack([np.sin(4 * U), np.exp(U)], axis=1), 0.2 + U * U)


def random_meshes(seed, count, rows, crossed=False):
    """Meshes of some rows; ``crossed`` ones have gaps of both signs."""
    rng = np.random.default_rng(seed)
    gaps = 10.0 ** rng.uniform(-0.5, 0.8, (rows, count - 1))
    gaps *= rng.choice([-1, 1], gaps.shape) if crossed else 1
    return Mesh(gaps, rng.normal(size=gaps.shape), rng.uniform(-1, 1, gaps.shape))


def solved(problem, mesh):
    """The state of a mesh; steps may write into it."""
    return problem.solved(mesh.gaps.copy(), mesh.offsets.copy())


def flat(residual):
    """A residual as the rows of a Jacobian have it."""
    return np.moveaxis(residual, 2, 1).reshape(len(residual), -1)


@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("count", [2, 4, 7])
def test_the_jacobian_is_that_of_finite_differences_off_the_range_of_the_weights(count, crossed):
    mesh = random_meshes(count, count, 3, crossed)
    problem = descent._Problem(WAVES, mesh, 1e-3)
    state = solved(problem, mesh)
    J, step = problem.jacobian(state), 1e-5
    for column in range(2 * (count - 1)):
        move = np.zeros(2 * (count - 1))
        move[column] = step
        by_gap, by_offset = np.split(move, 2)
        one, other = (
            problem.solved(mesh.gaps + s * by_gap, mesh.offsets + s * by_offset) for s in (1, -1)
        )
        rate = (one.residual - other.residual) / (2 * step)
        rate -= state.Q @ (state.Q.swapaxes(1, 2) @ rate)
        scale = np.abs(J).max() + np.abs(rate).max()
        np.testing.assert_allclose(J[..., column], flat(rate), atol=1e-6 * scale)
        falls = (one.cost - other.cost) / (2 * step)
        slope = 2 * np.einsum("hr,hr->h", J[..., column], flat(state.residual))
        np.testing.assert_allclose(slope, falls, atol=1e-6 * state.cost.max())


def test_values_and_cost_are_those_of_damped_least_squares():
    mesh = random_meshes(1, 5, 2)
    problem = descent._Problem(WAVES, mesh, 0.1)
    state = solved(problem, mesh)
    for row in range(2):
        head = mesh.rows(np.array(row)).anchors(np.zeros((5, 2)))
        W, P = np.asarray(WAVES.weights)[:, None], weights(head, U)
        A = np.concatenate([W * P, 0.1 * np.eye(5)])
        b = np.concatenate([W * WAVES.values, np.zeros((5, 2))])
        v = np.linalg.lstsq(A, b, rcond=None)[0]
        np.testing.assert_allclose(state.values[row], v, atol=1e-9)
        assert state.cost[row] == pytest.approx(np.square(A @ v - b).sum())
        worst = np.abs(P @ v - WAVES.values).max() + 0.1 * (P @ np.abs(v)).max()
        assert problem.errors(state)[row] == pytest.approx(worst)


@pytest.mark.parametrize("steep", [0, -1])
def test_scores_keep_small_differences_beside_large_gaps_at_either_end(steep):
    """Gaps that fall from 10¹² to 1, or rise: the small ones must not be lost in the large sums."""
    gaps = 10.0 ** np.linspace(12, 0, 13)[:: 1 if steep == 0 else -1]
    places = np.full(13, -1.0 if steep == 0 else 1.0)
    mesh = Mesh(gaps[None], np.zeros((1, 13)), places[None])
    problem = descent._Problem(Samples(U, U[:, None]), mesh, 1e-9)
    scores = problem.scores(mesh.gaps, mesh.offsets)[0]
    mild = (slice(-4, None) if steep == 0 else slice(0, 4),)
    differences = np.diff(scores[(slice(None), *mild)], axis=1)
    exact = (U[:, None] - places[0]) * gaps[slice(-3, None) if steep == 0 else slice(0, 3)]
    np.testing.assert_allclose(differences, exact, atol=1e-12)


def test_no_step_raises_the_cost():
    mesh = random_meshes(3, 6, 8, crossed=True)
    problem = descent._Problem(WAVES, mesh, 1e-6)
    state, lam = solved(problem, mesh), np.full(8, 1e-2)
    costs = [state.cost.copy()]
    for _ in range(25):
        state, lam = descent._step(problem, state, lam)
        costs.append(state.cost.copy())
        again = problem.solved(state.gaps, state.offsets)
        np.testing.assert_allclose(again.cost, state.cost, rtol=1e-6)
    assert (np.diff(costs, axis=0) <= 0).all()
    assert (costs[-1] < 0.1 * costs[0]).all()


def test_two_parameters_that_do_the_same_make_no_step_singular():
    """A gap and an offset seen by a single sample, with as little damping as there ever is."""
    rng = np.random.default_rng(0)
    gaps, offsets = np.full((500, 1), 1e5), rng.normal(size=(500, 1))
    mesh = Mesh(gaps, offsets, rng.choice(U, (500, 1)) + 1e-6 * rng.normal(size=(500, 1)))
    problem = descent._Problem(SINE, mesh, 1e-12)
    new, _ = descent._step(problem, solved(problem, mesh), np.full(500, descent.LEAST_DAMPING))
    assert np.isfinite(new.cost).all()


def test_heads_descend_by_themselves_whatever_stands_beside_them():
    mesh = random_meshes(4, 5, 6)
    together = descent._Problem(WAVES, mesh, 1e-6)
    state, lam = descent._step(together, solved(together, mesh), np.full(6, 1e-2))
    assert 1 < len(np.unique(lam))  # some are better for the step, some are not
    for row in range(6):
        alone = mesh.rows(np.array([row]))
        problem = descent._Problem(WAVES, alone, 1e-6)
        own, _ = descent._step(problem, solved(problem, alone), np.full(1, 1e-2))
        np.testing.assert_allclose(own.cost[0], state.cost[row], rtol=1e-6)


def off(head, samples):
    return np.abs(response(head, samples.points) - samples.values).max()


def test_descent_stops_as_soon_as_the_goal_is_met():
    meshes = family(EVEN, 7)
    early, little = descend(SINE, meshes, 1e-3, 1e-12)
    late, much = descend(SINE, meshes, 0.0, 1e-12)
    assert off(early, SINE) <= 1e-3
    assert off(late, SINE) < 0.1 * off(early, SINE)
    assert little < 0.2 * much


def test_descent_gives_up_where_the_goal_is_out_of_reach():
    meshes = family(EVEN, 3)
    _, hopeless = descend(SINE, meshes, 1e-12, 1e-14)
    _, much = descend(SINE, meshes, 0.0, 1e-14)
    assert hopeless < much


def test_the_best_head_of_all_is_returned_and_more_stages_never_make_it_worse():
    kink = Samples(U, np.abs(U)[:, None])
    meshes = family([clustered(-1, 1, [0.0], 24), *EVEN], 8)
    problem = descent._Problem(kink, meshes, 1e-12)
    first = problem.errors(solved(problem, meshes)).min()
    reached = [off(descend(kink, meshes, 0.0, 1e-12, STAGES[:n])[0], kink) for n in (1, 2, 3, 4)]
    assert reached[0] <= first * (1 + 1e-6)
    assert (np.diff(reached) <= 0).all()
    assert reached[-1] < 0.1 * first


def test_damping_counts_as_error():
    """With heavy damping no head meets the goal, however near it comes."""
    meshes = family(EVEN, 7)
    head, _ = descend(SINE, meshes, 1e-3, 1e-2)
    P = weights(head, U)
    assert (np.abs(P @ head.values - SINE.values) + 1e-2 * (P @ np.abs(head.values))).max() > 1e-3
    _, free = descend(SINE, meshes, 1e-3, 1e-12)
    _, damped = descend(SINE, meshes, 1e-3, 1e-4 / np.abs(head.values).max())
    assert damped >= free
