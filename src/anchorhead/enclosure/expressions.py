"""Exact expressions over the entries of X: what a target and a network are proven equal about.

A sum has rational coefficients and is made of a constant, of entries of X, and of nodes such as exp(…)
or a mixture Σ_k v_k e^{s_k} / Σ_k e^{s_k}, which is what a softmax head makes of an entry. Floats are
rationals; nothing here is rounded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple
from weakref import WeakValueDictionary

from flint import fmpq

__all__ = [
    "ONE",
    "ZERO",
    "Form",
    "Node",
    "Sum",
    "combine",
    "gathered",
    "maximum",
    "mix",
    "node",
    "normal",
    "plus",
    "power",
    "walk",
]

ZERO, ONE = fmpq(0), fmpq(1)

LONGEST = 2**17
"""No rational has a numerator or denominator of more bits."""


class Node:
    """A function of sums, by kind: ``relu``, ``mul``, ``mix``, … Equal nodes are one object.

    ``key`` tells what the node is, and nothing of when it was made: nodes are ordered by it.
    """

    __slots__ = ("__weakref__", "args", "key", "kind")
    known: ClassVar[WeakValueDictionary[bytes, Node]] = WeakValueDictionary()

    def __new__(cls, kind: str, args: tuple[Sum, ...]) -> Node:
        """The node of this kind with these arguments, the same object every time."""
        told = hashlib.sha256(kind.encode())
        for const, lin, rest in args:
            inner = [(n.key.hex(), str(c)) for n, c in rest]
            told.update(f";{const} {[(i, str(c)) for i, c in lin]} {inner}".encode())
        key = told.digest()
        found = cls.known.get(key)
        if found is None:
            found = cls.known[key] = super().__new__(cls)
            found.kind, found.args, found.key = kind, args, key
        return found

    def __reduce__(self):
        return Node, (self.kind, self.args)


Form = tuple[tuple[int, fmpq], ...]
"""A linear form Σ c_i x_i, entries in order, no coefficient 0."""


class Sum(NamedTuple):
    """const + Σ c_i x_i + Σ c_j node_j with rational coefficients, none of them 0."""

    const: fmpq = ZERO
    lin: Form = ()
    rest: tuple[tuple[Node, fmpq], ...] = ()


def combine(terms: Iterable[tuple[fmpq, Sum]]) -> Sum:
    """Σ c · sum."""
    const, lin, rest = ZERO, {}, {}
    for factor, s in terms:
        if factor == 0:
            continue
        const += factor * s.const
        for i, c in s.lin:
            lin[i] = lin.get(i, ZERO) + factor * c
        for n, c in s.rest:
            rest[n] = rest.get(n, ZERO) + factor * c
    for number in (const, *lin.values(), *rest.values()):
        if number.height_bits() > LONGEST:
            raise OverflowError(f"a number has more than {LONGEST} bits")
    nodes = sorted((item for item in rest.items() if item[1] != 0), key=lambda item: item[0].key)
    return Sum(const, tuple(sorted(item for item in lin.items() if item[1] != 0)), tuple(nodes))


def plus(a: Sum, b: Sum, factor: fmpq = ONE) -> Sum:
    """The sum a + factor · b."""
    return combine(((ONE, a), (factor, b)))


def node(kind: str, *args: Sum) -> Sum:
    """The sum that is one node; exact values of constants are worked out."""
    known = all(not (a.lin or a.rest) for a in args)
    if kind == "relu":
        a = args[0]
        if known:
            return Sum(max(a.const, ZERO))
        if not a.lin and len(a.rest) == 1 and a.rest[0][0].kind == "relu":
            inner, k = a.rest[0]
            scaled = combine([(k, inner.args[0])])
            if k > 0 and a.const <= 0:  # max(k max(b, 0) − c, 0) = max(k b − c, 0)
                return node("relu", plus(scaled, Sum(a.const)))
            if k < 0 and a.const >= 0:  # max(c − k max(b, 0), 0) = max(c − k b, 0) − max(−k b, 0)
                return plus(node("relu", plus(scaled, Sum(a.const))), node("relu", scaled), -ONE)
    if kind == "abs" and known:
        return Sum(abs(args[0].const))
    if kind == "inv" and known and args[0].const != 0:
        return Sum(ONE / args[0].const)
    if kind == "mul":
        for a, b in (args, args[::-1]):
            if not (a.lin or a.rest):
                return combine([(a.const, b)])
        args = args if args[0].rest or not args[1].rest else args[::-1]
    return Sum(rest=((Node(kind, args), ONE),))


def maximum(a: Sum, b: Sum) -> Sum:
    """The larger of two sums: b + max(a − b, 0), b being the constant if there is one."""
    if not (a.lin or a.rest):
        a, b = b, a
    return plus(b, node("relu", plus(a, b, -ONE)))


def power(a: Sum, n: int) -> Sum:
    """The sum a to a whole power."""
    if n < 0:
        return node("inv", power(a, -n))
    if n < 2 or not (a.lin or a.rest):
        if n > 1 and a.const.height_bits() * n > LONGEST:
            raise OverflowError(f"a number has more than {LONGEST} bits")
        return a if n == 1 else Sum(a.const**n)
    return node("pow", a, Sum(fmpq(n)))


def mix(scores: Sequence[Sum], values: Sequence[Sum]) -> Sum:
    """Σ_k v_k e^{s_k} / Σ_k e^{s_k}: weights add up to 1, so what all values share is taken out."""
    relative = [plus(s, scores[0], -ONE) for s in scores]
    if len(set(relative)) == 1:
        share = fmpq(1, len(values))
        return combine((share, v) for v in values)
    plane = values[0]._replace(const=ZERO)
    apart = [plus(v, plane, -ONE) for v in values]
    if len(set(apart)) == 1:
        return values[0]
    return plus(plane, Sum(rest=((Node("mix", (*relative, *apart)), ONE),)))


def gathered(s: Sum) -> Sum:
    """The sum with mixtures of equal scores made one."""
    groups: dict[tuple[Sum, ...], list[tuple[fmpq, Node]]] = {}
    for n, c in s.rest:
        if n.kind == "mix":
            groups.setdefault(n.args[: len(n.args) // 2], []).append((c, n))
    terms = [(ONE, s)]
    for scores, members in groups.items():
        if len(members) > 1:
            p = len(scores)
            terms += [(-c, Sum(rest=((n, ONE),))) for c, n in members]
            values = (combine((c, n.args[p + k]) for c, n in members) for k in range(p))
            terms.append((ONE, mix(scores, tuple(values))))
    return combine(terms)


def walk(start: Iterable[Sum]) -> list[Node]:
    """All nodes below these sums, each after those it depends on."""
    done: dict[Node, None] = {}
    stack = [n for s in start for n, _ in s.rest]
    while stack:
        n = stack[-1]
        below = [] if n in done else [m for a in n.args for m, _ in a.rest if m not in done]
        if below:
            stack += below
        else:
            done[stack.pop()] = None
    return list(done)


def normal(form: Form) -> Form:
    """The form divided by its first coefficient."""
    return tuple((i, c / form[0][1]) for i, c in form)
