"""SymPy expressions as formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any

from anchorhead.errors import InputError
from anchorhead.formula.canonical import call
from anchorhead.formula.elementary import (
    FALSE,
    TRUE,
    Condition,
    chosen,
    compared,
    equal,
    heaviside,
    joined,
    opposite,
    sign,
)
from anchorhead.formula.exact import NotTraceable, binary, rational
from anchorhead.formula.expression import FUNCTIONS, ONE, PI, Call, Node, name, number
from anchorhead.formula.text import Formula, require_names, written

__all__ = ["from_sympy"]

SUPPORTED = (
    "+ - * / **, pi, exp, log, sqrt, trigonometric and hyperbolic functions and their inverses, erf, "
    "erfc, gamma, loggamma, Abs, Min, Max, sign, Heaviside and Piecewise"
)


def from_sympy(expressions: Any, variables: Sequence[Any]) -> Formula:
    """The formula of SymPy expressions.

    Args:
        expressions: One expression, a list or tuple of them, or a matrix.
        variables: The names of the variables, or their symbols, in order.
    """
    import sympy

    variables = [variables] if isinstance(variables, str | sympy.Symbol) else list(variables)
    names = require_names(
        "variables", [v.name if isinstance(v, sympy.Symbol) else v for v in variables]
    )
    if len(names) < len(variables):
        raise InputError("variables holds a name twice; give each once")
    entries, shape = _entries(expressions)
    try:
        return written(_nodes(entries, names), names, shape)
    except NotTraceable as error:
        raise InputError(f"expressions cannot be written as a formula: {error}") from None


def _entries(expressions: Any) -> tuple[list[Any], tuple[int, ...]]:
    """The expressions row by row, and the shape in which they stand."""
    import sympy

    if isinstance(expressions, sympy.MatrixBase | sympy.NDimArray):
        given, shape = list(sympy.flatten(expressions.tolist())), expressions.shape
    elif isinstance(expressions, list | tuple | sympy.Tuple):
        given, shape = list(expressions), (len(expressions),)
    else:
        given, shape = [expressions], ()
    if not given:
        raise InputError("expressions is empty; give at least one SymPy expression")
    return [_expression(entry) for entry in given], tuple(map(int, shape))


def _expression(entry: Any) -> Any:
    import sympy

    if isinstance(entry, str):
        raise InputError(
            "expressions holds a text; formulas as text are not read; give a SymPy expression"
        )
    if isinstance(entry, int | float | Fraction) and not isinstance(entry, bool):
        if not math.isfinite(entry):
            raise InputError(f"expressions holds {entry}; give finite numbers")
        exact = rational(entry)
        return sympy.Rational(exact.numerator, exact.denominator)
    if not isinstance(entry, sympy.Expr):
        raise InputError(
            f"expressions holds a {type(entry).__name__} where a SymPy expression is needed"
        )
    return entry


def _nodes(entries: list[Any], names: tuple[str, ...]) -> list[Node]:
    """The expressions in our own form, arguments before what is made of them."""
    made: dict[Any, Any] = {}
    waiting = [(entry, False) for entry in reversed(entries)]
    while waiting:
        entry, ready = waiting.pop()
        if entry in made:
            continue
        if ready or not entry.args:
            made[entry] = _made(entry, [made[part] for part in entry.args])
        else:
            _refuse(entry)
            waiting.append((entry, True))
            waiting += [(part, False) for part in reversed(entry.args)]
    free = {entry.name for entry in made if entry.is_Symbol} - set(names)
    if free:
        raise InputError(
            f"expressions holds {', '.join(sorted(free))}, not among the variables; add to variables, "
            f"or substitute numbers"
        )
    return [made[entry] for entry in entries]


def _kind(entry: Any) -> str:
    """The name of an expression's class."""
    kind = type(entry).__name__
    return "Float" if entry.is_Float else "Rational" if entry.is_Rational else kind


def _refuse(entry: Any) -> None:
    """Raise if no formula says this kind of expression."""
    from sympy.core.function import AppliedUndef

    kind = _kind(entry)
    if kind not in MEANING or isinstance(entry, AppliedUndef):
        called = str(entry) if not entry.args else kind
        raise InputError(f"expressions holds {called}, which has no formula; use {SUPPORTED}")
    if kind == "Piecewise" and entry.args[-1].args[1] != True:  # noqa: E712
        raise InputError(
            "expressions holds a Piecewise without a last case; end it with (value, True)"
        )


def _made(entry: Any, parts: list[Any]) -> Any:
    if not entry.args:
        _refuse(entry)
        return MEANING[_kind(entry)](entry)
    if entry.is_Mul and entry.args[0].is_Rational:
        return _product(number(int(entry.args[0].p)), *parts[1:], below=int(entry.args[0].q))
    return MEANING[_kind(entry)](*parts)


def _float(entry: Any) -> Node:
    minus, mantissa, exponent, _ = entry._mpf_
    return number((-1) ** minus * binary(mantissa, exponent))


def _powers(base: Node, exponent: Node) -> Node:
    """A power; one of a negative number as a reciprocal."""
    minus = getattr(exponent, "value", 0) < 0
    return ONE / base**-exponent if minus else base**exponent


def _product(*factors: Node, below: int = 1) -> Node:
    """A product, with reciprocals as a quotient."""
    top, bottom = ONE, number(below)
    for factor in factors:
        if isinstance(factor, Call) and factor.function == "/" and factor.arguments[0] is ONE:
            bottom *= factor.arguments[1]
        else:
            top *= factor
    return top / bottom


def _pieces(*cases: tuple[Node, Condition]) -> Node:
    """The value of the first case that holds."""
    answer = cases[-1][0]
    for case, condition in reversed(cases[:-1]):
        answer = chosen(condition, case, answer)
    return answer


PLAIN = {
    **{n: n for n in FUNCTIONS if n not in ("sqrt", "lgamma", "abs", "min", "max")},
    "Abs": "abs",
    "Min": "min",
    "Max": "max",
    "loggamma": "lgamma",
}

MEANING: dict[str, Callable[..., Any]] = {
    "Symbol": lambda entry: name(entry.name),
    "Dummy": lambda entry: name(entry.name),
    "Rational": lambda entry: number(Fraction(int(entry.p), int(entry.q))),
    "Float": _float,
    "Pi": lambda entry: PI,
    "Exp1": lambda entry: call("exp", ONE),
    "BooleanTrue": lambda entry: TRUE,
    "BooleanFalse": lambda entry: FALSE,
    "Add": lambda *terms: reduce(lambda a, b: a + b, terms),
    "Mul": _product,
    "Pow": _powers,
    **{kind: partial(call, function) for kind, function in PLAIN.items()},
    "sec": lambda x: 1 / call("cos", x),
    "csc": lambda x: 1 / call("sin", x),
    "cot": lambda x: 1 / call("tan", x),
    "sech": lambda x: 1 / call("cosh", x),
    "csch": lambda x: 1 / call("sinh", x),
    "coth": lambda x: 1 / call("tanh", x),
    "sign": sign,
    "Heaviside": heaviside,
    "ExprCondPair": lambda value, condition: (value, condition),
    "Piecewise": _pieces,
    "GreaterThan": partial(compared, ">="),
    "StrictGreaterThan": partial(compared, ">"),
    "LessThan": lambda p, q: compared(">=", q, p),
    "StrictLessThan": lambda p, q: compared(">", q, p),
    "Equality": equal,
    "Unequality": lambda p, q: opposite(equal(p, q)),
    "And": partial(joined, "and"),
    "Or": partial(joined, "or"),
    "Not": opposite,
}
"""What each class of SymPy means: of its parts, or of the expression itself if it has none."""
