"""A function of several variables as one head over a grid of anchors, with the fewest found.

Heads of several sizes are searched for in each variable by itself (``compiler/axis.py``). The sizes
p₁, …, p_d are those with the smallest product whose head on the whole box is good enough, measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from anchorhead.compiler.axis import Along, Axis, Purse
from anchorhead.compiler.structure import Structure, structure_of
from anchorhead.errors import InputError, PrecisionError, ShapeError, SizeError
from anchorhead.heads.chart import Chart
from anchorhead.heads.grid import Lattice, Measured, Target, measured, solved, stored
from anchorhead.heads.response import Precision

__all__ = ["OnGrid", "on_grid"]

SLICES = 48
"""Along each variable the target is looked at for so many values of the others."""

LEVELS = 1.25 * 1.5 ** -np.arange(12.0)
"""Parts of the error asked for that a variable may take, tried in turn."""

MOST = 2**16
"""No head has more anchors."""

LOOKS = 2**17
"""About how many points of a grid the error is measured at."""

DENSITIES = (24, 16, 12, 8, 6, 4, 3, 2)
"""Points for every anchor, of which the first is taken that makes no more than LOOKS."""

SOLVING = 6
"""Points for every anchor from which values are solved, at most."""

COMBINATIONS = 2**12
"""About so many combinations of sizes are put in order at most."""

HOPEFUL = 2.5
"""Errors of the variables add up to this many times the error of the whole at most."""

ROUNDED = 0.1
"""The part of the error that rounding may take, by what values cost in the search."""

ROUNDS = 4
"""So often a search begins anew, with slices through the point where the error was unforeseen."""

DAMPINGS = 5
"""So often values are made to cost more where rounding hurts."""

TRIES = 60
"""So many combinations of sizes are tried."""

ENOUGH = 3
"""After so many of them whose rounding alone exceeds the goal, values are made to cost more."""

STEPS = 200.0
"""Steps of descent for each one of the budget: a variable is searched at many sizes."""


@dataclass(frozen=True, eq=False)
class OnGrid:
    """A head over a grid, and the largest error measured, with what rounding may add."""

    lattice: Lattice
    error: float


@dataclass(frozen=True, eq=False)
class _Tried:
    """A head over a grid, how good it is, and how good its variables by themselves made it look."""

    lattice: Lattice
    at: Measured
    expected: float


def on_grid(
    target: Target,
    box_low: np.ndarray,
    box_high: np.ndarray,
    goal: float,
    dtype: Precision,
    budget: float,
    kinks: Sequence[Sequence[float] | None] | None = None,
    watched: np.ndarray | None = None,
) -> OnGrid:
    """The head over a grid with the fewest anchors found that is within ``goal`` of the target.

    Args:
        target: Takes points (m × variables) to values (m × width).
        box_low: The lower ends of the box.
        box_high: The upper ends.
        goal: The largest error allowed, with what rounding in ``dtype`` may add.
        dtype: The numbers the head is to be run in.
        budget: Steps of descent, in units of STEPS; once they are spent, simpler meshes have to do.
        kinks: For each variable, where the target is not smooth along it; None to search for that.
        watched: Points (m × variables) around which something narrow is known to be.

    Raises:
        InputError: The target jumps, or has kinks that do not run along the axes.
        PrecisionError: Rounding forbids the goal.
        SizeError: The goal takes more anchors than the limit.
    """
    d = len(box_low)
    if kinks is not None and len(kinks) != d:
        raise ShapeError(f"kinks has {len(kinks)} entries for {d} variables; give one for each")
    seen = np.empty((0, d)) if watched is None else watched
    best: _Tried | None = None
    slanted: list[int] = []
    purse = Purse(STEPS * budget)
    _require_possible(target, box_low, box_high, goal, dtype)
    for _ in range(ROUNDS):
        lines = [_Line.of(target, box_low, box_high, a, goal, kinks, seen) for a in range(d)]
        slanted = [line.axis for line in lines if line.moving]
        if slanted and best is not None:
            slanted = []  # only slices near a point toward which the target is ever finer look so
            break
        found = _on_lines(lines, target, goal, dtype, Purse(0.0) if slanted else purse)
        if found is None:
            break
        if best is None or found.at.error < best.at.error:
            best = found
        done = best.at.error <= goal or slanted or purse.left <= 0
        if done or found.at.error < HOPEFUL * found.expected:
            break
        seen = np.concatenate([seen, found.at.where[None]])
    if best is None or best.at.error > goal:
        raise _refused(best, goal, dtype, slanted)
    return OnGrid(best.lattice, best.at.error)


def _require_possible(
    target: Target, low: np.ndarray, high: np.ndarray, goal: float, dtype: Precision
) -> None:
    """Refuse a goal below 6 u |f|, the rounding of a head with a single anchor."""
    size = float(np.abs(target(_spread(low, high))).max())
    least = 3 * float(np.finfo(dtype).eps) * size
    if least > goal:
        wider = "" if dtype == "float64" else ", or use float64"
        raise PrecisionError(
            f"an error of {goal:.3g} is finer than rounding in {dtype} allows for values as large as "
            f"{size:.3g}; ask for at least {least:.3g}{wider}"
        )


def _on_lines(
    lines: Sequence[_Line], target: Target, goal: float, dtype: Precision, purse: Purse
) -> _Tried | None:
    """The smallest head found that meets the goal, or the best; values cost more if rounding hurts."""
    best: _Tried | None = None
    damping = _damping(lines, goal, dtype)
    for _ in range(DAMPINGS):
        axes = [
            Axis(line.low, line.high, line.slices, line.structure, goal, damping, dtype, purse)
            for line in lines
        ]
        rounded = moved = 0
        for tried in itertools.islice(_tried(axes, target, goal), TRIES):
            if best is None or tried.at.error < best.at.error:
                best = tried
            rounded += tried.at.rounding > goal
            moved += tried.at.rounding > goal / 4
            strayed = tried.at.error > 2 * HOPEFUL * tried.expected + tried.at.rounding
            if tried.at.error <= goal or strayed or rounded == ENOUGH:
                break
        if best is None or best.at.error <= goal or not moved:
            break
        damping *= 10
    return best


def _damping(lines: Sequence[_Line], goal: float, dtype: Precision) -> float:
    """What values cost in the search: so much that rounding takes its part of the goal at most.

    If in each of d variables Σ_k p_k |v_k| is M times the size s of the target, rounding is about
    (10 + c) u M^d s, with c the size of scores: s/goal where steep scores splice pieces. With M such
    that this is what it may be, values cost that part of the goal over d.
    """
    d, unit = len(lines), float(np.finfo(dtype).eps) / 2
    looks = [line.slices(np.linspace(line.low, line.high, 65)) for line in lines]
    size = max(goal, *(float(np.abs(f).max()) for f in looks))
    steep = size / goal if any(line.structure.points for line in lines) else 0.0
    largest = max(1.0, (ROUNDED * goal / ((10 + steep) * unit * size)) ** (1 / d))
    return max(ROUNDED * goal / (d * largest * size), 2 * float(np.finfo(float).eps))


def _tried(axes: Sequence[Axis], target: Target, goal: float) -> Iterator[_Tried]:
    """Heads on the whole box whose variables' errors add up to about the goal, the smallest first."""
    tried: set[tuple[int, ...]] = set()
    ratio = 1 / HOPEFUL
    for level in LEVELS * goal:
        for axis in axes:
            axis.head(level)
        choices = [_worthwhile(axis, len(axes)) for axis in axes]
        least = sum(choice[-1].error for choice in choices)
        last = level == LEVELS[-1] * goal
        if least > 0.95 * goal and not last:
            continue
        for combination in _ordered(choices, max(HOPEFUL * goal, least if last else 0.0)):
            names = tuple(map(id, combination))
            expected = sum(along.error for along in combination)
            if names in tried or (ratio * expected > goal and not last):
                continue
            tried.add(names)
            whole = _whole(axes, combination, target)
            seen = 0.9 * (whole.at.error - whole.at.rounding) / expected
            ratio = seen if len(tried) == 1 else min(ratio, seen)
            yield whole


def _worthwhile(axis: Axis, variables: int) -> list[Along]:
    """The heads of a variable that are better than every smaller one, in order."""
    best: list[Along] = []
    for along in sorted(axis.made.values(), key=lambda each: (len(each.anchors), each.error)):
        if not best or along.error < best[-1].error:
            best.append(along)
    return best[-max(2, int(COMBINATIONS ** (1 / variables))) :]


def _ordered(choices: Sequence[Sequence[Along]], error: float) -> list[tuple[Along, ...]]:
    """Combinations whose errors add up to no more than ``error``, those with few anchors first."""
    keyed = []
    for number, combination in enumerate(itertools.product(*choices)):
        size = math.prod(len(along.anchors) for along in combination)
        total = sum(along.error for along in combination)
        if size <= MOST and total <= error:
            keyed.append((size, total, number, combination))
    return [combination for *_, combination in sorted(keyed)]


def _whole(axes: Sequence[Axis], heads: Sequence[Along], target: Target) -> _Tried:
    """The heads of all variables as one over the grid, and its error."""
    pairs = list(zip(axes, heads, strict=True))
    looks, each = [], 0
    for each in DENSITIES:
        looks = [axis.points(along.anchors, each) for axis, along in pairs]
        if math.prod(map(len, looks)) <= LOOKS:
            break
    points = [axis.points(along.anchors, min(each, SOLVING)) for axis, along in pairs]
    shares = [along.weighed(y) for along, y in zip(heads, points, strict=True)]
    own, dtype = [along.anchors for along in heads], axes[0].dtype
    lattice = stored(solved(own, target, points, axes[0].damping, shares), dtype)
    at = measured(lattice, target, looks, dtype)
    return _Tried(lattice, at, sum(along.error for along in heads))


def _refused(
    best: _Tried | None, goal: float, dtype: Precision, slanted: Sequence[int]
) -> InputError:
    """What to say where nothing meets the goal."""
    if best is None:
        return SizeError(
            f"an error of {goal:.3g} takes more anchors than a grid may have ({MOST}); ask for a "
            f"larger error, a smaller domain or fewer variables"
        )
    size = len(best.lattice)
    reached = f"the least error reached is {best.at.error:.3g}, with {size} anchors"
    if slanted:
        return InputError(
            f"target has kinks that do not run along the axes (along variable {slanted[0]} they move "
            f"with the others), and a grid of anchors cannot follow them: {reached}; ask for no less, "
            f"or turn the variables so that the kinks run along them"
        )
    if best.at.rounding > goal / 4:
        wider = "" if dtype == "float64" else ", or use float64"
        return PrecisionError(
            f"an error of {goal:.3g} is finer than rounding in {dtype} allows: {reached}, and rounding "
            f"may make up {best.at.rounding:.3g} of it; ask for no less{wider}"
        )
    return SizeError(
        f"no grid of up to {MOST} anchors was found within an error of {goal:.3g}: {reached}; ask for "
        f"no less, or for a smaller domain"
    )


@dataclass(frozen=True, eq=False)
class _Line:
    """The target along one variable, a column for every slice; where it is smooth; if kinks move."""

    axis: int
    low: float
    high: float
    slices: Target
    structure: Structure
    moving: bool

    @classmethod
    def of(
        cls,
        target: Target,
        low: np.ndarray,
        high: np.ndarray,
        axis: int,
        goal: float,
        kinks: Sequence[Sequence[float] | None] | None,
        seen: np.ndarray,
    ) -> _Line:
        """The line along this variable, through points spread over the others and all points seen."""
        spread = _spread(low, high)
        ends = float(low[axis]), float(high[axis])
        try:
            structure, moving = _structure(
                [
                    _slices(target, np.concatenate([rows, seen]), axis)
                    for rows in (spread[::2], spread[1::2])
                ],
                ends,
                goal / len(low),
                None if kinks is None else kinks[axis],
                seen[:, axis].tolist(),
            )
        except InputError as error:
            raise type(error)(f"along variable {axis}, {error}") from None
        slices = _slices(target, np.concatenate([spread, seen]), axis)
        return cls(axis, *ends, slices, structure, moving)


def _spread(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """SLICES points of the box, spread evenly in every direction, and two opposite corners.

    They are multiples of powers of 1/x, where x^{d+1} = x + 1, moved toward the ends as Chebyshev
    points are.
    """
    d, root = len(low), 1.0
    for _ in range(60):
        root = (1 + root) ** (1 / (d + 1))
    even = np.arange(1, SLICES + 1)[:, None] * root ** -np.arange(1.0, d + 1) % 1
    share = np.concatenate([np.zeros((1, d)), np.ones((1, d)), (1 - np.cos(np.pi * even)) / 2])
    return np.clip(low + (high - low) * share, low, high)


def _slices(target: Target, others: np.ndarray, axis: int) -> Target:
    """The target along one variable through each of some points: a column for each and each output."""

    def along(y: np.ndarray) -> np.ndarray:
        X = np.tile(others, (len(y), 1))
        X[:, axis] = np.repeat(y, len(others))
        return target(X).reshape(len(y), -1)

    return along


def _structure(
    halves: Sequence[Target],
    ends: tuple[float, float],
    tolerance: float,
    kinks: Sequence[float] | None,
    watched: Sequence[float],
) -> tuple[Structure, bool]:
    """The structure along one variable, and whether kinks move as the other variables do.

    Half of the slices must show the same kinks as the other half; only those that both show count.
    """

    def whole(y: np.ndarray) -> np.ndarray:
        return np.concatenate([half(y) for half in halves], axis=1)

    if kinks is not None:
        return structure_of(whole, *ends, tolerance, kinks, watched), False
    near = 1e-6 * (ends[1] - ends[0])
    one, two = (structure_of(half, *ends, tolerance, None, watched).points for half in halves)
    both = [x for x in one if any(abs(x - y) < near for y in two)]
    if len(both) == max(len(one), len(two)):
        return structure_of(whole, *ends, tolerance, both, watched), False
    cuts = (ends[0], *both, ends[1])
    return Structure(tuple(both), tuple(Chart.even(a, b) for a, b in pairwise(cuts))), True
