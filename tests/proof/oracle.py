"""Networks and formulas at single points in 200-bit arithmetic, written from the definitions alone.

Nothing here knows how proofs are made: not ``anchorhead.enclosure``, not ``anchorhead.proof``. Numbers
are python-flint's balls, thinner than 1e-50 relative, which ``test_hunt`` compares with mpmath. All of
them are finite: a ball that is not makes ``number`` raise.
"""

from __future__ import annotations

import ast
import math
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

__all__ = ["Targets", "network_values", "number", "precisely", "sequential"]

BITS = 200


@contextmanager
def precisely():
    before = ctx.prec
    ctx.prec = BITS
    try:
        yield
    finally:
        ctx.prec = before


def number(x):
    """A float, exactly; or a ball as it is, if it is finite and thin."""
    if isinstance(x, arb):
        assert x.is_finite(), "the oracle lost a value"
        return x
    x = float(x)
    assert math.isfinite(x)
    return arb(x)


# Networks


def network_values(network, X):
    """The network's output for one array X (rows of floats), as rows of balls."""
    with precisely():
        Z = [[number(x) for x in row] for row in X]
        for layer in network.layers:
            Z = LAYERS[type(layer).__name__](layer, Z)
        return [[number(z) for z in row] for row in Z]


KEPT = {}
"""What was read of arrays: for each, by its id, the array itself and what is made of it."""


def _kept(kind, array, made):
    found = KEPT.get((kind, id(array)))
    if found is None or found[0] is not array:
        if len(KEPT) > 2000:
            KEPT.clear()
        KEPT[kind, id(array)] = found = array, made(array)
    return found[1]


def _columns(M):
    """The nonzero entries of each column."""
    return [[(i, arb(float(c[i]))) for i in np.flatnonzero(c)] for c in np.asarray(M).T]


def _rows(array):
    return [[arb(float(x)) for x in row] for row in array]


def _dot(entries, row):
    total = arb(0)
    for i, c in entries:
        total += c * row[i]
    return total


def _right(Z, M):
    """Z M."""
    if M is None:
        return Z
    columns = _kept("columns", M, _columns)
    return [[_dot(column, row) for column in columns] for row in Z]


def _left(M, Z):
    """M Z."""
    rows = _kept("rows", M, lambda M: _columns(M.T))
    turned = list(zip(*Z, strict=True))
    return [[_dot(row, column) for column in turned] for row in rows]


def _linear(layer, Z):
    rows = layer.shape_out[0] or len(Z)
    Y = [[arb(0)] * layer.shape_out[1] for _ in range(rows)]
    if layer.constant is not None:
        R = layer.constant
        Y = [[arb(float(r)) for r in R[0 if len(R) == 1 else i]] for i in range(rows)]
    for term in layer.terms:
        T = Z
        if term.scale is not None:
            T = [
                [arb(float(s)) * t for s, t in zip(*pair, strict=True)]
                for pair in zip(term.scale, T, strict=True)
            ]
        T = _right(T, term.features)
        if term.tokens is not None:
            T = _left(term.tokens, T)
        for y, t in zip(Y, T, strict=False):
            y[:] = [a + b for a, b in zip(y, t, strict=True)]
    return Y


def _attention(layer, Z):
    kept = Z[: layer.keep] if layer.keep else Z
    Y = [list(row) if layer.residual else [arb(0)] * layer.width_out for row in kept]
    for head in layer.heads:
        Q = _right(kept, head.query)
        K = [] if head.sees == "anchors" else _right(Z, head.key)
        V = [] if head.sees == "anchors" else _right(Z, head.value)
        AK, AV = [], []
        if head.anchor_keys is not None:
            AK = _kept("all", head.anchor_keys, _rows)
            AV = _kept("all", head.anchor_values, _rows)
        for i, q in enumerate(Q):
            if head.sees == "self":
                keys, values = K[i : i + 1] + AK, V[i : i + 1] + AV
            else:
                upto = i + 1 if head.causal else len(K)
                keys, values = K[:upto] + AK, V[:upto] + AV
            scores = [_product(q, key) for key in keys]
            weights = _softmax(scores)
            mixed = [_product(weights, column) for column in zip(*values, strict=True)]
            (out,) = _right([mixed], head.output)
            Y[i] = [a + b for a, b in zip(Y[i], out, strict=True)]
    return Y


def _product(a, b):
    total = arb(0)
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def _softmax(scores):
    """Weights; the scores of steep heads are far apart, and exp of them as well."""
    top = max(scores, key=lambda s: float(s.mid()))
    weights = [(s - top).exp() for s in scores]
    total = sum(weights, arb(0))
    return [w / total for w in weights]


LAYERS = {
    "Linear": _linear,
    "Attention": _attention,
    "Softmax": lambda layer, Z: [_softmax(row) for row in Z],
}


# Formulas


def _decided(left, right, strict):
    """Whether left > right or left ≥ right; equal exact numbers are equal."""
    left, right = number(left), number(right)
    if left > right or left < right:
        return bool(left > right)
    assert left.is_exact() and right.is_exact(), "the oracle cannot decide a comparison"  # noqa: PT018
    return not strict


class Exactly:
    """What formulas are made of, for one point: balls."""

    constant = staticmethod(
        lambda c: arb(c) if isinstance(c, float) else arb(fmpq(int(c)))  # the nearest double
    )
    pi = staticmethod(arb.pi)
    max = staticmethod(lambda a, b: a.max(b))
    min = staticmethod(lambda a, b: a.min(b))
    abs = staticmethod(abs)

    @staticmethod
    def power(a, b):
        if isinstance(b, Fraction):
            if b.denominator == 1:
                whole = a ** abs(b.numerator)
                return whole if b >= 0 else 1 / whole
            if a == 0:
                return arb(0)
            b = arb(fmpq(b.numerator, b.denominator))
        return (a.log() * b).exp()

    @staticmethod
    def choose(p, q, strict, a, b):
        return a() if _decided(p, q, strict) else b()

    @staticmethod
    def call(name, a):
        return abs(a) if name == "abs" else getattr(a, name)()


class Roughly:
    """The same in float64 for many points at once."""

    constant = staticmethod(float)
    pi = staticmethod(lambda: math.pi)
    max = staticmethod(np.maximum)
    min = staticmethod(np.minimum)

    @staticmethod
    def power(a, b):
        whole = isinstance(b, Fraction) and b.denominator == 1
        return np.power(a, int(b) if whole else np.asarray(b, dtype=float))

    @staticmethod
    def choose(p, q, strict, a, b):
        return np.where(p > q if strict else p >= q, a(), b())

    @staticmethod
    def call(name, a):
        from scipy import special

        own = {
            **{n: getattr(np, f"arc{n[1:]}") for n in ("asin", "acos", "atan")},
            **{n: getattr(np, f"arc{n[1:]}") for n in ("asinh", "acosh", "atanh")},
            "erf": special.erf,
            "erfc": special.erfc,
            "gamma": special.gamma,
            "lgamma": special.gammaln,
        }
        return own.get(name, getattr(np, name, None))(a)


def _value(tree, names, of):
    def inner(part):
        return _value(part, names, of)

    match tree:
        case ast.Constant(value=c):
            return of.constant(c)
        case ast.Name(id=name):
            return names[name] if name in names else of.pi()
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return -inner(a)
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            fixed = _fixed(b)
            return of.power(inner(a), inner(b) if fixed is None else fixed)
        case ast.BinOp(left=a, op=op, right=b):
            x, y = inner(a), inner(b)
            match op:
                case ast.Add():
                    return x + y
                case ast.Sub():
                    return x - y
                case ast.Mult():
                    return x * y
                case ast.Div():
                    return x / y
        case ast.IfExp(test=ast.Compare(left=p, ops=[op], comparators=[q]), body=a, orelse=b):
            strict = isinstance(op, ast.Gt)
            assert strict or isinstance(op, ast.GtE)
            return of.choose(inner(p), inner(q), strict, lambda: inner(a), lambda: inner(b))
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=parts):
            first, *others = map(inner, parts)
            for other in others:
                first = getattr(of, name)(first, other)
            return first
        case ast.Call(func=ast.Name(id=name), args=[a]):
            return of.call(name, inner(a))
    raise AssertionError(ast.unparse(tree))


def _fixed(tree):
    """The rational that an exponent is, if it is one."""
    match tree:
        case ast.Constant(value=c):
            return Fraction(c)
        case ast.UnaryOp(op=ast.USub(), operand=a):
            a = _fixed(a)
            return None if a is None else -a
        case ast.BinOp(left=a, op=ast.Div(), right=b):
            a, b = _fixed(a), _fixed(b)
            return None if a is None or b is None else a / b
    return None


class Targets:
    """The formulas that a certificate tells, as functions of the entries of X row by row."""

    def __init__(self, told):
        self.variables = list(told["variables"])
        self.where = [(name, ast.parse(text, mode="eval").body) for name, text in told["where"]]
        self.outputs = [ast.parse(text, mode="eval").body for text in told["outputs"]]

    def exactly(self, point):
        """Balls, at one point (a flat sequence of floats)."""
        with precisely():
            names = {n: number(x) for n, x in zip(self.variables, point, strict=True)}
            for name, tree in self.where:
                names[name] = _value(tree, names, Exactly)
            return [number(_value(tree, names, Exactly)) for tree in self.outputs]

    def roughly(self, points):
        """Float64, at points × variables: points × outputs."""
        names = dict(zip(self.variables, np.asarray(points, dtype=float).T, strict=True))
        with np.errstate(all="ignore"):
            for name, tree in self.where:
                names[name] = _value(tree, names, Roughly)
            columns = [_value(tree, names, Roughly) for tree in self.outputs]
        return np.stack([np.broadcast_to(c, len(points)) for c in columns], axis=1)


# Networks in other orders of summation


def sequential(network, X, rng):
    """The network run in the dtype of X, every sum in an order of its own, one term after the other.

    X: points × tokens × features. Numbers are rounded after every operation, as NumPy does it.
    """
    Z = X
    with np.errstate(all="ignore"):
        for layer in network.layers:
            Z = RUN[type(layer).__name__](layer, Z, rng)
    return Z


def _cast(Z, M):
    return M.astype(Z.dtype)


def _summed(terms, rng):
    """The sum over the last axis, in a random order: one after the other, or in pairs."""
    terms = terms[..., rng.permutation(terms.shape[-1])]
    if rng.random() < 0.5:
        return np.add.accumulate(terms, axis=-1)[..., -1]
    while terms.shape[-1] > 1:
        half = terms.shape[-1] // 2
        pairs = terms[..., :half] + terms[..., half : 2 * half]
        terms = np.concatenate([pairs, terms[..., 2 * half :]], axis=-1)
    return terms[..., 0]


def _times(A, B, rng):
    """The matrix product over the last axis of A and the last but one of B."""
    return _summed(A[..., :, None, :] * np.swapaxes(B, -1, -2)[..., None, :, :], rng)


def _run_linear(layer, Z, rng):
    rows = layer.shape_out[0] or Z.shape[1]
    images = []
    if layer.constant is not None:
        shape = (len(Z), rows, layer.shape_out[1])
        images.append(np.broadcast_to(_cast(Z, layer.constant), shape))
    for term in layer.terms:
        T = Z if term.scale is None else Z * _cast(Z, term.scale)
        T = T if term.features is None else _times(T, _cast(Z, term.features), rng)
        T = T if term.tokens is None else _times(_cast(Z, term.tokens), T, rng)
        image = np.zeros((len(Z), rows, layer.shape_out[1]), Z.dtype)
        image[:, : min(rows, T.shape[1])] = T[:, :rows]
        images.append(image)
    if not images:
        return np.zeros((len(Z), rows, layer.shape_out[1]), Z.dtype)
    return _summed(np.stack(images, axis=-1), rng)


def _run_attention(layer, Z, rng):
    kept = Z[:, : layer.keep or Z.shape[1]]
    images = [kept] if layer.residual else []
    for head in layer.heads:
        Q = _times(kept, _cast(Z, head.query), rng)
        K = V = None
        if head.sees != "anchors":
            K = _times(Z, _cast(Z, head.key), rng)
            V = Z if head.value is None else _times(Z, _cast(Z, head.value), rng)
        rows = []
        for i in range(Q.shape[1]):
            keys, values = [], []
            if K is not None:
                upto = i + 1 if head.causal else K.shape[1]
                seen = slice(i, i + 1) if head.sees == "self" else slice(0, upto)
                keys.append(K[:, seen])
                values.append(V[:, seen])
            if head.anchor_keys is not None:
                for into, array in ((keys, head.anchor_keys), (values, head.anchor_values)):
                    into.append(np.broadcast_to(_cast(Z, array), (len(Z), *array.shape)))
            scores = _summed(Q[:, i, None] * np.concatenate(keys, axis=1), rng)
            weights = _run_softmax(scores, rng)
            rows.append(_times(weights[:, None], np.concatenate(values, axis=1), rng)[:, 0])
        mixed = np.stack(rows, axis=1)
        images.append(mixed if head.output is None else _times(mixed, _cast(Z, head.output), rng))
    return _summed(np.stack(images, axis=-1), rng)


def _run_softmax(scores, rng):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / _summed(weights, rng)[..., None]


RUN = {
    "Linear": _run_linear,
    "Attention": _run_attention,
    "Softmax": lambda layer, Z, rng: _run_softmax(Z, rng),
}
