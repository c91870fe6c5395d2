"""Bounds of an expression over the cells of a subdivision.

In a cell with middle m and half-widths r, for |t_a| ≤ 1, Taylor's theorem gives E(m + r t) = Σ_{|κ|<q}
c_κ t^κ + Σ_{|κ|=q} C_κ t^κ with c_κ the coefficients at m and C_κ the value of a coefficient somewhere
in the cell. Both are computed with balls, the second with a ball that holds the cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from flint import arb, fmpq

from anchorhead.enclosure.expressions import Node, Sum, walk
from anchorhead.enclosure.mixture import Grid, grid_of
from anchorhead.enclosure.parts import CHOICES, KINKED, Part, Range
from anchorhead.enclosure.place import Numbers, Place, Program, alone
from anchorhead.enclosure.series import Series, exponents, precise, up

__all__ = ["Bound", "Cells", "halves", "leaves"]

GRID = {1: 33, 2: 17, 3: 9}
"""Points along each axis at which a cell's polynomial is looked at; 5 in more dimensions."""

DEEPEST = 4000
"""No cell is halved more often."""

LEAST = 1e-300
"""More than what numbers below the normal range can lose."""

SLACK = 1e-12
"""More than the relative rounding errors of a few hundred operations in float64."""


class Bound(NamedTuple):
    """sup |E| over a cell is at most ``upper``, at least ``lower``; ``axis`` is best cut in two."""

    upper: float
    lower: float
    axis: int


class Cells:
    """A part's expression over the cells that its roots are cut into."""

    def __init__(self, part: Part, order: int):
        nodes = walk([part.expression])
        heads = [n.args[0] for n in nodes if n.kind in KINKED]
        cuts = [_kinks(heads, axis, side) for axis, side in enumerate(part.root)]
        with precise(order):
            self.program = Program(
                expression=_numbers(part.expression),
                nodes=nodes,
                args={n: [_numbers(a) for a in n.args] for n in nodes},
                grids=_grids(nodes, part),
                cuts=cuts,
                order=order,
                variables=part.coordinates,
            )
        ties = [n.args[0] for n in nodes if n.kind in CHOICES]
        sides = (
            _sides(side, cut, _kinks(ties, axis, side))
            for axis, (side, cut) in enumerate(zip(part.root, cuts, strict=True))
        )
        self.roots = [list(box) for box in product(*sides)]

    def error(self, box: Sequence[Range]) -> Bound:
        """How large the expression is over a box."""
        with precise(self.program.order):
            place = Place(self.program, box)
            bound = _largest(*place.whole(), place)
            if bound.lower > 0:
                return bound
            low, high = place.range_of(self.program.expression)
            return bound._replace(upper=min(bound.upper, max(up(low), up(high))))

    def range_over(self, box: Sequence[Range]) -> tuple[arb, arb]:
        """Numbers between which the expression stays over a box."""
        with precise(self.program.order):
            return Place(self.program, box).range_of(self.program.expression)

    def size(self, box: Sequence[Range]) -> float:
        """How large the terms of the expression are over a box; 1 where that is not known."""
        with precise(self.program.order):
            place = Place(self.program, box)
            const, lin, rest = self.program.expression
            terms = [(const, [], []), (arb(0), lin, []), *((arb(0), [], [term]) for term in rest)]
            found = max(up(end) for term in terms for end in place.range_of(term))
            return found if found < math.inf else 1.0

    def undefined(self, box: Sequence[Range]) -> Node | None:
        """The first node that has no finite value over a box."""
        with precise(self.program.order):
            return Place(self.program, box).undefined()


def _numbers(s: Sum) -> Numbers:
    return arb(s.const), [(a, arb(c)) for a, c in s.lin], [(n, arb(c)) for n, c in s.rest]


def _kinks(heads: Iterable[Sum], axis: int, side: Range) -> list[fmpq]:
    """Where a node changes from one formula to another at a value of one coordinate."""
    zeros = {-a.const / a.lin[0][1] for a in heads if alone(a, axis)}
    return sorted(zero for zero in zeros if side[0] < zero < side[1])


def _sides(side: Range, cuts: Sequence[fmpq], ties: Sequence[fmpq]) -> list[Range]:
    """The intervals between cuts, and each tie by itself: a choice there is that of neither side."""
    between = list(pairwise([side[0], *cuts, side[1]]))
    return sorted(between + [(tie, tie) for tie in ties])


def _grids(nodes: Iterable[Node], part: Part) -> dict[Node, Grid]:
    """The mixtures whose keys are a grid, with constant values."""
    grids = {}
    for n in nodes:
        p = len(n.args) // 2
        if n.kind == "mix" and not any(v.lin or v.rest for v in n.args[p:]):
            grid = None if part.loose else grid_of(n.args[:p], len(part.root))
            if grid is not None:
                grids[n] = grid
    return grids


@lru_cache
def _grid(variables: int, order: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Values of the monomials below the order at points of a grid; h²/8; exponents."""
    count = GRID.get(variables, 5)
    line = np.linspace(-1, 1, count)
    points = np.stack([g.ravel() for g in np.meshgrid(*[line] * variables, indexing="ij")], axis=1)
    powers = np.array([k for k in exponents(variables, order) if sum(k) < order])
    return np.prod(points[:, None] ** powers, axis=2), powers, (2 / (count - 1)) ** 2 / 8


def _largest(P: Series, R: Series, place: Place) -> Bound:
    """The bound of P(t) + Σ_{|κ|=order} R_κ t^κ over |t| ≤ 1.

    Between points of a grid of spacing h a function differs from its multilinear interpolant by at most
    h²/8 Σ_a sup |∂²_a P|, and that interpolant is largest at a point.
    """
    variables, order = place.shape
    values, powers, gap = _grid(variables, order)
    c, wrong = np.empty(len(powers)), np.empty(len(powers))
    for i in range(len(powers)):
        ball = P[i]
        c[i] = float(ball.mid())
        wrong[i] = up(ball - arb(c[i])) if math.isfinite(c[i]) else math.inf
    every = exponents(variables, order)
    last = [(k, up(R[i])) for i, k in enumerate(every) if sum(k) == order]
    with np.errstate(all="ignore"):  # what overflows is no bound
        return _bounded(c, wrong, last, values, powers, gap)


def _bounded(
    c: np.ndarray,
    wrong: np.ndarray,
    last: Sequence[tuple[tuple[int, ...], float]],
    values: np.ndarray,
    powers: np.ndarray,
    gap: float,
) -> Bound:
    size, remainder = np.abs(c), sum(r for _, r in last)
    slack = float(wrong.sum() + SLACK * size.sum()) + remainder
    curved = gap * (size[:, None] * powers * (powers - 1)).sum(axis=0)
    largest = float(np.abs(values @ c).max())
    upper = (largest + float(curved.sum()) + slack) * (1 + SLACK)
    upper += LEAST if upper else 0.0
    if not math.isfinite(upper):
        return Bound(math.inf, 0.0, 0)
    blame = curved + sum(r * np.array(k) / max(sum(k), 1) for k, r in last)
    blame += (wrong[:, None] * powers).sum(axis=0)
    return Bound(upper, max(largest * (1 - SLACK) - slack, 0.0), int(np.argmax(blame)))


def halves(box: Sequence[Range], axis: int) -> tuple[list[Range], list[Range]]:
    """A box cut in two at the middle of one of its sides."""
    low, high = box[axis]
    middle = (low + high) / 2
    left, right = list(box), list(box)
    left[axis], right[axis] = (low, middle), (middle, high)
    return left, right


def leaves(root: Sequence[Range], tree: str) -> Iterator[list[Range]]:
    """The cells of a tree: a digit cuts a box in two along that axis, a dot is a cell."""
    stack = [(list(root), 0)]
    for letter in tree:
        if not stack:
            raise ValueError("a subdivision has more cells than its cuts make")
        box, depth = stack.pop()
        if letter == ".":
            yield box
        elif letter in "012345678"[: len(root)]:
            left, right = halves(box, int(letter))
            stack += [(right, depth + 1), (left, depth + 1)]
            if depth > DEEPEST:
                raise ValueError("a subdivision is deeper than any that was ever needed")
        else:
            raise ValueError(f"a subdivision cuts along {letter!r}, which is no axis")
    if stack:
        raise ValueError("a subdivision leaves out a part of the domain")
