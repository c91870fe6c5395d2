"""Meshes: where neighbouring anchors cross and how softly; and where a search starts.

From anchor j to anchor j + 1 the score changes by gap_j (u − place_j) + offset_j, a form that keeps
its digits near ``place_j`` however large the gap is. For a positive gap the two cross at the
breakpoint τ_j = place_j − offset_j/gap_j, over a width 1/gap_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anchorhead.heads.anchors import Anchors

__all__ = ["Mesh", "along", "clustered", "family"]

SOFTNESS = (0.7, 1.0, 1.5, 2.0, 3.0, 4.5, 7.0)
"""Widths over spacings of the meshes that searches start from: nearly separate anchors to far
overlap."""

NARROWEST = 1e-150
"""The least width: floating point tells no two breakpoints of a narrower one apart."""

GHOSTS = (0, 1, 2, 3, 4, 6)
"""Anchors beyond each end of the interval in these meshes."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Score differences of p anchors, p − 1 of each along the last axis; rows are separate meshes."""

    gaps: np.ndarray
    offsets: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, breakpoints: np.ndarray, widths: np.ndarray, low: float, high: float) -> Mesh:
        """The mesh with these breakpoints and widths, its places within [low, high].

        Widths may have rows, each a mesh with the same breakpoints.
        """
        places = np.broadcast_to(np.clip(breakpoints, low, high), widths.shape)
        widths = np.maximum(widths, NARROWEST)
        return cls(1 / widths, -(breakpoints - places) / widths, places)

    @classmethod
    def between(
        cls, anchors: Anchors, low: float, high: float, kept: np.ndarray | slice = slice(None)
    ) -> Mesh:
        """The mesh of given anchors, or of those ``kept``, one mesh for each row of indices.

        It is in the anchors' own variable u.
        """
        gaps, rises = np.diff(anchors.slopes[kept]), np.diff(anchors.intercepts[kept])
        with np.errstate(divide="ignore", invalid="ignore"):
            places = np.clip(np.nan_to_num(-rises / gaps), low, high)
        return cls(gaps, rises + gaps * places, places)

    def rows(self, chosen: np.ndarray) -> Mesh:
        """Some of several meshes."""
        return Mesh(self.gaps[chosen], self.offsets[chosen], self.places[chosen])

    @classmethod
    def stack(cls, meshes: Sequence[Mesh]) -> Mesh:
        """Single meshes as rows of one."""
        parts = zip(*((mesh.gaps, mesh.offsets, mesh.places) for mesh in meshes), strict=True)
        return cls(*(np.stack(part) for part in parts))

    def anchors(self, values: np.ndarray) -> Anchors:
        """The anchors of one mesh, sorted by slope.

        Scores are fixed up to a function that all anchors share; it is chosen so that one anchor has
        score 0, the one that leaves the scores small wherever their anchors matter, at the places:
        rounding goes with |α y| + |γ| there.
        """
        rises = self.offsets - self.gaps * self.places
        slopes = np.concatenate([[0.0], np.cumsum(self.gaps)])
        intercepts = np.concatenate([[0.0], np.cumsum(rises)])
        apart = np.abs(slopes[:-1, None] - slopes) * np.abs(self.places)[:, None]
        apart += np.abs(intercepts[:-1, None] - intercepts)
        zero = int(apart.max(axis=0).argmin())
        slopes, intercepts = _sums_from(zero, self.gaps), _sums_from(zero, rises)
        order = np.argsort(slopes, kind="stable")
        return Anchors(slopes[order], intercepts[order], values[order])


def _sums_from(zero: int, steps: np.ndarray) -> np.ndarray:
    """Numbers with these steps between them, the one at ``zero`` being 0 and its neighbours exact."""
    below, above = -np.cumsum(steps[:zero][::-1])[::-1], np.cumsum(steps[zero:])
    return np.concatenate([below, [0.0], above])


def along(
    knots: np.ndarray, count: int, softness: float | Sequence[float], ghosts: int = 0
) -> Mesh:
    """``count`` anchors spread evenly along ``knots``, which lie dense where the target is fine.

    The knots are an increasing sequence from one end of the interval to the other, interpolated
    linearly and continued beyond both ends with the spacing there. ``ghosts`` anchors sit beyond
    each end. A width is ``softness`` times the local spacing; several give a mesh each, one a row.
    """
    cells = len(knots) - 1
    step = cells / max(count - 1 - 2 * ghosts, 1)
    place = cells / 2 + step * (np.arange(count - 1) - (count - 2) / 2)
    inside = np.interp(place, np.arange(cells + 1), knots)
    below = np.minimum(place, 0) * (knots[1] - knots[0])
    above = np.maximum(place - cells, 0) * (knots[-1] - knots[-2])
    breakpoints = inside + below + above
    spacing = np.gradient(breakpoints) if count > 2 else np.array([knots[-1] - knots[0]])
    return Mesh.of(breakpoints, np.multiply.outer(softness, spacing), knots[0], knots[-1])


def family(courses: Sequence[np.ndarray], count: int) -> Mesh:
    """The meshes of ``count`` anchors from which a search along these courses starts, one a row."""
    meshes = [
        along(knots, count, SOFTNESS, ghosts)
        for knots in courses
        for ghosts in GHOSTS
        if count - 1 - 2 * ghosts >= 1
    ]
    parts = zip(*((mesh.gaps, mesh.offsets, mesh.places) for mesh in meshes), strict=True)
    return Mesh(*(np.concatenate(part) for part in parts))


def clustered(
    low: float, high: float, toward: Sequence[float], count: int, *, rate: float = 4.0
) -> np.ndarray:
    """At most about ``count`` knots, clustering toward points c like c ± R e^{−σ(√m − √j)}, j = 1 … m.

    This is how the poles of the best rational approximations of |x| cluster (Newman, Stahl); the
    error at a function that is analytic but for a kink or a branch point in c then falls like
    e^{−C√m}. σ is the ``rate``; R reaches half way to the next point, and to the end of the
    interval from the last.
    """
    points = sorted(toward)
    m = max(2, (count + 1) // (2 * max(len(points), 1)))
    shape = np.exp(-rate * (np.sqrt(m) - np.sqrt(np.arange(1, m + 1))))
    ends = [2 * low - points[0], *points, 2 * high - points[-1]] if points else []
    knots = [np.array([low, high])]
    for at, point in enumerate(points, 1):
        knots.append(point - (point - ends[at - 1]) / 2 * shape)
        knots.append(point + (ends[at + 1] - point) / 2 * shape)
    return np.unique(np.clip(np.concatenate(knots), low, high))
