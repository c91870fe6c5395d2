"""An error, cut into parts that look at different linear forms of X: sup |E| ≤ Σ sup |part|.

A part of one form is a function of one number, whatever X is; theorems about sequences, ridges and
separable sums come apart in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from anchorhead.enclosure.expressions import ONE, ZERO, Form, Node, Sum, combine, normal, walk

__all__ = ["Part", "Range", "coordinates", "of_one_number", "over", "part_of", "separated", "stage"]

CHOICES = ("if>=", "if>")
"""Nodes that are their second argument where the first is ≥ 0, or > 0, and else the third."""

KINKED = ("relu", "abs", *CHOICES)
"""Nodes that change from one formula to another where their first argument is 0."""

ROUNDED = fmpq(1, 2**30)
"""Forms whose coefficients differ by less are taken for one form, rounded differently."""

Range = tuple[fmpq, fmpq]
"""A closed interval with rational ends."""


@dataclass(frozen=True, eq=False)
class Part:
    """An expression of coordinates u_a, each a linear form of X, on a box that they cannot leave.

    The last ``loose`` of the coordinates vary so little that they are never cut.
    """

    expression: Sum
    root: tuple[Range, ...]
    forms: tuple[Form, ...]
    loose: int = 0

    @property
    def coordinates(self) -> int:
        """How many coordinates are cut."""
        return len(self.root) - self.loose

    @property
    def key(self) -> tuple:
        """Equal for parts with the same expression on the same box."""
        return self.expression, self.root, self.loose


def directions(start: Sum) -> frozenset[Form]:
    """The linear forms, up to factors, that the nodes of a sum look at."""
    return frozenset(normal(a.lin) for n in walk([start]) for a in n.args if a.lin)


def rank(forms: Iterable[Form]) -> int:
    """The dimension that the forms span."""
    rows = [dict(form) for form in forms]
    columns = sorted({i for row in rows for i in row})
    if not columns:
        return 0
    return fmpq_mat([[row.get(i, ZERO) for i in columns] for row in rows]).rank()


def near(a: Form, b: Form) -> bool:
    """Whether two forms with first coefficient 1 differ no more than rounding might have made them."""
    if a[0][0] != b[0][0]:
        return False
    c, d = dict(a), dict(b)
    apart = max(abs(c.get(i, ZERO) - d.get(i, ZERO)) for i in c.keys() | d.keys())
    return apart <= ROUNDED * max(map(abs, c.values()))


def separated(error: Sum) -> list[Sum]:
    """A sum's terms in groups whose linear forms span spaces that meet only in 0; no constant.

    Forms that are parallel but for rounding stay together.
    """
    nodes = [(c, Sum(rest=((n, ONE),)), directions(Sum(rest=((n, ONE),)))) for n, c in error.rest]
    items = [(set(forms), [(c, s)]) for c, s, forms in nodes if forms]
    looked_at = [form for forms, _ in items for form in sorted(forms)]
    items += [({normal(lin)}, [(ONE, Sum(lin=lin))]) for lin in _shared_out(error.lin, looked_at)]
    lines: list[tuple[set[Form], list[tuple[fmpq, Sum]]]] = []
    for forms, terms in items:
        if len(forms) == 1:
            (form,) = forms
            beside = (g for g in lines if form in g[0] or any(near(form, other) for other in g[0]))
            group = next(beside, None)
            if group is None:
                lines.append((set(forms), list(terms)))
            else:
                group[0].add(form)
                group[1].extend(terms)
    merged: list[tuple[set[Form], list[tuple[fmpq, Sum]]]] = []
    for forms, terms in (item for item in items if len(item[0]) > 1):
        changed = True
        while changed:  # all that shares a direction with the group joins it
            changed = False
            for pool in (merged, lines):
                for other in list(pool):
                    if rank(forms) + rank(other[0]) > rank(forms | other[0]):
                        pool.remove(other)
                        forms, terms, changed = forms | other[0], other[1] + terms, True
        merged.append((forms, terms))
    fixed = [(c, s) for c, s, forms in nodes if not forms]
    found = [terms for _, terms in lines + merged] or ([[]] if fixed else [])
    return [combine(terms + fixed * (i == 0)) for i, terms in enumerate(found)]


def _shared_out(lin: Form, forms: Iterable[Form]) -> list[Form]:
    """A linear form as multiples of those given, as far as it goes, and the rest of it."""
    basis: list[Form] = []
    for form in forms:
        if rank([*basis, form]) > len(basis):
            basis.append(form)
    if not (lin and basis):
        return [lin] if lin else []
    columns = sorted({i for form in (*basis, lin) for i, _ in form})
    B = fmpq_mat([[dict(form).get(i, ZERO) for i in columns] for form in basis])
    row = fmpq_mat([[dict(lin).get(i, ZERO) for i in columns]])
    shares = row * B.transpose() * (B * B.transpose()).inv()
    parts = [combine([(shares[0, a], Sum(lin=form))]).lin for a, form in enumerate(basis)]
    rest = combine([(ONE, Sum(lin=lin)), *((-ONE, Sum(lin=part)) for part in parts)]).lin
    if rest and max(abs(c) for _, c in rest) > ROUNDED * max(abs(c) for _, c in lin):
        return [lin]
    return [form for form in (*parts, rest) if form]


def over(form: Form, box: Sequence[Range]) -> Range:
    """The exact range of a linear form over a box."""
    ends = [sorted((c * box[i][0], c * box[i][1])) for i, c in form]
    return sum((e[0] for e in ends), ZERO), sum((e[1] for e in ends), ZERO)


def part_of(expression: Sum, box: Sequence[Range]) -> Part:
    """The expression in as few coordinates as it depends on, over all values they take in the box."""
    basis, loose = _basis(expression)
    place = coordinates(basis)
    done: dict[Node, Sum] = {}

    def moved(s: Sum) -> Sum:
        lin = Sum(s.const, place(s.lin) or ())
        return combine([(ONE, lin), *((c, done[n]) for n, c in s.rest)])

    for n in walk([expression]):
        done[n] = node_again(n, [moved(a) for a in n.args])
    root = tuple(over(form, box) for form in basis)
    return Part(moved(expression), root, tuple(basis), loose)


def _basis(expression: Sum) -> tuple[list[Form], int]:
    """The coordinates: forms, those with kinks first; or the variables, where there are as many.

    Of two forms that are parallel but for rounding the second is replaced by their difference, which
    hardly varies. Such differences come last, and are counted.
    """
    kinked = {
        normal(n.args[0].lin) for n in walk([expression]) if n.kind in KINKED and n.args[0].lin
    }
    every = directions(expression) | ({normal(expression.lin)} if expression.lin else set())
    basis: list[Form] = []
    loose: list[Form] = []
    for form in sorted(every, key=lambda form: (form not in kinked, form)):
        if rank([*basis, *loose, form]) > len(basis) + len(loose):
            beside = next((b for b in basis if near(b, form)), None)
            if beside is None:
                basis.append(form)
            else:
                apart = combine([(ONE, Sum(lin=form)), (-ONE, Sum(lin=beside))])
                loose.append(normal(apart.lin))
    variables = sorted({i for form in every for i, _ in form}) or [0]
    if len(basis) == len(variables) or not basis:
        return [((i, ONE),) for i in variables], 0
    return basis + loose, len(loose)


def node_again(n: Node, args: Sequence[Sum]) -> Sum:
    """The node with other arguments."""
    return Sum(rest=((Node(n.kind, tuple(args)), ONE),))


def coordinates(basis: Sequence[Form]) -> Callable[[Form], Form | None]:
    """The function that writes a linear form in terms of those of a basis; None where it cannot."""
    index = {form: a for a, form in enumerate(basis)}
    columns = sorted({i for form in basis for i, _ in form})
    B = fmpq_mat([[dict(form).get(i, ZERO) for i in columns] for form in basis])
    gram = None if len(basis) == 1 else (B * B.transpose()).inv()

    def place(form: Form) -> Form | None:
        if not form:
            return ()
        if (a := index.get(normal(form))) is not None:
            return ((a, form[0][1] / basis[a][0][1]),)
        if gram is None or not {i for i, _ in form} <= set(columns):
            return None
        row = fmpq_mat([[dict(form).get(i, ZERO) for i in columns]])
        solved = row * B.transpose() * gram
        if solved * B != row:
            return None
        return tuple((a, solved[0, a]) for a in range(len(basis)) if solved[0, a] != 0)

    return place


def stage(error: Sum) -> tuple[Node, fmpq, Sum] | None:
    """A mixture in the sum that is a function of one inner quantity g, its coefficient, and g.

    g is no affine function of X, and every argument of the node is α + β g with rational α and β.
    """
    for n, c in error.rest:
        inner = [a for a in n.args if a.rest]
        if n.kind != "mix" or not inner:
            continue
        scale = inner[0].rest[0][1]
        g = combine([(ONE / scale, inner[0]._replace(const=ZERO))])
        if len(g.rest) + len(g.lin) > 1 and all(
            (a.rest and a._replace(const=ZERO) == combine([(a.rest[0][1] / g.rest[0][1], g)]))
            or not (a.rest or a.lin)
            for a in n.args
        ):
            return n, c, g
    return None


def of_one_number(n: Node, coefficient: fmpq, g: Sum, slope: fmpq) -> Sum:
    """Coefficient · node − slope · g as a function of g, written x_0."""
    lead = g.rest[0][1]
    args = [Sum(a.const, ((0, a.rest[0][1] / lead),)) if a.rest else a for a in n.args]
    return combine([(coefficient, node_again(n, args)), (-slope, Sum(lin=((0, ONE),)))])
