"""Sums, products, powers and functions in one form.

What is simplified is true of all real numbers: rational constants are put together, signs are pulled
out of products, equal factors are powers, and a choice between two numbers by their order is their
maximum or minimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from anchorhead.formula.exact import NotTraceable, is_double
from anchorhead.formula.expression import ONE, TWO, ZERO, Call, Node, Number, number, only, value

__all__ = ["call"]

FOLDED_BITS = 64
"""Constants are put together if they make a float64, or a fraction of two numbers this short."""

MOST_POWER = 4096
"""Powers of numbers that have more bits than this are left as they are."""

HIGHEST = 64
"""xⁿ·x is xⁿ⁺¹ up to this power."""


KNOWN: dict[str, dict[Node, Node]] = {
    **{
        f: {ZERO: ZERO}
        for f in ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf")
    },
    **{f: {ZERO: ONE} for f in ("exp", "cos", "cosh", "erfc")},
    **{f: {ONE: ZERO} for f in ("log", "acos", "acosh")},
    "gamma": {ONE: ONE, TWO: ONE},
    "lgamma": {ONE: ZERO, TWO: ZERO},
}
"""Values that are plain numbers."""


def call(function: str, *arguments: Any) -> Node:
    """A function of expressions or numbers, in canonical form."""
    terms = tuple(part if isinstance(part, Node) else number(part) for part in arguments)
    simpler = RULES[function](*terms) if function in RULES else _known(function, *terms)
    return only(Call, function, terms) if simpler is None else simpler


def _is(node: Node, function: str) -> bool:
    return isinstance(node, Call) and node.function == function


def _arguments(node: Node) -> tuple[Node, ...]:
    assert isinstance(node, Call)
    return node.arguments


def _folded(exact: Fraction) -> Node | None:
    """The number, if it is short enough to be read."""
    longest = max(exact.numerator.bit_length(), exact.denominator.bit_length())
    return number(exact) if longest <= FOLDED_BITS or is_double(exact) else None


def _known(function: str, argument: Node) -> Node | None:
    return KNOWN[function].get(argument) if function in KNOWN else None


def _negative(x: Node) -> tuple[bool, Node]:
    """Whether an expression bears a sign, and the expression without it."""
    c = value(x)
    if c is not None and c < 0:
        return True, number(-c)
    return (True, _arguments(x)[0]) if _is(x, "neg") else (False, x)


def _neg(x: Node) -> Node | None:
    c = value(x)
    if c is not None:
        return number(-c)
    if _is(x, "neg"):
        return _arguments(x)[0]
    if _is(x, "-"):
        a, b = _arguments(x)
        return call("-", b, a)
    return None


def _sum(x: Node, y: Node) -> Node | None:
    a, b = value(x), value(y)
    if a is not None and b is not None and (folded := _folded(a + b)) is not None:
        return folded
    if a == 0 or b == 0:
        return y if a == 0 else x
    signed, bare = _negative(y)
    if signed:
        return call("-", x, bare)
    return call("-", y, _arguments(x)[0]) if _is(x, "neg") else None


def _difference(x: Node, y: Node) -> Node | None:
    a, b = value(x), value(y)
    if a is not None and b is not None and (folded := _folded(a - b)) is not None:
        return folded
    if x is y:
        return ZERO
    if a == 0 or b == 0:
        return call("neg", y) if a == 0 else x
    signed, bare = _negative(y)
    return call("+", x, bare) if signed else None


def _product(x: Node, y: Node) -> Node | None:
    a, b = value(x), value(y)
    if a == 0 or b == 0:
        return ZERO
    if a == 1 or b == 1:
        return y if a == 1 else x
    if a is not None and b is not None:
        return _folded(a * b)
    if b is not None:
        return call("*", y, x)
    signed = _signed("*", x, y)
    return _gathered(x, y) if signed is None else signed


def _gathered(x: Node, y: Node) -> Node | None:
    """A product with equal factors as powers, and its numbers as one, if they stand near."""
    if (together := _together(x, y)) is not None:
        return together
    for product, other in ((x, y), (y, x)):
        if _is(product, "*"):
            for first, second in (_arguments(product), _arguments(product)[::-1]):
                if (together := _together(first, other)) is not None:
                    return call("*", together, second)
    return None


def _together(x: Node, y: Node) -> Node | None:
    """Of two numbers, their product; x·x, xⁿ·x and x·xⁿ as powers."""
    a, b = value(x), value(y)
    if a is not None and b is not None:
        return _folded(a * b)
    if x is y:
        return call("**", x, TWO)
    for base, power in ((x, y), (y, x)):
        if _is(power, "**") and _arguments(power)[0] is base:
            n = value(_arguments(power)[1])
            if n is not None and n.denominator == 1 and 2 <= n < HIGHEST:
                return call("**", base, number(n + 1))
    return None


def _quotient(x: Node, y: Node) -> Node | None:
    a, b = value(x), value(y)
    if b == 0:
        raise NotTraceable("it divides by the number 0; leave that out")
    if a == 0 or b == 1:
        return x
    if a is not None and b is not None:
        return _folded(a / b)
    return _signed("/", x, y)


def _signed(function: str, x: Node, y: Node) -> Node | None:
    """The product or quotient with the signs pulled out of it, if there are any."""
    (minus, u), (also, v) = _negative(x), _negative(y)
    if not (minus or also):
        return None
    bare = call(function, u, v)
    return bare if minus and also else call("neg", bare)


def _power(x: Node, y: Node) -> Node | None:
    a, n = value(x), value(y)
    if n == 0 or n == 1:
        return ONE if n == 0 else x
    if n == Fraction(1, 2):
        return call("sqrt", x)
    if n is None or n.denominator > 1:
        return ONE if a == 1 else None
    if a is not None:
        if a == 0 and n < 0:
            raise NotTraceable("it divides by the number 0; leave that out")
        longest = max(a.numerator.bit_length(), a.denominator.bit_length())
        return _folded(a**n.numerator) if longest * abs(n) <= MOST_POWER else None
    if _is(x, "neg"):
        bare = call("**", _arguments(x)[0], y)
        return call("neg", bare) if n.numerator % 2 else bare
    return None


def _root(x: Node) -> Node | None:
    a = value(x)
    if a is None or a < 0:
        return None
    roots = Fraction(math.isqrt(a.numerator), math.isqrt(a.denominator))
    return number(roots) if roots**2 == a else None


def _abs(x: Node) -> Node | None:
    a = value(x)
    if a is not None:
        return number(abs(a))
    if _is(x, "neg"):
        return call("abs", *_arguments(x))
    return x if _is(x, "abs") else None


def _extreme(function: str, pick: Callable[..., Fraction]) -> Callable[..., Node | None]:
    def rule(*parts: Node) -> Node | None:
        distinct = tuple(dict.fromkeys(parts))
        numbers = [part.value for part in distinct if isinstance(part, Number)]
        if len(numbers) > 1:
            best = number(pick(numbers))
            distinct = tuple(p for p in distinct if not isinstance(p, Number) or p is best)
        if len(distinct) == 1:
            return distinct[0]
        return call(function, *distinct) if len(distinct) < len(parts) else None

    return rule


def _choice(strict: bool) -> Callable[[Node, Node, Node, Node], Node | None]:
    def rule(p: Node, q: Node, a: Node, b: Node) -> Node | None:
        if a is b:
            return a
        if p is q:
            return b if strict else a
        u, v = value(p), value(q)
        if u is not None and v is not None:
            return a if (u > v if strict else u >= v) else b
        if (a, b) in ((p, q), (q, p)):
            return call("max" if a is p else "min", p, q)
        if q is ZERO and a is p and b is call("neg", p):
            return call("abs", p)
        return None

    return rule


RULES: dict[str, Callable[..., Node | None]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "**": _power,
    "neg": _neg,
    "sqrt": _root,
    "abs": _abs,
    "min": _extreme("min", min),
    "max": _extreme("max", max),
    "if>=": _choice(strict=False),
    "if>": _choice(strict=True),
}
