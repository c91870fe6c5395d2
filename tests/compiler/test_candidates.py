import itertools

import numpy as np
import pytest

from anchorhead.compiler.candidates import Candidate, keys_of, smallest_of
from anchorhead.heads import Anchors, pointwise, relu, uniform


def of_anchors(*counts, error=0.0):
    """A candidate with a head of each number of anchors."""
    heads = [Anchors(np.zeros(n), np.zeros(n), np.zeros((n, 1))) for n in counts]
    return Candidate("test", pointwise(*heads), error)


def test_keys_are_all_anchors_and_the_token_where_it_sees_itself():
    assert keys_of(pointwise(uniform(-1.0, 1.0, 5, h=2.0), uniform(-1.0, 1.0, 7, h=2.0))) == 12
    gate = relu(1e-3)
    assert keys_of(gate.network) == gate.keys == 2


def test_the_fewest_keys_within_the_error_win_then_heads_then_the_error():
    many, few = of_anchors(5, error=1e-9), of_anchors(3, error=1e-3)
    two, better = of_anchors(1, 2, error=1e-6), of_anchors(3, error=1e-4)
    wrong = of_anchors(1, error=1.0)
    for order in itertools.permutations([many, few, two, better, wrong]):
        assert smallest_of(order, 1e-2) is better
        assert smallest_of(order, 1e-5) is two
        assert smallest_of(order, 1e-8) is many
        assert smallest_of(order, 2.0) is wrong


def test_where_none_is_within_the_error_the_nearest_wins_whatever_its_size():
    large, small = of_anchors(50, error=0.1), of_anchors(2, error=0.2)
    assert smallest_of(iter([small, large]), 1e-3) is large
    assert smallest_of([large], 1e-3) is large


def test_an_error_that_is_just_met_is_met():
    assert smallest_of([of_anchors(2, error=0.5), of_anchors(9, error=0.1)], 0.5).error == 0.5


def test_there_must_be_a_candidate():
    with pytest.raises(ValueError, match="empty"):
        smallest_of([], 1.0)
