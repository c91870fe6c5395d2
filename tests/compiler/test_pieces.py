import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchorhead.compiler.line import Wish, on_line
from anchorhead.heads.response import response


def made_of(f, goal, low=-1.0, high=1.0, dtype="float64"):
    (made,) = on_line(lambda y: f(y)[:, None], low, high, Wish(goal, dtype, 20.0))
    return made


def off(made, f, at=(), low=-1.0, high=1.0, dtype="float64"):
    """The largest difference at even points and at points that crowd toward some on all scales."""
    steps = np.geomspace(1e-16, 1, 1000)
    near = [c + side * steps for c in at for side in (-1, 1)]
    y = np.clip(np.concatenate([np.linspace(low, high, 4001), *near]), low, high)
    y = np.clip(y.astype(dtype).astype(float), low, high)
    return np.abs(sum(response(head, y, dtype) for head in made.heads)[:, 0] - f(y)).max()


@pytest.mark.parametrize(
    ("f", "low", "high", "construction"),
    [
        (np.sin, -1.0, 1.0, "smooth"),
        (np.sqrt, 0.0, 1.0, "graded"),
        (np.abs, -1.0, 1.0, "spliced"),
        (lambda x: np.sin(3 * np.abs(x)), -1.0, 2.0, "spliced"),
    ],
)
def test_the_construction_is_named_after_the_pieces(f, low, high, construction):
    made = made_of(f, 1e-4, low, high)
    assert made.construction == construction
    assert off(made, f, [0.0], low, high) <= 1.003 * made.error
    assert made.error <= 1e-4
    assert made.keys == sum(len(head) for head in made.heads)


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.floats(-9, -4))
def test_straight_pieces_take_two_or_three_anchors_each(seed, log_goal):
    rng = np.random.default_rng(seed)
    places = np.array([-0.6, 0.1, 0.7]) + rng.uniform(-0.2, 0.2, 3)
    jumps = rng.choice([-1, 1], 3) * rng.uniform(0.5, 2, 3)

    def f(y):
        return 0.3 * y + np.maximum(y[:, None] - places, 0) @ jumps

    made = made_of(f, 10.0**log_goal)
    assert made.error <= 10.0**log_goal
    assert off(made, f, places) <= 1.003 * made.error
    assert made.keys <= 3 * 4 + (2 * 3 if len(made.heads) > 1 else 0)


def test_flat_pieces_take_one_anchor_and_a_kink_none():
    for goal in (1e-3, 1e-6, 1e-9):
        made = made_of(lambda y: np.maximum(y, 0), goal)
        assert made.error <= goal
        assert made.keys == 3


def test_the_goal_is_met_to_the_last_digits_rounding_leaves():
    made = made_of(np.abs, 1e-11)
    assert made.error <= 1e-11
    assert off(made, np.abs, [0.0]) <= 1e-11


def test_where_one_head_would_round_too_much_there_is_one_for_each_piece():
    def f(y):
        return np.sin(6 * np.abs(y - 0.1))

    made = made_of(f, 2e-5, dtype="float32")
    assert made.error <= 2e-5
    assert len(made.heads) > 1
    assert off(made, f, [0.1], dtype="float32") <= 2e-5
    assert len(made_of(f, 2e-5).heads) == 1
