"""What is to be proven: a target as formulas, and the domain, from what a user gives for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from anchorhead.compiler.target import box_of, given
from anchorhead.domain import Box
from anchorhead.enclosure.cells import Cells
from anchorhead.enclosure.expressions import ONE
from anchorhead.enclosure.parts import Part, Range
from anchorhead.enclosure.reading import entries_of, exact, read_target
from anchorhead.errors import InputError, ShapeError
from anchorhead.formula import Formula, NotTraceable, from_sympy, trace
from anchorhead.network import Network

__all__ = ["Subject", "require_defined", "subject"]

TRIED = 16
"""Points at which a formula is compared with the function it was read from."""

AGREE = 1e-6
"""How far the two may differ there, as a part of the function's size."""

FINEST = 2.0**-40
"""A target without a value on so small a part of the domain is taken to have none there."""

MOST = 5000
"""Boxes that are looked at for a place where the target has no value."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A target on a domain: its formula, or why it has none; and as a function of arrays.

    The domain has one row, which is that of every token by itself, or a row for each token.
    """

    formula: Formula | None
    why: str
    values: Callable[[np.ndarray], np.ndarray] | None
    box: Box

    @property
    def record(self) -> dict[str, Any]:
        """The formula as a certificate tells it."""
        f = self.formula
        if f is None:
            return {"variables": [], "where": [], "outputs": []}
        where = [list(pair) for pair in f.where]
        return {"variables": list(f.variables), "where": where, "outputs": list(f.outputs)}


def subject(network: Network, target: Any, domain: Any) -> Subject:
    """Check a target and a domain against the network they are for."""
    if not isinstance(network, Network):
        raise InputError(f"network is a {type(network).__name__}; give a Network")
    width = network.shape_in[1]
    if not (callable(target) or _symbolic(target)):
        raise InputError(
            f"target is a {type(target).__name__}; give a SymPy expression or a function of arrays"
        )
    if isinstance(domain, Box) and domain.low.ndim == 2:
        return _of_sequences(network, target, domain)
    names = tuple(domain) if isinstance(domain, Mapping) else None
    if _symbolic(target):
        box = box_of(domain)
        found = Subject(_as_formula(target, names, box.low.size), "", None, box)
    else:
        found = _of_function(target, domain)
    if found.box.low.size != width:
        raise ShapeError(
            f"domain has {found.box.low.size} variables where a token of the network has {width}; give "
            f"one pair (low, high) for each, or a Box of the shape of the whole array"
        )
    outputs = network.shape_out[1]
    if found.formula is not None and len(found.formula.outputs) != outputs:
        raise ShapeError(
            f"target has {len(found.formula.outputs)} values where a token of the network's output has "
            f"{outputs}; give one for each"
        )
    return found


def _of_function(target: Callable, domain: Any) -> Subject:
    """A function of one array for each variable, or only of balls, by one call with symbols."""
    try:
        known = given(target, domain)
    except InputError:
        box = box_of(domain)
        if not _wants_balls(target, box):
            raise
        made, _ = _traced(lambda columns: target(*columns), box, None, None)
        if made is None:
            raise
        return Subject(made, "", None, box)
    made, why = _traced(known.call, known.box, known.names, known.values)
    return Subject(made, why, known.values, known.box)


def _wants_balls(target: Callable, box: Box) -> bool:
    """Whether a function fails on numbers for want of a method that balls and symbols have."""
    try:
        target(*(float(x) for x in (box.low + box.high) / 2))
    except AttributeError:
        return True
    except Exception:  # whatever a user's function may raise
        return False
    return False


def _of_sequences(network: Network, target: Any, box: Box) -> Subject:
    """A target of whole n×d arrays."""
    rows, width = network.shape_in
    if box.shape != (rows or box.shape[0], width):
        raise ShapeError(
            f"domain has shape {box.shape} where the network takes ({rows or 'n'}, {width})"
        )
    n, d = box.shape
    names = np.array([[f"x{i}_{j}" for j in range(d)] for i in range(n)], dtype=object)
    if _symbolic(target):
        return Subject(_as_formula(target, None, n * d), "", None, box)
    made, why = None, ""
    try:
        made = trace(target, names)
    except NotTraceable as error:
        why = str(error)
    if made is not None and len(made.outputs) != math.prod(
        (network.shape_out[0] or n, network.shape_out[1])
    ):
        raise ShapeError(
            f"target has {len(made.outputs)} values, and the network's output another number"
        )
    values: Any = target
    return Subject(made, why, values, box)


def _symbolic(target: Any) -> bool:
    """Whether the target is a SymPy expression or several."""
    first = target[0] if isinstance(target, list | tuple) and target else target
    return type(first).__module__.split(".")[0] == "sympy"


def _as_formula(target: Any, names: Sequence[str] | None, count: int) -> Formula:
    """SymPy expressions of the variables that the domain names, or of as many as it has."""
    parts = target if isinstance(target, list | tuple) else [target]
    free = sorted({str(s) for part in parts for s in getattr(part, "free_symbols", ())})
    if (names is None and len(free) != count) or (
        names is not None and not set(free) <= set(names)
    ):
        raise InputError(
            f"target has the variables {', '.join(free) or '(none)'} where domain has "
            f"{', '.join(names) if names else count}; give domain as a dict of name to pair"
        )
    return from_sympy(target, names or free)


def _traced(
    call: Callable, box: Box, names: Sequence[str] | None, values: Callable | None
) -> tuple[Formula | None, str]:
    """The formula of a function of one array for each variable, if it can be read off; or why not."""
    d = box.low.size
    names = names or (("x",) if d == 1 else tuple(f"x{i}" for i in range(d)))
    try:
        made = trace(
            lambda *columns: call(list(columns)), *(np.array([n], dtype=object) for n in names)
        )
    except NotTraceable as error:
        return None, str(error)
    except InputError as error:  # a name that no formula can have
        return None, str(error)
    if values is None:
        return made, ""
    X = box.sample(TRIED, seed=0)
    told, meant = values(X), formula_values(made, box, X)
    near = np.abs(told - meant) <= AGREE * np.maximum(np.abs(told), np.abs(told).mean())
    if meant.shape != told.shape or not near.all():
        return None, "it answers symbols and numbers differently"
    return made, ""


def formula_values(formula: Formula, box: Box, X: np.ndarray) -> np.ndarray:
    """The values of a formula at points, as the checker reads it: points × outputs."""
    target = {"variables": formula.variables, "where": formula.where, "outputs": formula.outputs}
    ends = [(exact(low), exact(high)) for low, high in zip(box.low, box.high, strict=True)]
    outputs = read_target(target, entries_of(ends))[0]
    forms = tuple(((i, ONE),) for i in range(X.shape[1]))
    columns = []
    for s in outputs:
        cells = Cells(Part(s, tuple(ends), forms), 1)
        ranges = (cells.range_over([(exact(x), exact(x)) for x in row]) for row in X)
        columns.append([float(low) for low, _ in ranges])
    return np.array(columns).T


def require_defined(found: Subject) -> None:
    """Refuse a target that has no value, or an infinite one, somewhere on the domain."""
    low, high = found.box.low.ravel(), found.box.high.ravel()
    box = tuple((exact(a), exact(b)) for a, b in zip(low, high, strict=True))
    outputs, texts = read_target(found.record, entries_of(box))
    forms = tuple(((i, ONE),) for i in range(len(box)))
    for s in outputs:
        where = _undefined(Part(s, box, forms))
        if where is not None:
            cells, place = where
            node = cells.undefined(place)
            text = texts.get(node, "the whole") if node is not None else "the whole"
            names = found.formula.variables if found.formula is not None else ()
            point = ", ".join(
                f"{name} = {float(int(m.p) / int(m.q)):.6g}"
                for name, m in zip(names, ((a + b) / 2 for a, b in place), strict=True)
            )
            raise InputError(
                f"target is undefined, infinite or not seen to be finite near {point}: {text}; choose "
                f"a domain on which it is finite"
            )


def _undefined(part: Part) -> tuple[Cells, list[Range]] | None:
    """A tiny box on which an expression has no finite value, if there is one."""
    cells = Cells(part, 1)
    widths = [high - low for low, high in part.root]
    stack, looked = [list(root) for root in cells.roots], 0
    while stack:
        box = stack.pop()
        looked += 1
        low, high = cells.range_over(box)
        if low.is_finite() and high.is_finite():
            continue
        shares = [
            (b - a) / width if width else fmpq(0) for (a, b), width in zip(box, widths, strict=True)
        ]
        axis = max(range(len(shares)), key=lambda a: shares[a])
        if shares[axis] < exact(FINEST) or looked > MOST:
            return cells, box
        a, b = box[axis]
        halves = (a, (a + b) / 2), ((a + b) / 2, b)
        stack += [[*box[:axis], half, *box[axis + 1 :]] for half in halves]
    return None
