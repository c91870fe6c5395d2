"""A function of several numbers as heads that look along a line each, where it is made of such.

A ridge function g(w·x) has parallel gradients; with a plane added they lie on one line. A sum of
functions of one variable each has no mixed differences. All need no more anchors than functions of
one number do, and kinks may lie aslant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from anchorhead.compiler.candidates import Candidate, beside, smallest_of
from anchorhead.compiler.gates import gated
from anchorhead.compiler.line import Wish, on_line
from anchorhead.compiler.sampling import scattered, spread, worst
from anchorhead.compiler.target import Given
from anchorhead.heads.pointwise import pointwise
from anchorhead.layers import Linear, Term
from anchorhead.network import Network

__all__ = ["ridge", "separate_sum", "tilted_ridge"]

LOOKS = 256
"""Points at which is tried whether a function is a ridge or a sum."""

STEP = 1e-4
"""Differences are taken over this part of the domain."""

PARALLEL = 1e-5
"""Gradients that differ less than this from one line are parallel: the rest is differences' noise."""

MODELS = 8
"""Gradients that are tried as the direction of all."""

MOST = 0.9
"""The part of all gradients that must be parallel: differences across a kink point anywhere."""

NEAR = 1e-7
"""A ratio of two slopes this near to a simple fraction is that fraction."""


def ridge(given: Given, wish: Wish, kinks: Any, watched: np.ndarray) -> Iterator[Candidate]:
    """Heads that all look along w, where f(x) = g(w·x).

    Kinks that are given lie along the axes, so that a ridge is not looked for.
    g is read off on the straight line from the corner of the box where w·x is least to the one
    where it is largest. The error is measured along that line and at scattered points.
    """
    w = _common_gradient(given) if kinks is None else None
    if w is None:
        return
    rising = w > 0
    least = np.where(rising, given.box.low, given.box.high)
    most = np.where(rising, given.box.high, given.box.low)
    low, high = float(w @ least), float(w @ most)

    def along(y: np.ndarray) -> np.ndarray:
        share = (y - low) / (high - low)
        X = least + share[:, None] * (most - least)
        return given.values(np.clip(X, given.box.low, given.box.high))

    eased = replace(wish, error=0.97 * wish.error)
    seen = [float(w @ x) for x in watched]
    for made in on_line(along, low, high, eased, watched=seen):
        looks = np.tile(w, (len(made.heads), 1))
        network = pointwise(*made.heads, directions=looks)
        yield _tried(Candidate("ridge", network, made.error), given, wish)
    if wish.gates:
        for gate in gated(along, low, high, eased, None, seen):
            yield _tried(Candidate("ridge", _looking(gate.network, w), gate.error), given, wish)


def tilted_ridge(given: Given, wish: Wish, kinks: Any, watched: np.ndarray) -> Iterator[Candidate]:
    """A ridge and a plane, where f(x) = g(w·x) + b·x, such as max(x, y): gradients lie on one line.

    b may be any gradient; those at both ends of the line make one side of a kink flat. The plane is a
    head of its own: the token itself, or two or three anchors where tokens may not see themselves.
    """
    if given.width > 1 or kinks is not None or len(given.box.low) < 2:
        return
    rows = _gradients(given)
    span = given.box.high - given.box.low
    away = (rows - rows[0]) * span
    if np.abs(away).max() <= PARALLEL * np.abs(rows * span).max():
        return
    w = _direction(away)
    if w is None:
        return
    along = (rows * span) @ w
    for end in (int(along.argmin()), int(along.argmax())):
        b = np.array([_simple(float(entry)) for entry in rows[end]])
        if not np.abs(b * span).max() > PARALLEL * np.abs(rows * span).max():
            continue
        tilt = replace(given, values=lambda X, b=b: given.values(X) - (X @ b)[:, None])
        half = replace(wish, error=0.49 * wish.error)
        for side in ridge(tilt, half, kinks, watched):
            plane = replace(given, values=lambda X, b=b: (X @ b)[:, None])
            for flat in ridge(plane, half, kinks, np.empty((0, len(b)))):
                network = beside(side.network, flat.network)
                error = side.error + flat.error
                yield _tried(Candidate("ridge and plane", network, error), given, wish)


def _looking(network: Network, w: np.ndarray) -> Network:
    """A network of one number as one of w·x."""
    first = network.layers[0]
    assert isinstance(first, Linear)
    terms = tuple(Term(features=w[:, None] @ term.features) for term in first.terms)
    wide = replace(first, shape_in=(None, len(w)), terms=terms)
    return Network((wide, *network.layers[1:]))


def separate_sum(
    given: Given, wish: Wish, kinks: Sequence[Sequence[float] | None] | None, watched: np.ndarray
) -> Iterator[Candidate]:
    """Heads that look at one variable each, where f(x) = Σ_a g_a(x_a)."""
    low, high = given.box.low, given.box.high
    base = low + 0.5 * (high - low)
    X = scattered(given, LOOKS, seed=1)
    middle = given.values(base[None])
    parts = [given.values(_moved(base, axis, X[:, axis])) - middle for axis in range(len(low))]
    whole = given.values(X)
    if np.abs(whole - middle - sum(parts)).max() > 0.01 * wish.error:
        return
    moving = [a for a, part in enumerate(parts) if np.abs(part).max() > 1e-3 * wish.error]
    if len(moving) < 2:
        return
    looking, total = [], 0.0
    eased = replace(wish, error=0.97 * wish.error / len(moving))
    for axis in moving:
        start = middle if axis == moving[0] else np.zeros_like(middle)

        def along(y: np.ndarray, axis: int = axis, start: np.ndarray = start) -> np.ndarray:
            return given.values(_moved(base, axis, y)) - middle + start

        own, seen = None if kinks is None else kinks[axis], watched[:, axis].tolist()
        made = [
            Candidate(made.construction, pointwise(*made.heads), made.error)
            for made in on_line(along, low[axis], high[axis], eased, own, seen)
        ]
        if wish.gates:
            made += gated(along, low[axis], high[axis], eased, own, seen)
        part = smallest_of(made, eased.error)
        looking.append(_looking(part.network, np.eye(len(low))[axis]))
        total += part.error
    yield _tried(Candidate("sum", reduce(beside, looking), total), given, wish)


def _moved(base: np.ndarray, axis: int, y: np.ndarray) -> np.ndarray:
    """The base point with one variable moved to each of y."""
    X = np.tile(base, (len(y), 1))
    X[:, axis] = y
    return X


def _tried(candidate: Candidate, given: Given, wish: Wish) -> Candidate:
    """The candidate with the error at scattered points, if that is larger."""
    X = spread(given, LOOKS * 8, seed=2)
    measured = worst(candidate.network, given, X, wish.dtype)
    return replace(candidate, error=max(candidate.error, measured))


def _common_gradient(given: Given) -> np.ndarray | None:
    """The direction of all gradients, its largest entry 1 in size; None if there is no such one.

    Of a constant it is the first axis. Entries near simple fractions of the largest are taken as those.
    """
    rows = _gradients(given) * (given.box.high - given.box.low)
    if not np.abs(rows).max() > 0:
        return np.eye(rows.shape[1])[0]
    w = _direction(rows)
    return None if w is None else _rounded(w / (given.box.high - given.box.low))


def _direction(rows: np.ndarray) -> np.ndarray | None:
    """The unit vector along which all but a few rows lie, rows near 0 apart; None if there is none."""
    lengths = np.linalg.norm(rows, axis=1)
    rows = rows[lengths > 1e-6 * lengths.max()]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows[:MODELS].T
    aside = np.linalg.norm(rows[:, None] - cosines[..., None] * rows[:MODELS], axis=2) <= PARALLEL
    model = int(aside.sum(axis=0).argmax())
    same = aside[:, model]
    if same.mean() < MOST:
        return None
    signs = np.sign(cosines[same, model])
    return (rows[same] * signs[:, None]).mean(axis=0)


def _rounded(w: np.ndarray) -> np.ndarray:
    """The vector with its largest entry 1 in size, the others simple fractions where they are near."""
    w = w / w[np.abs(w).argmax()]
    return np.array([_simple(float(entry)) for entry in w])


def _gradients(given: Given) -> np.ndarray:
    """The gradients of all outputs at scattered points, one a row."""
    low, high = given.box.low, given.box.high
    step = STEP * (high - low)
    X = scattered(given, LOOKS, seed=3)
    X = np.clip(X, low + 2 * step, high - 2 * step)
    slopes = np.stack([_slope(given, X, axis, step[axis]) for axis in range(len(low))], axis=-1)
    return slopes.reshape(-1, len(low))


def _slope(given: Given, X: np.ndarray, axis: int, step: float) -> np.ndarray:
    """Central differences over one and two steps, extrapolated: wrong by O(step⁴)."""
    move = np.eye(X.shape[1])[axis] * step
    one = given.values(X + move) - given.values(X - move)
    two = given.values(X + 2 * move) - given.values(X - 2 * move)
    return (8 * one - two) / (12 * step)


def _simple(ratio: float) -> float:
    """The fraction with a small denominator, or the number itself where there is none so near."""
    near = float(Fraction(ratio).limit_denominator(64))
    return near if abs(near - ratio) <= NEAR else ratio
