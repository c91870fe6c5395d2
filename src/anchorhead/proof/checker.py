"""The checker: whether a certificate holds for a network, without trust in who made either.

A certificate is a text. It tells a target (formulas), a domain, a network's digest, and for every part
of the error how its range is cut into cells. The checker reads target and network as exact
expressions, works out the parts by itself, encloses the error on every cell, and compares. Nothing
here comes from the compiler or from those who searched for the proof; what it stands on is
``anchorhead.enclosure``. Comparisons are written so that nan fails them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np
from flint import arb, fmpq

from anchorhead.enclosure.cells import Cells, leaves
from anchorhead.enclosure.expressions import ONE, ZERO, Sum, combine, gathered, plus
from anchorhead.enclosure.parts import Part, Range, of_one_number, part_of, separated, stage
from anchorhead.enclosure.reading import Entries, entries_of, exact, read_network, read_target
from anchorhead.enclosure.rounding import rounding
from anchorhead.enclosure.series import up

__all__ = [
    "Account",
    "Claim",
    "Verdict",
    "check",
    "digest",
    "leading",
    "sealed",
    "size",
    "statement",
    "upward",
]

FORMAT, VERSION = "anchorhead certificate", 1

HIGHEST = {1: 64, 2: 20, 3: 10, 4: 6}
"""No series goes to a higher order, by the number of coordinates, and no part has more of them: a
certificate shall not make its checker run for ever."""

UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)
"""What data of any other form may raise where it is read."""


class RefusedError(Exception):
    """Why a certificate does not hold."""


@dataclass(frozen=True)
class Verdict:
    """Whether a certificate holds for a network, and in a sentence what holds or what does not."""

    valid: bool
    reason: str

    def __bool__(self) -> bool:
        return self.valid


def check(certificate: Any, network: Any) -> Verdict:
    """Verify every cell of a certificate, a ``Certificate`` or its text, for a network.

    Statement. If the verdict is valid, then |network(X) − target(X)| ≤ certificate.approximation for
    every X of the certificate's domain in exact arithmetic, and ≤ certificate.bound for every X of
    numbers of the certificate's dtype, when the network is run in it as ``enclosure.rounding`` says.
    """
    try:
        record = _record(getattr(certificate, "text", certificate))
        if not isinstance(getattr(network, "layers", None), tuple):
            raise RefusedError(f"network is a {type(network).__name__}, and no Network")
        _verify(record, network)
    except RefusedError as refused:
        return Verdict(False, str(refused))
    except UNREADABLE as error:
        return Verdict(False, f"the certificate cannot be read ({error or type(error).__name__})")
    scope = "" if record["complete"] else "; the search for it was stopped before it was tight"
    return Verdict(True, f"the bound {record['bound']!r} holds{scope}")


def sealed(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the digest of all the rest of it."""
    rest = {name: value for name, value in record.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**rest, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def digest(network: Any) -> str:
    """SHA-256 of a network's layers: names, shapes and every bit of every weight."""
    told = hashlib.sha256()

    def tell(thing: Any) -> None:
        if is_dataclass(thing):
            told.update(f"<{type(thing).__name__}>".encode())
            for entry in fields(thing):
                told.update(f"{entry.name}=".encode())
                tell(getattr(thing, entry.name))
        elif isinstance(thing, np.ndarray):
            told.update(f"array{thing.shape}".encode())
            told.update(np.ascontiguousarray(thing, "<f8").tobytes())
        elif isinstance(thing, tuple):
            told.update(f"tuple{len(thing)}".encode())
            for item in thing:
                tell(item)
        else:
            told.update(f"{thing!r};".encode())

    tell(tuple(network.layers))
    return told.hexdigest()


@dataclass(frozen=True, eq=False)
class Claim:
    """network − target, entry by entry, as expressions of X over a box."""

    network: Any
    errors: list[Sum]
    box: list[Range]
    arrays: list[Entries]

    @classmethod
    def of(cls, network: Any, target: dict[str, Any], low: Any, high: Any) -> Claim:
        """The claim about a target's text; a domain of one row is that of every token by itself."""
        if not all(isinstance(x, float | int) for x in (*_flat(low), *_flat(high))):
            raise RefusedError("the domain is no array of numbers")
        low, high = np.array(low, dtype=float), np.array(high, dtype=float)
        rows, width = network.shape_in
        alone = low.ndim == 1
        tokens = (rows or 1) if alone else len(low)
        if low.shape != high.shape or low.shape[-1] != width or (rows or tokens) != tokens:
            raise RefusedError(
                f"the domain has shape {low.shape}, and the network takes other arrays"
            )
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
            raise RefusedError("the domain is no box of finite numbers")
        low, high = (np.broadcast_to(end, (tokens, width)).ravel() for end in (low, high))
        box = [(exact(a), exact(b)) for a, b in zip(low, high, strict=True)]
        entries = entries_of(box)
        if len(target["variables"]) != (width if alone else len(box)):
            raise RefusedError("the target has another number of variables than the domain")
        arrays = read_network(network, entries)
        last = arrays[-1]
        if alone:
            rows = [entries[i * width : (i + 1) * width] for i in range(len(last))]
            outputs = [s for row in rows for s in read_target(target, row)[0]]
        else:
            outputs = read_target(target, entries)[0]
        made = [s for row in last for s in row]
        if len(made) != len(outputs):
            raise RefusedError(f"the target has {len(outputs)} values and the network {len(made)}")
        errors = [gathered(plus(a, b, -ONE)) for a, b in zip(made, outputs, strict=True)]
        return cls(network, errors, box, arrays)


def statement(record: dict[str, Any], network: Any) -> str:
    """What a certificate claims, in words; numbers are rounded up."""
    bound, approximation = (
        f"{Context(prec=4, rounding=ROUND_CEILING).create_decimal(record[name]):e}"
        for name in ("bound", "approximation")
    )
    seen = [head.sees for layer in network.layers for head in getattr(layer, "heads", ())]
    if isinstance(record["domain"]["low"][0], list):
        scope = "every X of the domain"
    elif network.shape_in[0] is not None:
        scope = "every X with its tokens in the domain"
    else:
        scope = f"{'a single' if 'all' in seen else 'every'} token of the domain"
    stopped = (
        "" if record["complete"] else "; incomplete: the search for a better bound was stopped"
    )
    return (
        f"|network − target| ≤ {bound} in {record['dtype']}, {approximation} exactly, for {scope}"
        f"{stopped}"
    )


def _flat(values: Any) -> Iterator[Any]:
    """The numbers of a nested list."""
    for value in values:
        yield from _flat(value) if isinstance(value, list) else (value,)


def upward(terms: Sequence[float]) -> float:
    """A float that is no smaller than the sum of these."""
    total = math.fsum(terms)
    return math.nextafter(total, math.inf) if total else 0.0


def size(q: fmpq) -> float:
    """A float that is no smaller than a rational's absolute value."""
    return 0.0 if q == 0 else math.nextafter(int(abs(q).p) / int(q.q), math.inf)


Cover = Callable[[int, Part], tuple[float, float]]
"""Proves a bound of a part, whose number in the certificate is given, and tells what is attained."""


@dataclass(eq=False)
class Account:
    """Bounds of errors over a box, from those of their parts.

    ``shares`` has one number for each part, ``cover`` proves its bound, and ``met`` tells the
    expression for which a part stood first. ``attained`` is an error that some error met certainly
    takes; 0 where none is known, as where there are several parts.
    """

    box: Sequence[Range]
    shares: Sequence[fmpq]
    cover: Cover
    met: dict[int, Sum] = field(default_factory=dict)
    attained: float = 0.0

    def bound(self, error: Sum, hint: dict[str, Any]) -> float:
        """A bound of |error| over the box.

        Statement. error = const + Σ κ_g G_g, each G_g of linear forms of its own. For any numbers a_g,
        |error| ≤ Σ |κ_g| sup |G_g + a_g| + |const − Σ κ_g a_g|. The hint numbers the parts.
        """
        if "stage" in hint:
            return self._of_stage(error, hint["stage"])
        groups = separated(error)
        if combine((ONE, group) for group in groups) != error._replace(const=ZERO):
            raise RefusedError("the parts of the error do not add up to it")
        if len(groups) != len(hint["parts"]):
            raise RefusedError(
                f"the error has {len(groups)} parts, the certificate {hint['parts']}"
            )
        left, terms = error.const, []
        for group, number in zip(groups, hint["parts"], strict=True):
            self._require(number)
            factor = leading(group)
            left -= factor * self.shares[number]
            bound, lower = self._of_part(combine([(ONE / factor, group)]), number)
            terms.append(math.nextafter(size(factor) * bound, math.inf) if bound else 0.0)
            if len(groups) == 1:
                known = lower * size(factor) * (1 - 1e-12) - size(left)
                self.attained = max(self.attained, known)
        return upward([*terms, size(left)])

    def _of_part(self, own: Sum, number: int) -> tuple[float, float]:
        """The bound of a part, and what is attained.

        It is ``own`` here; rounding may set that apart from the expression where it was met.
        """
        first = self.met.setdefault(number, own)
        share = Sum(self.shares[number])
        part = part_of(plus(own, share), self.box)
        origin = part if own == first else part_of(plus(first, share), self.box)
        bound, lower = self.cover(number, origin)
        if part.key == origin.key:  # the same, perhaps of another token
            free = part.coordinates == 1 or all(len(form) == 1 for form in part.forms)
            return bound, lower if free else 0.0
        return upward([bound, *map(up, self._range(plus(own, first, -ONE)))]), 0.0

    def _of_stage(self, error: Sum, hint: dict[str, Any]) -> float:
        """The bound where error = κ node(g) + rest, and g is no affine function of X.

        Statement. For any λ and a, |error| ≤ sup_u |κ node(u) − λ u + a| + sup |λ g + rest − a| with
        u in the range of g. With ε the second supremum, λ g differs from a − rest by at most ε, and so
        g stays in the range of that, wider by ε and divided by λ: the network's own quantity is held
        to the target's.
        """
        found, slope, number = stage(error), fmpq(*map(int, hint["slope"])), hint["outer"]
        self._require(number)
        if found is None or slope == 0:
            raise RefusedError("the certificate sees a stage where there is none")
        node, coefficient, g = found
        share = Sum(self.shares[number])
        rest = combine([(ONE, error), (-coefficient, Sum(rest=((node, ONE),))), (-ONE, share)])
        attained = self.attained
        inner = self.bound(combine([(ONE, rest), (slope, g)]), hint)
        self.attained = attained
        if not inner < math.inf:
            return math.inf
        low, high = (-end.fmpq() for end in reversed(self._range(rest)))
        near = sorted(((low - exact(inner)) / slope, (high + exact(inner)) / slope))
        own = [end.fmpq() for end in self._range(g)]
        root = max(near[0], own[0]), min(near[1], own[1])
        if not root[0] <= root[1]:
            raise RefusedError("a stage has no values")
        outer = plus(of_one_number(node, coefficient, g, slope), share)
        return upward([inner, self.cover(number, Part(outer, (root,), ()))[0]])

    def _require(self, number: Any) -> None:
        if type(number) is not int or not 0 <= number < len(self.shares):
            raise RefusedError(f"{number!r} is no part's number")

    def _range(self, s: Sum) -> tuple[arb, arb]:
        """Numbers between which a sum stays over the box."""
        part = part_of(s, self.box)
        low, high = Cells(part, 1).range_over(part.root)
        if not (low.is_finite() and high.is_finite()):
            raise RefusedError("a quantity between two stages is not bounded")
        return low, high


def leading(group: Sum) -> fmpq:
    """The coefficient by which a group of terms is divided to be a part."""
    return (group.rest or group.lin)[0][1]


def _record(text: Any) -> dict[str, Any]:
    """The certificate as data, if it is whole."""
    record = json.loads(text) if isinstance(text, str) else None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise RefusedError(
            "this is no certificate; give one that anchorhead.certify made, or its text"
        )
    if record.get("version") != VERSION:
        raise RefusedError(f"the certificate has version {record.get('version')}, not {VERSION}")
    if sealed(record)["sha256"] != record.get("sha256"):
        raise RefusedError("the certificate was edited: its digest is not that of its contents")
    if record["kind"] != "proven":
        raise RefusedError(f"the certificate is {record['kind']}: nothing is proven")
    return record


def _verify(record: dict[str, Any], network: Any) -> None:
    if digest(network) != record["network"]:
        raise RefusedError(
            "the network is not the one the certificate is about: its weights differ"
        )
    if record["dtype"] not in ("float64", "float32") or not isinstance(record["complete"], bool):
        raise RefusedError(
            "dtype is neither float64 nor float32, or complete neither true nor false"
        )
    numbers = [record[name] for name in ("approximation", "rounding", "bound", "attained")]
    if not all(isinstance(x, float) and 0 <= x < math.inf for x in numbers):
        raise RefusedError(f"the bounds {numbers} are not finite numbers")
    claim = Claim.of(network, record["target"], record["domain"]["low"], record["domain"]["high"])
    stored = record["parts"]
    shares = [fmpq(*map(int, part["share"])) for part in stored]
    seen: dict[int, tuple[Part, list, float]] = {}

    def cover(number: int, part: Part) -> tuple[float, float]:
        if number not in seen:
            seen[number] = part, *_covered(number, part, stored[number])
        elif seen[number][0].key != part.key:
            raise RefusedError(f"part {number} stands for two different parts")
        return stored[number]["bound"], seen[number][2]

    if len(record["outputs"]) != len(claim.errors):
        raise RefusedError("the certificate is about another number of outputs")
    account = Account(claim.box, shares, cover)
    for error, hint in zip(claim.errors, record["outputs"], strict=True):
        bound = account.bound(error, hint)
        if not bound <= record["approximation"]:
            raise RefusedError(f"the parts add up to {bound}, above {record['approximation']}")
    if not record["attained"] <= account.attained:
        raise RefusedError(f"no error of {record['attained']} is known to be attained")
    parts = [seen[number][:2] for number in sorted(seen)]
    found = rounding(network, claim.arrays, claim.box, parts, record["dtype"])
    if not found <= record["rounding"]:
        raise RefusedError(f"rounding may add {found}, above {record['rounding']}")
    if not upward([record["approximation"], record["rounding"]]) <= record["bound"]:
        raise RefusedError("approximation and rounding add up to more than the bound")
    if record["statement"] != statement(record, network):
        raise RefusedError("the statement is not what the numbers say")


def _covered(number: int, part: Part, stored: dict[str, Any]) -> tuple[list, float]:
    """The cells of a part, each of them verified, and an error attained in one of them."""
    order, bound = stored["order"], stored["bound"]
    highest = HIGHEST.get(part.coordinates, 0)
    if not (isinstance(order, int) and 1 <= order <= highest and isinstance(bound, float)):
        raise RefusedError(f"part {number} has order {order} and bound {bound}")
    cells = Cells(part, order)
    if len(cells.roots) != len(stored["cells"]):
        raise RefusedError(f"part {number} has {len(cells.roots)} pieces between its kinks")
    found, lower = [], 0.0
    for root, tree in zip(cells.roots, stored["cells"], strict=True):
        for cell in leaves(root, tree):
            upper, attained, _ = cells.error(cell)
            lower = max(lower, attained)
            if not upper <= bound:
                where = ", ".join(f"{float(int(a.p) / int(a.q)):.6g}" for a, _ in cell)
                raise RefusedError(
                    f"in the cell at {where} the error is {upper:.6g}, above {bound:.6g}"
                )
            found.append(cell)
    return found, lower
