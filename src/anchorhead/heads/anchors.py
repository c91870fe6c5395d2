"""Anchors: the keys and values of a head that reads one variable, and how to share them among heads.

A head with anchors computes F(y) = Σ_k v_k e^{s_k} / Σ_k e^{s_k} with scores affine in y. Slopes
increase from anchor to anchor, so neighbouring weights cross at a breakpoint, and the softmax moves
through the anchors in their order as y grows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anchorhead.errors import (
    InputError,
    require_array,
    require_number,
    require_positive,
    require_shape,
)

__all__ = ["Anchors", "merge", "moved", "pad", "share", "sharing_error"]


@dataclass(frozen=True, eq=False)
class Anchors:
    """p anchors with score_k(y) = slopes_k · (y − centre) / unit + intercepts_k and values v_k.

    ``centre`` and ``unit`` keep slopes and intercepts of moderate size wherever y lives.
    """

    slopes: np.ndarray
    intercepts: np.ndarray
    values: np.ndarray
    centre: float = 0.0
    unit: float = 1.0

    def __post_init__(self):
        for name, dimensions in (("slopes", 1), ("intercepts", 1), ("values", 2)):
            array = require_array(name, getattr(self, name), dimensions=dimensions)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        count = len(self.slopes)
        require_shape("intercepts", self.intercepts, (count,), "one for each slope")
        require_shape("values", self.values, (count, self.values.shape[1]), "one for each slope")
        object.__setattr__(self, "centre", require_number("centre", self.centre))
        object.__setattr__(self, "unit", require_positive("unit", self.unit))
        if (np.diff(self.slopes) < 0).any():
            raise InputError("slopes do not increase; sort the anchors by slope")

    @property
    def keys(self) -> np.ndarray:
        """Slopes and intercepts side by side: the keys for queries ((y − centre)/unit, 1)."""
        return np.column_stack([self.slopes, self.intercepts])

    def __len__(self) -> int:
        return len(self.slopes)


def moved(anchors: Anchors, centre: float, unit: float) -> Anchors:
    """The same head with its scores written in another centre and unit."""
    shift = anchors.slopes * ((centre - anchors.centre) / anchors.unit)
    return replace(
        anchors,
        slopes=anchors.slopes * (unit / anchors.unit),
        intercepts=anchors.intercepts + shift,
        centre=centre,
        unit=unit,
    )


def pad(anchors: Anchors, before: int, after: int) -> Anchors:
    """The same head with more anchors: the first and the last are shared out among copies.

    m copies of an anchor, each with its score lowered by log m, carry together exactly its weight.
    """
    index = np.clip(np.arange(-before, len(anchors) + after), 0, len(anchors) - 1)
    copies = np.bincount(index, minlength=len(anchors))
    return replace(
        anchors,
        slopes=anchors.slopes[index],
        intercepts=anchors.intercepts[index] - np.log(copies[index]),
        values=anchors.values[index],
    )


def merge(anchors: Anchors) -> Anchors:
    """The same head with anchors of equal slope joined into one, undoing ``pad``.

    Scores of equal slope differ by a constant, so the joint weight Σ e^{γ_k} and the mean value
    Σ v_k e^{γ_k} / Σ e^{γ_k} replace them exactly.
    """
    group = np.concatenate([[0], np.cumsum(np.diff(anchors.slopes) > 0)])
    first = np.flatnonzero(np.diff(group, prepend=-1))
    top = np.maximum.reduceat(anchors.intercepts, first)
    weights = np.exp(anchors.intercepts - top[group])
    total = np.add.reduceat(weights, first)
    shares = (weights / total[group])[:, None]
    return replace(
        anchors,
        slopes=anchors.slopes[first],
        intercepts=top + np.log(total),
        values=np.add.reduceat(shares * anchors.values, first, axis=0),
    )


def share(anchors: Anchors, places: int) -> list[Anchors]:
    """The anchors as consecutive pieces, each for a head with this many ``places``.

    A piece holds ``places`` − 2 anchors between two sentinels: its neighbours in the other pieces,
    with value 0, which win where y lies below or above the piece. So every piece is silent where
    another speaks, and the pieces add up to the whole head within ``sharing_error``. At the two
    ends, and where the last piece is short, copies that share an anchor's weight fill the places.
    """
    room = places - 2
    shared = []
    for start in range(0, len(anchors), room):
        first, last = max(start - 1, 0), min(start + room + 1, len(anchors))
        values = anchors.values[first:last].copy()
        if first < start:
            values[0] = 0
        if start + room < last:
            values[-1] = 0
        part = slice(first, last)
        piece = replace(
            anchors,
            slopes=anchors.slopes[part],
            intercepts=anchors.intercepts[part],
            values=values,
        )
        below = int(start == 0)
        shared.append(pad(piece, below, places - len(piece) - below))
    return shared


def sharing_error(anchors: Anchors, places: int) -> float:
    """How far, at most, the pieces of ``share`` add up from the whole head, in any coordinate.

    In a piece's head the weight of an anchor is p_k / P with P the weight of piece and sentinels
    together, so the pieces differ from the whole by at most Σ_pieces P(piece)/P · (1 − P) · max |v|.
    Take an upper sentinel at anchor b: below it, at y ≤ τ_b, all that lies above it weighs at most
    r(y) = Σ_{k>b} e^{s_k − s_b} of it, and the piece at most q(y) = Σ_{k<b} e^{s_k − s_b}. On
    [τ_{b−1}, τ_b] the product of any two such terms is log-affine in y, so that of the sums, being
    convex, is largest at an end. Beyond τ_b the piece's share q shrinks while the other share is at
    most 1, and r(τ_b) ≥ 1; before τ_{b−1} it is the other way round. Likewise for a lower sentinel.
    """
    room = places - 2
    if len(anchors) <= room:
        return 0.0
    slopes, intercepts = anchors.slopes, anchors.intercepts
    gaps = np.diff(slopes)
    if (gaps <= 0).any():
        return np.inf
    breakpoints = -np.diff(intercepts) / gaps
    if (np.diff(breakpoints) <= 0).any():
        return np.inf
    edges = np.arange(room, len(anchors), room)
    sentinels = np.concatenate([edges, edges - 1])
    sentinels = sentinels[(sentinels > 0) & (sentinels < len(anchors) - 1)]
    total = 0.0
    for b in sentinels:
        ends = breakpoints[[b - 1, b]]
        relative = (slopes - slopes[b]) * ends[:, None] + (intercepts - intercepts[b])
        shares = np.exp(np.minimum(relative, 0.0))
        below, above = shares[:, :b].sum(axis=1), shares[:, b + 1 :].sum(axis=1)
        total += float((below * above).max())
    return total * float(np.abs(anchors.values).max())
