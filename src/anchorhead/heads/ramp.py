"""Graded anchors for a ramp: the identity between two constants, joined by steep scores.

Range_[a,b](y) = min(max(y, a), b) is smooth but for two kinks, and ``spliced`` makes a kink cost no
anchors: one group for the constant a, one of two or three for the identity, one for the constant b.

Statement. On [−1, 1] let the identity group have output F and weight D = Σ e^{s_k}, with |F(q) − q|
≤ η there, F′ ≤ S = 1 + δ²/4 and |d log D/dq| ≤ δ everywhere (``identity``), and let the constants'
scores be ±βq, in balance with it at the kinks ±1. If β − δ ≥ 2, then for *every* real q

    |G(q) − min(max(q, −1), 1)| ≤ η + S T/(β − δ),    T = 0.2785 ≥ max_t t σ(−t).

Proof. G is odd; take q ≥ 0 and let L, D, R be the weights. With t = 1 − q ≥ 0 the error is (D(F − q)
+ R t − L(1 + q))/Σ. The first term is at most η. As R/D ≤ e^{−(β−δ)t}, the second lies between 0 and
t σ(−(β − δ)t) ≤ T/(β − δ), the third between 0 and −(1 + q) e^{−β(1+q)} D(1)/D(q), which is less, and
they have opposite signs. Beyond the kink, at q = 1 + s, the error is (D(F − 1) − 2L)/Σ with −η ≤
F − 1 ≤ η + S s, since F increases, and D/Σ ≤ σ(−(β − δ)s) ≤ ½: above it is at most η/2 + S T/(β − δ),
below at least −η/2 − 2e^{−2β}. The identity group may grow, or saturate, as it likes.

With jumps. The target may change its coordinate: between the edges e_m and e_{m+1} it is y in
coordinate G_m. Each stretch gets an identity group of its own, η, δ being those of its half-length;
at an inner edge, where the value jumps, the score is so steep that a group on the wrong side, at a
distance τ, has at most ρ = e^{−40} of the right one's weight, and ρ for each further edge. A wrong
group is off by at most 2 max(|a|, |b|) + hη + St at a distance t, h the largest half-length; this
times e^{−bt} falls from τ on. So all of them together cost ≤ 2Qρ/(1 − ρ), Q = 2 max(|a|, |b|) + hη +
Sτ, wherever y is at least τ from every edge with a jump.

Several heads. A head that runs from the target's value at its first edge to that at its last may
subtract the first, so heads of consecutive pieces add up. Near the edge between two, at a distance
t on one side, one head is off by something in [−hη, hη + tσ(−bt)] and the other in [−(hη + St)σ(−bt),
hησ(−bt)] (or the same with both signs changed): the kinks' errors have opposite signs and σ ≤ ½, so
the sum is at most 3hη/2 + S T/b. All other groups and heads are at least τ away: one neighbour on
either side adds Qρ/(1 − ρ), and the heads beyond, each at least 2τ farther, next to nothing.
Altogether 3hη/2 + S T/b + 5Qρ for any number of heads; b is at least 40/τ, so that e^{−bτ} ≤ ρ, also
where a head's first edge has a jump.

Rounding. With unit roundoff u the weights of a group have relative errors of at most (8 + 4Ω)u that
differ, Ω being the size of its scores, and the values ±h/δ are weighed with them: (8 + 4Ω)uh/δ. It
is in the bound, and so is (8 + 4H)u max(|a|, |b|) for the sum of H heads. η is chosen where η and this
are least together, and β so that a kink costs as much as both: steeper would only make weights large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anchorhead.errors import InputError, PrecisionError
from anchorhead.heads.anchors import Anchors, moved
from anchorhead.heads.spliced import TURN, constant, identity, joined

__all__ = ["Stretch", "filled", "ramp", "segment"]

LEAK = 40.0
"""−log of what a jump leaves to the wrong side at the edge of its band: below float64's rounding."""

SILENCE = 800.0
"""So far below another's score an anchor's weight is 0 in float64, and e^{−800} on paper."""

ROUNDOFF = 2.0**-53
"""float64's unit roundoff."""

LARGEST = 2.0**900
"""Ends of a range are no larger and runs no shorter than the inverse, so that weights stay finite."""

ABOVE_LEAST = 1.25
"""What identity and rounding cost leaves kinks a part of the error asked for."""


@dataclass(frozen=True)
class Stretch:
    """What one head is in charge of: y in coordinate ``slots[m]`` between edges m and m + 1.

    ``entry`` is the coordinate in which the target arrives at the first edge.
    """

    edges: Sequence[float]
    slots: Sequence[int]
    entry: int

    @property
    def halves(self) -> np.ndarray:
        """Half the length of each run."""
        return np.diff(self.edges) / 2

    def __len__(self) -> int:
        return len(self.slots)


@dataclass(frozen=True, eq=False)
class _Line:
    """An identity group on [−1, 1], its error η, and what rounding adds to it."""

    group: Anchors
    error: float
    rounding: float

    @property
    def delta(self) -> float:
        """δ, which bounds |d log D/dq|."""
        return float(self.group.slopes[-1])

    @property
    def slope(self) -> float:
        """S, which bounds F′."""
        return 1 + self.delta**2 / 4

    @property
    def total(self) -> float:
        return self.error + self.rounding


@dataclass(frozen=True, eq=False)
class _Plan:
    """What all heads share: the frame of their scores, the identity, and how steep edges are."""

    centre: float
    unit: float
    width: int
    line: _Line
    kink: float
    jump: float

    def group(self, low: float, high: float, slot: int, base: np.ndarray) -> Anchors:
        """The identity less ``base`` between low and high, y in one coordinate."""
        middle, half = low + (high - low) / 2, (high - low) / 2
        values = np.tile(-base, (len(self.line.group), 1))
        values[:, slot] += middle + half * self.line.group.values[:, 0]
        here = replace(self.line.group, values=values, centre=middle, unit=half)
        return moved(here, self.centre, self.unit)

    def constant(self, value: np.ndarray) -> Anchors:
        """The single anchor of a constant."""
        return replace(constant(value), centre=self.centre, unit=self.unit)

    def steps(self, halves: np.ndarray) -> list[float]:
        """How much steeper, in 1/y, scores become at the edges of runs of these half-lengths."""
        first, last = self.kink + self.line.delta / halves[[0, -1]]
        return [first, *[self.jump] * (len(halves) - 1), last]


def ramp(
    stretches: Sequence[Stretch],
    *,
    places: int | None = None,
    width: int = 1,
    band: float = math.inf,
    error: float | None = None,
) -> tuple[list[Anchors], float]:
    """Heads for consecutive stretches, one for each, that add up to the target, and their bound.

    Args:
        stretches: Where each head is in charge, from a to b in order.
        places: Anchors of each head; silent ones fill what is left. Without it there are three for
            each run, and two for the constants.
        width: The number of coordinates.
        band: τ, the distance from a jump from which on the bound holds.
        error: The largest error allowed, for a single run; without it, about the least that
            float64 lets one see.
    """
    low, high = float(stretches[0].edges[0]), float(stretches[-1].edges[-1])
    largest = max(abs(low), abs(high))
    halves = np.concatenate([stretch.halves for stretch in stretches])
    longest, shortest = float(halves.max()), float(halves.min())
    _require_resolvable(low, high, shortest)
    reach, tau = high / 2 - low / 2, min(band, shortest)
    runs = max(len(stretch) for stretch in stretches)
    alone = len(halves) == 1
    sums = (8 + 4 * len(stretches)) * ROUNDOFF * largest
    relative = None if error is None else (error - sums) / longest
    noise = 0.0 if runs == 1 else runs * LEAK * reach / tau
    line = _line(_size(runs, places), relative, noise)
    rest = line.total if relative is None else relative - line.total
    b = max(2.0, line.slope * TURN / rest) / longest
    b = b if alone else max(b, LEAK / tau)
    jump = LEAK / tau + 2 * line.delta / shortest
    unit = 2.0 ** math.ceil(math.log2(reach))  # a power of two: it rounds no query
    plan = _Plan(low + reach, unit, width, line, b, jump)

    heads = [_head(stretch, plan, number > 0) for number, stretch in enumerate(stretches)]
    bound = longest * line.error * (1.0 if alone else 1.5) + line.slope * TURN / b
    if not alone:
        bound += 5 * math.exp(-LEAK) * (2 * largest + longest * line.error + line.slope * tau)
    bound += max(_rounding(*each, plan) for each in zip(heads, stretches, strict=True))
    bound += sums
    if places is None:
        return heads, bound
    return [filled(head, places) for head in heads], bound


def filled(head: Anchors, places: int) -> Anchors:
    """The same head with at least so many anchors: silent ones, beside the last, fill the places.

    Copies that share its weight, as in ``pad``, would be as good on paper. But values of size h/δ
    cancel in the sum over all anchors, and each further term of it may round by uh/δ. The value is
    the last one's, for y so far away that scores swallow ``SILENCE``.
    """
    spare = max(places - len(head), 0)
    silent = np.full(spare, head.intercepts[-1] - SILENCE)
    return replace(
        head,
        slopes=np.append(head.slopes, np.full(spare, head.slopes[-1])),
        intercepts=np.append(head.intercepts, silent),
        values=np.concatenate([head.values, np.repeat(head.values[-1:], spare, axis=0)]),
    )


def segment(error: float) -> tuple[Anchors, float]:
    """The identity on [0, 1] within ``error`` by three anchors, and its bound.

    Its slope is 3(1 + 2c)/(c + 2)² with c = cosh δq ≥ 1: nowhere more than 1.
    """
    line = _line(3, 2 * error)
    values = 0.5 + line.group.values / 2
    return replace(line.group, values=values, centre=0.5, unit=0.5), line.total / 2


def _head(stretch: Stretch, plan: _Plan, later: bool) -> Anchors:
    """The target from the stretch's first edge to its last; ``later`` heads begin at 0."""
    edges, slots, axes = stretch.edges, stretch.slots, np.eye(plan.width)
    start = edges[0] * axes[stretch.entry]
    base = start if later else np.zeros(plan.width)
    groups = [plan.constant(start - base)]
    groups += [plan.group(edges[m], edges[m + 1], slot, base) for m, slot in enumerate(slots)]
    groups.append(plan.constant(edges[-1] * axes[slots[-1]] - base))
    return joined(groups, edges, plan.steps(stretch.halves), plan.centre, plan.unit)


def _size(runs: int, places: int | None) -> int:
    """How many anchors an identity group has: three where there is room, as they round less."""
    if places is None or places >= 3 * runs + 2:
        return 3
    if places >= 2 * runs + 2:
        return 2
    what = f"slots has {runs} runs in one head, which take" if runs > 1 else "a ramp takes"
    raise InputError(
        f"anchors='graded' has {places} anchors a head, where {what} {2 * runs + 2}; "
        f"use anchors='uniform', or more anchors a head"
    )


def _line(size: int, error: float | None, noise: float = 0.0) -> _Line:
    """An identity group within ``error``, in units of half its length, that leaves room for kinks.

    Rounding costs r/δ, r = (8 + 4Ω)u with Ω at most ``noise`` + 2; with that the total is least
    where δ³ = 6r for two anchors and δ⁵ = 45r for three. A larger δ is taken where η may be larger.
    """
    r = (8 + 4 * (noise + 2)) * ROUNDOFF
    best = (6 * r) ** (2 / 3) / 12 if size == 2 else (45 * r) ** (4 / 5) / 180
    group, eta = identity(size, max(best, (error or 0.0) / 3))
    line = _Line(group, eta, r / float(group.slopes[-1]))
    if error is not None and ABOVE_LEAST * line.total > error:
        raise PrecisionError(
            f"error is so small that rounding alone, a {line.total:.1e} part of half of what a ramp "
            f"contributes, exceeds it; ask for a larger error or a smaller domain"
        )
    return line


def _rounding(head: Anchors, stretch: Stretch, plan: _Plan) -> float:
    """(8 + 4Ω)uh/δ, the largest over the head's identity groups, with the scores they really have."""
    size, worst = len(plan.line.group), 0.0
    ends = (np.asarray(stretch.edges) - plan.centre) / plan.unit
    for m, half in enumerate(stretch.halves):
        own = slice(1 + size * m, 1 + size * (m + 1))
        farthest = float(np.abs(ends[m : m + 2]).max())
        scores = np.abs(head.slopes[own]) * farthest + np.abs(head.intercepts[own])
        worst = max(worst, (8 + 4 * float(scores.max())) * half)
    return worst * ROUNDOFF / plan.line.delta


def _require_resolvable(low: float, high: float, half: float) -> None:
    """Check that float64 tells points of the shortest run apart, and that no weight will overflow."""
    largest = max(abs(low), abs(high))
    if largest > LARGEST:
        raise PrecisionError(
            f"low {low} and high {high} are so large that weights would overflow float64; "
            f"scale the range down"
        )
    if half < 2.0**10 * np.spacing(largest) or half < 1 / LARGEST:
        raise PrecisionError(
            f"a run of anchors between low {low} and high {high} is only {2 * half:.3g} long, too "
            f"short for float64 there; use fewer anchors, a wider range, or scale the range up"
        )
