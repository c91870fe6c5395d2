"""A function that is straight in pieces as gates: the token itself against constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from anchorhead.compiler.candidates import Candidate, beside, smallest_of
from anchorhead.compiler.cells import crowded
from anchorhead.compiler.line import Wish
from anchorhead.compiler.pieces import STRAIGHT
from anchorhead.compiler.structure import Structure, structure_of
from anchorhead.errors import InputError, PrecisionError
from anchorhead.heads.gate import piecewise_linear
from anchorhead.heads.response import UNTRIED
from anchorhead.heads.search import Target
from anchorhead.network import Network
from anchorhead.run import numpy as reference

__all__ = ["gated"]

ALLOWED = 0.99
"""What part of the error gates may take; that the target is not quite straight gets the rest."""

SAME = 1e-13
"""Slopes that differ by less than this part of the steepest are the same."""

FAINT = 1e-3
"""Kinks are looked for with this part of the error: what soft anchors would blur is still a kink."""


def gated(
    target: Target,
    low: float,
    high: float,
    wish: Wish,
    kinks: Sequence[float] | None,
    watched: Sequence[float] = (),
) -> Iterator[Candidate]:
    """One head for each piece that is not flat, where a single output is straight between kinks.

    And the same with the slope before the first kink, or after the last, taken out and left to a head
    in which the token sees nothing but itself: it is exact, and leaves that piece flat.
    """
    if target(np.array([low])).shape[1] > 1:
        return
    structure = _structure(target, low, high, wish.error, kinks, watched)
    points = structure.points
    ends = np.array([low, *points, high])
    values = target(ends)[:, 0]
    cells = [chart.points(chart.knots) for chart in structure.charts]
    y = np.concatenate([crowded(ends.tolist()), np.linspace(low, high, 16 * len(ends)), *cells])
    rises = np.diff(values)
    rises[np.abs(rises) <= STRAIGHT * wish.error] = 0
    values = values[0] + np.append(0.0, np.cumsum(rises))
    bent = float(np.abs(np.interp(y, ends, values) - target(y)[:, 0]).max())
    if bent > (1 - ALLOWED) * wish.error:
        return
    slopes = rises / np.diff(ends)
    made = []
    for slope in dict.fromkeys((0.0, slopes[0], slopes[-1])) if points else (0.0,):
        gates = _with_slope(ends, values, slopes, float(slope), wish.error)
        if gates is None:
            continue
        network, error = gates
        error += bent
        if wish.dtype != "float64":
            X = y.astype(wish.dtype)[:, None]
            inside = np.clip(X[:, 0].astype(float), low, high)
            apart = reference.evaluate(network, X) - target(inside)
            error = max(error, UNTRIED * float(np.abs(apart).max()))
        made.append(Candidate("gate", network, error))
    if made:
        yield smallest_of(made, wish.error)


def _with_slope(
    ends: np.ndarray, values: np.ndarray, slopes: np.ndarray, slope: float, error: float
) -> tuple[Network, float] | None:
    """Gates for the curve less a line through 0, and that line beside them; and their bound."""
    inner = slice(1, -1) if len(ends) > 2 else slice(0, 1)
    left = slopes - slope
    left[np.abs(left) <= SAME * np.abs(slopes).max()] = 0
    share = ALLOWED * error
    try:
        gate = piecewise_linear(
            ends[inner], (values - slope * ends)[inner], share, left[0], left[-1]
        )
        line = piecewise_linear([0.0], [0.0], share, slope, slope) if slope else None
    except PrecisionError:
        return None
    farthest = float(np.abs(ends).max())
    bound = gate.bound + gate.rounding * farthest
    if line is None:
        return gate.network, bound
    return beside(gate.network, line.network), bound + line.bound + line.rounding * farthest


def _structure(
    target: Target,
    low: float,
    high: float,
    error: float,
    kinks: Sequence[float] | None,
    watched: Sequence[float],
) -> Structure:
    """Where the target is not smooth, faint kinks included if it is not rough on their scale."""
    try:
        return structure_of(target, low, high, FAINT * error, kinks, watched)
    except InputError:
        return structure_of(target, low, high, error, kinks, watched)
