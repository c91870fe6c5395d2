"""Descent over meshes: variable projection, Levenberg and Marquardt's damping, many at once.

A head with score differences gap_j (u − place_j) + offset_j is linear in its values, so for every
mesh the best values are a least-squares problem, and what is left to minimise is a function of the
mesh alone: c(gaps, offsets) = min_v ‖W(P v − f)‖² + μ²‖v‖², P the weights at the sample points.
With D_k = p_k (v_k − F) and G_j = Σ_{k>j} D_k the derivatives of the output are ∂F/∂offset_j = G_j
and ∂F/∂gap_j = (u − place_j) G_j; projected off the range of P they are the Jacobian (Golub and
Pereyra, in Kaufman's form).

Gaps are free: one that passes through zero swaps two anchors, and breakpoints need not stay in
order. An anchor that nowhere weighs most still bends what lies beside it; a third of all anchors of
the best heads found are of that kind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.mesh import Mesh
from anchorhead.heads.response import softmax

__all__ = ["Samples", "descend"]

STAGES = ((21, 1, 0.85), (8, 8, 0.45), (2, 30, 0.22), (1, 50, 0.0))
"""How many starts are followed for how many steps: the best of each stage enter the next, unless
even they are hopeless. With e the error, s the target's size and g the goal that is so where e >
s^{share} g^{1 − share}, the third number the share: in a stage the error may fall by so much of
what is missing, on a log scale."""

FEW = 4
"""Heads of so many anchors are followed beyond their first step whatever their error: that costs next
to nothing."""

LOOK = 20
"""Steps between two looks at how fast the error falls; where that is too slow, the stage ends."""

PRODUCTS = 60_000
"""Weights times anchors whose products take about as long as all else in a step does."""

LEAST_DAMPING = 1e-13
"""Of a step; with less, two parameters that do the same make its equations singular."""

LARGEST_STEP = 10.0
"""No offset moves farther in one step: scores that jump leave the region where the model holds."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Points u, increasing, and the target there, points × width, as weighted for least squares."""

    points: np.ndarray
    values: np.ndarray
    weights: np.ndarray | None = None


@dataclass(eq=False)
class _State:
    """Several heads at once, one a row, with what a step needs to know of each."""

    gaps: np.ndarray
    offsets: np.ndarray
    P: np.ndarray
    Q: np.ndarray
    values: np.ndarray
    residual: np.ndarray
    cost: np.ndarray

    def rows(self, chosen: np.ndarray) -> _State:
        return _State(*(array[chosen] for array in vars(self).values()))

    def replaced(self, better: np.ndarray, other: _State) -> _State:
        """This state, with the rows that are ``better`` in ``other`` taken from there."""
        if better.all():
            return other
        if better.any():
            for mine, new in zip(vars(self).values(), vars(other).values(), strict=True):
                mine[better] = new[better]
        return self


def descend(
    samples: Samples, meshes: Mesh, goal: float, damping: float, stages=STAGES
) -> tuple[Anchors, float]:
    """The best head found from the starting ``meshes``, and the work it took in units of a step's.

    Stops as soon as its error, damping · max Σ_k p_k |v_k| included, is at most ``goal`` at the
    sample points, and where it sees that it will not get there; with goal 0 it goes on to the end.
    """
    problem = _Problem(samples, meshes, damping)
    state = problem.solved(meshes.gaps.copy(), meshes.offsets.copy())
    lam = np.full(len(state.cost), 1e-2)
    best, work = _Best(), 0.0
    size, many = float(np.abs(samples.values).max()), state.P.shape[2] > FEW
    for keep, steps, share in stages:
        if len(state.cost) > keep:
            chosen = np.argsort(state.cost, kind="stable")[:keep]
            state, lam = state.rows(chosen), lam[chosen]
            problem.places = problem.places[chosen]
        before = np.inf
        for step in range(steps):
            best.look(problem, state)
            if best.error <= goal or lam.min() > 1e10:
                break
            if goal > 0 and step % LOOK == 0:
                if best.error * (best.error / before) ** ((steps - step) / LOOK) > goal:
                    break
                before = best.error
            state, lam = _step(problem, state, lam)
            work += 1 + state.P.size * state.P.shape[2] / PRODUCTS
        hopeless = best.error > size**share * goal ** (1 - share)
        if goal > 0 and hopeless and (many or steps > 1):
            break
    best.look(problem, state)
    assert best.mesh is not None
    return best.mesh.anchors(best.values), work


@dataclass(eq=False)
class _Best:
    """The head of least error so far."""

    error: float = np.inf
    mesh: Mesh | None = None
    values: np.ndarray = field(default_factory=lambda: np.empty(0))

    def look(self, problem: _Problem, state: _State) -> None:
        """Keep the best of the state's heads if it is better."""
        errors = problem.errors(state)
        leader = int(errors.argmin())
        if self.mesh is None or errors[leader] < self.error:
            self.error, self.values = float(errors[leader]), state.values[leader].copy()
            gaps, offsets = state.gaps[leader].copy(), state.offsets[leader].copy()
            self.mesh = Mesh(gaps, offsets, problem.places[leader])


def _step(problem: _Problem, state: _State, lam: np.ndarray) -> tuple[_State, np.ndarray]:
    """One damped Gauss–Newton step of every head; a step that does not help is not taken."""
    J = problem.jacobian(state)
    r = np.moveaxis(state.residual, 2, 1).reshape(len(J), -1, 1)
    sizes = np.sqrt(np.square(J).sum(axis=1))
    sizes = np.maximum(sizes, 1e-9 * sizes.max(axis=1, keepdims=True) + 1e-150)
    J /= sizes[:, None]
    transposed = J.swapaxes(1, 2)
    H, count = transposed @ J, J.shape[2]
    least = 8 * count * np.finfo(float).eps
    H[:, np.arange(count), np.arange(count)] += np.maximum(lam, least)[:, None]
    move = -np.linalg.solve(H, transposed @ r)[..., 0] / sizes
    half = count // 2
    farthest = np.abs(move[:, half:]).max(axis=1)
    move *= np.minimum(1, LARGEST_STEP / np.maximum(farthest, 1e-300))[:, None]
    new = problem.solved(state.gaps + move[:, :half], state.offsets + move[:, half:])
    better = new.cost < state.cost
    lam = np.where(better, np.maximum(lam / 6, LEAST_DAMPING), np.maximum(lam * 5, 1e-12))
    return state.replaced(better, new), lam


class _Problem:
    """The least-squares problem of all starts: values for given meshes, and its derivatives."""

    def __init__(self, samples: Samples, meshes: Mesh, damping: float):
        u, f = samples.points, samples.values
        self.u, self.damping = u, damping
        self.W = np.ones(len(u)) if samples.weights is None else samples.weights
        self.places = meshes.places
        steep = np.abs(meshes.gaps).mean(axis=0)
        self.from_last = bool(steep[: len(steep) // 2].sum() > steep[-(len(steep) // 2) :].sum())
        anchors = meshes.gaps.shape[1] + 1
        self.goal = np.concatenate([f * self.W[:, None], np.zeros((anchors, f.shape[1]))])
        self.damped = damping * np.eye(anchors)

    def scores(self, gaps: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Scores up to what all anchors share: sums of differences, from the end with small gaps.

        From the other end, small differences would be lost on large sums.
        """
        steps = (self.u[:, None] - self.places[:, None, :]) * gaps[:, None] + offsets[:, None]
        scores = np.zeros((*steps.shape[:2], steps.shape[2] + 1))
        if self.from_last:
            np.cumsum(-steps[..., ::-1], axis=2, out=scores[..., -2::-1])
        else:
            np.cumsum(steps, axis=2, out=scores[..., 1:])
        return scores

    def solved(self, gaps: np.ndarray, offsets: np.ndarray) -> _State:
        P = softmax(self.scores(gaps, offsets))
        A = np.empty((len(P), *self.goal.shape[:1], P.shape[2]))
        np.multiply(P, self.W[:, None], out=A[:, : len(self.u)])
        A[:, len(self.u) :] = self.damped
        Q, R = np.linalg.qr(A)
        values = np.linalg.solve(R, Q.swapaxes(1, 2) @ self.goal)
        residual = A @ values - self.goal
        cost = np.square(residual).sum(axis=(1, 2))
        return _State(gaps, offsets, P, Q, values, residual, np.where(np.isnan(cost), np.inf, cost))

    def errors(self, state: _State) -> np.ndarray:
        apart = np.abs(state.residual[:, : len(self.u)] / self.W[:, None]).max(axis=(1, 2))
        sizes = (state.P @ np.abs(state.values)).max(axis=(1, 2))
        return apart + self.damping * sizes

    def jacobian(self, state: _State) -> np.ndarray:
        """Derivatives of the residuals, heads × (width · rows) × 2(p − 1), off the range of P."""
        values, P = state.values.swapaxes(1, 2), state.P
        output = state.P @ state.values
        D = P[:, None] * (values[:, :, None] - output.swapaxes(1, 2)[..., None])
        D *= self.W[:, None]
        G = np.cumsum(D[..., :0:-1], axis=3)[..., ::-1]
        heads, width, points, half = G.shape
        J = np.zeros((heads, width, points + half + 1, 2 * half))
        np.multiply(G, self.u[:, None] - self.places[:, None, None, :], out=J[:, :, :points, :half])
        J[:, :, :points, half:] = G
        Q = state.Q[:, None]
        J -= Q @ (Q.swapaxes(2, 3) @ J)
        return J.reshape(heads, -1, 2 * half)
