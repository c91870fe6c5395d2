import numpy as np
import pytest

from anchorhead import Box, Interval
from anchorhead.errors import InputError, ShapeError


def test_interval_checks_its_ends():
    assert Interval(-1, 2).length == 3
    for low, high in ((1, 1), (2, 1), (0, np.inf), (np.nan, 1)):
        with pytest.raises(InputError):
            Interval(low, high)


def test_box_from_pairs_nested_like_the_array():
    assert Box.of([(0, 1), (2, 3)]).shape == (2,)
    assert Box.of([[(0, 1), (2, 3)]]).shape == (1, 2)
    assert Box.of(Interval(0, 1)).shape == (1,)
    box = Box.cube(-1, 1, (2, 3))
    assert Box.of(box) is box
    assert Box.of([(0, 1)] * 6).reshape((2, 3)).shape == (2, 3)


def test_box_contains_and_samples():
    box = Box.of([[(0, 1), (2, 3)], [(-1, -1), (0, 5)]])
    X = box.sample(50, seed=0)
    assert X.shape == (50, 2, 2)
    assert box.contains(X).all()
    assert (X == box.sample(50, seed=0)).all()
    X[7, 1, 0] = -0.9
    assert not box.contains(X)[7]
    assert box.contains(X).sum() == 49
    assert box.contains(X[0])


@pytest.mark.parametrize(
    "domain",
    [
        [(1, 0)],
        [1.0, 2.0],
        [(0, 1, 2)],
        [(0, np.nan)],
        [],
        "x",
        np.array([[0, 1]]),
    ],
)
def test_box_refuses(domain):
    with pytest.raises(InputError):
        Box.of(domain)


def test_box_refuses_other_shapes():
    with pytest.raises(ShapeError, match="6 entries"):
        Box.cube(0, 1, (2, 3)).reshape((2, 2))
    with pytest.raises(ShapeError, match="same shape"):
        Box(np.zeros(2), np.ones(3))


def test_box_methods_check_their_arguments():
    box = Box.cube(0, 1, (2, 2))
    for call in (
        lambda: box.sample(0, seed=0),
        lambda: box.sample(3, seed=-1),
        lambda: box.contains(np.zeros((3, 2))),
        lambda: box.contains(0.5),
        lambda: box.contains("x"),
        lambda: box.reshape(None),
        lambda: box.reshape((2.0, 2)),
        lambda: Box.cube(0, 1, (-1,)),
        lambda: Box.cube(0, 1, None),
        lambda: Box(0.0, 1.0),
    ):
        with pytest.raises(InputError):
            call()


def test_box_is_frozen():
    with pytest.raises(ValueError, match="read-only"):
        Box.cube(0, 1, (2,)).low[0] = 5
