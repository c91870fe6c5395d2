"""Every construction that could do it, side by side: what each needs, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from anchorhead.compiler.candidates import Candidate, keys_of
from anchorhead.compiler.cells import crowded
from anchorhead.compiler.function import BUDGET, MARGIN, searched
from anchorhead.compiler.line import Wish
from anchorhead.compiler.paper import Staircase, staircase
from anchorhead.compiler.sampling import spread, worst
from anchorhead.compiler.structure import Structure, structure_of
from anchorhead.compiler.target import Given, given
from anchorhead.errors import InputError, PrecisionError, require_positive
from anchorhead.heads.graded import graded
from anchorhead.heads.pointwise import pointwise
from anchorhead.heads.response import Precision
from anchorhead.heads.search import Found
from anchorhead.heads.smallest import LADDER
from anchorhead.heads.smooth import smooth
from anchorhead.layers import Attention, Linear
from anchorhead.network import Network

__all__ = ["Plan", "Row", "plan"]

HEADING = (
    *("construction", "anchors", "keys", "heads", "layers", "parameters", "largest weight"),
    *("error float64", "error float32", "cost a token"),
)

POINTS = 2**14
"""Scattered points at which each network is measured, beside those that crowd toward kinks."""


@dataclass(frozen=True, eq=False)
class Row:
    """One construction: its size, its error computed in float64 and in float32, what a token costs.

    ``keys`` are those a token meets: the anchors, and itself in every head that lets it. ``cost``
    counts multiplications, with their additions, and exponentials. ``network`` is None where it would
    be too large to be worth building.
    """

    construction: str
    anchors: float
    keys: float
    heads: int
    layers: int
    parameters: float
    largest_weight: float
    error_float64: float
    error_float32: float
    cost: float
    network: Network | None


@dataclass(frozen=True, eq=False)
class Plan:
    """The rows, those that meet the error first, the fewest keys first among these."""

    error: float
    rows: tuple[Row, ...]
    note: str = ""

    @property
    def best(self) -> Row:
        """The smallest network that meets the error, or the one of least error.

        Where no network was found it is the paper's row, and ``note`` says why.
        """
        return next((row for row in self.rows if row.network is not None), self.rows[0])

    def as_dicts(self) -> list[dict[str, Any]]:
        """The table as data, without the networks."""
        names = [field.name for field in fields(Row) if field.name != "network"]
        return [{name: getattr(row, name) for name in names} for row in self.rows]

    def __str__(self) -> str:
        table: list[tuple[str, ...]] = [HEADING]
        for row in self.rows:
            counts = (row.anchors, row.keys, row.heads, row.layers, row.parameters)
            errors = (row.error_float64, row.error_float32)
            table.append(
                (
                    row.construction,
                    *map(_count, counts),
                    f"{row.largest_weight:.2g}",
                    *(f"{error:.1e}" for error in errors),
                    _count(row.cost),
                )
            )
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
            for line in table
        ]
        title = f"Plan for an error of {self.error:.3g}"
        return "\n".join([title, *lines, *filter(None, [self.note])])

    __repr__ = __str__


def plan(target: Any, domain: Any, error: float = 1e-6) -> Plan:
    """Every construction that could approximate the target within ``error``, the paper's among them.

    Args:
        target: As in ``anchorhead.compile``.
        domain: As there.
        error: The largest error that is asked for, in float64.

    Returns:
        A table that prints well and is data: ``rows``, ``best``, ``as_dicts()``. Rows of networks
        give the largest error measured at points that crowd where the target is not smooth, in both
        dtypes; the paper's row gives what it is expected to need.
    """
    error = require_positive("error", error)
    checked = given(target, domain)
    structure = _structure(checked, MARGIN * error)
    X = _points(checked, structure)
    wish = Wish(error, "float64", BUDGET)
    made, note = (), ""
    try:
        _, made = searched(checked, wish, None, error)
    except InputError as told:
        if checked.box.low.size == 1 and not isinstance(told, PrecisionError):
            raise
        note = str(told)
    made = sorted(made, key=lambda each: (each.network.size.heads, each.error))
    meshes = _meshes(checked, structure, MARGIN * error)
    rows = [_row(candidate, checked, X) for candidate in (*made, *meshes)]
    rows.append(_paper_row(staircase(checked, error), checked.width))

    def order(row: Row) -> tuple[float, ...]:
        late = row.error_float64 > error * (1.0 if row.network else 1.1)
        return late, row.error_float64 if late else row.keys

    return Plan(error, tuple(sorted(rows, key=order)), note)


def _points(target: Given, structure: Structure | None) -> np.ndarray:
    X = spread(target, POINTS, seed=6)
    if structure is None:
        return X
    ends = (float(target.box.low[0]), *structure.points, float(target.box.high[0]))
    return np.concatenate([X, crowded(ends)[:, None]])


def _structure(target: Given, error: float) -> Structure | None:
    if target.box.low.size > 1:
        return None
    return structure_of(target.on_line, float(target.box.low[0]), float(target.box.high[0]), error)


def _meshes(target: Given, structure: Structure | None, error: float) -> Iterator[Candidate]:
    """Meshes of few parameters with solved values: even where the target is smooth, else graded."""
    if structure is None:
        return
    low, high = float(target.box.low[0]), float(target.box.high[0])
    rough = [*structure.points]
    rough += [chart.origin for chart in structure.charts if chart.origin in (low, high)]

    def make(count: int) -> Found:
        if rough:
            return graded(target.on_line, low, high, count, np.array(rough), rate=3.0, refine=False)
        return smooth(target.on_line, low, high, count, refine=False)

    found = _fewest(make, error)
    name = "graded mesh" if rough else "even mesh"
    yield Candidate(name, pointwise(found.anchors), found.error)


def _fewest(make: Callable[[int], Found], error: float) -> Found:
    """The head with the fewest anchors within the error, or the best of the ladder's."""
    below, best = 1, None
    for count in LADDER:
        found = make(count)
        if best is None or found.error < best.error:
            best = found
        if found.error <= error:
            break
        below = count
    assert best is not None
    while best.error <= error and len(best.anchors) - below > 1:
        middle = (below + len(best.anchors)) // 2
        found = make(middle)
        if found.error <= error:
            best = found
        else:
            below = middle
    return best


def _row(candidate: Candidate, target: Given, X: np.ndarray) -> Row:
    network = candidate.network
    size = network.size

    def error(dtype: Precision) -> float:
        return max(candidate.error, worst(network, target, X, dtype))

    return Row(
        candidate.construction,
        size.anchors,
        keys_of(network),
        size.heads,
        size.layers,
        size.parameters,
        size.largest_weight,
        error("float64"),
        error("float32"),
        _cost(network),
        network,
    )


def _cost(network: Network) -> int:
    """Multiplications and exponentials for one token, queries included."""
    total = 0
    for layer in network.layers:
        if isinstance(layer, Linear):
            total += layer.shape_in[1] * layer.shape_out[1]
        elif isinstance(layer, Attention):
            for head in layer.heads:
                keys = head.anchors + (head.sees == "self")
                total += head.query.size + keys * (head.query.shape[1] + 1 + head.value_width)
    return total


def _paper_row(stairs: Staircase, width: int) -> Row:
    p, axes = stairs.anchors, stairs.axes
    return Row(
        "uniform (the paper)",
        p,
        p,
        1,
        1,
        p * (axes + 1 + width) + (axes + 1) * (2 * axes + 2),
        stairs.largest,
        stairs.errors["float64"],
        stairs.errors["float32"],
        p * (axes + 2 + width) + (axes + 1) * (2 * axes + 1),
        None,
    )


def _count(number: float) -> str:
    return f"{int(number):,}" if number < 1e9 else f"{number:.1e}"
