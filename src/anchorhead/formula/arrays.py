"""NumPy's functions of arrays, on object arrays of expressions.

A function that only moves entries, or adds and multiplies them, is NumPy's own: expressions can do
arithmetic. The others, which would compare entries or ask for floats, are written here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from anchorhead.formula.canonical import call
from anchorhead.formula.elementary import (
    ELEMENTARY,
    Condition,
    chosen,
    compared,
    joined,
    term,
    truth,
)
from anchorhead.formula.exact import NotTraceable
from anchorhead.formula.expression import Node, number

__all__ = [
    "LINEAR",
    "MOVING",
    "WRITTEN",
    "entrywise",
    "exactly",
    "extreme",
    "numeric",
    "objects",
    "quantified",
    "where",
]

MOVING = (
    *("append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block"),
    *("broadcast_arrays", "broadcast_to", "column_stack", "compress", "concatenate"),
    *("copy", "delete", "diag", "diagflat", "diagonal", "dsplit", "dstack", "expand_dims"),
    *("flip", "fliplr", "flipud", "hsplit", "hstack", "insert", "meshgrid", "moveaxis"),
    *("pad", "ravel", "repeat", "reshape", "resize", "roll", "rollaxis", "rot90", "split"),
    *("squeeze", "stack", "swapaxes", "take", "take_along_axis", "tile", "transpose"),
    *("tril", "triu", "vsplit", "vstack"),
)
"""NumPy's functions that move entries and never look at them."""

LINEAR = (
    *("average", "convolve", "correlate", "cross", "cumprod", "cumsum", "diff", "dot"),
    *("einsum", "inner", "kron", "mean", "outer", "prod", "sum", "tensordot", "trace"),
    "trapezoid",
)
"""NumPy's functions that add, multiply and divide entries."""


def objects(value: Any) -> np.ndarray:
    """One number or expression, or an array or nested list of them, as an object array, exactly."""
    array = np.empty((), dtype=object)
    if isinstance(value, list | tuple | np.ndarray):
        array = np.array(value, dtype=object)
    else:
        array[()] = value
    return entrywise(exactly, array)


def exactly(entry: Any) -> Node | Condition:
    """An expression; of a truth value, a condition."""
    if isinstance(entry, Node | Condition):
        return entry
    return truth(entry) if isinstance(entry, bool | np.bool_) else number(entry)


def entrywise(rule: Callable, *arrays: np.ndarray) -> np.ndarray:
    """The rule for each entry of broadcast arrays."""
    answer = np.frompyfunc(rule, len(arrays), 1)(*arrays)
    if isinstance(answer, np.ndarray):
        return answer
    array = np.empty((), dtype=object)
    array[()] = answer
    return array


def numeric(array: np.ndarray) -> np.ndarray:
    """The array with conditions counted as 1 and 0."""
    return entrywise(term, array)


def reduced(
    rule: Callable[..., Any], array: np.ndarray, axis: Any = None, keepdims: bool = False
) -> np.ndarray:
    """The rule of all entries along one axis, several, or all."""
    axes = range(array.ndim) if axis is None else np.atleast_1d(axis).tolist()
    axes = sorted(int(a) % max(array.ndim, 1) for a in axes) if array.ndim else []
    kept = [a for a in range(array.ndim) if a not in axes]
    rows = array.transpose(*kept, *axes).reshape(math.prod(array.shape[a] for a in kept), -1)
    shape = [1 if a in axes else n for a, n in enumerate(array.shape)]
    answer = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        answer[i] = rule(*row)
    return answer.reshape(shape if keepdims else [array.shape[a] for a in kept])


def absent(out: Any) -> None:
    """Raise if an array to write to is given by its place."""
    if out is not None:
        raise NotTraceable("it gives the array to write to by its place; use out=")


def extreme(function: str) -> Callable:
    """np.max or np.min."""

    def rule(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> np.ndarray:
        absent(out)
        return reduced(lambda *row: call(function, *row), numeric(objects(a)), axis, keepdims)

    return rule


def quantified(relation: str) -> Callable:
    """np.all or np.any."""

    def rule(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> np.ndarray:
        absent(out)
        return reduced(lambda *row: joined(relation, *row), objects(a), axis, keepdims)

    return rule


def spread(a: Any, axis: Any = None, keepdims: bool = False) -> np.ndarray:
    """The largest entry less the smallest."""
    return extreme("max")(a, axis, None, keepdims) - extreme("min")(a, axis, None, keepdims)


def variance(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, **options: Any
) -> np.ndarray:
    """The mean squared distance from the mean."""
    absent(out)
    a = numeric(objects(a))
    keep = options.get("keepdims", False)
    away = a - np.mean(a, axis=axis, keepdims=True)
    sums = np.sum(away * away, axis=axis, keepdims=True)
    answer = sums / (a.size // sums.size - ddof)
    return answer if keep else answer.reshape(np.shape(np.sum(a, axis=axis)))


def deviation(a: Any, *arguments: Any, **options: Any) -> np.ndarray:
    """The root of the variance."""
    return entrywise(ELEMENTARY["sqrt"], variance(a, *arguments, **options))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> np.ndarray:  # noqa: A002
    """The 2-, 1- or ∞-norm of vectors; of a matrix, the root of the sum of squares."""
    x = numeric(objects(x))
    flat = axis is None or np.ndim(axis) > 0
    if ord in ("fro", None) or (ord == 2 and not (flat and x.ndim > 1)):
        squares = objects(np.sum(x * x, axis=axis, keepdims=keepdims))
        return entrywise(ELEMENTARY["sqrt"], squares)
    if ord in (1, np.inf) and not (flat and x.ndim > 1):
        sizes = entrywise(ELEMENTARY["absolute"], x)
        sums = np.sum(sizes, axis=axis, keepdims=keepdims)
        return sums if ord == 1 else extreme("max")(sizes, axis, None, keepdims)
    raise NotTraceable(f"it uses np.linalg.norm with ord={ord!r}, which has no formula; use 2")


def where(condition: Any, *choices: Any) -> np.ndarray:
    """Entries of one array or the other."""
    if len(choices) != 2:
        raise NotTraceable("it uses np.where without two choices; give both")
    return entrywise(chosen, objects(condition), *map(objects, choices))


def select(conditions: Any, choices: Any, default: Any = 0) -> np.ndarray:
    """The first choice whose condition holds."""
    answer = objects(default)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        answer = where(condition, choice, answer)
    return answer


def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **bounds: Any
) -> np.ndarray:
    """min(max(a, low), high), a bound at most where there is one."""
    absent(out)
    answer = objects(a)
    low, high = bounds.pop("min", a_min), bounds.pop("max", a_max)
    if low is not None and not _is(low, -np.inf):
        answer = entrywise(ELEMENTARY["maximum"], answer, objects(low))
    if high is not None and not _is(high, np.inf):
        answer = entrywise(ELEMENTARY["minimum"], answer, objects(high))
    return answer


def _is(bound: Any, infinity: float) -> bool:
    return isinstance(bound, float | np.floating) and bound == infinity


def interpolated(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: None = None
) -> np.ndarray:
    """The broken line through points."""
    if period is not None:
        raise NotTraceable("it uses np.interp with a period, which has no formula; leave it out")
    places, values = objects(xp).tolist(), objects(fp).tolist()

    def rule(y: Node) -> Node:
        answer = values[-1]
        if right is not None:
            answer = chosen(compared(">", y, places[-1]), right, answer)
        corners = list(zip(places, values, strict=True))
        for (a, u), (b, v) in reversed(list(pairwise(corners))):
            answer = chosen(compared(">=", y, b), answer, u + (v - u) / (b - a) * (y - a))
        return chosen(compared(">=", y, places[0]), answer, values[0] if left is None else left)

    return entrywise(rule, numeric(objects(x)))


def polynomial(p: Any, x: Any) -> np.ndarray:
    """By Horner's rule, highest power first."""
    x, answer = numeric(objects(x)), objects(0)
    for coefficient in objects(p):
        answer = objects(answer * x + coefficient)
    return answer


def filled(value: Any) -> Callable:
    """np.zeros_like and its kin."""

    def rule(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None):
        array = np.empty(np.shape(a) if shape is None else shape, dtype=object)
        if dtype is not None and np.dtype(dtype).kind in "biu":
            return np.full(array.shape, value, dtype=dtype)
        array[...] = number(value)
        return array

    return rule


def full(a: Any, fill_value: Any, dtype: Any = None, **options: Any) -> np.ndarray:
    """np.full_like."""
    array = filled(0)(a, dtype, **options)
    array[...] = objects(fill_value) if array.dtype == object else fill_value
    return array


WRITTEN: dict[Callable, Callable] = {
    np.max: extreme("max"),
    np.amax: extreme("max"),
    np.min: extreme("min"),
    np.amin: extreme("min"),
    np.all: quantified("and"),
    np.any: quantified("or"),
    np.ptp: spread,
    np.var: variance,
    np.std: deviation,
    np.linalg.norm: norm,
    np.where: where,
    np.select: select,
    np.clip: clip,
    np.interp: interpolated,
    np.polyval: polynomial,
    np.sinc: lambda x: entrywise(ELEMENTARY["sinc"], objects(x)),
    np.real: objects,
    np.vdot: lambda a, b: np.dot(numeric(objects(a)).ravel(), numeric(objects(b)).ravel()),
    np.zeros_like: filled(0),
    np.empty_like: filled(0),
    np.ones_like: filled(1),
    np.full_like: full,
    np.shape: lambda a: objects(a).shape,
    np.ndim: lambda a: objects(a).ndim,
    np.size: lambda a, axis=None: np.size(objects(a), axis),
    np.iscomplexobj: lambda x: False,
    np.result_type: lambda *things: np.dtype(float),
}
"""What these do instead of NumPy's own."""
