"""What a user gives as a target, as one function from points (n × variables) to values (n × width)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anchorhead.domain import Box, Interval
from anchorhead.errors import InputError, ShapeError

__all__ = ["Given", "box_of", "given"]

LARGEST = 1e290
"""Domains reach no farther, and are no narrower than its inverse."""

FAILURES = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a function may raise that does not take what it is given."""

PROBES = 5, 7
"""Numbers of points of the first calls: from the two the layout of the answer is told."""


@dataclass(frozen=True, eq=False)
class Given:
    """A target of checked form on a box of one row: the variables, by name where they have one.

    ``call`` is the target as it was given, as a function of a list with one array for each variable.
    """

    call: Callable[[Sequence[Any]], Any]
    values: Callable[[np.ndarray], np.ndarray]
    box: Box
    names: tuple[str, ...] | None
    width: int

    def on_line(self, y: np.ndarray) -> np.ndarray:
        """The values of a target of one variable at points y (n): n × width."""
        return self.values(y[:, None])


def given(target: Any, domain: Any) -> Given:
    """Check a target and its domain.

    Args:
        target: A callable of one array for each variable, or of one array n × variables if it takes a
            single argument where there are several variables. It answers with an array of one value
            for each point, with several along the last (or first) axis, or with a tuple of arrays. A
            function that takes only plain numbers is called point by point.
        domain: A pair, a list of pairs, a dict of name to pair, an ``Interval`` or a ``Box``.

    Raises:
        InputError: The target is no such function, or is not finite somewhere.
        ShapeError: The domain is no box, or the answers have the wrong shape.
    """
    names = tuple(domain) if isinstance(domain, Mapping) else None
    box = box_of(domain)
    if not callable(target):
        raise InputError(
            f"target is of type {type(target).__name__} where a function of arrays is needed; give a "
            f"callable"
        )
    call = _by_variable(target, box.low.size, names)
    points = [box.low + (box.high - box.low) * _spread(n, box.low.size) for n in PROBES]
    shaped = _vectorised(call, points) or _pointwise(call)
    width = shaped(points[0]).shape[1]

    def values(X: np.ndarray) -> np.ndarray:
        if not len(X):
            return np.empty((0, width))
        answer = shaped(X)
        if not np.isfinite(answer).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(answer))[0])
            raise InputError(
                f"target is {answer[row, column]} at {_written(X[row], names)}; choose a domain on "
                f"which it is finite"
            )
        return answer

    values(np.stack([box.low, box.high]))
    return Given(call, values, box, names, width)


def box_of(domain: Any) -> Box:
    """A domain of one row: a pair, a list of pairs, a dict of name to pair, an interval or a box."""
    if isinstance(domain, Mapping):
        domain = list(domain.values())
    if not isinstance(domain, Box | Interval):
        pairs = np.asarray(domain, dtype=object)
        domain = [domain] if pairs.shape == (2,) else domain
        domain = np.asarray(domain).tolist() if isinstance(domain, np.ndarray) else domain
    box = Box.of(domain)
    if box.low.ndim != 1:
        raise ShapeError(
            f"domain bounds an array of shape {box.shape}; give one pair (low, high) for each variable"
        )
    for i, (low, high) in enumerate(zip(box.low, box.high, strict=True)):
        if not high > low:
            raise InputError(
                f"domain has variable {i} between {low} and {high}; give a range, low below high"
            )
        if not max(abs(low), abs(high)) < LARGEST or not high - low > 1 / LARGEST:
            raise InputError(
                f"domain has variable {i} between {low} and {high}, too large or too narrow for "
                f"floating point to scale; scale the variable to moderate size"
            )
    return box


def _by_variable(
    target: Callable, count: int, names: tuple[str, ...] | None
) -> Callable[[Sequence[Any]], Any]:
    """The target as a function of a list with one array, or one number, for each variable."""
    parameters, most = _parameters(target)
    if count > 1 and len(parameters) == 1 and most != count and not parameters[0].startswith("*"):
        return lambda columns: target(np.stack(columns, axis=-1))
    known = _by_name(target)
    if names is not None and set(names) & known:
        if not set(parameters) <= set(names) <= known:
            raise InputError(
                f"domain has the names {', '.join(names)} where target takes "
                f"{', '.join(sorted(known))}; give the same names, or a list of pairs in its order"
            )
        return lambda columns: target(**dict(zip(names, columns, strict=True)))
    return lambda columns: target(*columns)


def _parameters(target: Callable) -> tuple[list[str], int]:
    """The arguments that a call must give, and how many it may give in order.

    ``*`` stands before the name of a variable number.
    """
    try:
        found = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return [], 0
    placed = [p for p in found if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    needed = [
        "*" + p.name if p.kind is p.VAR_POSITIONAL else p.name
        for p in placed
        if p.default is p.empty
    ]
    return needed, len(placed)


def _by_name(target: Callable) -> set[str]:
    """The arguments that a call may give by name."""
    try:
        found = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return set()
    return {p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def _spread(count: int, variables: int) -> np.ndarray:
    """A few points inside the unit cube, no two alike in any variable."""
    steps = (np.arange(count) + 0.31) / count
    return np.stack([np.roll(steps, i) for i in range(variables)], axis=1)


def _vectorised(
    call: Callable[[Sequence[Any]], Any], probes: Sequence[np.ndarray]
) -> Callable[[np.ndarray], np.ndarray] | None:
    """The call with its answer as points × width; None if it does not take arrays."""
    try:
        with np.errstate(all="ignore"):
            answers = [_as_array(call(list(X.T))) for X in probes]
    except FAILURES:
        return None
    shapes = [answer.shape for answer in answers]
    counts = [len(X) for X in probes]
    if all(shape[:1] == (n,) and len(shape) <= 2 for shape, n in zip(shapes, counts, strict=True)):
        first = 0
    elif all(shape[1:] == (n,) for shape, n in zip(shapes, counts, strict=True)):
        first = 1
    else:
        return None

    def shaped(X: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            answer = _as_array(call(list(X.T)))
        answer = answer.T if first else answer
        if len(answer) != len(X):
            raise ShapeError(
                f"target answers {len(X)} points with {len(answer)} values; give one for each"
            )
        return answer.reshape(len(X), -1)

    alone, all_of_them = shaped(probes[1][2:5]), shaped(probes[1])[2:5]
    if not np.allclose(alone, all_of_them, rtol=1e-9, atol=1e-300, equal_nan=True):
        raise InputError(
            "target gives a point another value when it is asked for other points too; "
            "give a function of each point by itself"
        )
    return shaped


def _pointwise(
    call: Callable[[Sequence[Any]], Any],
) -> Callable[[np.ndarray], np.ndarray]:
    """The call made point by point, with plain numbers."""

    def one(x: np.ndarray) -> np.ndarray:
        try:
            return _as_array(call([float(number) for number in x])).ravel()
        except FAILURES as error:
            raise InputError(
                f"target fails at {_written(x, None)} ({error}); give a function of arrays or numbers, "
                f"one argument for each variable, that is defined on the whole domain"
            ) from None

    def shaped(X: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.stack([one(x) for x in X])

    return shaped


def _as_array(answer: Any) -> np.ndarray:
    """An answer as an array of floats; a tuple or list holds one array for each output."""
    if isinstance(answer, tuple | list):
        answer = np.stack(np.broadcast_arrays(*(np.asarray(part) for part in answer)), axis=-1)
    array = np.asarray(answer)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"an answer of {array.dtype} numbers")
    return array.astype(float)


def _written(point: np.ndarray, names: tuple[str, ...] | None) -> str:
    if len(point) == 1 and names is None:
        return f"{point[0]:.10g}"
    called = names or tuple(f"x{i}" for i in range(len(point)))
    return ", ".join(f"{name} = {x:.10g}" for name, x in zip(called, point, strict=True))
