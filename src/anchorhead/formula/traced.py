"""Functions as formulas: called once, with symbols for numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anchorhead.errors import InputError
from anchorhead.formula.arrays import entrywise, numeric, objects
from anchorhead.formula.exact import NotTraceable
from anchorhead.formula.expression import name
from anchorhead.formula.symbols import Traced, bare
from anchorhead.formula.text import Formula, require_names, written

__all__ = ["trace"]


def trace(function: Callable[..., Any], *arguments: Any) -> Formula:
    """The formula that a function computes.

    Args:
        function: A function of NumPy arrays. It is called once, with arrays of symbols; NotTraceable
            says what it does that no formula does.
        arguments: For each argument of the function, an array (dtype object) or nested list of the
            names of variables, of the shape that the function takes.
    """
    layouts = [_layout(argument) for argument in arguments]
    variables = require_names("arguments", [entry for a in layouts for entry in a.flat])
    symbols = [Traced(entrywise(name, layout)) for layout in layouts]
    try:
        with np.errstate(all="ignore"):
            answer = _answer(function(*symbols))
    except NotTraceable:
        raise
    except Exception as error:
        raise NotTraceable(
            f"it fails on symbols ({type(error).__name__}: {error}); use NumPy's functions on the "
            f"argument as it is"
        ) from error
    return written(answer.ravel().tolist(), variables, answer.shape)


def _layout(argument: Any) -> np.ndarray:
    try:
        layout = np.array(argument, dtype=object)
    except ValueError:
        raise InputError("arguments holds rows of unequal length; give a rectangle") from None
    if layout.size == 0:
        raise InputError("arguments holds an empty array; name at least one variable in each")
    return layout


def _answer(answer: Any) -> np.ndarray:
    """An answer as expressions; a tuple or list holds one array for each output."""
    if isinstance(answer, tuple | list):
        parts = [_stacked(part) for part in answer]
        answer = np.stack(np.broadcast_arrays(*parts), axis=-1)
    return numeric(_stacked(answer))


def _stacked(answer: Any) -> np.ndarray:
    """Nested lists as an array with the outer list first."""
    if isinstance(answer, tuple | list):
        return np.stack(np.broadcast_arrays(*(_stacked(part) for part in answer)))
    if answer is None:
        raise NotTraceable("it returns nothing; return the value")
    return objects(bare(answer))
