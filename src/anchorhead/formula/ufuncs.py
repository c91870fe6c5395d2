"""NumPy's and SciPy's ufuncs on object arrays of expressions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from anchorhead.formula.arrays import entrywise, extreme, numeric, objects, quantified
from anchorhead.formula.elementary import ELEMENTARY, Condition
from anchorhead.formula.exact import NotTraceable

__all__ = ["applied", "array_of", "called"]


def applied(ufunc: np.ufunc, method: str, arrays: list[np.ndarray], options: dict) -> np.ndarray:
    """What a ufunc, or a method of it, gives for arrays of expressions."""
    name = ufunc.__name__
    if name in BITWISE and all(isinstance(x, Condition) for a in arrays for x in a.flat):
        name = BITWISE[name]
    if name in ("matmul", "matvec", "vecdot") and method == "__call__":
        return _multiplied(name, *map(numeric, arrays), **options)
    if name not in ELEMENTARY:
        raise NotTraceable(f"it uses {called(ufunc)}, which has no formula; write it with others")
    rule = ELEMENTARY[name]
    if method == "__call__":
        return entrywise(rule, *arrays)
    if method in ("outer", "accumulate"):
        return array_of(getattr(np.frompyfunc(rule, 2, 1), method)(*arrays, **options))
    if method == "reduce":
        keywords = {key: options[key] for key in ("axis", "keepdims") if key in options}
        keywords = {"axis": 0, **keywords}
        if name in ("add", "multiply"):
            return array_of(ufunc.reduce(*map(numeric, arrays), **keywords))
        if name in REDUCED:
            return REDUCED[name](*arrays, **keywords)
    raise NotTraceable(f"it uses {called(ufunc)}.{method}, which has no formula; use a loop")


BITWISE = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "invert": "logical_not"}

REDUCED = {
    **dict.fromkeys(("maximum", "fmax"), extreme("max")),
    **dict.fromkeys(("minimum", "fmin"), extreme("min")),
    "logical_and": quantified("and"),
    "logical_or": quantified("or"),
}


def _multiplied(name: str, a: np.ndarray, b: np.ndarray, **options: Any) -> np.ndarray:
    """Matmul, and of vectors."""
    if name == "vecdot":
        return array_of(np.sum(a * b, axis=-1))
    if name == "matvec":
        return np.matmul(a, b[..., None])[..., 0]
    return array_of(np.matmul(a, b, **options))


def array_of(entry: Any) -> np.ndarray:
    """An array, also where NumPy gave a single entry."""
    return entry if isinstance(entry, np.ndarray) else objects(entry)


def called(function: Any) -> str:
    """The name that a user calls a function by."""
    name, module = function.__name__, getattr(function, "__module__", None) or ""
    for short, room in (("np", np), ("scipy.special", sys.modules.get("scipy.special"))):
        if getattr(room, name, None) is function:
            return f"{short}.{name}"
    return f"{module}.{name}".replace("numpy.", "np.").lstrip(".")
