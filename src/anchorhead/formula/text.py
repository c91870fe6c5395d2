"""Formulas as texts, in a small part of Python's syntax for expressions."""

from __future__ import annotations

import keyword
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anchorhead.errors import InputError
from anchorhead.formula.exact import is_double
from anchorhead.formula.expression import FUNCTIONS, Call, Name, Node, Number, ordered

__all__ = ["Formula", "require_names", "written"]

DEEPEST = 40
"""No text nests deeper."""

TINY = 3
"""What takes at most this many operations is written out wherever it is used."""

SUM, PRODUCT, SIGN, POWER, ATOM = range(1, 6)
"""How tightly a text holds together, as Python reads it."""


@dataclass(frozen=True)
class Formula:
    """Outputs as texts of the variables, an array of this ``shape`` row by row.

    ``where`` holds named quantities, each a text of the variables and of those before it. A text is
    an expression of Python made of integers, decimal numbers (each the float64 nearest to it),
    names, ``pi``, ``+ - * / **``, calls of FUNCTIONS, and ``a if p >= q else b`` (or ``p > q``).
    """

    variables: tuple[str, ...]
    where: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """The text of a node, how tightly it holds together, how deep and how long it is."""

    text: str
    level: int
    depth: int = 0
    operations: int = 0

    def within(self, level: int) -> str:
        """The text where only what holds together at least so tightly can stand."""
        return self.text if self.level >= level else f"({self.text})"


def require_names(argument: str, names: Iterable[str]) -> tuple[str, ...]:
    """Names that can be variables of a formula, each once."""
    names = tuple(names)
    for given in names:
        if not isinstance(given, str):
            raise InputError(f"{argument} holds {given!r} where the name of a variable is needed")
        plain = given.isidentifier() and given == unicodedata.normalize("NFKC", given)
        if not plain or keyword.iskeyword(given):
            raise InputError(f"{argument} holds {given!r}; name variables as Python does")
        if given in (*FUNCTIONS, "pi"):
            raise InputError(
                f"{argument} holds {given!r}, which formulas mean otherwise; rename it"
            )
    return tuple(dict.fromkeys(names))


def written(outputs: Sequence[Node], variables: tuple[str, ...], shape: Sequence[int]) -> Formula:
    """The formula of these expressions.

    A quantity is named if it is used more than once and is not tiny, or if its text is too deep: so
    the texts are as long as there are nodes, up to a factor.
    """
    nodes = list(ordered(outputs))
    uses = Counter(outputs)
    for node in nodes:
        if isinstance(node, Call):
            uses.update(node.arguments)
    pieces: dict[Node, Piece] = {}
    where: list[tuple[str, str]] = []
    taken, count = set(variables), 0
    for node in nodes:
        piece = _piece(node, pieces)
        if piece.depth >= DEEPEST or (uses[node] > 1 and piece.operations > TINY):
            count += 1
            while f"t{count}" in taken:
                count += 1
            where.append((f"t{count}", piece.text))
            piece = Piece(f"t{count}", ATOM)
        pieces[node] = piece
    texts = tuple(pieces[node].text for node in outputs)
    return Formula(variables, tuple(where), texts, tuple(shape))


def _piece(node: Node, pieces: dict[Node, Piece]) -> Piece:
    if isinstance(node, Number):
        return _number(node)
    if isinstance(node, Name):
        return Piece(node.text, ATOM)
    assert isinstance(node, Call)
    parts = [pieces[part] for part in node.arguments]
    text, level = _call(node.function, parts)
    operations = sum(part.operations for part in parts) + max(1, len(parts) - 1)
    return Piece(text, level, 1 + max(part.depth for part in parts), operations)


def _number(node: Number) -> Piece:
    c = node.value
    sign = SIGN if c < 0 else ATOM
    if c.denominator == 1 and abs(c) < 2**53:
        return Piece(str(c.numerator), sign)
    if is_double(c):
        return Piece(repr(float(c)), sign)
    return Piece(str(c), sign if c.denominator == 1 else PRODUCT)


def _call(function: str, parts: list[Piece]) -> tuple[str, int]:
    match function:
        case "+" | "-":
            left, right = parts
            return f"{left.within(SUM)} {function} {right.within(PRODUCT)}", SUM
        case "*" | "/":
            left, right = parts
            return f"{left.within(PRODUCT)}{function}{right.within(POWER)}", PRODUCT
        case "**":
            base, exponent = parts
            return f"{base.within(ATOM)}**{exponent.within(SIGN)}", POWER
        case "neg":
            (part,) = parts
            return f"-{part.within(PRODUCT)}", min(SIGN, max(part.level, PRODUCT))
        case "if>=" | "if>":
            p, q, a, b = (part.text for part in parts)
            return f"({a} if {p} {function[2:]} {q} else {b})", ATOM
    return f"{function}({', '.join(part.text for part in parts)})", ATOM
