import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anchorhead.heads import smallest as module
from anchorhead.heads.anchors import Anchors
from anchorhead.heads.response import response
from anchorhead.heads.search import EVEN, Found, search
from anchorhead.heads.smallest import LADDER, constant, smallest

U = np.linspace(-1, 1, 4001)
TARGETS = {
    "runge": lambda u: (1 / (1 + 25 * u * u))[:, None],
    "sine": lambda u: np.sin(4 * u + 0.3)[:, None],
    "two waves": lambda u: np.stack([np.sin(3 * u), np.cos(5 * u)], axis=1),
    "odd": lambda u: (u**5 - u)[:, None],
}


def off(found, target):
    return np.abs(response(found.anchors, U) - target(U)).max()


def first_rung(target, goal):
    """The first number of the ladder that suffices."""
    for count in LADDER:
        if search(target, EVEN, count, goal).error <= goal:
            return count
    raise AssertionError


@pytest.mark.parametrize("goal", [1e-2, 1e-5])
@pytest.mark.parametrize("name", TARGETS)
def test_the_goal_is_met_with_no_more_anchors_than_the_first_rung_that_suffices(name, goal):
    target = TARGETS[name]
    found = smallest(target, EVEN, goal, "float64", 1000.0)
    assert len(found.anchors) <= first_rung(target, goal)
    assert found.error <= goal
    assert off(found, target) <= 1.003 * goal


def test_leaving_out_anchors_finds_heads_between_the_rungs():
    counts = []
    for w in (2.0, 3.5, 5.0, 7.0, 9.0):
        target = lambda u, w=w: np.sin(w * u)[:, None]  # noqa: E731
        lazy, eager = (smallest(target, EVEN, 1e-6, "float64", b) for b in (0.0, 300.0))
        assert len(lazy.anchors) in LADDER
        assert len(eager.anchors) <= len(lazy.anchors)
        counts.append(len(eager.anchors))
    assert not set(counts) <= set(LADDER)


def fake(works, pruned):
    """A search that meets the goal for these numbers of anchors, afresh or after leaving some out."""

    def found(target, layout, count, goal, dtype, stages=None, start=None):
        able = count in (works if start is None else pruned)
        head = Anchors(np.arange(float(count)), np.zeros(count), np.zeros((count, 1)))
        tried.append((count, able))
        return Found(head, goal if able else 2.0 ** -len(tried) + goal, 1.0)

    tried = []
    return found, tried


COUNTS = st.sets(st.integers(2, 18))
DOWN_TO = st.integers(2, 18).map(lambda least: set(range(least, 19)))


@given(COUNTS, COUNTS | DOWN_TO)
@example({5}, set(range(2, 19)))
def test_the_fewest_anchors_of_all_heads_that_were_seen_to_suffice_come_back(works, pruned):
    """Whatever a search says, nothing that was found is given up for something larger."""
    found, tried = fake(works | {16}, pruned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "search", found)
        least = smallest(TARGETS["sine"], EVEN, 1e-9, "float64", 1000.0)
    assert len(least.anchors) == min(count for count, able in tried if able)
    climbed = [count for count, _ in itertools.takewhile(lambda each: not each[1], tried)]
    assert climbed == sorted(set(climbed) & set(LADDER))


def test_an_end_is_put_to_a_ladder_that_leads_nowhere(monkeypatch):
    """More anchors are of no use against noise."""
    counts = []

    def counted(target, layout, count, *rest):
        counts.append(count)
        return search(target, layout, count, *rest)

    def noise(u):
        return np.sin(u)[:, None] + 1e-14 * np.random.default_rng(len(u)).normal(size=(len(u), 1))

    monkeypatch.setattr(module, "search", counted)
    found = smallest(noise, EVEN, 1e-18, "float64", 100.0)
    assert 1e-15 < found.error < 1e-12
    assert max(counts) < LADDER[-1]


def test_no_more_anchors_are_tried_than_allowed():
    found = smallest(TARGETS["runge"], EVEN, 1e-12, "float64", 100.0, most=6)
    assert 1 < len(found.anchors) <= 6
    assert found.error > 1e-12


def test_a_target_within_the_goal_of_a_constant_needs_one_anchor():
    found = smallest(lambda u: 3 + 1e-3 * u[:, None], EVEN, 1.01e-3, "float64", 100.0)
    assert len(found.anchors) == 1
    assert found.anchors.values == pytest.approx(3.0)


def test_a_constant_lies_in_the_middle_of_what_the_target_takes():
    found = constant(TARGETS["two waves"], EVEN, "float64", 10.0)
    f = TARGETS["two waves"](U)
    middle = (f.max(axis=0) + f.min(axis=0)) / 2
    np.testing.assert_allclose(found.anchors.values[0], middle, atol=5e-3)
    assert found.error == pytest.approx(np.ptp(f, axis=0).max() / 2, rel=0.01)


def test_work_is_bounded_by_the_budget_and_one_search():
    lazy = smallest(TARGETS["runge"], EVEN, 1e-6, "float64", 0.0)
    eager = smallest(TARGETS["runge"], EVEN, 1e-6, "float64", 1e-9)
    assert len(eager.anchors) in (len(lazy.anchors), len(lazy.anchors) - 1)
