"""The nodes of an expression over one cell: their series, and ranges that they cannot leave.

Every node is a pair of series in t, |t_a| ≤ 1: at the middle of the cell, and over all of it. A node
that has no derivative on the cell is a constant ball in both: some number of the ball, at each point
its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from flint import arb, arb_series, fmpq

from anchorhead.enclosure.expressions import Node, Sum
from anchorhead.enclosure.mixture import UNIT, Grid, Pair, gridded, mixture
from anchorhead.enclosure.parts import Range, over
from anchorhead.enclosure.series import Jet, Series, finite, function

__all__ = ["Numbers", "Place", "Program", "alone"]

Numbers = tuple[arb, list[tuple[int, arb]], list[tuple[Node, arb]]]
"""A sum with balls for its rational numbers."""

DEEPEST = 20
"""Ranges look no deeper into an expression than this many nodes."""


MONOTONE = {
    **dict.fromkeys(
        ["exp", "log", "sqrt", "asin", "atan", "sinh", "tanh", "asinh", "acosh", "atanh", "erf"], 1
    ),
    **dict.fromkeys(("acos", "erfc"), -1),
}
"""Functions that rise (1) or fall (−1) wherever they are defined."""


@dataclass(frozen=True, eq=False)
class Program:
    """An expression of coordinates, prepared to be enclosed over many cells.

    ``nodes`` stand after those they depend on. ``cuts`` holds, for each coordinate, the values at which
    a node changes from one formula to another: every cell lies on one side of them.
    """

    expression: Numbers
    nodes: list[Node]
    args: dict[Node, list[Numbers]]
    grids: dict[Node, Grid]
    cuts: list[list[fmpq]]
    order: int
    variables: int


class Place:
    """One cell: a box of the coordinates."""

    def __init__(self, program: Program, box: Sequence[Range]):
        self.program, self.box = program, box
        self.args = program.args
        self.variables = program.variables
        self.shape = self.variables, program.order
        self.middle = [arb((low + high) / 2) for low, high in box]
        self.half = [arb((high - low) / 2) for low, high in box]
        for a in range(self.variables, len(box)):  # a loose coordinate is some number of its range
            self.middle[a], self.half[a] = self.middle[a] + self.half[a] * UNIT, arb(0)
        self.values: dict[Node, Pair] = {}
        self.ranges: dict[Node, tuple[arb, arb]] = {}
        for n in program.nodes:
            P, R = self._node(n)
            if not finite(R):
                low, high = self.range_of_node(n)
                if low.is_finite() and high.is_finite():
                    P = R = self._constant(low.union(high))
            self.values[n] = P, R

    def whole(self) -> Pair:
        """The series of the expression."""
        P, R = self.pair(self.program.expression)
        if not finite(R):
            low, high = self.range_of(self.program.expression)
            P = R = self._constant(low.union(high))
        return P, R

    def undefined(self) -> Node | None:
        """The first node that has no finite value on the cell."""
        for n in self.program.nodes:
            if not finite(self.values[n][1]):
                return n
        return None

    def _constant(self, ball: arb) -> Series:
        return arb_series([ball]) if self.variables == 1 else Jet(self.shape, [ball])

    def affine(self, const: arb, lin: Sequence[tuple[int, arb]]) -> tuple[Series, Series]:
        """The series of const + Σ c_a u_a."""
        slopes = [arb(0)] * self.variables
        for a, c in lin:
            const += c * self.middle[a]
            if a < self.variables:
                slopes[a] = c * self.half[a]
        spread = sum((s * UNIT for s in slopes), arb(0))
        if self.variables == 1:
            return arb_series([const, *slopes]), arb_series([const + spread, *slopes])
        slopes = slopes[::-1]  # the order in which exponents(…) lists those of degree 1
        return Jet(self.shape, [const, *slopes]), Jet(self.shape, [const + spread, *slopes])

    def pair(self, numbers: Numbers) -> tuple[Series, Series]:
        """The series of a sum."""
        const, lin, rest = numbers
        P, R = self.affine(const, lin)
        for n, c in rest:
            p, r = self.values[n]
            P, R = P + p * c, R + r * c
        return P, R

    def _node(self, n: Node) -> tuple[Series, Series]:
        args = self.args[n]
        if n.kind == "mix":
            if n in self.program.grids:
                return gridded(self, self.program.grids[n], args[len(args) // 2 :])
            return mixture(self, args[: len(args) // 2], args[len(args) // 2 :])
        if n.kind == "pi":
            pi = self._constant(arb.pi())
            return pi, pi
        P, R = self.pair(args[0])
        if n.kind == "mul":
            p, r = self.pair(args[1])
            return P * p, R * r
        if n.kind == "pow":
            times = int(n.args[1].const.p)
            return _raised_to(P, times), _raised_to(R, times)
        if n.kind in ("relu", "abs"):
            low, high = self._head(n)
            if low >= 0:
                return P, R
            if high <= 0:
                factor = arb(-1 if n.kind == "abs" else 0)
                return P * factor, R * factor
            return self._undetermined()
        if n.kind in ("if>=", "if>"):
            return self._chosen(n, args)
        if n.kind == "power":
            exponent = args[1][0]
            P, R = (function("exp", function("log", g) * exponent) for g in (P, R))
            return P, R
        return function(n.kind, P), function(n.kind, R)

    def _head(self, n: Node) -> tuple[Any, Any]:
        """Between which numbers the first argument stays, exactly where it is affine."""
        head = n.args[0]
        if head.rest:
            return self.range_of(self.args[n][0])
        low, high = over(head.lin, self.box)
        return head.const + low, head.const + high

    def _undetermined(self) -> tuple[Series, Series]:
        nothing = self._constant(arb.nan())
        return nothing, nothing

    def _chosen(self, n: Node, args: list) -> tuple[Series, Series]:
        """The branch that holds on the cell; a cut at its end is a cell of its own."""
        low, high = self._head(n)
        head, axis = n.args[0], n.args[0].lin[0][0] if n.args[0].lin else 0
        shared = alone(head, axis) and -head.const / head.lin[0][1] in self.program.cuts[axis]
        shared = shared and self.half[axis] != 0
        if low > 0 or (low >= 0 and (shared or n.kind == "if>=")):
            return self.pair(args[1])
        if high < 0 or (high <= 0 and (shared or n.kind == "if>")):
            return self.pair(args[2])
        return self._undetermined()

    # Ranges, term by term: what a node cannot leave although its series has no value

    def range_of(self, numbers: Numbers, depth: int = 0) -> tuple[arb, arb]:
        """Exact numbers between which a sum stays over the cell."""
        const, lin, rest = numbers
        low = high = const
        for a, c in lin:
            ends = [c * arb(end) for end in self.box[a]]
            if c < 0:
                ends = ends[::-1]
            low, high = low + ends[0], high + ends[1]
        for n, c in rest:
            ends = [end * c for end in self.range_of_node(n, depth)]
            if c < 0:
                ends = ends[::-1]
            low, high = low + ends[0], high + ends[1]
        low, high = low.lower(), high.upper()
        if rest and all(n in self.values for n, _ in rest):
            ball = self.pair(numbers)[1][0]
            if ball.is_finite():
                low, high = _larger(low, ball.lower()), _smaller(high, ball.upper())
        return low, high

    def range_of_node(self, n: Node, depth: int = 0) -> tuple[arb, arb]:
        """Exact numbers between which a node stays over the cell; infinite where none are known."""
        if n in self.ranges:
            return self.ranges[n]
        low, high = arb.neg_inf(), arb.pos_inf()
        if n in self.values and (ball := self.values[n][1][0]).is_finite():
            low, high = ball.lower(), ball.upper()
        if depth < DEEPEST:
            a, b = self._known(n, depth + 1)
            low, high = _larger(low, a), _smaller(high, b)
        self.ranges[n] = low, high
        return low, high

    def _known(self, n: Node, depth: int) -> tuple[arb, arb]:
        """What the kind of a node says of its range."""
        args, nothing = self.args[n], (arb.neg_inf(), arb.pos_inf())
        if n.kind == "mix":
            ends = [self.range_of(v, depth) for v in args[len(args) // 2 :]]
            return reduce(_smaller, (e[0] for e in ends)), reduce(_larger, (e[1] for e in ends))
        if n.kind in ("if>=", "if>"):
            ends = [self.range_of(v, depth) for v in args[1:]]
            return _smaller(ends[0][0], ends[1][0]), _larger(ends[0][1], ends[1][1])
        if n.kind == "mul":
            ends = [
                a * b for a in self.range_of(args[0], depth) for b in self.range_of(args[1], depth)
            ]
            if not all(end.is_finite() for end in ends):
                return nothing
            least, most = [end.lower() for end in ends], [end.upper() for end in ends]
            return reduce(_smaller, least), reduce(_larger, most)
        even = n.kind == "pow" and int(n.args[1].const.p) % 2 == 0
        if not (even or n.kind in MONOTONE or n.kind in ("relu", "abs", "power", "inv")):
            return nothing
        low, high = self.range_of(args[0], depth)
        if not (low.is_finite() and high.is_finite()):
            return nothing
        if n.kind in MONOTONE:
            ends = [getattr(end, n.kind)() for end in (low, high)[:: MONOTONE[n.kind]]]
            known = all(end.is_finite() for end in ends)
            return (ends[0].lower(), ends[1].upper()) if known else nothing
        if n.kind == "relu":
            return _larger(low, arb(0)), _larger(high, arb(0))
        if n.kind == "inv":
            apart = low > 0 or high < 0
            return ((1 / high).lower(), (1 / low).upper()) if apart else nothing
        if n.kind == "abs" or even:
            far = _larger(abs(low), abs(high))
            near = arb(0) if low <= 0 <= high else _smaller(abs(low), abs(high))
            times = int(n.args[1].const.p) if even else 1
            return (near**times).lower(), (far**times).upper()
        exponent = args[1][0]
        if not (low >= 0 and exponent > 0):
            return nothing
        return _root(low, exponent).lower(), _root(high, exponent).upper()


def alone(head: Sum, axis: int) -> bool:
    """Whether a sum is const + c u_axis."""
    return not head.rest and len(head.lin) == 1 and head.lin[0][0] == axis


def _root(x: arb, exponent: arb) -> arb:
    return x if x == 0 else (x.log() * exponent).exp()


def _larger(a: arb, b: arb) -> arb:
    return b if b > a else a


def _smaller(a: arb, b: arb) -> arb:
    return b if b < a else a


def _raised_to(g: Series, times: int) -> Series:
    """The power of a series to a whole number above 0."""
    half = _raised_to(g, times // 2) if times > 1 else None
    if half is None:
        return g
    return half * half * g if times % 2 else half * half
