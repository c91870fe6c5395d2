"""How far a network, run in float64 or float32, may be from itself in exact arithmetic.

Statement. Let x be an array of numbers of the dtype, u its unit roundoff, γ_k = k u/(1 − k u). Let
every sum be taken in any order, products and quotients be rounded to nearest, and exponentials be
within EXP units in the last place (of the libraries in use none is known to be worse; numbers below
the normal range may be flushed to 0). Then every output is within the result of its exact value.

- A linear map with k roundings on the way to an entry adds γ_k Σ|x w|, and carries what was wrong
  before. Products with powers of two and sums with 0 round nothing. Weights that the dtype does not
  hold are rounded first.
- A softmax head. The computed weights are e_k(1 + θ_k) before they are normalised, with |θ_k| ≤ η_k
  = e^{τ_k}(1 + …) − 1, where τ_k bounds what is wrong with score k. As weights add up to 1,
  F̃ − F = Σ p_k θ_k (v_k − F) / (1 + Σ p_k θ_k): at most Σ p_k η_k |v_k − F| / (1 − Σ p_k η_k).
  What is wrong with a query moves all scores together, by c·δq for any c, and only what differs
  between the keys counts. The sums of p terms add at most γ_{2p} Σ p_k |v_k|, and
  less where most are small (``_summed``).
- Windows (``run/windows.py``) leave out at most u of the weight.

All this is taken over cells, on which p_k, v_k and F vary little. It is computed with floats, as sums
and products of numbers above 0: SLACK covers what that rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np

from anchorhead.enclosure.expressions import Sum
from anchorhead.enclosure.parts import Part, Range, coordinates, over
from anchorhead.enclosure.reading import Entries, exact, times
from anchorhead.enclosure.spread import SLACK, Dtype, Spread, added, behind, joined, mapped, mixed

__all__ = ["rounding"]

WINDOWS = 16
"""Heads of fewer anchors are run without windows."""

FINE = 512
"""Cells are cut until there are about so many: p_k and F should vary little on each."""

ENTRIES = 2**20
"""About the largest number of entries of one array."""


Suited = Callable[[int, Any], tuple[Spread, Spread]]
"""What enters a layer, and the query of a row for a head, over cells that suit it."""


def rounding(
    network: Any,
    arrays: Sequence[Entries],
    box: Sequence[Range],
    parts: Sequence[tuple[Part, Sequence[Sequence[Range]]]],
    dtype: str,
) -> float:
    """The bound of the statement over a box; inf where there is none.

    Args:
        network: Its layers.
        arrays: The arrays between them, as expressions (``reading.read_network``).
        box: The ranges of the entries of X.
        parts: Parts of the error, each with cells that cover all values of its coordinates. Where all
            have the same coordinates, everything is taken over these cells; else a row of an
            attention layer is, whose query depends on the coordinates of some part.
        dtype: "float64" or "float32".
    """
    kind, worst = Dtype.of(dtype), 0.0
    parts = [(part, _finer(cells, part.coordinates)) for part, cells in parts if part.forms]
    alike = len({(part.forms, part.root, part.loose) for part, _ in parts}) == 1
    part, cells = parts[0] if alike else (None, [box])
    step = max(1, ENTRIES // _largest_head(network, len(arrays[0])))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for start in range(0, len(cells), step):
            some = cells[start : start + step]
            X = _affine(arrays[0], box, part, some)
            X = X._replace(err=X.err + kind.tiny * (X.size > 0))  # some machines take these for 0
            for before, layer, after in zip(arrays, network.layers, arrays[1:], strict=False):
                affine = not any(s.rest for row in before for s in row)
                suited = None
                if affine and type(layer).__name__ == "Attention":
                    suited = partial(_suited, before, box, parts, part, some, X)
                X = _layer(layer, X, kind, suited)
                if affine and not any(s.rest for row in after for s in row):
                    known = _affine(after, box, part, some)
                    X = Spread(known.mid, known.far, X.err)
            found = float(X.err.max())
            worst = max(worst, found if math.isfinite(found) else math.inf)
    return worst * SLACK


def _suited(
    entries: Entries,
    box: Sequence[Range],
    parts: Sequence[tuple[Part, list[list[Range]]]],
    part: Part | None,
    cells: Sequence[Sequence[Range]],
    X: Spread,
    row: int,
    head: Any,
) -> tuple[Spread, Spread]:
    """What enters a layer, and a row's query for a head, over cells of what that depends on."""
    query = times([entries[row]], head.query)
    forms = [s.lin for s in query[0] if s.lin]
    if part is None and forms:
        for other, its_cells in parts:
            place = coordinates(other.forms)
            if all(place(form) is not None for form in forms):
                known = _affine(entries, box, other, its_cells)
                X = Spread(known.mid, known.far, np.broadcast_to(X.err, known.mid.shape))
                part, cells = other, its_cells
                break
    return X, _affine(query, box, part, cells).at(np.s_[:, 0])


def _finer(cells: Sequence[Sequence[Range]], axes: int) -> list[list[Range]]:
    """The cells, each cut evenly."""
    count = max(1, math.ceil((FINE / len(cells)) ** (1 / axes)))
    cut = []
    for cell in cells:
        lines = (
            [low + (high - low) * i / count for i in range(count + 1)] for low, high in cell[:axes]
        )
        loose = list(cell[axes:])
        cut += [[*box, *loose] for box in product(*(list(pairwise(line)) for line in lines))]
    return cut


def _largest_head(network: Any, rows: int) -> int:
    """The entries that one cell takes in the largest head."""
    heads = [h for layer in network.layers for h in getattr(layer, "heads", ())]
    return (
        max((h.anchors + rows) * max(h.width_out, h.query.shape[1]) for h in heads) if heads else 1
    )


def _affine(
    entries: Entries, box: Sequence[Range], part: Part | None, cells: Sequence[Sequence[Range]]
) -> Spread:
    """Affine entries over the cells: cells × rows × columns, nothing wrong with them."""
    place = coordinates(part.forms) if part is not None and part.forms else None
    ends = np.array([[[float(_number(e)) for e in side] for side in cell] for cell in cells])
    middle, half = ends.mean(axis=2), np.abs(np.diff(ends, axis=2)[..., 0]) / 2
    shape = len(cells), len(entries), len(entries[0])
    mid, far = np.empty(shape), np.empty(shape)
    for i, row in enumerate(entries):
        for j, s in enumerate(row):
            mid[:, i, j], far[:, i, j] = _form(s, box, place, middle, half)
    return Spread(mid, far, np.zeros(shape))


def _form(
    s: Sum, box: Sequence[Range], place: Any, middle: np.ndarray, half: np.ndarray
) -> tuple[Any, Any]:
    const, u = float(_number(s.const)), 2.0**-50
    if not s.lin:
        return const, 0.0 if exact(const) == s.const else abs(const) * u
    known = place(s.lin) if place is not None else None
    if known is None:
        low, high = (float(_number(end)) for end in over(s.lin, box))
        return const + (low + high) / 2, (high - low) / 2 + u * (abs(const) + abs(low) + abs(high))
    mid, far, size = const, 0.0, abs(const)
    for a, c in known:
        c = float(_number(c))
        mid = mid + c * middle[:, a]
        far = far + abs(c) * half[:, a]
        size = size + abs(c) * (np.abs(middle[:, a]) + half[:, a])
    return mid, far + u * size


def _number(q: Any) -> float:
    """The double nearest to a rational, or inf."""
    try:
        return int(q.p) / int(q.q)
    except OverflowError:
        return math.inf if q > 0 else -math.inf


def _layer(layer: Any, X: Spread, kind: Dtype, suited: Suited | None) -> Spread:
    name = type(layer).__name__
    if name == "Linear":
        return _linear(layer, X, kind)
    if name == "Attention":
        return _attention(layer, X, kind, suited)
    unit = np.eye(X.mid.shape[2])
    values = Spread(unit, 0 * unit, 0 * unit)
    rows = [
        mixed(X.mid[:, i], X.far[:, i], X.err[:, i] + _shift(X, i, kind), values, kind)
        for i in range(X.mid.shape[1])
    ]
    return _stacked(rows)


def _shift(X: Spread, i: int, kind: Dtype) -> np.ndarray:
    return behind(X.mid[:, i], X.far[:, i] + X.err[:, i]) * kind.unit


def _linear(layer: Any, X: Spread, kind: Dtype) -> Spread:
    rows, width = layer.shape_out[0] or X.mid.shape[1], layer.shape_out[1]
    empty = np.zeros((len(X.mid), rows, width))
    terms = []
    if layer.constant is not None:
        R = np.broadcast_to(layer.constant, empty.shape)
        terms.append(Spread(R, 0 * R, kind.lost(R)))
    for term in layer.terms:
        Z = X
        if term.scale is not None:
            S = np.abs(term.scale)
            err = Z.err * S + Z.size * kind.lost(term.scale) + kind.gamma(S > 0) * Z.size * S
            err = err + kind.tiny * ((S > 0) & (S != 1)) + kind.held(Z.size * S)
            Z = Spread(Z.mid * term.scale, Z.far * S + 2.0**-50 * Z.size * S, err * SLACK)
        Z = mapped(Z, term.features, kind)
        if term.tokens is not None:
            turned = Spread(*(a.swapaxes(1, 2) for a in Z))
            Z = Spread(*(a.swapaxes(1, 2) for a in mapped(turned, term.tokens.T, kind)))
        kept = min(rows, Z.mid.shape[1])
        whole = Spread(empty.copy(), empty.copy(), empty.copy())
        for into, part in zip(whole, Z, strict=True):
            into[:, :kept] = part[:, :kept]
        terms.append(whole)
    return added(terms, kind) if terms else Spread(empty, empty, empty)


def _attention(layer: Any, Z: Spread, kind: Dtype, suited: Suited | None) -> Spread:
    rows = []
    for i in range(layer.keep or Z.mid.shape[1]):
        terms = [Z.at(np.s_[:, i])] if layer.residual else []
        for head in layer.heads:
            here, known = (Z, None) if suited is None else suited(i, head)
            K = V = None
            if head.sees != "anchors":
                K, V = mapped(here, head.key, kind), mapped(here, head.value, kind)
            q = mapped(here.at(np.s_[:, i]), head.query, kind)
            if known is not None:
                q = Spread(known.mid, known.far, q.err)
            made = mapped(_head_row(head, q, K, V, i, kind), head.output, kind)
            terms.append(made if len(made.mid) == len(Z.mid) else joined(made))
        rows.append(added(terms, kind))
    return _stacked(rows)


def _stacked(rows: Sequence[Spread]) -> Spread:
    return Spread(*(np.stack(parts, axis=1) for parts in zip(*rows, strict=True)))


def _head_row(
    head: Any, q: Spread, K: Spread | None, V: Spread | None, i: int, kind: Dtype
) -> Spread:
    """What a head writes to token i: scores and values of all that it sees, cells × keys × ….

    Score k is Σ_a q_a k_a. That of an anchor is wrong by Σ_a |k_a − c_a| δq_a, c being the mean key, as
    far as the query is to blame.
    """
    keys, values = [], []
    if K is not None and V is not None:
        seen = np.arange(K.mid.shape[1])
        seen = seen[seen == i] if head.sees == "self" else seen[(seen <= i) | (not head.causal)]
        keys.append(K.at(np.s_[:, seen]))
        values.append(V.at(np.s_[:, seen]))
    if head.anchor_keys is not None:
        for into, array in ((keys, head.anchor_keys), (values, head.anchor_values)):
            wide = np.broadcast_to(array, (len(q.mid), *array.shape))
            into.append(Spread(wide, np.zeros_like(wide), kind.lost(wide)))
    k = Spread(*(np.concatenate(parts, axis=1) for parts in zip(*keys, strict=True)))
    v = Spread(*(np.concatenate(parts, axis=1) for parts in zip(*values, strict=True)))
    q = q.at(np.s_[:, None])
    scores = (q.mid * k.mid).sum(axis=2)
    size = (q.size * k.size).sum(axis=2)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = (weights[..., None] * k.mid).sum(axis=1, keepdims=True)
    apart = np.abs(k.mid - mean)
    lost = (k.mid.shape[2] + 8) * 2.0**-52 * size
    far = (apart * q.far + (np.abs(q.mid) + q.far) * k.far).sum(axis=2) + lost
    wrong = (apart * q.err + (np.abs(q.mid) + q.far + q.err) * k.err + k.far * q.err).sum(axis=2)
    used = (q.size * k.size > 0).sum(axis=2)
    powers = ((np.frexp(np.abs(k.mid))[0] == 0.5) & (k.far == 0) & (k.err == 0)) | (k.size == 0)
    plain = ((np.abs(q.mid) == 1) & (q.far == 0) & (q.err == 0)) | powers
    count = np.maximum(used - 1, 0) + ~plain.all(axis=2)
    wrong = wrong + kind.gamma(count) * size + 2 * used * kind.tiny + kind.held(size)
    wrong = wrong + kind.unit * behind(scores, far + wrong)
    narrow = head.sees == "anchors" and kind.name == "float64" and head.anchors >= WINDOWS
    return mixed(scores, far, wrong * SLACK, v, kind, windows=narrow)
