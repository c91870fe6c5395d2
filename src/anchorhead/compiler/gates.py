"""A function that is straight in pieces as gates: the token itself against constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from anchorhead.compiler.candidates import Candidate
from anchorhead.compiler.line import Wish
from anchorhead.compiler.pieces import STRAIGHT
from anchorhead.compiler.structure import crowded, structure_of
from anchorhead.errors import InputError, PrecisionError
from anchorhead.heads.gate import piecewise_linear
from anchorhead.heads.response import UNTRIED
from anchorhead.heads.search import Target
from anchorhead.run import numpy as reference

__all__ = ["gated"]

ALLOWED = 0.99
"""What part of the error gates may take; that the target is not quite straight gets the rest."""


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
    """One head for each piece that is not flat, where a single output is straight between kinks."""
    if target(np.array([low])).shape[1] > 1:
        return
    points = _kinks(target, low, high, wish.error, kinks, watched)
    ends = np.array([low, *points, high])
    values = target(ends)[:, 0]
    y = np.concatenate([crowded(ends.tolist()), np.linspace(low, high, 16 * len(ends))])
    rises = np.diff(values)
    rises[np.abs(rises) <= STRAIGHT * wish.error] = 0
    values = values[0] + np.append(0.0, np.cumsum(rises))
    bent = float(np.abs(np.interp(y, ends, values) - target(y)[:, 0]).max())
    if bent > (1 - ALLOWED) * wish.error:
        return
    slopes = rises / np.diff(ends)
    inner = slice(1, -1) if points else slice(0, 1)
    try:
        gate = piecewise_linear(
            ends[inner], values[inner], ALLOWED * wish.error, slopes[0], slopes[-1]
        )
    except PrecisionError:
        return
    error = gate.bound + gate.rounding * max(abs(low), abs(high)) + bent
    if wish.dtype != "float64":
        X = y.astype(wish.dtype)[:, None]
        inside = np.clip(X[:, 0].astype(float), low, high)
        apart = reference.evaluate(gate.network, X) - target(inside)
        error = max(error, UNTRIED * float(np.abs(apart).max()))
    yield Candidate("gate", gate.network, error)


def _kinks(
    target: Target,
    low: float,
    high: float,
    error: float,
    kinks: Sequence[float] | None,
    watched: Sequence[float],
) -> Sequence[float]:
    """Where the target is not smooth, faint kinks included if it is not rough on their scale."""
    try:
        return structure_of(target, low, high, FAINT * error, kinks, watched).points
    except InputError:
        return structure_of(target, low, high, error, kinks, watched).points
