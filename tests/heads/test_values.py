import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from anchorhead.heads.mesh import along
from anchorhead.heads.response import weights
from anchorhead.heads.values import exchange, least_squares

SEEDS = st.integers(0, 10**6)
U = np.cos(np.pi * np.arange(200, -1, -1) / 200)
TARGETS = {
    "sine": lambda u: np.sin(5 * u),
    "runge": lambda u: 1 / (1 + 25 * u * u),
    "kink": np.abs,
    "steps": lambda u: np.tanh(20 * (u - 0.3)),
}


def even_weights(count, softness, u=U):
    ends = np.array([-1.0, 1.0])
    return weights(along(ends, count, softness).anchors(np.zeros((count, 1))), u)


def largest(P, f, v, damping=0.0):
    return (np.abs(P @ v - f) + damping * (P @ np.abs(v))).max(axis=0)


def least_largest(P, f):
    """The least sup-norm error there is, as a linear program: min t, −t ≤ P v − f ≤ t."""
    one = np.ones((len(P), 1))
    done = linprog(
        np.append(np.zeros(P.shape[1]), 1.0),
        A_ub=np.block([[P, -one], [-P, -one]]),
        b_ub=np.concatenate([f, -f]),
        bounds=(None, None),
        method="highs-ds",
    )
    assert done.success
    return done.fun


@given(SEEDS, st.floats(1e-8, 1.0))
def test_least_squares_solves_the_normal_equations(seed, damping):
    rng = np.random.default_rng(seed)
    P, f = rng.dirichlet(np.ones(7), 30), rng.normal(size=(30, 2))
    v = least_squares(P, f, damping)
    gradient = P.T @ (P @ v - f) + damping**2 * v
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_damping_keeps_values_of_anchors_alike_bounded():
    P = np.repeat(even_weights(4, 1.0), 2, axis=1) / 2
    P[:, ::2] *= 1 + 1e-13 * U[:, None]
    f = np.sin(U)[:, None]
    assert np.abs(least_squares(P, f, 1e-8)).max() < 3


@settings(max_examples=30)
@given(SEEDS, st.integers(2, 12), st.floats(0.5, 3.0), st.floats(0, 1e-3))
def test_exchange_never_makes_values_worse(seed, count, softness, damping):
    rng = np.random.default_rng(seed)
    P = even_weights(count, softness)
    f = np.sin(rng.normal(size=2) * 6 * U[:, None] + rng.normal(size=2))
    for v in (least_squares(P, f, damping), rng.normal(size=(count, 2))):
        after = exchange(P, f, v, damping)
        assert (largest(P, f, after, damping) <= largest(P, f, v, damping)).all()


def test_exchange_leaves_values_alone_where_anchors_cannot_be_told_apart():
    P = np.full((201, 3), 1 / 3)
    v = np.array([[1.0], [0.5], [-1.0]])
    np.testing.assert_array_equal(exchange(P, np.sin(9 * U)[:, None], v, 0.0), v)


@pytest.mark.parametrize("count", [2, 5, 8])
@pytest.mark.parametrize("name", TARGETS)
def test_exchange_reaches_what_a_linear_program_finds(name, count):
    P, f = even_weights(count, 1.5), TARGETS[name](U)
    start = least_squares(P, f[:, None], 1e-12)
    after = exchange(P, f[:, None], start, 0.0)
    best = least_largest(P, f)
    assert largest(P, f[:, None], start)[0] > 1.02 * best  # there is something to gain
    assert best * (1 - 1e-7) <= largest(P, f[:, None], after)[0] <= 1.005 * best


def test_the_error_after_exchange_alternates():
    count = 7
    P, f = even_weights(count, 1.5), np.exp(np.sin(3 * U + 1))
    start = least_squares(P, f[:, None], 1e-12)
    error = (P @ exchange(P, f[:, None], start, 0.0))[:, 0] - f
    extreme = np.sign(error[np.abs(error) > 0.99 * np.abs(error).max()])
    assert 1 + (np.diff(extreme) != 0).sum() == count + 1


def test_every_column_is_treated_by_itself():
    P = even_weights(6, 1.5)
    f = np.stack([np.sin(5 * U), 1e-9 * np.cos(4 * U)], axis=1)
    v = least_squares(P, f, 1e-12)
    both = exchange(P, f, v, 1e-14)
    for i in range(2):
        alone = exchange(P, f[:, i : i + 1], v[:, i : i + 1], 1e-14)
        np.testing.assert_array_equal(both[:, i : i + 1], alone)
