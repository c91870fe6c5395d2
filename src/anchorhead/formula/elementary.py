"""Functions by the names that NumPy, SciPy and python-flint give them, and choices by conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from anchorhead.formula.canonical import call
from anchorhead.formula.exact import BRANCH, NotTraceable
from anchorhead.formula.expression import ONE, PI, TWO, ZERO, Node, Number, number

__all__ = ["ELEMENTARY", "FALSE", "TRUE", "Condition", "chosen", "compared", "term", "truth"]


@dataclass(frozen=True)
class Condition:
    """``>=`` or ``>`` of two expressions; ``and`` (true of none), ``or`` (false of none) of others."""

    relation: str
    parts: tuple[Any, ...]

    def __bool__(self) -> bool:
        raise NotTraceable(BRANCH)


TRUE, FALSE = Condition("and", ()), Condition("or", ())

OPPOSITE = {">=": ">", ">": ">=", "and": "or", "or": "and"}


def compared(relation: str, p: Any, q: Any) -> Condition:
    """Whether p ≥ q or p > q; decided at once between numbers."""
    p, q = term(p), term(q)
    if p is q:
        return TRUE if relation == ">=" else FALSE
    if isinstance(p, Number) and isinstance(q, Number):
        return TRUE if p.value > q.value else FALSE
    return Condition(relation, (p, q))


def joined(relation: str, *conditions: Any) -> Condition:
    """All of them (``and``) or one of them (``or``)."""
    parts: list[Condition] = []
    for condition in map(truth, conditions):
        parts += condition.parts if condition.relation == relation else [condition]
    return parts[0] if len(parts) == 1 else Condition(relation, tuple(parts))


def opposite(condition: Any) -> Condition:
    """The condition that holds where this one does not."""
    relation, parts = truth(condition).relation, truth(condition).parts
    if relation in (">=", ">"):
        return compared(OPPOSITE[relation], *parts[::-1])
    return Condition(OPPOSITE[relation], tuple(opposite(part) for part in parts))


def chosen(condition: Any, a: Any, b: Any) -> Node:
    """The value a where the condition holds, b elsewhere."""
    condition, a, b = truth(condition), term(a), term(b)
    if condition.relation in (">=", ">"):
        return call("if" + condition.relation, *condition.parts, a, b)
    every = condition.relation == "and"
    answer = a if every else b
    for part in reversed(condition.parts):
        answer = chosen(part, answer, b) if every else chosen(part, a, answer)
    return answer


def term(thing: Any) -> Node:
    """An expression; a condition counts 1 where it holds and 0 elsewhere."""
    if isinstance(thing, Condition):
        return chosen(thing, ONE, ZERO)
    return thing if isinstance(thing, Node) else number(thing)


def truth(thing: Any) -> Condition:
    """A condition; an expression holds where it is not 0."""
    return thing if isinstance(thing, Condition) else opposite(equal(thing, ZERO))


def equal(p: Any, q: Any) -> Condition:
    """Both p ≥ q and q ≥ p."""
    return joined("and", compared(">=", p, q), compared(">=", q, p))


def heaviside(x: Any, middle: Any) -> Node:
    """0 below 0, 1 above, and ``middle`` at 0."""
    return chosen(compared(">", x, 0), ONE, chosen(compared(">=", x, 0), middle, ZERO))


def sign(x: Any) -> Node:
    """−1, 0 or 1."""
    return chosen(compared(">", x, 0), ONE, chosen(compared(">=", x, 0), ZERO, -ONE))


def cbrt(x: Node) -> Node:
    """The real cube root: of the positive part, less that of the negative part."""
    third = number(1) / 3
    return call("max", x, ZERO) ** third - call("max", -x, ZERO) ** third


def log(x: Node) -> Node:
    """The natural logarithm."""
    return call("log", x)


def exp(x: Node) -> Node:
    """The exponential."""
    return call("exp", x)


PLAIN = {
    **{name: name for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: name for name in ("erf", "erfc", "gamma")},
    "gammaln": "lgamma",
    "absolute": "abs",
    "fabs": "abs",
    "negative": "neg",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "float_power": "**",
    "maximum": "max",
    "fmax": "max",
    "minimum": "min",
    "fmin": "min",
}

COMPOSED: dict[str, Callable[..., Node]] = {
    "positive": lambda x: x,
    "conjugate": lambda x: x,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "cbrt": cbrt,
    "exp2": lambda x: TWO**x,
    "expm1": lambda x: exp(x) - 1,
    "log2": lambda x: log(x) / log(TWO),
    "log10": lambda x: log(x) / log(number(10)),
    "log1p": lambda x: log(1 + x),
    "logaddexp": lambda x, y: log(exp(x) + exp(y)),
    "logaddexp2": lambda x, y: log(TWO**x + TWO**y) / log(TWO),
    "hypot": lambda x, y: call("sqrt", x * x + y * y),
    "sign": sign,
    "heaviside": heaviside,
    "radians": lambda x: x * PI / 180,
    "deg2rad": lambda x: x * PI / 180,
    "degrees": lambda x: x * 180 / PI,
    "rad2deg": lambda x: x * 180 / PI,
    "expit": lambda x: 1 / (1 + exp(-x)),
    "log_expit": lambda x: -log(1 + exp(-x)),
    "logit": lambda x: log(x / (1 - x)),
    "softplus": lambda x: log(1 + exp(x)),
    "ndtr": lambda x: (1 + call("erf", x / call("sqrt", TWO))) / 2,
    "sinc": lambda x: chosen(equal(x, ZERO), ONE, call("sin", PI * x) / (PI * x)),
    "rsqrt": lambda x: 1 / call("sqrt", x),
}

CONDITIONS: dict[str, Callable[..., Condition]] = {
    "greater": partial(compared, ">"),
    "greater_equal": partial(compared, ">="),
    "less": lambda p, q: compared(">", q, p),
    "less_equal": lambda p, q: compared(">=", q, p),
    "equal": equal,
    "not_equal": lambda p, q: opposite(equal(p, q)),
    "logical_and": partial(joined, "and"),
    "logical_or": partial(joined, "or"),
    "logical_not": opposite,
}


def _of_terms(rule: Callable[..., Node]) -> Callable[..., Node]:
    return lambda *arguments: rule(*map(term, arguments))


ELEMENTARY: dict[str, Callable[..., Node | Condition]] = {
    **{name: _of_terms(partial(call, function)) for name, function in PLAIN.items()},
    **{name: _of_terms(rule) for name, rule in COMPOSED.items()},
    **CONDITIONS,
}
"""What each name means, of expressions, conditions or numbers."""
