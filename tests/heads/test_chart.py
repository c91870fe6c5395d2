import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchorhead.heads.chart import Chart
from anchorhead.heads.response import response
from anchorhead.heads.search import search

ENDS = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))


@given(ENDS)
def test_an_even_chart_maps_minus_one_to_one_onto_the_interval(drawn):
    low, high = drawn[0], drawn[0] + drawn[1]
    chart = Chart.even(low, high)
    ends = chart.points(np.array([-1.0, 1.0]))
    assert (np.abs(ends - [low, high]) <= np.spacing(max(abs(low), abs(high)))).all()
    inside = chart.points(np.linspace(-1, 1, 101))
    assert ((low <= inside) & (inside <= high)).all()
    np.testing.assert_allclose(
        inside, np.linspace(low, high, 101), rtol=1e-15, atol=1e-9 * drawn[1]
    )
    assert len(chart.layout(5)) == 1


@pytest.mark.parametrize("origin", [None, 2.0, 6.0])
def test_a_chart_of_cells_has_their_ends_as_knots(origin):
    ends = np.array([2.0, 2.25, 3.0, 6.0])
    chart = Chart.of(ends, origin)
    np.testing.assert_allclose(chart.points(chart.knots), ends, rtol=1e-15)
    u = {None: (-1, 1), 2.0: (0, 1), 6.0: (-1, 0)}[origin]
    assert (chart.knots[0], chart.knots[-1]) == u
    cells, even = chart.layout(7)
    np.testing.assert_array_equal(cells, chart.knots)
    np.testing.assert_array_equal(even, u)


def test_no_point_of_a_chart_leaves_the_interval():
    chart = Chart.even(0.1, 0.7)
    assert chart.points(np.array([-1 - 1e-9, 1 + 1e-9])).tolist() == [0.1, 0.7]


def test_points_near_an_origin_are_told_apart_on_every_scale():
    chart = Chart.of(np.array([0.0, 1e-9, 1.0]), 0.0)
    u = np.geomspace(1e-300, 1, 50)
    np.testing.assert_allclose(chart.points(u), u, rtol=1e-15)


@given(ENDS, st.sampled_from(["float64", "float32"]))
def test_queries_have_a_power_of_two_as_unit_and_a_centre_that_the_dtype_holds(drawn, dtype):
    chart = Chart.even(drawn[0], drawn[0] + drawn[1])
    centre, unit = chart.frame(dtype)
    assert centre == np.dtype(dtype).type(centre)
    assert abs(centre - chart.origin) <= np.finfo(dtype).eps * abs(chart.origin)
    assert np.frexp(unit)[0] == 0.5
    assert chart.length <= unit < 2 * chart.length


def wave(y):
    return np.stack([np.sin(y), np.cos(2 * y)], axis=1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (3.1, 3.9), (-700.3, -698.0)])
def test_a_head_found_in_a_chart_is_one_on_the_interval(low, high, dtype):
    chart = Chart.even(low, high)
    found = search(chart.charted(wave), chart.layout, 10, 0.0, dtype)
    placed = chart.placed(found, wave, 0.0, dtype)
    assert (placed.anchors.centre, placed.anchors.unit) == chart.frame(dtype)
    assert placed.work == found.work
    y = np.linspace(low, high, 5001).astype(dtype).astype(float)
    y = np.clip(y, low, high)
    off = np.abs(response(placed.anchors, y, dtype) - wave(y)).max()
    assert off <= 1.003 * placed.error
    assert placed.error <= 2 * found.error  # what moving rounds
    u = (y - chart.origin) / chart.length
    same = response(placed.anchors, y) - response(found.anchors, u)
    assert np.abs(same).max() <= found.error + placed.error


def test_charted_targets_are_those_on_the_interval():
    chart = Chart.of(np.array([1.0, 1.5, 4.0]), 4.0)
    u = np.linspace(-1, 0, 7)
    np.testing.assert_allclose(chart.charted(wave)(u), wave(4 + 3 * u))
