"""Targets (text) and networks (arrays) as exact expressions. Text is parsed, never evaluated."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from flint import fmpq

from anchorhead.enclosure.expressions import (
    ONE,
    Node,
    Sum,
    combine,
    maximum,
    mix,
    node,
    plus,
    power,
)

__all__ = ["Entries", "UnreadableError", "entries_of", "exact", "read_network", "read_target"]

UNARY = [
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "gamma",
    "lgamma",
    "abs",
]
"""The functions of one argument that a target's text may call; beside them min and max."""


class UnreadableError(ValueError):
    """What cannot be read as an expression, and why."""


def exact(number: Any) -> fmpq:
    """A float or integer as a rational."""
    number = float(number)
    if not math.isfinite(number):
        raise UnreadableError(f"{number} stands where a finite number is needed")
    return fmpq(*number.as_integer_ratio())


def entries_of(box: Sequence[tuple[fmpq, fmpq]]) -> list[Sum]:
    """The entries of vec(X) over a box: those that are fixed are constants."""
    return [Sum(low) if low == high else Sum(lin=((i, ONE),)) for i, (low, high) in enumerate(box)]


def read_target(
    target: dict[str, Any], entries: Sequence[Sum]
) -> tuple[list[Sum], dict[Node, str]]:
    """A target's outputs as expressions, its variables being these, and the text of each node."""
    names = dict(zip(target["variables"], entries, strict=True))
    every = [*target["variables"], *(name for name, _ in target["where"])]
    if len(set(every)) < len(every) or not set(every).isdisjoint((*UNARY, "min", "max", "pi")):
        raise UnreadableError(
            f"the target's names {every} are not all different, or stand for others"
        )
    texts: dict[Node, str] = {}
    for name, text in target["where"]:
        names[name] = read(text, names, texts)
    return [read(text, names, texts) for text in target["outputs"]], texts


def read(text: str, names: dict[str, Sum], texts: dict[Node, str]) -> Sum:
    """The expression a text stands for; the text is parsed, never evaluated."""
    try:
        tree = ast.parse(text, mode="eval").body
        return _read(tree, names, texts)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ArithmeticError) as error:
        raise UnreadableError(f"the target's text {text[:60]!r} cannot be read ({error})") from None


def _read(tree: ast.expr, names: dict[str, Sum], texts: dict[Node, str]) -> Sum:
    inner = partial(_read, names=names, texts=texts)
    match tree:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Sum(exact(number) if isinstance(number, float) else fmpq(number))
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id="pi"):
            found = node("pi")
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return combine([(-ONE, inner(a))])
        case ast.BinOp(left=a, op=ast.Add(), right=b):
            return plus(inner(a), inner(b))
        case ast.BinOp(left=a, op=ast.Sub(), right=b):
            return plus(inner(a), inner(b), -ONE)
        case ast.BinOp(left=a, op=ast.Mult(), right=b):
            x, y = inner(a), inner(b)
            found = power(x, 2) if x == y else node("mul", x, y)
        case ast.BinOp(left=a, op=ast.Div(), right=b):
            inverse = node("inv", inner(b))
            for n, _ in inverse.rest:
                texts.setdefault(n, f"1/({ast.unparse(b)})")
            found = node("mul", inner(a), inverse)
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            found = _raised(inner(a), inner(b))
        case ast.IfExp(test=ast.Compare(left=p, ops=[op], comparators=[q]), body=a, orelse=b):
            kind = {ast.GtE: "if>=", ast.Gt: "if>"}.get(type(op))
            if kind is None:
                raise ValueError("a condition is p >= q or p > q")
            found = node(kind, plus(inner(p), inner(q), -ONE), inner(a), inner(b))
        case ast.Call(func=ast.Name(id="max"), args=[first, *others], keywords=[]):
            found = reduce(maximum, map(inner, others), inner(first))
        case ast.Call(func=ast.Name(id="min"), args=[first, *others], keywords=[]):
            turned = [combine([(-ONE, inner(a))]) for a in (first, *others)]
            found = combine([(-ONE, reduce(maximum, turned))])
        case ast.Call(func=ast.Name(id=name), args=[a], keywords=[]) if name in UNARY:
            found = node(name, inner(a))
        case _:
            raise ValueError(f"{ast.unparse(tree)[:40]!r} is no part of a formula")
    for n, _ in found.rest:
        texts.setdefault(n, ast.unparse(tree) if len(texts) < 10_000 else "…")
    return found


def _raised(a: Sum, b: Sum) -> Sum:
    """The sum a to the power b."""
    if b.lin or b.rest:
        return node("exp", node("mul", b, node("log", a)))
    if b.const.q == 1 and abs(b.const.p) <= 10_000:
        return power(a, int(b.const.p))
    return node("sqrt", a) if b.const == fmpq(1, 2) else node("power", a, Sum(b.const))


Entries = list[list[Sum]]
"""An array of expressions: rows of entries."""


def read_network(network: Any, entries: Sequence[Sum]) -> list[Entries]:
    """The arrays between the layers of a network as expressions, X having these entries."""
    width = network.shape_in[1]
    X = [list(entries[i : i + width]) for i in range(0, len(entries), width)]
    arrays = [X]
    for layer in network.layers:
        kind = type(layer).__name__
        if kind == "Linear":
            X = _linear(layer, X)
        elif kind == "Attention":
            X = _attention(layer, X)
        elif kind == "Softmax":
            unit = [[Sum(ONE * (j == k)) for k in range(len(X[0]))] for j in range(len(X[0]))]
            X = [[mix(row, unit[j]) for j in range(len(row))] for row in X]
        else:
            raise UnreadableError(f"a layer is a {kind}, which this checker does not know")
        arrays.append(X)
    return arrays


def times(X: Entries, matrix: np.ndarray | None) -> Entries:
    """X matrix, leaving out zeros."""
    if matrix is None:
        return X
    columns = [[(i, exact(column[i])) for i in np.flatnonzero(column)] for column in matrix.T]
    return [[combine((c, row[i]) for i, c in column) for column in columns] for row in X]


def _linear(layer: Any, X: Entries) -> Entries:
    """Σ_r M_r ((S_r ∘ X) P_r) + R."""
    rows = layer.shape_out[0] or len(X)
    total = [[Sum()] * layer.shape_out[1] for _ in range(rows)]
    if layer.constant is not None:
        R = np.broadcast_to(layer.constant, (rows, layer.shape_out[1]))
        total = [[Sum(exact(r)) for r in row] for row in R]
    for term in layer.terms:
        Z = X
        if term.scale is not None:
            Z = [
                [combine([(exact(s), x)]) for s, x in zip(*pair, strict=True)]
                for pair in zip(term.scale, Z, strict=True)
            ]
        Z = times(Z, term.features)
        if term.tokens is not None:
            turned = [list(column) for column in zip(*Z, strict=True)]
            Z = [list(row) for row in zip(*times(turned, term.tokens.T), strict=True)]
        for i in range(min(rows, len(Z))):
            total[i] = [plus(a, b) for a, b in zip(total[i], Z[i], strict=True)]
    return total


def _attention(layer: Any, Z: Entries) -> Entries:
    """Σ_h softmax(Q_h K_hᵀ) V_h W_O,h, and Z itself where the layer is residual."""
    rows = layer.keep or len(Z)
    total = [list(row) if layer.residual else [Sum()] * layer.width_out for row in Z[:rows]]
    for head in layer.heads:
        Q = times(Z[:rows], head.query)
        K, V = [], []
        if head.sees != "anchors":
            K, V = times(Z, head.key), times(times(Z, head.value), head.output)
        anchor_keys, anchor_values = [], []
        if head.anchor_keys is not None:
            anchor_keys = [[Sum(exact(k)) for k in row] for row in head.anchor_keys]
            anchor_values = [[Sum(exact(v)) for v in row] for row in head.anchor_values]
            anchor_values = times(anchor_values, head.output)
        for i, q in enumerate(Q):
            seen = range(i, i + 1) if head.sees == "self" else range(len(K))
            seen = [j for j in seen if j <= i or not head.causal]
            keys = [K[j] for j in seen] + anchor_keys if K else anchor_keys
            values = [V[j] for j in seen] + anchor_values if K else anchor_values
            scores = [
                reduce(plus, (node("mul", a, b) for a, b in zip(q, key, strict=True)), Sum())
                for key in keys
            ]
            for j, column in enumerate(zip(*values, strict=True)):
                total[i][j] = plus(total[i][j], mix(scores, column))
    return total
