"""Spliced heads: one group of anchors for each smooth piece of the target, joined by a steep score.

A softmax over groups is a softmax of softmaxes: with D_i = Σ_{k∈i} e^{s_k} and F_i the output of
group i alone, the head gives Σ_i D_i F_i / Σ_i D_i. Adding a function A_i y + C_i to all scores of
a group changes nothing within it and multiplies D_i by e^{A_i y + C_i}. With A_{i+1} − A_i = β and
the groups in balance at the point c where two pieces meet, the right group has the share σ(β(y −
c)), up to what D_i and D_{i+1} vary by themselves.

Statement. Let f be continuous, smooth on either side of c, and F_i, F_{i+1} within η of f on their
sides. Then near c the head is within η + sup_t |F_{i+1} − F_i|(c ± t) σ(−βt) of f. For a kink,
|F_{i+1} − F_i| ≤ J t + 2η with J the jump of f′: the splice costs 0.2785 J/β + η, where 0.2785 =
max_t t σ(−t). So β ~ 1/ε buys any accuracy, and the number of anchors is the sum of what the smooth
pieces need, a few each: a kink costs no anchors at all. Rational functions, and meshes graded
toward the kink, need (log 1/ε)² of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from anchorhead.heads.anchors import Anchors, moved
from anchorhead.heads.response import weights
from anchorhead.heads.search import Target

__all__ = ["constant", "identity", "joined", "separate", "steepness"]

TURN = 0.2785
"""max_t t σ(−t), rounded up: what a kink of unit jump costs at β = 1."""

STEEPEST = 2.0**96
"""No splice is steeper, in units of the two pieces: floating point does not see its width."""


def joined(
    groups: Sequence[Anchors],
    points: Sequence[float],
    steps: Sequence[float],
    centre: float,
    unit: float,
) -> Anchors:
    """One head of all groups, in balance at the ``points`` where they meet, each ``steps`` steeper.

    ``steps`` are differences A_{i+1} − A_i in units of 1/y. Of the functions that may be added to all
    scores, the one is taken that leaves the groups whose values spread most with small scores: it is
    these that rounding would hurt.
    """
    groups = [moved(group, centre, unit) for group in groups]
    tilts, lifts = [0.0], [0.0]
    for left, right, point, step in zip(groups[:-1], groups[1:], points, steps, strict=True):
        turn = step * unit * ((point - centre) / unit)
        tilts.append(tilts[-1] + step * unit)
        lifts.append(lifts[-1] + float(_log_sum(left, point) - _log_sum(right, point)) - turn)
    spreads = [float(np.ptp(group.values, axis=0).max()) for group in groups]
    wide = [i for i, spread in enumerate(spreads) if spread >= 0.1 * max(spreads)]
    tilt, lift = (float(np.mean([part[i] for i in wide])) for part in (tilts, lifts))
    slopes = np.concatenate([g.slopes + (a - tilt) for g, a in zip(groups, tilts, strict=True)])
    rises = [g.intercepts + (c - lift) for g, c in zip(groups, lifts, strict=True)]
    values = np.concatenate([g.values for g in groups])
    order = np.argsort(slopes, kind="stable")
    return Anchors(slopes[order], np.concatenate(rises)[order], values[order], centre, unit)


def separate(
    groups: Sequence[Anchors], points: Sequence[float], steps: Sequence[float], values: np.ndarray
) -> list[Anchors]:
    """One head for each group, with a single anchor for all that lies to its left and to its right.

    The heads add up to what the joined head gives, but for the balance at a point, where each weighs
    its group against a constant and not against the group beyond: head i runs from 0 to f(c_{i+1}) −
    f(c_i), the first from f itself. ``values`` are f at the points. Each head keeps its group's centre
    and unit and has small scores where its group is in charge, so slopes may be steeper than in one
    head before rounding shows.
    """
    heads = []
    for i, group in enumerate(groups):
        before = values[i - 1] if i else np.zeros(values.shape[1])
        parts = [replace(group, values=group.values - before)]
        around = slice(max(i - 1, 0), i + 1)
        if i:
            parts.insert(0, constant(np.zeros_like(before)))
        if i < len(groups) - 1:
            parts.append(constant(values[i] - before))
        heads.append(joined(parts, points[around], steps[around], group.centre, group.unit))
    return heads


def steepness(
    left: Anchors,
    right: Anchors,
    point: float,
    target: Target,
    low: float,
    high: float,
    error: float,
) -> float:
    """The least step at ``point`` for which both groups together are within ``error``, or 7 % more.

    Looked at from ``low`` to ``high`` at points that crowd toward the splice on all scales; the
    step is at most STEEPEST over the interval's length.
    """
    t = np.geomspace(1e-30, 1, 400)
    y = np.concatenate([point - (point - low) * t[::-1], [point], point + (high - point) * t])
    y = np.clip(y, low, high)
    balance = _log_sum(right, y) - _log_sum(left, y)
    balance -= _log_sum(right, point) - _log_sum(left, point)
    outputs = [weights(group, y) @ group.values for group in (left, right)]
    f = target(y)

    def worst(step: float) -> float:
        share = _sigmoid(step * (y - point) + balance)[:, None]
        mixed = outputs[0] + share * (outputs[1] - outputs[0])
        return float(np.abs(mixed - f).max())

    step = 1 / (high - low)
    steepest = STEEPEST * step
    while step < steepest and worst(step) > error:
        step *= 2
    below = step / 2
    for _ in range(4):
        middle = (below + step) / 2
        below, step = (below, middle) if worst(middle) <= error else (middle, step)
    return step


def identity(count: int, error: float) -> tuple[Anchors, float]:
    """Two or three anchors that give y on [−1, 1] within ``error``, and their bound.

    Two: V tanh δy with V = (1 + δ²/4)/δ is y + δ²(y/4 − y³/3) + δ⁴(2y⁵/15 − y³/12) − …, and |y/4 −
    y³/3| ≤ 1/12 on [−1, 1]: within δ²/12 · (1 + δ²) of y for δ ≤ ½, to leading order the least that
    tanh can do. Three, with slopes −δ, 0, δ and four times the weight for the middle one: V sinh
    δy/(cosh δy + 2) with V = 3/δ is y − δ⁴y⁵/180 + …, as the third order cancels: within δ⁴/180 ·
    (1 + δ²) of y for δ ≤ ½.
    """
    if count == 2:
        delta = min(math.sqrt(24 * error / (math.sqrt(1 + 48 * error) + 1)), 0.5)
        slopes, intercepts = np.array([-1.0, 1.0]), np.zeros(2)
        size, bound = (1 + delta**2 / 4) / delta, delta**2 / 12 * (1 + delta**2)
    else:
        first = min((180 * error) ** 0.25, 0.5)
        delta = min((180 * error / (1 + first**2)) ** 0.25, 0.5)
        slopes, intercepts = np.array([-1.0, 0.0, 1.0]), np.array([0.0, math.log(4.0), 0.0])
        size, bound = 3 / delta, delta**4 / 180 * (1 + delta**2)
    return Anchors(delta * slopes, intercepts, size * slopes[:, None]), bound


def constant(value: np.ndarray) -> Anchors:
    """A single anchor: the same value everywhere."""
    return Anchors(np.zeros(1), np.zeros(1), np.atleast_2d(value))


def _log_sum(group: Anchors, y: np.ndarray | float) -> np.ndarray:
    """Log D, the logarithm of the group's normaliser, at the points y."""
    q = (y - group.centre) / group.unit
    scores = np.multiply.outer(q, group.slopes) + group.intercepts
    top = scores.max(axis=-1)
    return top + np.log(np.exp(scores - top[..., None]).sum(axis=-1))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0.0, -x))
