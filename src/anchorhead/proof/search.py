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

FLOOR, LEAST = 1e-6, 1e-280
"""Bounds below FLOOR of what is ``enough``, or of LEAST, are tight, whatever is attained."""

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
    axis: int = -1
    below: tuple[_Cell, _Cell] | None = None


class _Tree:
    """Cells, the worst first."""

    def __init__(self, roots: Sequence[list[Range]]):
        self.roots = [_Cell(box) for box in roots]
        self.heap: list[tuple[float, int, _Cell]] = []
        self.attained = 0.0
        self.count = 0

    def add(self, cell: _Cell, bound: Bound) -> None:
        """Put a cell among the others."""
        cell.axis = bound.axis
        self.attained = max(self.attained, bound.lower)
        heapq.heappush(self.heap, (-bound.upper, self.count, cell))
        self.count += 1

    @staticmethod
    def halved(taken: list, boxes: Sequence[list[Range]], bounds: Sequence[Bound]) -> list:
        """Cells, each with its halves and their bounds."""
        both = list(zip(boxes, bounds, strict=True))
        return [(entry[2], both[2 * i], both[2 * i + 1]) for i, entry in enumerate(taken)]

    def put(self, halved: tuple) -> None:
        """Put the halves of a cell in its place; to do it twice does no harm."""
        cell, *halves_ = halved
        cell.below = _Cell(halves_[0][0]), _Cell(halves_[1][0])
        for half, (_, bound) in zip(cell.below, halves_, strict=True):
            self.add(half, bound)

    @property
    def bound(self) -> float:
        """The largest bound of all cells."""
        return -self.heap[0][0] if self.heap else math.inf

    def text(self, root: _Cell) -> str:
        """The tree below a root, as ``enclosure.cells.leaves`` reads it."""
        letters, stack = [], [root]
        while stack:
            cell = stack.pop()
            letters.append("." if cell.below is None else str(cell.axis))
            stack += reversed(cell.below or ())
        return "".join(letters)


def covering(part: Part, tightness: float, enough: float, effort: Effort) -> Covering:
    """Cells that prove a bound of at most ``tightness`` times what is attained, or ``enough``.

    Stopped by its budget or by the user, it returns what is proven by then, marked incomplete.
    """
    order = ORDERS.get(part.coordinates, 6)
    evaluate = _Evaluation(part, order)
    tree = _Tree(evaluate.cells.roots)
    for root, bound in zip(tree.roots, evaluate.here([r.box for r in tree.roots]), strict=True):
        tree.add(root, bound)
    goal, taken, pending = math.inf, [], []
    try:
        with evaluate:
            while (
                tree.bound > (goal := _goal(tree.attained, tightness, enough)) and not effort.spent
            ):
                taken = _worst(tree, goal, evaluate.batch)
                boxes = [half for _, _, c in taken for half in halves(c.box, c.axis)]
                bounds = evaluate.bounds(boxes)
                pending, taken = tree.halved(taken, boxes, bounds), []
                effort.budget -= len(boxes)
                while pending:
                    tree.put(pending.pop())
                effort.report(tree, goal)
    except KeyboardInterrupt:
        effort.interrupted = True
    for entry in taken:  # those whose halves were never finished
        entry[2].below = None
        heapq.heappush(tree.heap, entry)
    for halved in pending:
        tree.put(halved)
    effort.report(tree, goal, last=True)
    return Covering(
        order,
        tuple(tree.text(root) for root in tree.roots),
        tuple(cell.box for _, _, cell in tree.heap),
        tree.bound,
        tree.attained,
        tree.bound <= goal,
    )


def _goal(attained: float, tightness: float, enough: float) -> float:
    """The bound at which the search may end: tight, and no more than ``enough`` if that can be had."""
    goal = tightness * attained
    if enough < goal:
        goal = max(enough, min(goal, NEAREST * attained))
    return max(goal, FLOOR * min(enough, LEAST))


def _worst(tree: _Tree, goal: float, count: int) -> list[tuple[float, int, _Cell]]:
    worst = []
    while tree.heap and len(worst) < count and -tree.heap[0][0] > goal:
        worst.append(heapq.heappop(tree.heap))
    return worst


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
