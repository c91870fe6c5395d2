from itertools import pairwise

import numpy as np
import pytest

from anchorhead.compiler.cells import crowded, resolved, with_overlooked


def column(f):
    return lambda y: f(y)[:, None]


def test_cells_resolve_to_the_tolerance():
    f = column(lambda x: 1 / (1 + 25 * x * x))
    ends = resolved(f, -1.0, 1.0, 1e-8, degree=8)
    for a, b in pairwise(ends):
        y = a + (b - a) * np.linspace(0, 1, 33)
        fit = np.polynomial.Chebyshev.fit(y, f(y)[:, 0], 8)
        assert np.abs(fit(y) - f(y)[:, 0]).max() < 1e-8


def test_crowded_points_come_near_splices_on_every_scale():
    y = crowded([-1.0, 0.25, 2.0])
    assert y[0] == -1
    assert y[-1] == 2
    for side in (-1, 1):
        away = side * (y - 0.25)
        away = np.sort(away[away > 0])
        assert away[0] < 1e-15
        assert (away[1:] / away[:-1]).max() < 10


@pytest.mark.parametrize("width", [1e-3, 5e-4])
def test_a_narrow_feature_that_the_first_cells_miss_is_watched(width):
    f = column(lambda x: np.exp(-(((x - 0.1234) / width) ** 2)))
    (point, *_) = with_overlooked(f, -1.0, 1.0, 1e-3, [])
    assert abs(point - 0.1234) < 3 * width


def test_nothing_is_watched_where_the_cells_say_it_all():
    for f in (np.sin, np.abs, lambda x: 1 / (1 + 25 * x * x)):
        assert with_overlooked(column(f), -1.0, 1.0, 1e-6, []) == []
