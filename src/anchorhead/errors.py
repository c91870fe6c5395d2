"""Every error a user can cause. Each says, in one sentence, which argument is wrong and what to do.

The ``require_*`` functions are the one place where arguments are checked: they either return the
argument in the form the library computes with, or raise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "AnchorheadError",
    "FileError",
    "FormError",
    "InputError",
    "MissingExtraError",
    "PrecisionError",
    "ShapeError",
    "SizeError",
    "require_array",
    "require_choice",
    "require_flag",
    "require_fraction",
    "require_integer",
    "require_number",
    "require_positive",
    "require_range",
    "require_shape",
    "require_sizes",
]


class AnchorheadError(Exception):
    """The base of every error that anchorhead raises on purpose."""


class InputError(AnchorheadError, ValueError):
    """An argument has a value that cannot be used."""


class ShapeError(InputError):
    """An array has the wrong shape."""


class PrecisionError(InputError):
    """What was asked for is finer than the floating-point numbers can tell apart."""


class SizeError(InputError):
    """What was asked for needs more than the limit allows; the caller may raise the limit."""


class FormError(AnchorheadError):
    """A network cannot be written in the form asked for."""


class FileError(AnchorheadError, OSError):
    """A file or folder cannot be read or written as a network."""


class MissingExtraError(AnchorheadError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str):
        super().__init__(
            f"this needs {package}, which is not installed; "
            f"install it with: pip install 'anchorhead[{extra}]'"
        )


def require_array(name: str, value: Any, *, dimensions: int | None = None) -> np.ndarray:
    """A float64 array of finite numbers, not empty, with as many ``dimensions`` as said.

    Plain Python numbers and nested lists are converted; an array of integers, booleans or complex
    numbers is refused, because it is more often a mistake than a wish. Symbols, which stand for an
    array of any numbers (``anchorhead.formula``), are taken as they are.
    """
    if getattr(type(value), "symbolic", False):
        return value
    if np.ma.isMaskedArray(value):
        raise InputError(f"{name} is a masked array; fill its gaps and pass a plain array")
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "fiub":
            raise TypeError
        array = given.astype(np.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise InputError(
            f"{name} is not an array of real numbers; pass a NumPy array of floats"
        ) from None
    if hasattr(value, "dtype") and given.dtype.kind in "iub":
        raise InputError(
            f"{name} holds {given.dtype} numbers where floats are needed; pass {name}.astype(float)"
        )
    if dimensions is not None and array.ndim != dimensions:
        raise ShapeError(
            f"{name} has shape {array.shape} where an array of {dimensions} dimensions is needed; "
            f"reshape it"
        )
    if array.size == 0:
        raise ShapeError(f"{name} is empty (shape {array.shape}); give it at least one entry")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = f"{name}{list(place)}" if place else name
        raise InputError(f"{where} is {array[place]}; replace NaN and infinity by finite numbers")
    return array


def require_shape(name: str, array: np.ndarray, shape: tuple[int | None, ...], reason: str) -> None:
    """Check that ``array`` has exactly this ``shape``; ``reason`` says where the shape comes from."""
    if array.shape != shape:
        raise ShapeError(f"{name} has shape {array.shape} where {shape} is needed ({reason})")


def require_sizes(name: str, value: Any) -> tuple[int, ...]:
    """A tuple of whole numbers of at least 1, the shape of an array."""
    if not isinstance(value, tuple | list):
        raise ShapeError(f"{name} is {value!r} where a tuple of whole numbers is needed")
    return tuple(require_integer(name, number, least=1) for number in value)


def require_integer(name: str, value: Any, *, least: int, reason: str = "") -> int:
    """An integer that is at least ``least``; ``reason`` says why it must be."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} is {value!r} where a whole number is needed") from None
    if number < least:
        because = f" ({reason})" if reason else ""
        raise InputError(f"{name} is {number} where at least {least} is needed{because}")
    return number


def require_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """One of the words in ``choices``."""
    if not isinstance(value, str) or value not in choices:
        words = " or ".join(repr(choice) for choice in choices)
        raise InputError(f"{name} is {value!r}; use {words}")
    return value


def require_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {value!r} where True or False is needed")
    return bool(value)


def require_number(name: str, value: Any) -> float:
    """One finite real number as a float."""
    try:
        if isinstance(value, str | bytes | bool):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r} where a number is needed") from None
    except OverflowError:
        raise InputError(f"{name} is beyond float64; give a smaller number") from None
    if not math.isfinite(number):
        raise InputError(f"{name} is {number} where a finite number is needed")
    return number


def require_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    number = require_number(name, value)
    if number <= 0:
        raise InputError(f"{name} is {number} where a number above 0 is needed")
    return number


def require_fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = require_number(name, value)
    if not 0 < number < 1:
        raise InputError(f"{name} is {number} where a number strictly between 0 and 1 is needed")
    return number


def require_range(low: Any, high: Any) -> tuple[float, float]:
    """Two finite numbers, the first below the second, whose difference is finite too."""
    low, high = require_number("low", low), require_number("high", high)
    if not low < high:
        raise InputError(
            f"low is {low} and high is {high}, where low must be below high; "
            f"give the smaller number as low"
        )
    if not math.isfinite(high - low):
        raise InputError(f"high − low overflows (low {low}, high {high}); give a narrower range")
    return low, high
