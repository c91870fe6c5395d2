"""Where a function of one variable is smooth, how fine it is there, and where it is not.

The interval is cut until on every cell a Chebyshev interpolant has converged. Cells shrink toward a
point where the function is not analytic, a kink, a jump or a branch point, and toward nothing else:
a feature of finite width, however narrow, is resolved at that width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import chebyshev

from anchorhead.compiler.cells import CUT, FIRST_CELLS, MOST_CELLS, TINY, resolved, with_overlooked
from anchorhead.errors import InputError, PrecisionError
from anchorhead.heads.chart import Chart
from anchorhead.heads.search import Target

__all__ = ["Structure", "structure_of"]

SMOOTH = 1e-10
"""Branches whose last coefficients are below this part of the function are smooth."""

APART = 2.0**-48
"""Knots nearer to each other than this are one: a mesh between them could not be told apart."""

FINE = 2.0**-20
"""A piece whose knots lie this dense at both ends is cut in the middle: one end at a time is easier."""

FINER_END = 32
"""An end whose knots lie so many times denser than those of the other end is the origin."""

UNEVEN = 8
"""Cells that differ in size by less than this are as good as even ones."""


@dataclass(frozen=True, eq=False)
class Structure:
    """The interior points where pieces meet, and a chart of each piece.

    Pieces meet where the function is not smooth, and in the middle between two ends toward which it
    is ever finer.
    """

    points: tuple[float, ...]
    charts: tuple[Chart, ...]


def structure_of(
    f: Target,
    low: float,
    high: float,
    tolerance: float,
    kinks: Sequence[float] | None = None,
    watched: Sequence[float] = (),
) -> Structure:
    """The structure of f on [low, high], as far as ``tolerance`` can see it.

    Args:
        f: Takes points (n) to values (n × width).
        low: Lower end.
        high: Upper end.
        tolerance: Differences below this do not matter.
        kinks: The points to use instead of searching for them.
        watched: Points around which the first look is closer: something narrow is known to be there.

    Raises:
        InputError: f jumps, or grows without bound.
        PrecisionError: f is rough everywhere.
    """
    usual = float(np.median(np.abs(f(np.linspace(low, high, 257))).max(axis=1)))
    tolerance = max(tolerance, 64 * np.finfo(float).eps * usual)
    watched = with_overlooked(f, low, high, tolerance, watched)
    points = sorted(kinks or ())
    if kinks is None:
        points = _rough_points(f, low, high, tolerance, watched)
    for point in points:
        _require_continuous(f, point, low, high, tolerance)
    ends = _told_apart([low, *points, high])
    for a, b in pairwise(tuple(ends)):
        cells = resolved(f, a, b, tolerance / 10, 8, watched)
        if cells is not None and _is_fine(cells, 0) and _is_fine(cells, -1):
            ends.append(a + (b - a) / 2)
    ends = _told_apart(ends)
    charts = tuple(_chart(f, a, b, tolerance, watched) for a, b in pairwise(ends))
    return Structure(tuple(ends[1:-1]), charts)


def _told_apart(ends: Sequence[float]) -> list[float]:
    """The ends in order, without inner ones so near to another that a piece would hold few numbers."""
    ends = sorted(ends)
    kept = [ends[0]]
    for end in ends[1:-1]:
        near = 64 * float(np.spacing(abs(end)))
        if end - kept[-1] > near and ends[-1] - end > near:
            kept.append(end)
    return [*kept, ends[-1]]


def _rough_points(
    f: Target, low: float, high: float, tolerance: float, watched: Sequence[float]
) -> tuple[float, ...]:
    """Interior points toward which cells shrink, each given as the roundest number it may be.

    Found as finely as rounding allows; a point stays only if cells shrink toward it at the
    ``tolerance`` too: a kink too faint to matter is none.
    """
    ends = None
    largest = float(np.abs(f(np.linspace(low, high, 257))).max())
    for fineness in (0.0, 64 * np.finfo(float).eps * largest, tolerance / 1000, tolerance / 4):
        ends = resolved(f, low, high, fineness, 16, watched)
        if ends is not None:
            break
    coarse = resolved(f, low, high, tolerance / 10, 16, watched)
    if ends is None or coarse is None:
        _require_bounded(f, low, high)
        raise PrecisionError(
            f"target is rough everywhere at the scale of error {tolerance:.3g}: {MOST_CELLS} cells "
            f"do not resolve it; ask for a larger error or a smaller domain"
        )
    sizes, margin = np.diff(ends), TINY * (high - low)
    tiny = sizes <= margin
    starts = np.flatnonzero(np.diff(tiny.astype(int), prepend=0) == 1)
    stops = np.flatnonzero(np.diff(tiny.astype(int), append=0) == -1) + 1
    points = []
    for start, stop in zip(starts, stops, strict=True):
        cell = start + int(sizes[start:stop].argmin())
        point = _sharpened(f, ends[cell] - sizes[cell], ends[cell + 1] + sizes[cell], low, high)
        after = int(np.clip(np.searchsorted(coarse, point), 1, len(coarse) - 1))
        around = coarse[[after - 1, after]]
        shrunk = np.ptp(around) <= (high - low) / FIRST_CELLS * CUT**2
        if shrunk and low + margin < point < high - margin:
            points.append(point)
    return tuple(points)


def _sharpened(f: Target, left: float, right: float, low: float, high: float) -> float:
    """The roundest number that may be the point near [left, right] where f is not smooth.

    For a kink that is where the branches on both sides meet: interpolants on either side, carried on
    by far less than their length. Rounding of f leaves that point uncertain by eps |f| over the jump
    of f'.
    """
    length = high - low
    reach, around = 2.0**-9 * length, 2.0**-30 * length
    start, stop = left - around, right + around
    origin = start
    if stop - start < reach / 8 and low < start - reach and stop + reach < high:
        nodes = (1 - np.cos(np.pi * np.arange(13) / 12)) / 2 * reach
        sides = (start - nodes, stop + nodes)
        values = [f(y) for y in sides]
        fits = [
            chebyshev.chebfit((y - origin) / reach, v, 12)
            for y, v in zip(sides, values, strict=True)
        ]

        def apart(y: float) -> np.ndarray:
            return np.asarray(chebyshev.chebval((y - origin) / reach, fits[1] - fits[0]))

        first, last = apart(start), apart(stop)
        tails = np.max(np.abs([fit[-3:] for fit in fits]), axis=(0, 1))
        smooth = tails < SMOOTH * np.abs(values).max()
        crossing = np.where(smooth & (first * last < 0), np.abs(last - first), 0)
        if crossing.any():
            best = int(crossing.argmax())
            unsure = 128 * np.finfo(float).eps * float(np.abs(values).max())
            slack = unsure * (stop - start) / crossing[best]
            while (middle := start + (stop - start) / 2) not in (start, stop):
                if apart(middle)[best] * first[best] > 0:
                    start = middle
                else:
                    stop = middle
            left, right = start - slack, stop + slack
    slack = 4 * np.spacing(max(abs(left), abs(right))) + 2.0**-100 * length
    return _roundest(float(left - slack), float(right + slack))


def _require_bounded(f: Target, low: float, high: float) -> None:
    """Refuse a function that is still growing toward its largest value at the smallest steps."""
    y, largest = np.linspace(low, high, 2001), []
    for _ in range(4):
        size = np.abs(f(y)).max(axis=1)
        top = int(size.argmax())
        largest.append(size[top])
        y = np.linspace(y[max(top - 1, 0)], y[min(top + 1, 2000)], 2001)
    if largest[-1] / 1e6 > largest[0]:
        raise InputError(
            f"target grows without bound near {y[1000]:.10g}; leave the point out of the domain"
        )


def _roundest(low: float, high: float) -> float:
    """The number in [low, high] with the fewest decimals, or the middle if it takes sixteen."""
    middle = low + (high - low) / 2
    for decimals in range(17):
        rounded = round(middle, decimals)
        if low <= rounded <= high:
            return rounded + 0.0
    return middle


def _require_continuous(f: Target, point: float, low: float, high: float, tolerance: float) -> None:
    """Refuse a jump, and growth without bound, by how values change toward the point."""
    away = (high - low) * 2.0 ** -np.arange(20, 49)
    away = away[away > 4 * np.spacing(abs(point))]
    left, right = f(np.clip(point - away, low, high)), f(np.clip(point + away, low, high))
    if len(away) < 12:
        return
    sizes = np.maximum(np.abs(left), np.abs(right)).max(axis=1)
    if sizes[-1] > 16 * sizes[-11] and sizes[-1] > tolerance:
        raise InputError(
            f"target grows without bound near {point:.10g}; leave the point out of the domain"
        )
    apart = np.abs(right - left).max(axis=1)
    if apart[-1] / 2 > tolerance and apart[-1] > 0.9 * apart[-11]:
        raise InputError(
            f"target jumps by {apart[-1]:.6g} at {point:.10g}, and no network of attention jumps: the "
            f"least error there is {apart[-1] / 2:.6g}; ask for well above that, or leave the point "
            f"out of the domain"
        )


def _chart(f: Target, low: float, high: float, tolerance: float, watched: Sequence[float]) -> Chart:
    """The chart of one piece: its knots are the ends of cells of a low degree.

    Where cells differ little in size, even knots serve as well. Where they shrink toward one end of
    the piece, that end is the origin: there floating point tells points apart most finely.
    """
    ends = resolved(f, low, high, tolerance / 10, 8, watched)
    if ends is None or np.diff(ends).min() * UNEVEN > np.diff(ends).max():
        return Chart.even(low, high)
    sizes = np.diff(ends)
    origin = None
    if min(sizes[0], sizes[-1]) * FINER_END < max(sizes[0], sizes[-1]):
        origin = low if sizes[0] < sizes[-1] else high
    far = np.abs(ends - (low + (high - low) / 2 if origin is None else origin))
    apart = sizes > APART * np.maximum(far[1:], far[:-1])
    kept = ends[np.append(True, apart)]
    kept = np.unique([low, *kept[1:-1], high])
    return Chart.of(kept, origin)


def _is_fine(ends: np.ndarray, at: int) -> bool:
    """Whether cells shrink without end toward the first or the last of their ends."""
    return bool(np.diff(ends)[at] < FINE * (ends[-1] - ends[0]))
