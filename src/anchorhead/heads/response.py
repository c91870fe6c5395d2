"""What a head of anchors answers: its weights at given points, its output, how fast it turns.

Two facts about the weights p_k(y) of scores affine in y carry most of what is measured here. The
mean slope ᾱ(y) = Σ_k p_k(y) α_k never falls, because ᾱ′ = Var_p(α) ≥ 0; and every derivative of the
output is a joint cumulant of slopes and values, so the output turns on no finer scale than
1/√Var_p(α).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from anchorhead.heads.anchors import Anchors

__all__ = [
    "BLOCK",
    "Precision",
    "as_stored",
    "expected_rounding",
    "natural_grid",
    "response",
    "rounding",
    "softmax",
    "weights",
]

Precision = Literal["float64", "float32"]

UNTRIED = 1.25
"""How much larger than measured rounding may be at points that were not tried."""

BLOCK = 2**18
"""The largest number of weights that exist at once."""


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp(s) / Σ exp(s) along the last axis, in place, shifted by the largest against overflow."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def weights(anchors: Anchors, y: np.ndarray) -> np.ndarray:
    """The softmax weights p_k(y), points × anchors."""
    u = (y - anchors.centre) / anchors.unit
    return softmax(u[:, None] * anchors.slopes + anchors.intercepts)


def response(anchors: Anchors, y: np.ndarray, dtype: Precision = "float64") -> np.ndarray:
    """Σ_k v_k p_k(y), points × width, computed in ``dtype`` as a network computes it."""
    u = _query(anchors, y, dtype)
    slopes, intercepts = anchors.slopes.astype(dtype), anchors.intercepts.astype(dtype)
    values = anchors.values.astype(dtype)
    answers = np.empty((len(y), values.shape[1]), dtype)
    step = max(1, BLOCK // len(anchors))
    for start in range(0, len(y), step):
        block = slice(start, start + step)
        answers[block] = softmax(u[block, None] * slopes + intercepts) @ values
    return answers


def _query(anchors: Anchors, y: np.ndarray, dtype: Precision) -> np.ndarray:
    """(y − centre)/unit, rounded as the first linear map of a network rounds it."""
    scale, shift = np.array([1 / anchors.unit, -anchors.centre / anchors.unit], dtype)
    return y.astype(dtype) * scale + shift


def as_stored(array: np.ndarray, dtype: Precision) -> np.ndarray:
    """The nearest numbers that ``dtype`` holds, as float64; beyond all of them the largest."""
    most = float(np.finfo(dtype).max)
    return np.clip(array, -most, most).astype(dtype).astype(float)


def rounding(anchors: Anchors, y: np.ndarray, dtype: Precision) -> np.ndarray:
    """How far rounding in ``dtype`` may move the output at y: points × width, to first order.

    The weights are taken to be numbers of the dtype, and ``unit`` a power of two. With u the unit
    roundoff: the query q is wrong by 2u|q| at most, which moves the output by its slope
    Σ_k p_k α_k (v_k − F) times that. A score is wrong by u(|α_k q| + |s_k| + |s_k − max s|) and its
    exponential by 2u more, which moves the output by Σ_k p_k |v_k − F| of that. The sums add
    (√N + 2)u Σ_k p_k |v_k| and √N u|F|, where N counts the weights above u, the terms that are not
    lost in a sum anyway, and √N stands for N roundings of either sign.
    """
    unit, q = float(np.finfo(dtype).eps) / 2, ((y - anchors.centre) / anchors.unit)[:, None]
    products = q * anchors.slopes
    scores = products + anchors.intercepts
    wrong = np.abs(products) + np.abs(scores)
    scores -= scores.max(axis=1, keepdims=True)
    wrong += 2 - scores
    P = softmax(scores)
    terms = np.sqrt((P > unit).sum(axis=1))[:, None]
    F = P @ anchors.values
    turned = (P * anchors.slopes) @ anchors.values - (P @ anchors.slopes)[:, None] * F
    spread = np.abs(anchors.values - F[:, None])
    moved = 2 * np.abs(q * turned) + np.einsum("yk,ykw->yw", P * wrong, spread)
    return unit * (moved + (terms + 2) * (P @ np.abs(anchors.values)) + terms * np.abs(F))


def expected_rounding(anchors: Anchors, y: np.ndarray, dtype: Precision) -> np.ndarray:
    """How far rounding in ``dtype`` is expected to move the output at y: points × width.

    In float64 that is ``rounding``. In float32 it can be measured: of the bound it is the largest part
    that it takes anywhere, and a quarter more, for points that were not tried.
    """
    if dtype == "float64":
        return rounding(anchors, y, dtype)
    y = y.astype(dtype).astype(float)
    bound = rounding(anchors, y, dtype)
    moved = np.abs(response(anchors, y, dtype) - response(anchors, y))
    share = float((moved / np.maximum(bound, np.finfo(dtype).tiny)).max())
    return bound * min(1.0, UNTRIED * share)


def natural_grid(
    anchors: Anchors, points: np.ndarray, finest: float = 0.2, most: int = 2**17
) -> np.ndarray:
    """``points`` (sorted) with midpoints added until the head turns little between neighbours.

    Between y and y + d the mean slope rises by ∫ Var_p(α), so where d (ᾱ(y+d) − ᾱ(y)) ≤ finest² the
    head's natural length ∫ √Var_p(α) is at most ``finest`` (Cauchy and Schwarz): no feature can
    hide there. Intervals that floating point cannot halve are left.
    """
    y = np.asarray(points, dtype=float)
    mean = _mean_slopes(anchors, y)
    while len(y) < most:
        gap = np.diff(y)
        middle = y[:-1] + gap / 2
        wide = np.diff(mean) * gap / anchors.unit > finest**2
        wide &= (middle > y[:-1]) & (middle < y[1:])
        if not wide.any():
            break
        added = middle[wide]
        place = np.flatnonzero(wide) + 1
        mean = np.insert(mean, place, _mean_slopes(anchors, added))
        y = np.insert(y, place, added)
    return y


def _mean_slopes(anchors: Anchors, y: np.ndarray) -> np.ndarray:
    step = max(1, BLOCK // len(anchors))
    parts = [weights(anchors, y[i : i + step]) @ anchors.slopes for i in range(0, len(y), step)]
    return np.concatenate(parts)
