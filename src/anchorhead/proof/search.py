"""The search for a subdivision: the worst cell is halved until the bound is near what is attained.

Cells are independent. Where the user has chosen a joblib backend with more than one worker
(``joblib.parallel_config``), many of the worst are halved at once, in its processes or cluster.
"""

from __future__ import annotations

import heapq
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from anchorhead.enclosure.cells import Bound, Cells, halves
from anchorhead.enclosure.expressions import Sum
from anchorhead.enclosure.parts import Part, Range

__all__ = ["Covering", "Effort", "Progress", "covering", "errors_of"]

ORDERS = {1: 16, 2: 12, 3: 8}
"""Order of the series, by the number of coordinates; 6 for more."""

NEAREST = 1.002
"""No bound need be nearer to what is attained than this, in order to be ``enough``."""

FINEST, LEAST = 2.0**-96, 1e-280
"""Bounds below FINEST of the size of what is compared, or LEAST, are tight, whatever is attained."""

PATIENCE, STILL = 4, 0.9
"""After so many halvings that each left more than this part unknown, a cell is left as it is: what is
not known there, such as a form that rounding set apart from another, does not shrink with the cell."""

BATCH = 16
"""Cells that one worker is given at a time."""

REPORT = 0.1
"""Seconds between two calls of the progress callback."""


@dataclass(frozen=True)
class Progress:
    """How far a proof is: cells that are tight enough, cells that are not, and the bound so far.

    ``attained`` is an error that is certainly taken somewhere: no proof comes below it.
    """

    done: int
    open: int
    bound: float
    attained: float
    seconds: float


@dataclass
class Effort:
    """What a proof may still spend, and whom it tells."""

    budget: int
    tell: Callable[[Progress], Any] | None = None
    started: float = field(default_factory=time.perf_counter)
    told: float = 0.0
    interrupted: bool = False

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.interrupted or self.budget <= 0

    def report(self, cells: _Tree, goal: float, last: bool = False) -> None:
        """Tell how far the part is, now and then."""
        now = time.perf_counter() - self.started
        if self.tell is not None and (last or now - self.told >= REPORT):
            self.told = now
            worse = sum(-entry[0] > goal for entry in cells.heap)
            count = len(cells.heap)
            self.tell(Progress(count - worse, worse, cells.bound, cells.attained, now))


@dataclass(frozen=True, eq=False)
class Covering:
    """A part's cells, as a tree for every root, with the bound they prove."""

    order: int
    trees: tuple[str, ...]
    cells: tuple[list[Range], ...]
    bound: float
    attained: float
    complete: bool


@dataclass
class _Cell:
    box: list[Range]
    bound: Bound
    stalled: int = 0
    below: tuple[_Cell, _Cell] | None = None

    @property
    def unknown(self) -> float:
        """How far the bound is from what is attained in the cell."""
        return self.bound.upper - self.bound.lower


class _Tree:
    """Cells and their halves; of those that are not halved, the worst first.

    A cell gets both halves in one step, and the tree is what counts in the end: however the search is
    interrupted, its leaves cover the roots.
    """

    def __init__(self, roots: Sequence[list[Range]], bounds: Sequence[Bound]):
        self.roots = [_Cell(*pair) for pair in zip(roots, bounds, strict=True)]
        self.heap: list[tuple[float, int, _Cell]] = []
        self.attained, self.count = 0.0, 0
        for cell in self.roots:
            self.add(cell)

    def add(self, cell: _Cell) -> None:
        """Put a cell among the others, unless halving has long been of no use to it."""
        self.attained = max(self.attained, cell.bound.lower)
        if cell.stalled < PATIENCE:
            heapq.heappush(self.heap, (-cell.bound.upper, self.count, cell))
            self.count += 1

    def worst(self, goal: float, count: int) -> list[_Cell]:
        """The worst cells that are above the goal, no longer among the others."""
        found = []
        while self.heap and len(found) < count and -self.heap[0][0] > goal:
            found.append(heapq.heappop(self.heap)[2])
        return found

    def halve(self, cell: _Cell, left: _Cell, right: _Cell) -> None:
        """Put the halves of a cell in its place."""
        for half in (left, right):
            still = half.bound.lower > 0 and half.unknown > STILL * cell.unknown
            half.stalled = cell.stalled + 1 if still else 0
        cell.below = left, right
        self.add(left)
        self.add(right)

    @property
    def bound(self) -> float:
        """The largest bound of the cells, none being halved just now."""
        return -self.heap[0][0] if self.heap else 0.0

    def leaves(self) -> list[_Cell]:
        """The cells that are not halved."""
        found, stack = [], list(self.roots)
        while stack:
            cell = stack.pop()
            found += [cell] if cell.below is None else []
            stack += cell.below or ()
        return found

    def text(self, root: _Cell) -> str:
        """The tree below a root, as ``enclosure.cells.leaves`` reads it."""
        letters, stack = [], [root]
        while stack:
            cell = stack.pop()
            letters.append("." if cell.below is None else str(cell.bound.axis))
            stack += reversed(cell.below or ())
        return "".join(letters)


def covering(part: Part, tightness: float, enough: float, effort: Effort) -> Covering:
    """Cells that prove a bound of at most ``tightness`` times what is attained, or ``enough``.

    Stopped by its budget or by the user, it returns what is proven by then, marked incomplete.
    """
    evaluate = _Evaluation(part, ORDERS.get(part.coordinates, 6))
    roots = evaluate.cells.roots
    tree, goal = _Tree(roots, evaluate.here(roots)), math.inf
    try:
        with evaluate:
            floor = FINEST * max(map(evaluate.cells.size, roots))
            while tree.bound > (goal := max(_goal(tree.attained, tightness, enough), floor)):
                if effort.spent:
                    break
                cells = tree.worst(goal, evaluate.batch)
                boxes = [half for c in cells for half in halves(c.box, c.bound.axis)]
                made = [_Cell(*pair) for pair in zip(boxes, evaluate.bounds(boxes), strict=True)]
                for cell, left, right in zip(cells, made[::2], made[1::2], strict=True):
                    tree.halve(cell, left, right)
                effort.budget -= len(made)
                effort.report(tree, goal)
    except KeyboardInterrupt:
        effort.interrupted = True
    cells = tree.leaves()
    bound = max(cell.bound.upper for cell in cells)
    effort.report(tree, goal, last=True)
    return Covering(
        evaluate.order,
        tuple(tree.text(root) for root in tree.roots),
        tuple(cell.box for cell in cells),
        bound,
        max(cell.bound.lower for cell in cells),
        bound <= goal,
    )


def _goal(attained: float, tightness: float, enough: float) -> float:
    """The bound at which the search may end: tight, and no more than ``enough`` if that can be had."""
    goal = tightness * attained
    if enough < goal:
        goal = max(enough, min(goal, NEAREST * attained))
    return max(goal, LEAST)


class _Evaluation:
    """The bounds of cells, here or by the workers of joblib."""

    def __init__(self, part: Part, order: int):
        self.part, self.order = part, order
        self.cells = Cells(part, order)
        joblib = sys.modules.get("joblib")  # where it was never imported, nobody has configured it
        self.parallel: Any = joblib.Parallel() if joblib is not None else None
        self.workers = joblib.effective_n_jobs(self.parallel.n_jobs) if joblib is not None else 1
        self.batch = BATCH * self.workers if self.workers > 1 else 1

    def __enter__(self) -> None:
        if self.workers > 1:
            self.parallel.__enter__()

    def __exit__(self, *failure: Any) -> None:
        if self.workers > 1:
            self.parallel.__exit__(*failure)

    def here(self, boxes: Sequence[list[Range]]) -> list[Bound]:
        """The bounds, one after the other."""
        return [self.cells.error(box) for box in boxes]

    def bounds(self, boxes: Sequence[list[Range]]) -> list[Bound]:
        """The bounds, shared out among the workers."""
        if self.workers == 1 or len(boxes) < 2 * self.workers:
            return self.here(boxes)
        joblib = sys.modules["joblib"]
        step = -(-len(boxes) // (2 * self.workers))
        part = self.part
        calls = (
            joblib.delayed(errors_of)(*part.key, self.order, boxes[i : i + step])
            for i in range(0, len(boxes), step)
        )
        return [bound for bounds in self.parallel(calls) for bound in bounds]


def errors_of(
    expression: Sum,
    root: tuple[Range, ...],
    loose: int,
    order: int,
    boxes: Sequence[list[Range]],
) -> list[Bound]:
    """The bounds of an expression over boxes: what a worker does."""
    cells = _cells(expression, root, loose, order)
    return [cells.error(box) for box in boxes]


@lru_cache(maxsize=4)
def _cells(expression: Sum, root: tuple[Range, ...], loose: int, order: int) -> Cells:
    return Cells(Part(expression, root, (), loose), order)
