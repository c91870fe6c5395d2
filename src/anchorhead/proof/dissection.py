"""How an error is taken apart before its parts are covered: stages, shares of the constant, numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq

from anchorhead.enclosure.cells import Cells
from anchorhead.enclosure.expressions import ONE, Node, Sum, combine
from anchorhead.enclosure.parts import (
    ROUNDED,
    Part,
    Range,
    directions,
    of_one_number,
    part_of,
    separated,
    stage,
)
from anchorhead.enclosure.reading import exact
from anchorhead.proof.checker import Claim, leading
from anchorhead.proof.search import Covering, Effort, covering

__all__ = ["Dissection", "too_wide"]

WIDEST = 4
"""Parts of more coordinates are not cut into cells: there would be too many."""

PROBES = 33
"""Points at which a part is looked at before its share of the constant is chosen."""

STEPS = 2**20
"""Such points lie on a lattice of so many steps along each coordinate."""


class Dissection:
    """The parts of a claim's errors as they are met: numbers, shares of the constant, and cells."""

    def __init__(self, claim: Claim, tightness: float, wanted: float, effort: Effort):
        self.claim, self.tightness, self.wanted, self.effort = claim, tightness, wanted, effort
        self.shares: list[fmpq] = []
        self.parts: list[Part | None] = []
        self.firsts: list[Sum | None] = []
        self.covered: dict[int, tuple[Part, Covering]] = {}
        self.numbers: dict[tuple, int] = {}

    def hint(self, error: Sum) -> dict[str, Any]:
        """How an error is to be taken apart, as ``checker.Account`` reads it."""
        box = self.claim.box
        if (found := staged(error)) is not None:
            node, coefficient, g = found
            slope, share = _line(error, node, coefficient, g, box)
            number = self._number((node, coefficient, slope, share), share)
            rest = [(ONE, error), (-coefficient, Sum(rest=((node, ONE),))), (-share, Sum(ONE))]
            inner = self.hint(combine([*rest, (slope, g)]))
            return {"stage": {"slope": [str(slope.p), str(slope.q)], "outer": number, **inner}}
        groups = separated(error)
        numbers = [
            self._of_part(group, error.const if len(groups) == 1 else None) for group in groups
        ]
        return {"parts": numbers}

    def _of_part(self, group: Sum, const: fmpq | None) -> int:
        """The number of the part that a group is; if it is the only one, the constant is its share."""
        factor = leading(group)
        own = combine([(ONE / factor, group)])
        for number, first in enumerate(self.firsts):
            if first is not None and const is None and _alike(own, first):
                return number
        part = part_of(own, self.claim.box)
        share = None if const is None else const / factor
        key = (*part.key, share)
        if key not in self.numbers:
            self._number(key, _share(part) if share is None else share, part, own)
        return self.numbers[key]

    def _number(
        self, key: tuple, share: fmpq, part: Part | None = None, own: Sum | None = None
    ) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.shares)
            self.shares.append(share)
            self.parts.append(part)
            self.firsts.append(own)
        return self.numbers[key]

    def cover(self, number: int, part: Part) -> tuple[float, float]:
        """The bound of a part and what is attained, searched for when it is first asked for."""
        if number not in self.covered:
            made = covering(part, self.tightness, self.wanted, self.effort)
            self.covered[number] = part, made
        found = self.covered[number][1]
        return found.bound, found.attained

    def uncut(self) -> list[tuple[Part, list[list[Range]]]]:
        """The parts, each with its whole range for a cell."""
        return [(part, [list(part.root)]) for part in self.parts if part is not None]

    def cells(self) -> list[tuple[Part, list[list[Range]]]]:
        """The parts with their cells, in the order of their numbers."""
        found = (self.covered[number] for number in sorted(self.covered))
        return [(part, list(made.cells)) for part, made in found]

    @property
    def complete(self) -> bool:
        """Whether every part was covered as tightly as asked."""
        return all(made.complete for _, made in self.covered.values())

    def record(self) -> list[dict[str, Any]]:
        """The parts as a certificate tells them."""
        return [
            {
                "share": [str(share.p), str(share.q)],
                "order": self.covered[number][1].order,
                "bound": self.covered[number][1].bound,
                "cells": list(self.covered[number][1].trees),
            }
            for number, share in enumerate(self.shares)
        ]


def _alike(a: Sum, b: Sum) -> bool:
    """Whether two sums have the same nodes, with the same coefficients but for rounding."""
    if a.lin != b.lin or [n for n, _ in a.rest] != [n for n, _ in b.rest]:
        return False
    pairs = zip(a.rest, b.rest, strict=True)
    return all(abs(c - d) <= ROUNDED * abs(d) for (_, c), (_, d) in pairs)


def staged(error: Sum) -> tuple[Node, fmpq, Sum] | None:
    """The stage of an error of several entries of X, if it has one (``enclosure.parts.stage``)."""
    forms = directions(error) | ({error.lin} if error.lin else set())
    return stage(error) if len({i for form in forms for i, _ in form}) > 1 else None


def too_wide(error: Sum, box: Sequence[Range]) -> bool:
    """Whether a part of an error has more coordinates than can be cut into cells."""
    if (found := staged(error)) is not None:
        node, coefficient, g = found
        return too_wide(
            combine([(ONE, error), (-coefficient, Sum(rest=((node, ONE),))), (ONE, g)]), box
        )
    return any(part_of(group, box).coordinates > WIDEST for group in separated(error))


def _probes(root: Sequence[Range]) -> list[list[Range]]:
    """Points of a lattice: evenly spread along a line, else drawn."""
    rows = np.random.default_rng(0).integers(0, STEPS + 1, (PROBES, len(root)))
    if len(root) == 1:
        rows = np.linspace(0, STEPS, PROBES).astype(int)[:, None]
    points = []
    for row in rows.tolist():
        place = zip(row, root, strict=True)
        point = [low + (high - low) * fmpq(t, STEPS) for t, (low, high) in place]
        points.append([(x, x) for x in point])
    return points


def _values(part: Part, points: Sequence[Sequence[Range]]) -> np.ndarray:
    cells = Cells(part, 1)
    return np.array([float(cells.range_over(point)[0]) for point in points])


def _share(part: Part) -> fmpq:
    """The number that, added to a part, puts its values as far above 0 as below."""
    values = _values(part, _probes(part.root))
    return -exact((values.max() + values.min()) / 2)


def _line(
    error: Sum, node: Node, coefficient: fmpq, g: Sum, box: Sequence[Range]
) -> tuple[fmpq, fmpq]:
    """The λ and a for which λ g + rest − a and κ node(u) − λ u + a are small.

    λ makes the ranges of λ g and −rest equally wide, or is the best at points tried, whichever serves
    better there.
    """
    forms = tuple(((i, ONE),) for i in range(len(box)))
    rest = combine([(ONE, error), (-coefficient, Sum(rest=((node, ONE),)))])
    parts = [Part(s, tuple(box), forms) for s in (g, rest)]
    points = _probes(box)
    inner, target = _values(parts[0], points), -_values(parts[1], points)
    widths = []
    for s in (g, rest):
        part = part_of(s, box)
        low, high = (float(end) for end in Cells(part, 1).range_over(part.root))
        widths.append(high - low)
    fitted = np.polyfit(inner, target, 1)[0] if np.ptp(inner) > 0 else 1.0
    choices = [np.copysign(widths[1] / widths[0], fitted)] if min(widths) > 0 else []
    choices = [c for c in [*choices, fitted] if np.isfinite(c) and c != 0] or [1.0]
    slope = exact(min(choices, key=lambda c: np.ptp(c * inner - target)))
    ends = exact(inner.min()), exact(inner.max())
    outer = Part(of_one_number(node, coefficient, g, slope), (ends,), ())
    return slope, _share(outer)
