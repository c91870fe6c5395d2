"""Arrays of expressions, for functions to be called with.

They are no ndarrays: NumPy's functions hand them their work, those that have a formula do it, and
all others are refused by name. Views share memory as NumPy's do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from anchorhead.formula.arrays import (
    LINEAR,
    MOVING,
    WRITTEN,
    entrywise,
    exactly,
    numeric,
    objects,
    where,
)
from anchorhead.formula.elementary import ELEMENTARY, Condition
from anchorhead.formula.exact import BRANCH, NotTraceable
from anchorhead.formula.expression import Node
from anchorhead.formula.ufuncs import applied, array_of, called

__all__ = ["Traced", "bare"]

PLAIN = "it turns its argument into a plain number (math.sin, float, int); use NumPy's functions"
ARRAY = (
    "it puts its argument into an array of numbers (np.array, np.asarray, or writing into np.zeros); "
    "use the argument as it is, np.stack or np.zeros_like"
)

OF_NUMPY = (
    *(
        "all",
        "any",
        "clip",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "mean",
        "prod",
        "ravel",
        "repeat",
    ),
    *("squeeze", "std", "sum", "swapaxes", "take", "trace", "var"),
)
"""Methods that are NumPy's functions of the same name."""

OF_BALLS = {
    **{n: n for n in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"a{n}": f"arc{n}" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{n: n for n in ("erf", "erfc", "gamma", "log1p", "expm1", "rsqrt", "conjugate")},
    "lgamma": "gammaln",
    "inv": "reciprocal",
}
"""Methods that the balls of python-flint have too."""


class Traced(NDArrayOperatorsMixin):
    """An array of expressions or conditions."""

    symbolic = True

    def __init__(self, nodes: np.ndarray):
        self.nodes = nodes

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", (None,))[0]
        if options.pop("where", True) is not True:
            raise NotTraceable(f"it uses {called(ufunc)} with where=; use np.where")
        for option in ("casting", "order", "dtype", "subok"):
            options.pop(option, None)
        answer = applied(ufunc, method, [objects(bare(x)) for x in inputs], options)
        if out is None or (out is inputs[0] and not out.ndim):  # numbers are not changed in place
            return Traced(answer)
        return _written(out, answer)

    def __array_function__(self, func: Callable, types: Any, args: Any, kwargs: Any) -> Any:
        options = {key: bare(value) for key, value in kwargs.items() if key != "out"}
        own = func.__name__ if getattr(np, func.__name__, None) is func else None
        if func in WRITTEN:
            answer = WRITTEN[func](*map(bare, args), **options)
        elif own in LINEAR:
            options.pop("dtype", None)
            answer = func(*(_numbers(bare(x)) for x in args), **options)
        elif own in MOVING:
            answer = func(*map(bare, args), **options)
        else:
            raise NotTraceable(
                f"it uses {called(func)}, which has no formula; write it with others"
            )
        return _wrapped(answer) if kwargs.get("out") is None else _written(kwargs["out"], answer)

    def __array__(self, *arguments: Any, **options: Any) -> np.ndarray:
        raise NotTraceable(ARRAY)

    def __bool__(self) -> bool:
        raise NotTraceable(BRANCH)

    def __float__(self) -> float:
        raise NotTraceable(PLAIN)

    __int__ = __complex__ = __index__ = __round__ = __trunc__ = __floor__ = __ceil__ = __float__

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Traced]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Traced:
        return Traced(array_of(self.nodes[_key(key)]))

    def __setitem__(self, key: Any, value: Any) -> None:
        new = objects(bare(value))
        if isinstance(key, Traced) and key.dtype.kind == "b":
            if new.ndim:
                raise NotTraceable(
                    "it writes an array where a condition on its argument holds; use np.where"
                )
            self.nodes[...] = where(key.nodes, new, self.nodes)
        else:
            self.nodes[_key(key)] = new

    def __getattr__(self, attribute: str) -> Any:
        if attribute in OF_NUMPY:
            return partial(getattr(np, attribute), self)
        if attribute in OF_BALLS:
            rule = ELEMENTARY[OF_BALLS[attribute]]
            return lambda: Traced(entrywise(rule, self.nodes))
        raise AttributeError(f"arrays of symbols have no {attribute}")

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return self.nodes.shape

    @property
    def ndim(self) -> int:
        """As NumPy's."""
        return self.nodes.ndim

    @property
    def size(self) -> int:
        """As NumPy's."""
        return self.nodes.size

    @property
    def dtype(self) -> np.dtype:
        """Booleans for conditions, floats otherwise."""
        return np.dtype(bool if any(isinstance(x, Condition) for x in self.nodes.flat) else float)

    @property
    def T(self) -> Traced:  # noqa: N802
        """As NumPy's."""
        return Traced(self.nodes.T)

    @property
    def mT(self) -> Traced:  # noqa: N802
        """As NumPy's."""
        return Traced(np.swapaxes(self.nodes, -1, -2))

    @property
    def real(self) -> Traced:
        """The array itself."""
        return self

    def max(self, *arguments: Any, **options: Any) -> Traced:
        """Along axes, as NumPy's; of a single number with another one, as a ball's."""
        return self._extreme("max", *arguments, **options)

    def min(self, *arguments: Any, **options: Any) -> Traced:
        """Along axes, as NumPy's; of a single number with another one, as a ball's."""
        return self._extreme("min", *arguments, **options)

    def _extreme(self, function: str, *arguments: Any, **options: Any) -> Traced:
        if arguments and not options and (not self.ndim or not _is_axis(arguments[0])):
            return getattr(np, f"{function}imum")(self, *arguments)
        return getattr(np, function)(self, *arguments, **options)

    def reshape(self, *shape: Any, **options: Any) -> Traced:
        """As NumPy's."""
        return Traced(self.nodes.reshape(*shape, **options))

    def transpose(self, *axes: Any) -> Traced:
        """As NumPy's."""
        return Traced(self.nodes.transpose(*axes))

    def copy(self, *arguments: Any) -> Traced:
        """As NumPy's."""
        return Traced(self.nodes.copy())

    def flatten(self, *arguments: Any) -> Traced:
        """As NumPy's."""
        return Traced(self.nodes.flatten())

    def astype(self, dtype: Any, **options: Any) -> Traced:
        """A copy; floats stay what they are."""
        dtype = np.dtype(dtype)
        if dtype.kind != "f" and self.dtype.kind != "b":
            raise NotTraceable(f"it turns its argument into {dtype} numbers; leave them floats")
        return Traced(self.nodes.copy() if dtype.kind == "b" else numeric(self.nodes))

    def fill(self, value: Any) -> None:
        """As NumPy's."""
        self[...] = value

    def item(self, *place: int) -> Traced:
        """One entry."""
        return Traced(array_of(self.nodes.item(*place)))

    def tolist(self) -> Any:
        """Nested lists of entries."""
        return [row.tolist() for row in self] if self.ndim else self


def bare(value: Any) -> Any:
    """A value with the arrays of expressions in it laid bare."""
    if isinstance(value, Traced):
        return value.nodes
    if isinstance(value, tuple | list):
        return type(value)(map(bare, value)) if type(value) in (tuple, list) else value
    return value


def _written(out: Any, answer: Any) -> Traced:
    """The array of expressions that an answer was to be written to."""
    if not isinstance(out, Traced):
        raise NotTraceable(ARRAY)
    out.nodes[...] = objects(answer)
    return out


def _numbers(value: Any) -> Any:
    """An operand of sums and products: arrays hold expressions, exactly."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiubO":
        return numeric(objects(value))
    if isinstance(value, tuple | list):
        return type(value)(map(_numbers, value))
    return value


def _wrapped(answer: Any) -> Any:
    """What a function of NumPy gave, its arrays of expressions as such."""
    if isinstance(answer, tuple | list):
        return tuple(map(_wrapped, answer))
    if isinstance(answer, Node | Condition):
        return Traced(objects(answer))
    if not isinstance(answer, np.ndarray) or answer.dtype != object:
        return answer
    exact = all(isinstance(entry, Node | Condition) for entry in answer.flat)
    return Traced(answer if exact else entrywise(exactly, answer))


def _key(key: Any) -> Any:
    if isinstance(key, Traced) or (
        isinstance(key, tuple) and any(isinstance(k, Traced) for k in key)
    ):
        raise NotTraceable("it chooses entries by its argument (x[x > 0], table[x]); use np.where")
    return key


def _is_axis(value: Any) -> bool:
    return value is None or isinstance(value, int | np.integer | tuple)
