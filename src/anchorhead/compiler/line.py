"""A function of one number as heads: all outputs together or each by itself, whichever is smaller."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anchorhead.compiler.cells import crowded
from anchorhead.compiler.pieces import Made, in_pieces
from anchorhead.compiler.structure import structure_of
from anchorhead.heads.response import Precision
from anchorhead.heads.search import Target, finished
from anchorhead.heads.smallest import between

__all__ = ["Wish", "on_line"]


@dataclass(frozen=True)
class Wish:
    """What a user asks for, as far as all constructions need to know it.

    ``budget`` is the work, in steps of descent, that may be spent on leaving out anchors; ``gates``
    says whether tokens may see themselves.
    """

    error: float
    dtype: Precision
    budget: float
    gates: bool = True


def on_line(
    target: Target,
    low: float,
    high: float,
    wish: Wish,
    kinks: Sequence[float] | None = None,
    watched: Sequence[float] = (),
) -> Iterator[Made]:
    """Heads for a function from points (n) to values (n × width) on [low, high].

    First one softmax for all outputs, whose weights are common; then, where there are several
    outputs, heads of their own for each. The function is divided by a power of two near its size, so
    that a function that is scaled gets the same heads scaled.
    """
    y = np.linspace(low, high, 257)
    first = target(y)
    largest = float(np.abs(first).max())
    scale = 2.0 ** math.ceil(math.log2(max(largest, wish.error)))

    def made(of: Target) -> Made:
        def scaled(y: np.ndarray) -> np.ndarray:
            return of(y) / scale

        goal = wish.error / scale
        structure = structure_of(of, low, high, wish.error, kinks, watched)
        points = crowded((low, *structure.points, high))
        middle = finished(between(scaled(points)), scaled, points, wish.dtype, 0.0)
        found = Made((middle.anchors,), middle.error, "constant")
        if found.error > goal:
            better = in_pieces(scaled, structure, goal, wish.dtype, wish.budget)
            found = better if better.error <= found.error else found
        return _times(found, scale)

    yield made(target)
    width = first.shape[1]
    if width > 1:
        columns = [made(_column(target, i)) for i in range(width)]
        heads = tuple(
            replace(head, values=head.values * np.eye(width)[i])
            for i, column in enumerate(columns)
            for head in column.heads
        )
        yield Made(heads, max(column.error for column in columns), columns[0].construction)


def _column(target: Target, i: int) -> Target:
    def one(y: np.ndarray) -> np.ndarray:
        return target(y)[:, i : i + 1]

    return one


def _times(made: Made, scale: float) -> Made:
    heads = tuple(replace(head, values=head.values * scale) for head in made.heads)
    return replace(made, heads=heads, error=made.error * scale)
