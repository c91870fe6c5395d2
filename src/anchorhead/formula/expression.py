"""Expressions as nodes: each made once, so that equal ones are one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakValueDictionary

from anchorhead.formula.exact import BRANCH, NotTraceable, rational

__all__ = ["FUNCTIONS", "PI", "Call", "Name", "Node", "Number", "name", "number", "ordered"]

FUNCTIONS = (
    *("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "gamma", "lgamma", "abs", "min", "max"),
)
"""The functions that a formula may call: of one argument, but for min and max."""


def _both(function: str) -> tuple[Callable[[Any, Any], Node], Callable[[Any, Any], Node]]:
    """The operator with the expression on its left, and on its right."""

    def applied(x: Any, y: Any) -> Node:
        from anchorhead.formula.canonical import call

        return call(function, x, y)

    return applied, lambda x, y: applied(y, x)


class Node:
    """An expression. Made by ``number``, ``name`` and ``call``, never directly."""

    __slots__ = ("__weakref__",)

    __add__, __radd__ = _both("+")
    __sub__, __rsub__ = _both("-")
    __mul__, __rmul__ = _both("*")
    __truediv__, __rtruediv__ = _both("/")
    __pow__, __rpow__ = _both("**")

    def __neg__(self) -> Node:
        return -1 * self

    def __bool__(self) -> bool:
        raise NotTraceable(BRANCH)


@dataclass(frozen=True, eq=False, slots=True)
class Number(Node):
    """A rational number."""

    value: Fraction


@dataclass(frozen=True, eq=False, slots=True)
class Name(Node):
    """A variable, or pi."""

    text: str


@dataclass(frozen=True, eq=False, slots=True)
class Call(Node):
    """A function of expressions.

    One of FUNCTIONS, of the operators + - * / ** and neg, or a choice: ``if>=`` and ``if>`` of p, q,
    a, b are a if p ≥ q (p > q), and b if not.
    """

    function: str
    arguments: tuple[Node, ...]


_MADE: WeakValueDictionary[tuple, Node] = WeakValueDictionary()


def only(kind: type[Node], *content: Any) -> Node:
    """The one node of this kind and content."""
    node = _MADE.get((kind, *content))
    if node is None:
        node = _MADE[kind, *content] = kind(*content)
    return node


def number(value: Any) -> Node:
    """A number, exactly."""
    return only(Number, rational(value))


def name(text: str) -> Node:
    """A variable."""
    return only(Name, text)


ZERO, ONE, TWO, PI = number(0), number(1), number(2), name("pi")


def ordered(roots: Iterable[Node]) -> Iterator[Node]:
    """All nodes under these, each once, arguments before what is made of them."""
    seen: set[Node] = set()
    waiting = [(root, False) for root in roots][::-1]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            waiting.append((node, True))
            if isinstance(node, Call):
                waiting += [(part, False) for part in reversed(node.arguments)]


def value(node: Node) -> Fraction | None:
    """The number that a node is, or None."""
    return node.value if isinstance(node, Number) else None
