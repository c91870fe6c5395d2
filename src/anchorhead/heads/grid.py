"""One head for a function of several variables: anchors on a grid, one row of them for each variable.

Scores add over the variables, s_{j…k}(y) = s_j(y₁) + … + s_k(y_d), so the weights of the softmax
factorise into those of heads of one variable each, and the output is

    F(y) = Σ_{j…k} p_j(y₁) ⋯ p_k(y_d) v_{j…k},

V contracted with one vector of weights a variable. On a grid of points it is V contracted with one
matrix P_a a variable, and its values are solved variable by variable: V = F ×₁ P₁⁺ … ×_d P_d⁺.

With L_a = P_a P_a⁺, what variable a makes of a function, the error is at most Σ_a ‖L_1‖ ⋯ ‖L_{a−1}‖
‖(1 − L_a) f‖: the errors of the variables add up, times a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anchorhead.errors import InputError, ShapeError, require_array
from anchorhead.heads.anchors import Anchors
from anchorhead.heads.response import Precision, as_stored, weights
from anchorhead.layers import Attention, Head, Linear, Term, require_parts
from anchorhead.network import Network

__all__ = [
    "Lattice",
    "Measured",
    "Target",
    "apply",
    "factors",
    "measured",
    "network",
    "solved",
    "stored",
]

Target = Callable[[np.ndarray], np.ndarray]
"""Takes points (m × variables) to values (m × width)."""

BLOCK = 2**20
"""About the largest number of entries of one intermediate array."""

WORST = 32
"""The points of a grid around which the error is looked at more closely."""

AROUND = 64
"""Points looked at around each of them."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """p₁ × … × p_d anchors: the keys of one head for each variable, and p₁ × … × p_d × width values.

    Of the heads in ``axes`` only slopes, intercepts, centre and unit count.
    """

    axes: tuple[Anchors, ...]
    values: np.ndarray

    def __post_init__(self):
        axes = require_parts("axes", self.axes, Anchors)
        if not axes:
            raise InputError("axes is empty; give one head of anchors for each variable")
        values = require_array("values", self.values)
        sizes = tuple(map(len, axes))
        if values.ndim != len(axes) + 1 or values.shape[:-1] != sizes:
            raise ShapeError(
                f"values has shape {values.shape} where the axes have {sizes} anchors; give it that "
                f"shape and one dimension more, the width"
            )
        values.setflags(write=False)
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "values", values)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many anchors each variable has."""
        return self.values.shape[:-1]

    @property
    def width(self) -> int:
        """Entries of one value."""
        return self.values.shape[-1]

    @property
    def keys(self) -> np.ndarray:
        """The keys for queries ((y₁ − centre₁)/unit₁, …, 1): a slope each, and the intercepts' sum."""
        slopes = np.meshgrid(*(axis.slopes for axis in self.axes), indexing="ij")
        intercepts = np.meshgrid(*(axis.intercepts for axis in self.axes), indexing="ij")
        columns = [*slopes, np.sum(intercepts, axis=0)]
        return np.stack([column.ravel() for column in columns], axis=1)

    @property
    def flat_values(self) -> np.ndarray:
        """The values in the order of the keys, anchors × width."""
        return self.values.reshape(-1, self.width)

    def __len__(self) -> int:
        return math.prod(self.sizes)


@dataclass(frozen=True, eq=False)
class Measured:
    """The largest error found, with what rounding may add; that part by itself; and where it is."""

    error: float
    rounding: float
    where: np.ndarray


def network(head: Lattice) -> Network:
    """The network n×d → n×width, for any n, that applies the head to every token.

    The linear map writes the query ((y₁ − centre₁)/unit₁, …, (y_d − centre_d)/unit_d, 1). The head
    sees only its anchors, which stand beside the tokens as constant keys and values.
    """
    if not isinstance(head, Lattice):
        raise InputError(
            f"head is a {type(head).__name__}; give a Lattice, such as grid.solved makes"
        )
    d = len(head.axes)
    units = np.array([axis.unit for axis in head.axes])
    centres = np.array([axis.centre for axis in head.axes])
    query = Linear(
        (None, d),
        (None, d + 1),
        (Term(features=np.eye(d, d + 1) / units[:, None]),),
        np.append(-centres / units, 1.0)[None],
    )
    reading = Head(
        query=np.eye(d + 1),
        anchor_keys=head.keys,
        anchor_values=head.flat_values,
        sees="anchors",
    )
    return Network((query, Attention((reading,))))


def solved(
    axes: Sequence[Anchors],
    target: Target,
    points: Sequence[np.ndarray],
    damping: float,
    shares: Sequence[np.ndarray] | None = None,
) -> Lattice:
    """The values with which heads of one variable each make up the target, by least squares.

    Variable by variable they minimise ‖W_a (P_a V − F)‖² + damping² ‖V‖² over the grid of ``points``,
    one row of points for each variable, and one of ``shares`` W_a if points do not count alike. The
    target is asked for a part of the grid at a time.
    """
    shares = [np.ones(len(y)) for y in points] if shares is None else shares
    for name, rows in (("points", points), ("shares", shares)):
        if len(rows) != len(axes):
            raise ShapeError(
                f"{name} has {len(rows)} rows where axes has {len(axes)}; give one for each"
            )
    axes = _aligned(axes)
    solvers = [
        factors(weights(axis, y), W, damping)
        for axis, y, W in zip(axes, points, shares, strict=True)
    ]
    return Lattice(tuple(axes), _values(target, solvers, points, ()))


def _aligned(axes: Sequence[Anchors]) -> list[Anchors]:
    """The heads with intercepts whose sums float64 holds exactly: multiples of one power of two.

    So the weights of the grid's keys are products, exactly, as a proof wants them.
    """
    size = sum(float(np.abs(axis.intercepts).max()) for axis in axes)
    step = math.ldexp(1.0, math.frexp(size)[1] - 52)
    return [replace(axis, intercepts=np.round(axis.intercepts / step) * step) for axis in axes]


def factors(P: np.ndarray, W: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray]:
    """Q and R with R V = Q F for the V that minimises ‖W (P V − F)‖² + damping² ‖V‖², W diagonal."""
    Q, R = np.linalg.qr(np.concatenate([W[:, None] * P, damping * np.eye(P.shape[1])]))
    return Q[: len(P)].T * W, R


def _values(
    target: Target,
    solvers: Sequence[tuple[np.ndarray, np.ndarray]],
    points: Sequence[np.ndarray],
    fixed: tuple[float, ...],
) -> np.ndarray:
    """The values over all variables but the first ones, which are ``fixed``."""
    done = len(fixed)
    sizes = [len(y) for y in points[done:]]
    if math.prod(sizes) * len(points) > BLOCK and len(sizes) > 1:
        parts = [_values(target, solvers, points, (*fixed, y)) for y in points[done]]
        V, unsolved = np.stack(parts), 1
    else:
        F = target(_grid([np.array([y]) for y in fixed] + list(points[done:])))
        V, unsolved = F.reshape(*sizes, -1), len(sizes)
    for axis in range(unsolved):
        Q, R = solvers[done + axis]
        flat = np.moveaxis(V, axis, 0)
        solution = np.linalg.solve(R, Q @ flat.reshape(len(flat), -1))
        V = np.moveaxis(solution.reshape(-1, *flat.shape[1:]), 0, axis)
    return V


def _grid(points: Sequence[np.ndarray]) -> np.ndarray:
    """All points of a grid, the last variable changing fastest."""
    return np.stack([y.ravel() for y in np.meshgrid(*points, indexing="ij")], axis=1)


def stored(head: Lattice, dtype: Precision) -> Lattice:
    """The head with its numbers rounded to ``dtype``."""
    axes = tuple(
        replace(
            axis,
            slopes=as_stored(axis.slopes, dtype),
            intercepts=as_stored(axis.intercepts, dtype),
        )
        for axis in head.axes
    )
    return Lattice(axes, as_stored(head.values, dtype))


def apply(head: Lattice, X: np.ndarray) -> np.ndarray:
    """F at points X (m × variables), in float64, variable by variable: m × width."""
    return _at_points(head, head.values, X)


def measured(
    head: Lattice, target: Target, points: Sequence[np.ndarray], dtype: Precision
) -> Measured:
    """How far the head, its numbers as ``dtype`` stores them, is from the target at most.

    Looked at on the grid of ``points``, one row for each variable, and then between the neighbours of
    those points where the error is largest. What rounding in ``dtype`` may add is counted in.
    """
    head = stored(head, dtype)
    apart, moved, where = [], 0.0, []
    for first, Ws in _blocks(head, points):
        grid = [points[0][first], *points[1:]]
        F = _on_grid(_moments(head), Ws)
        rounding = _rounding(F, head, grid, dtype, along_grid=True)
        answer = F[..., : head.width].reshape(-1, head.width)
        error = np.abs(answer - target(_grid(grid))).max(axis=1) + rounding.reshape(-1)
        moved = max(moved, float(rounding.max()))
        top = np.argsort(error)[-WORST:]
        index = np.stack(np.unravel_index(top, F.shape[:-1]), axis=1)
        index[:, 0] += first.start
        where.append(index)
        apart.append(error[top])
    error, index = np.concatenate(apart), np.concatenate(where)
    worst = index[np.argsort(error)[-WORST:]]
    X = _between(points, worst)
    F = _at_points(head, _moments(head), X)
    near = np.abs(F[:, : head.width] - target(X)).max(axis=1)
    near += _rounding(F, head, list(X.T), dtype, along_grid=False)
    if near.max() > error.max():
        return Measured(float(near.max()), moved, X[near.argmax()])
    at = np.array([y[i] for y, i in zip(points, worst[-1], strict=True)])
    return Measured(float(error.max()), moved, at)


def _between(points: Sequence[np.ndarray], index: np.ndarray) -> np.ndarray:
    """Points all around those with these indices, as far as their neighbours."""
    spread = np.random.default_rng(0).uniform(-1, 1, (AROUND, len(points)))
    shares = (index[:, None] + spread).reshape(-1, len(points))
    columns = [np.interp(s, np.arange(len(y)), y) for s, y in zip(shares.T, points, strict=True)]
    return np.stack(columns, axis=1)


def _blocks(
    head: Lattice, points: Sequence[np.ndarray]
) -> Iterator[tuple[slice, list[np.ndarray]]]:
    """Parts of the first row of points, each with all matrices of weights."""
    Ws = [weights(axis, y) for axis, y in zip(head.axes, points, strict=True)]
    row = math.prod(max(W.shape) for W in Ws[1:]) * max(3 * head.width, len(Ws))
    step = max(1, BLOCK // row)
    for start in range(0, len(points[0]), step):
        first = slice(start, start + step)
        yield first, [Ws[0][first], *Ws[1:]]


def _moments(head: Lattice) -> np.ndarray:
    """V, |V| and V² side by side."""
    return np.concatenate([head.values, np.abs(head.values), head.values**2], axis=-1)


def _on_grid(values: np.ndarray, Ws: Sequence[np.ndarray]) -> np.ndarray:
    """The values contracted with one matrix of weights a variable: points₁ × … × points_d × width."""
    for axis, W in enumerate(Ws):
        values = np.moveaxis(np.tensordot(W, values, (1, axis)), 0, axis)
    return values


def _at_points(head: Lattice, values: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The values contracted with the weights at each point: points × width."""
    rest = values[0].size
    step = max(1, BLOCK // max(rest, *head.sizes))
    answers = np.empty((len(X), values.shape[-1]))
    for start in range(0, len(X), step):
        block = X[start : start + step]
        answer = weights(head.axes[0], block[:, 0]) @ values.reshape(len(values), -1)
        for axis, y in zip(head.axes[1:], block.T[1:], strict=True):
            answer = answer.reshape(len(block), len(axis), -1)
            answer = np.einsum("yk,ykw->yw", weights(axis, y), answer)
        answers[start : start + step] = answer
    return answers


def _rounding(
    moments: np.ndarray,
    head: Lattice,
    points: Sequence[np.ndarray],
    dtype: Precision,
    along_grid: bool,
) -> np.ndarray:
    """How far rounding in ``dtype`` may move the output, to first order, given the ``moments`` there.

    As in ``response.rounding``: score k is wrong by at most w_k = Σ_a w^a_{k_a}, with w^a = (d + 2) u
    (|α^a q_a| + |γ^a|), as there are d + 1 terms to add. That moves the output by Σ p_k w_k |v_k − F|
    ≤ √(Σ p_k w_k²) √(Σ p_k v_k² − F²), and the weights of different variables being independent,
    Σ p w² = (Σ_a E w^a)² + Σ_a Var w^a. The sums of p terms add (2√p + 4) u Σ p_k |v_k|.
    """
    unit = float(np.finfo(dtype).eps) / 2
    d = len(head.axes)
    mean, variance = np.zeros(()), np.zeros(())
    for a, (axis, y) in enumerate(zip(head.axes, points, strict=True)):
        P, q = weights(axis, y), (y - axis.centre) / axis.unit
        wrong = (d + 2) * unit * (np.abs(q[:, None] * axis.slopes) + np.abs(axis.intercepts))
        first = (P * wrong).sum(axis=1)
        second = (P * (wrong - first[:, None]) ** 2).sum(axis=1)
        shape = [-1 if other == a else 1 for other in range(d)] if along_grid else [-1]
        mean = mean + first.reshape(shape)
        variance = variance + second.reshape(shape)
    answer, size, square = np.split(moments, 3, axis=-1)
    spread = np.sqrt(np.maximum(square - answer**2, 0))
    moved = np.sqrt(mean**2 + variance)[..., None] * spread
    return (moved + (2 * np.sqrt(len(head)) + 4) * unit * size).max(axis=-1)
