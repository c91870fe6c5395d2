"""Gate heads: the token attends to itself and to constants, and a kink takes one key.

A head in which a token sees itself (value affine in y, score 0) and a constant (score −β(y − t), the
value that the token has at t) is a kink at t: where y < t the constant wins, where y > t the token.
Two keys make a ReLU, y σ(βy); three, a constant on either side, make a whole ramp. A continuous
piecewise-linear function is a sum of one such head a piece, each running from 0 to the function's
rise over its piece. Heads of flat pieces are left out.

Statement. Let f have kinks t_1 < … < t_J at least 32/β apart, slopes s_0, …, s_J, S = max_j |s_j|, and
K = max_j |s_j − s_{j−1}| + 1e-11 S. Then for *every* real y, exactly computed,

    |F(y) − f(y)| ≤ K T/β,    T = 0.2785 ≥ max_x x σ(−x) + 4e-6.

Proof. Take the head of a piece [l, r] of slope s and length L = r − l, a = y − l, b = r − y, with
weights p = e^{−βa}, 1 and q = e^{−βb} over their sum: it is s(a + Lq)/(1 + p + q). The difference of
two ReLU gates at its ends is G = s(a σ(βa) + b σ(−βb)) = s(a(1 + q) + bq(1 + p))/((1 + p)(1 + q)). As
pq = e^{−βL},

    head − G = e^{−βL} (head − sb)/(1 + p + q + e^{−βL}),

at most S e^{−βL}(L + 1/β) ≤ 5e-13 S/β, and falling by e^{−βd} at a distance d from the piece: all heads
together make less than 1e-12 S/β of it. (The first and the last head, with two keys, are gates.) Now
x σ(βx) = max(x, 0) − |x| σ(−β|x|), and G is s times Range_[0,L](a) − |a| σ(−β|a|) + |b| σ(−β|b|). At a
kink two heads meet, and of their errors only the difference is left: the sum of all heads is f −
Σ_j (s_j − s_{j−1}) |y − t_j| σ(−β|y − t_j|), as ReLUs at f's kinks would have it, though each head is
bounded. The nearest kink costs at most 0.278465/β times its change of slope. The others are at
distances of at least g/2, 3g/2, … on either side, g ≥ 32/β, and cost 2 Σ_k 32(k − ½) e^{−32(k − ½)} <
4e-6 in the same units.

Rounding. Let u = 2⁻⁵³, H the number of heads, R half the distance from the first kink to the last,
V the variation of f between them plus |f(t_1)|, E = max(|s_0|, |s_J|), W = max(|s_0 t_1|, |s_J t_J|).
Then float64 adds no more than

    u((H + 24)(V + W) + 32 S R) + u(H + 24) E |y|.

A head's weights have relative errors of 9u at most where they matter (exp within one unit in the last
place), its products and sums 4u, its constants and slope 5u, the token's own value 4uE|y| on an outer
piece and 8uSR on others; the sum of heads Hu. A score −β(y − t) is wrong by at most β · 12uR near
its kink (y is read from the middle of all kinks): the kink moves by 12uR, and the head by no more than
|s| times ¼ of it, as |x|σ(x)σ(−x) ≤ 0.224 and β · 12uR ≤ 1/8. Beyond twice R scores are off by a few
u of themselves, where x e^{−x} hides it. A function with one kink has R = 0: its kink is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorhead.errors import (
    InputError,
    PrecisionError,
    require_array,
    require_number,
    require_positive,
    require_range,
    require_shape,
)
from anchorhead.heads.ramp import ROUNDOFF
from anchorhead.heads.spliced import TURN
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network

__all__ = ["Gate", "clip", "piecewise_linear", "relu"]

APART = 32.0
"""The least distance between kinks, in units of 1/β, from which on they do not add up."""

STEEPEST = 2.0**500
"""The largest β, and β times the distance between kinks: scores stay finite far beyond them."""

NEAR = np.array([0.0, 0.1, 0.5, 1.0, 1.2785, 2.0, 4.0, 8.0, 16.0])
"""Where the error at a kink is measured, in units of 1/β on either side; it is largest at 1.2785."""


@dataclass(frozen=True, eq=False)
class Gate:
    """A network n×1 → n×1, for any n, that applies a piecewise-linear function to every token.

    For every y whose scores float64 can hold, |network(y) − f(y)| ≤ ``bound`` + ``rounding`` · |y|,
    with ``rounding`` 0 for a bounded function. ``error`` is the largest difference that was measured on
    a grid from beyond the first kink to beyond the last, dense at every kink.
    """

    network: Network
    bound: float
    rounding: float
    error: float

    @property
    def keys(self) -> int:
        """All keys a token looks at: itself in every head, and the constants."""
        return self.network.size.heads + self.network.size.anchors


@dataclass(frozen=True, eq=False)
class _Curve:
    """The function: its kinks, its values there, and the slopes before, between and after them.

    A straight line has no kinks; ``points`` and ``values`` hold one point of it.
    """

    points: np.ndarray
    values: np.ndarray
    slopes: np.ndarray

    @property
    def kinks(self) -> np.ndarray:
        return self.points[: len(self.slopes) - 1]

    @property
    def half(self) -> float:
        """R, half the distance from the first kink to the last."""
        return float(self.points[-1] / 2 - self.points[0] / 2)

    @property
    def centre(self) -> float:
        """Where y is read from: in the middle of all kinks."""
        return float(self.points[0]) + self.half

    @property
    def steepest(self) -> float:
        """S, the largest slope in absolute value."""
        return float(np.abs(self.slopes).max())

    @property
    def turn(self) -> float:
        """K, what kinks may cost in units of T/β."""
        changes = np.abs(np.diff(self.slopes))
        return float(changes.max()) + 1e-11 * self.steepest if len(changes) else 0.0

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """f(y), reckoned from the nearest kink to the left, on the first piece from the first."""
        piece = np.searchsorted(self.kinks, y)
        start = np.maximum(piece - 1, 0)
        return self.values[start] + self.slopes[piece] * (y - self.points[start])


def relu(error: float) -> Gate:
    """max(y, 0) within ``error`` (and 25u |y|): one head, the token and a constant 0; β = T/error."""
    return piecewise_linear([0.0], [0.0], error, right_slope=1.0)


def clip(low: float, high: float, error: float) -> Gate:
    """Range_[a,b](y) = min(max(y, a), b) within ``error`` for all y: one head, the token and a, b."""
    low, high = require_range(low, high)
    return piecewise_linear([low, high], [low, high], error)


def piecewise_linear(
    points: Any, values: Any, error: float, left_slope: float = 0.0, right_slope: float = 0.0
) -> Gate:
    """Any continuous piecewise-linear function: one head for each piece that is not flat.

    Args:
        points: Where the slope changes, increasing.
        values: The function there.
        error: The largest ``bound`` allowed.
        left_slope: The slope before the first point.
        right_slope: The slope after the last.

    Raises:
        PrecisionError: float64 cannot hold the error asked for; says what it can.
    """
    curve = _curve(points, values, left_slope, right_slope)
    error = require_positive("error", error)
    moving = np.flatnonzero(curve.slopes)
    moving = moving if len(moving) else np.zeros(1, dtype=int)
    noise, rounding = _rounding(curve, len(moving))
    beta = _steepness(curve, error, noise)
    reading = Linear(
        (None, 1),
        (None, 2),
        (Term(features=np.array([[1.0, 0.0]])),),
        np.array([[-curve.centre, 1.0]]),
    )
    base = float(curve.values[0])
    heads = [_head(curve, int(i), beta, base if i == moving[0] else 0.0) for i in moving]
    network = Network((reading, Attention(tuple(heads))))
    bound = noise + (curve.turn * TURN / beta if len(curve.kinks) else 0.0)
    return Gate(network, bound, rounding, _measured(network, curve, beta))


def _curve(points: Any, values: Any, left_slope: Any, right_slope: Any) -> _Curve:
    """What a user gave, checked, without the points at which the slope stays the same."""
    t = require_array("points", points, dimensions=1)
    v = require_array("values", values, dimensions=1)
    require_shape("values", v, t.shape, "one for each of the points")
    if (np.diff(t) <= 0).any():
        place = int(np.flatnonzero(np.diff(t) <= 0)[0])
        raise InputError(
            f"points[{place + 1}] is {t[place + 1]}, not above points[{place}] = {t[place]}; sort the "
            f"points, and give each of them once"
        )
    ends = require_number("left_slope", left_slope), require_number("right_slope", right_slope)
    with np.errstate(over="ignore", invalid="ignore"):
        slopes = np.concatenate([ends[:1], np.diff(v) / np.diff(t), ends[1:]])
        span = np.array([t[-1] - t[0], np.abs(v).max() * len(v), np.abs(slopes).max()])
        reach = span[2] * (np.abs(t).max() + span[0])
    if not (np.isfinite(span) & (span < STEEPEST)).all() or not reach < STEEPEST:
        raise PrecisionError(
            "points and values are so large, or so steep between points, that float64 overflows; "
            "scale them to moderate size"
        )
    kink = slopes[1:] != slopes[:-1]
    if not kink.any():
        return _Curve(t[:1], v[:1], slopes[:1])
    return _Curve(t[kink], v[kink], np.append(slopes[0], slopes[1:][kink]))


def _rounding(curve: _Curve, heads: int) -> tuple[float, float]:
    """What float64 may add to the bound: once, and for each unit of |y|."""
    steep = np.abs(curve.slopes[[0, -1]])
    varying = abs(curve.values[0]) + np.abs(np.diff(curve.values)).sum()
    varying += (steep * np.abs(curve.points[[0, -1]])).max()
    unit = (heads + 24) * ROUNDOFF
    noise = unit * varying + 32 * ROUNDOFF * curve.steepest * curve.half
    return float(noise), float(unit * steep.max())


def _steepness(curve: _Curve, error: float, noise: float) -> float:
    """The steepness β, a power of two: kinks cost ``error`` − ``noise`` at most, 32/β apart.

    Near a kink β · 12uR ≤ 1/8 holds as long as kinks may cost 64uKR and are 2¹³ uR apart.
    """
    kinks, turn, half = curve.kinks, curve.turn, curve.half
    least = noise + 64 * ROUNDOFF * turn * half
    if error < least or error <= noise:
        raise PrecisionError(
            f"error is {error:.3g} where the least that float64 can hold for this function is "
            f"{1.001 * least:.3g}; ask for at least that"
        )
    if not len(kinks):
        return 1.0
    gaps = np.diff(kinks)
    if len(gaps) and gaps.min() < 2.0**13 * ROUNDOFF * half:
        place = int(gaps.argmin())
        raise PrecisionError(
            f"points {kinks[place]} and {kinks[place + 1]} lie too close together for float64 to tell "
            f"them apart from the other kinks' distance; make one point of them"
        )
    needed = max(turn * TURN / (error - noise), APART / gaps.min() if len(gaps) else 0.0)
    if not needed * max(half, 1.0) < STEEPEST:
        raise PrecisionError(
            f"error {error:.3g} takes scores that rise by {needed:.3g} for each unit of y, too steep "
            f"for float64; ask for a larger error, or scale the points up"
        )
    return 2.0 ** math.frexp(needed)[1]


def _head(curve: _Curve, piece: int, beta: float, base: float) -> Head:
    """The head of one piece, from 0 to the function's rise over it, plus ``base``.

    Pieces are counted from the one before the first kink, which runs up to 0 at its end. The token's
    key is 0; queries are (y − centre, 1), the token's value is slope·(y − start) + base.
    """
    kinks, slope = curve.kinks, float(curve.slopes[piece])
    start = max(piece - 1, 0)
    offset = base - slope * float(curve.points[start] - curve.centre)
    keys, values = [], []
    if piece > 0:
        keys.append((-beta, beta * (kinks[piece - 1] - curve.centre)))
        values.append(base)
    if piece < len(kinks):
        keys.append((beta, -beta * (kinks[piece] - curve.centre)))
        values.append(base + (curve.values[piece] - curve.values[start]))
    return Head(
        query=np.eye(2),
        key=np.zeros((2, 2)),
        value=np.array([[slope], [offset]]),
        anchor_keys=np.array(keys) if keys else None,
        anchor_values=np.array(values)[:, None] if keys else None,
        sees="self",
    )


def _measured(network: Network, curve: _Curve, beta: float) -> float:
    """The largest error around every kink, between them, and as far again beyond."""
    reach = 2 * curve.half + 64 / beta
    around = np.concatenate([-NEAR, NEAR]) / beta
    y = np.concatenate(
        [
            np.add.outer(curve.points, around).ravel(),
            np.linspace(curve.centre - reach, curve.centre + reach, 257),
        ]
    )
    return float(np.abs(network(y[:, None])[:, 0] - curve(y)).max())
