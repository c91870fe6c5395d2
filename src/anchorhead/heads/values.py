"""The values of a head whose keys are known: they enter linearly, so they are solved for.

Least squares comes first, with a trace of damping that keeps values bounded where anchors overlap
so far that they can hardly be told apart. Then exchange: functions e^{α_k y}/Σ_j e^{α_j y + γ_j}
with different slopes are a Chebyshev system, so the best values in the sup norm are those whose
error takes its largest size at p + 1 points with alternating signs, and Remez's exchange finds
them.
"""

from __future__ import annotations

import numpy as np

__all__ = ["exchange", "least_squares"]

ROUNDS = 20
"""Exchanges tried; a dozen is usual."""

LARGEST = 1e100
"""Values beyond this come from keys that cannot be told apart."""


def least_squares(P: np.ndarray, f: np.ndarray, damping: float) -> np.ndarray:
    """The values v, anchors × width, that minimise ‖P v − f‖² + damping² ‖v‖²."""
    A = np.concatenate([P, damping * np.eye(P.shape[1])])
    b = np.concatenate([f, np.zeros((P.shape[1], f.shape[1]))])
    return np.linalg.lstsq(A, b, rcond=None)[0]


def exchange(P: np.ndarray, f: np.ndarray, values: np.ndarray, damping: float) -> np.ndarray:
    """Values whose largest error at the points is least, found from ``values`` by exchange.

    P is points × anchors in increasing order of the points; each column of f is treated by itself.
    What comes back is never worse than what was given, counting damping · Σ_k p_k |v_k| as error.
    """
    columns = [_exchanged(P, f[:, i], values[:, i], damping) for i in range(f.shape[1])]
    return np.stack(columns, axis=1)


def _exchanged(P: np.ndarray, f: np.ndarray, v: np.ndarray, damping: float) -> np.ndarray:
    signs = np.append(1.0, np.cumprod(np.full(P.shape[1], -1.0)))[:, None]
    best, least, stale = v, _largest(P, f, v, damping), 0
    for _ in range(ROUNDS):
        at = _alternation(P @ v - f, P.shape[1] + 1)
        if at is None or stale > 3:
            break
        try:
            solved = np.linalg.solve(np.hstack([P[at], signs]), f[at])
        except np.linalg.LinAlgError:
            break
        if not np.abs(solved).max() < LARGEST:
            break
        v = solved[:-1]
        error = _largest(P, f, v, damping)
        stale = 0 if error < 0.99 * least else stale + 1
        if error < least:
            best, least = v, error
        if error <= 1.005 * abs(solved[-1]):
            break
    return best


def _largest(P: np.ndarray, f: np.ndarray, v: np.ndarray, damping: float) -> float:
    return float((np.abs(P @ v - f) + damping * (P @ np.abs(v))).max())


def _alternation(error: np.ndarray, count: int) -> np.ndarray | None:
    """``count`` points where the error alternates in sign and is as large as possible, or None.

    One extreme of each run of equal signs; of too many, the smallest goes, with its smaller
    neighbour where it is no end, so that signs still alternate.
    """
    starts = np.flatnonzero(np.diff(np.sign(error), prepend=np.nan) != 0)
    if len(starts) < count:
        return None
    sizes = np.abs(error)
    tops = np.maximum.reduceat(sizes, starts)
    run = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(error)))
    peaks = np.flatnonzero(sizes == tops[run])
    at = peaks[np.unique(run[peaks], return_index=True)[1]]
    while len(at) > count:
        size = sizes[at]
        low = int(size.argmin())
        if len(at) == count + 1 or low in (0, len(at) - 1):
            at = at[1:] if size[0] <= size[-1] else at[:-1]
        else:
            beside = low - 1 if size[low - 1] <= size[low + 1] else low
            at = np.delete(at, [beside, beside + 1])
    return at
