import json
from dataclasses import fields

import numpy as np
import pytest

from anchorhead.compiler.candidates import keys_of
from anchorhead.compiler.planner import Row, plan
from anchorhead.errors import InputError
from anchorhead.heads import pointwise, uniform
from anchorhead.run import numpy as reference

PAPER = "uniform (the paper)"
TARGETS = {
    "relu": (lambda x: np.maximum(x, 0), (-1, 1), 1e-6),
    "sine": (lambda x: np.sin(3 * x), (-1, 1), 1e-6),
    "root": (np.sqrt, (0, 1), 1e-3),
    "two outputs": (lambda x: (np.sin(x), np.cos(x)), (0, 3), 1e-4),
    "product": (lambda x, y: x * y, [(-1, 1)] * 2, 1e-3),
    "aslant": (lambda x, y: np.abs(x - y), [(-1, 1)] * 2, 1e-4),
    "round": (lambda x, y: np.exp(-x * x - y * y), [(-1, 1)] * 2, 1e-3),
}


@pytest.fixture(scope="module", params=TARGETS)
def planned(request):
    f, domain, error = TARGETS[request.param]
    return plan(f, domain, error), f, np.atleast_2d(domain), error


def meets(row, error):
    return row.network is None or row.error_float64 <= error


def test_the_paper_s_row_is_always_there_and_never_built(planned):
    made, *_ = planned
    (paper,) = [row for row in made.rows if row.construction == PAPER]
    assert paper.network is None
    assert (paper.heads, paper.layers) == (1, 1)
    assert len(made.rows) > 1


def test_rows_that_meet_the_error_come_first_the_fewest_keys_first(planned):
    made, _, _, error = planned
    within = [row for row in made.rows if meets(row, error)]
    beyond = [row for row in made.rows if not meets(row, error)]
    assert made.rows == (*within, *beyond)
    assert [row.keys for row in within] == sorted(row.keys for row in within)
    assert [row.error_float64 for row in beyond] == sorted(row.error_float64 for row in beyond)
    assert made.best is made.rows[0]
    assert made.best.construction != PAPER
    assert meets(made.best, error)


def test_errors_are_those_of_each_row_s_network_on_fresh_points(planned):
    made, f, domain, _ = planned
    X = np.random.default_rng(8).uniform(*domain.T, (20_000, len(domain)))
    for row in made.rows:
        if row.network is None:
            continue
        for dtype, error in (("float64", row.error_float64), ("float32", row.error_float32)):
            tokens = X.astype(dtype)
            inside = np.clip(tokens.astype(float), *domain.T)
            exact = f(*inside.T)
            exact = np.stack(exact, axis=-1) if isinstance(exact, tuple) else exact[:, None]
            off = np.abs(reference.evaluate(row.network, tokens).astype(float) - exact).max()
            assert off <= 1.5 * error  # other points: what is measured is no bound
            assert off >= error / 30


def test_sizes_are_those_of_each_row_s_network(planned):
    made, *_ = planned
    for row in made.rows:
        if row.network is None:
            continue
        size = row.network.size
        assert (row.anchors, row.heads, row.layers) == (size.anchors, size.heads, size.layers)
        assert (row.parameters, row.largest_weight) == (size.parameters, size.largest_weight)
        assert row.keys == keys_of(row.network) >= row.anchors
        assert row.cost > row.keys


def test_the_table_has_a_line_for_each_row_and_a_heading(planned):
    made, _, _, error = planned
    title, heading, *lines = str(made).splitlines()
    assert f"{error:.3g}" in title
    assert len(lines) == len(made.rows)
    assert len({len(line) for line in (heading, *lines)}) == 1
    for line, row in zip(lines, made.rows, strict=True):
        assert line.startswith(row.construction)
        assert f"{row.error_float64:.1e}" in line
        assert f" {row.largest_weight:.2g} " in line
        assert f"{row.error_float32:.1e}" in line
        anchors = f"{int(row.anchors):,}" if row.anchors < 1e9 else f"{row.anchors:.1e}"
        assert f" {anchors} " in line
    assert repr(made) == str(made)


def test_the_table_as_data_has_the_same_numbers_and_no_networks(planned):
    made, *_ = planned
    names = {field.name for field in fields(Row)} - {"network"}
    for entry, row in zip(made.as_dicts(), made.rows, strict=True):
        assert set(entry) == names
        assert all(entry[name] == getattr(row, name) for name in names)
        json.dumps(entry)


def test_the_paper_needs_a_million_anchors_for_a_relu_where_three_are_enough():
    f, domain, error = TARGETS["relu"]
    made = plan(f, domain, error)
    assert {row.construction for row in made.rows} == {"gate", "spliced", "graded mesh", PAPER}
    anchors = {row.construction: row.anchors for row in made.rows}
    assert anchors[PAPER] == pytest.approx(1e6, rel=1e-5)
    assert anchors["spliced"] == 3
    assert anchors["gate"] == 1
    assert anchors["graded mesh"] < 50


def test_the_paper_s_row_counts_as_its_network_would():
    """Built for an error at which that is possible, it has the numbers of the row."""
    made = plan(lambda x: x, (0, 1), 1 / 126 * (1 + 1e-9))
    (row,) = [row for row in made.rows if row.construction == PAPER]
    network = pointwise(uniform(0.0, 1.0, 64, h=20.0))
    assert row.anchors == row.keys == network.size.anchors == 64
    assert row.parameters == network.size.parameters
    (head,) = network.layers[1].heads
    linear = network.layers[0].shape_in[1] * network.layers[0].shape_out[1]
    assert row.cost == linear + head.query.size + 64 * (2 + 1 + 1)  # keys, exponential, value


def test_anchors_are_a_power_of_those_on_an_axis_in_several_variables():
    made = plan(*TARGETS["product"])
    (row,) = [row for row in made.rows if row.construction == PAPER]
    each = round(row.anchors**0.5)
    assert row.anchors == each**2
    assert 900 < each < 2100  # x y changes by (|x| + |y|)/2 of a step: 2/1e-3 of them at the corner


@pytest.mark.parametrize("error", [0.0, -1.0, "small", np.inf])
def test_an_error_that_is_none_is_told(error):
    with pytest.raises(InputError, match="error"):
        plan(np.sin, (-1, 1), error)
