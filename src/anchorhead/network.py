"""A network as data: linear maps of a whole sequence, and softmax attention. Nothing else exists.

Rows are tokens: X is n×d. There is no node for an activation or a feed-forward layer, so that
"attention only" is a property of the type. All arrays are float64, read-only and checked once, when
the object that holds them is made. How a network is run is written in ``anchorhead.run``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from anchorhead.errors import InputError, ShapeError, require_array, require_integer, require_shape

if TYPE_CHECKING:
    import os

    import torch

__all__ = [
    "Attention",
    "Head",
    "Layer",
    "Linear",
    "Network",
    "Shape",
    "Size",
    "Softmax",
    "Term",
    "constant_image",
]

Shape: TypeAlias = tuple[int | None, int]
"""Tokens and features; None tokens means any number of them."""

Sees = Literal["all", "self", "anchors"]


class _Frozen:
    """Arrays as fields: converted, checked and made read-only on construction."""

    def _freeze(self, **dimensions: int) -> None:
        for name, number in dimensions.items():
            value = getattr(self, name)
            if value is not None:
                array = require_array(name, value, dimensions=number)
                array.setflags(write=False)
                object.__setattr__(self, name, array)


@dataclass(frozen=True, eq=False)
class Term(_Frozen):
    """One term X ↦ M ((S ∘ X) P) of a linear map; a part left out costs nothing.

    ``scale`` S (rows in × width in) multiplies entry by entry: with columns S_r it stands for the
    sum Σ_r diag(S_r) X e_r e_rᵀ of per-row-diagonal terms, without building any of them.
    ``features`` P (width in × width out) maps the features of each token; without it they stay.
    ``tokens`` M (rows out × rows in) mixes tokens; without it row i goes to row i, rows beyond the
    last are zero and rows that do not fit are dropped.
    """

    features: np.ndarray | None = None
    tokens: np.ndarray | None = None
    scale: np.ndarray | None = None

    def __post_init__(self):
        self._freeze(features=2, tokens=2, scale=2)


@dataclass(frozen=True, eq=False)
class Linear(_Frozen):
    """The linear map A(X) = Σ_r M_r X P_r + R of a whole sequence.

    ``constant`` R is rows out × width out, or a single row added to every token. A map with any
    number of tokens (``shape_in`` starts with None) treats all of them alike.
    """

    shape_in: Shape
    shape_out: Shape
    terms: tuple[Term, ...]
    constant: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "terms", tuple(self.terms))
        self._freeze(constant=2)
        (rows_in, width_in), (rows_out, width_out) = self.shape_in, self.shape_out
        for name, number in (("width in", width_in), ("width out", width_out)):
            require_integer(name, number, least=1)
        for name, number in (("rows in", rows_in), ("rows out", rows_out)):
            if number is not None:
                require_integer(name, number, least=1)
        if (rows_in is None) != (rows_out is None):
            raise ShapeError(
                f"a linear map takes {self.shape_in} to {self.shape_out}; "
                f"either both have any number of tokens (None) or neither"
            )
        for number, term in enumerate(self.terms):
            self._check_term(f"terms[{number}]", term)
        if self.constant is not None:
            rows = 1 if rows_out is None or len(self.constant) == 1 else rows_out
            require_shape("constant", self.constant, (rows, width_out), "the shape of the output")

    def _check_term(self, name: str, term: Term) -> None:
        (rows_in, width_in), (rows_out, width_out) = self.shape_in, self.shape_out
        if term.features is not None:
            reason = "width in × width out"
            require_shape(f"{name}.features", term.features, (width_in, width_out), reason)
        elif width_in != width_out:
            raise ShapeError(
                f"{name} keeps {width_in} features where {width_out} are needed; "
                f"give it a features matrix"
            )
        for part, array, shape in (
            ("tokens", term.tokens, (rows_out, rows_in)),
            ("scale", term.scale, (rows_in, width_in)),
        ):
            if array is None:
                continue
            if rows_in is None:
                raise ShapeError(
                    f"{name}.{part} needs a fixed number of tokens; give the layer's rows"
                )
            require_shape(f"{name}.{part}", array, shape, f"the layer's shape for {part}")


@dataclass(frozen=True, eq=False)
class Head(_Frozen):
    """One softmax head: softmax((Z W_Q) Kᵀ) V W_O, one row of weights per token.

    The keys K and values V are those of the tokens it sees, Z W_K and Z W_V, together with its
    constant ``anchor_keys`` and ``anchor_values`` (prefix form). It ``sees`` all tokens, only the
    token itself, or only its anchors; ``causal`` hides later tokens, never anchors.
    A ``value`` or ``output`` left out is the identity. A head that sees only anchors has neither
    ``key`` nor ``value``.
    """

    query: np.ndarray
    key: np.ndarray | None = None
    value: np.ndarray | None = None
    output: np.ndarray | None = None
    anchor_keys: np.ndarray | None = None
    anchor_values: np.ndarray | None = None
    sees: Sees = "all"
    causal: bool = False

    def __post_init__(self):
        self._freeze(query=2, key=2, value=2, output=2, anchor_keys=2, anchor_values=2)
        if self.sees not in ("all", "self", "anchors"):
            raise InputError(f"sees is {self.sees!r}; use 'all', 'self' or 'anchors'")
        width, depth = self.query.shape
        if self.sees == "anchors":
            if self.key is not None or self.value is not None:
                raise InputError("a head that sees only its anchors has no use for key and value")
            if self.anchor_keys is None:
                raise InputError("anchor_keys is missing where the head sees nothing else")
        elif self.key is None:
            raise InputError("key is missing; give it, or let the head see only its anchors")
        else:
            require_shape("key", self.key, (width, depth), "that of query")
            if self.value is not None and len(self.value) != width:
                raise ShapeError(f"value has {len(self.value)} rows where query has {width}")
        self._check_anchors()
        if self.output is not None and len(self.output) != self.value_width:
            raise ShapeError(
                f"output has {len(self.output)} rows where values have {self.value_width} entries"
            )

    def _check_anchors(self) -> None:
        if (self.anchor_keys is None) != (self.anchor_values is None):
            raise InputError("anchor_keys and anchor_values come together; give both or neither")
        if self.anchor_keys is None or self.anchor_values is None:
            return
        count, depth = len(self.anchor_keys), self.query.shape[1]
        require_shape("anchor_keys", self.anchor_keys, (count, depth), "anchors × width of query")
        shape = (count, self.anchor_values.shape[1] if self.sees == "anchors" else self.value_width)
        require_shape("anchor_values", self.anchor_values, shape, "anchors × width of a value")

    @property
    def anchors(self) -> int:
        """How many constant key rows the head holds beside the tokens."""
        return 0 if self.anchor_keys is None else len(self.anchor_keys)

    @property
    def value_width(self) -> int:
        """Entries of one value."""
        if self.sees == "anchors" and self.anchor_values is not None:
            return self.anchor_values.shape[1]
        return len(self.query) if self.value is None else self.value.shape[1]

    @property
    def width_in(self) -> int:
        """Features of the tokens the head reads."""
        return len(self.query)

    @property
    def width_out(self) -> int:
        """Features the head writes."""
        return self.value_width if self.output is None else self.output.shape[1]


@dataclass(frozen=True, eq=False)
class Attention:
    """Multi-head attention: the sum of its heads, plus the tokens themselves where ``residual``.

    ``keep`` is the number of leading rows that are kept; only those are computed.
    """

    heads: tuple[Head, ...]
    residual: bool = False
    keep: int | None = None

    def __post_init__(self):
        object.__setattr__(self, "heads", tuple(self.heads))
        if not self.heads:
            raise InputError("heads is empty; give a layer at least one head")
        if self.keep is not None:
            require_integer("keep", self.keep, least=1)
        for number, head in enumerate(self.heads):
            for name, width, first in (
                ("reads", head.width_in, self.width_in),
                ("writes", head.width_out, self.width_out),
            ):
                if width != first:
                    raise ShapeError(
                        f"heads[{number}] {name} {width} features where heads[0] {name} {first}"
                    )
        if self.residual and self.width_in != self.width_out:
            raise ShapeError(
                f"a residual layer writes as many features as it reads, not {self.width_out} "
                f"for {self.width_in}"
            )

    @property
    def width_in(self) -> int:
        """Features of the tokens it reads."""
        return self.heads[0].width_in

    @property
    def width_out(self) -> int:
        """Features of the tokens it writes."""
        return self.heads[0].width_out


@dataclass(frozen=True)
class Softmax:
    """A plain softmax of each row."""


Layer: TypeAlias = Linear | Attention | Softmax


@dataclass(frozen=True)
class Size:
    """What a network is made of.

    ``layers`` counts attention layers and plain softmaxes. ``anchors`` counts keys that do not
    depend on the input, sentinels included. ``parameters`` counts the numbers that are stored.
    """

    layers: int
    heads: int
    anchors: int
    parameters: int
    largest_weight: float


@dataclass(frozen=True, eq=False)
class Network:
    """Layers in the order in which they are applied; shapes are checked from one to the next.

    ``network(X)`` runs it on one n×d array or on any leading batch of them, NumPy or torch.
    """

    layers: tuple[Layer, ...]
    shape_in: Shape = field(init=False)
    shape_out: Shape = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise InputError("layers is empty; give a network at least one layer")
        first = self.layers[0]
        if isinstance(first, Softmax):
            raise InputError("layers[0] is a Softmax of unknown width; put a Linear before it")
        shape = first.shape_in if isinstance(first, Linear) else (None, first.width_in)
        object.__setattr__(self, "shape_in", shape)
        for number, layer in enumerate(self.layers):
            shape = _shape_after(f"layers[{number}]", layer, shape)
        object.__setattr__(self, "shape_out", shape)

    @property
    def size(self) -> Size:
        """Layers, heads, anchors, parameters and the largest weight."""
        heads = [head for layer in self.layers for head in getattr(layer, "heads", ())]
        arrays = [array for layer in self.layers for array in _arrays(layer)]
        return Size(
            layers=sum(not isinstance(layer, Linear) for layer in self.layers),
            heads=len(heads),
            anchors=sum(head.anchors for head in heads) + _constant_tokens(self.layers),
            parameters=sum(array.size for array in arrays),
            largest_weight=max((float(np.abs(array).max()) for array in arrays), default=0.0),
        )

    def __call__(self, X: Any) -> Any:
        """The network's output for X, of the kind X is: a NumPy array or a torch tensor."""
        from anchorhead.run import run

        return run(self, X)

    def to_torch(self, dtype: torch.dtype | None = None, trainable: bool = False):
        """The network as a ``torch.nn.Module`` (float64 unless told otherwise)."""
        from anchorhead.run.torch import module

        return module(self, dtype=dtype, trainable=trainable)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a folder, whole or not at all; ``anchorhead.load`` reads it."""
        from anchorhead.export.folder import save

        save(self, path)

    def __str__(self) -> str:
        size = self.size
        rows = [("", "layer", "in", "out", "made of")]
        shape = self.shape_in
        for number, layer in enumerate(self.layers, 1):
            after = _shape_after("", layer, shape)
            name = type(layer).__name__
            rows.append((str(number), name, _written(shape), _written(after), _detail(layer)))
            shape = after
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        table = ("  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)) for row in rows)
        title = (
            f"Network {_written(self.shape_in)} → {_written(self.shape_out)}: "
            f"{size.layers} nonlinear layers, {size.heads} heads, {size.anchors} anchors, "
            f"{size.parameters:,} parameters, largest weight {size.largest_weight:.3g}"
        )
        return "\n".join([title, *(row.rstrip() for row in table)])

    __repr__ = __str__


def constant_image(linear: Linear, matrix: np.ndarray | None) -> np.ndarray | None:
    """What ``matrix`` reads of the map's output, if that does not depend on the input; else None.

    A(X) W = Σ_r M_r (S_r ∘ X) (P_r W) + R W is constant where every P_r W is zero.
    """
    width = linear.shape_out[1]
    matrix = np.eye(width) if matrix is None else matrix
    for term in linear.terms:
        if (matrix if term.features is None else term.features @ matrix).any():
            return None
    rows = linear.shape_out[0] or 1
    constant = np.zeros((1, width)) if linear.constant is None else linear.constant
    return np.broadcast_to(constant @ matrix, (rows, matrix.shape[1]))


def _shape_after(name: str, layer: Layer, shape: Shape) -> Shape:
    """The shape that leaves a layer which ``shape`` enters."""
    rows, width = shape
    if isinstance(layer, Linear):
        rows_in, width_in = layer.shape_in
        if rows_in is not None and rows_in != rows:
            raise ShapeError(f"{name} takes {rows_in} tokens where {rows or 'any number'} come")
        _check_width(name, width_in, width)
        return (layer.shape_out[0] if rows_in is not None else rows), layer.shape_out[1]
    if isinstance(layer, Attention):
        _check_width(name, layer.width_in, width)
        if layer.keep is not None and rows is not None and layer.keep > rows:
            raise ShapeError(f"{name} keeps {layer.keep} rows where only {rows} come")
        return layer.keep or rows, layer.width_out
    if isinstance(layer, Softmax):
        return shape
    raise InputError(f"{name} is a {type(layer).__name__}; use Linear, Attention or Softmax")


def _check_width(name: str, needed: int, given: int) -> None:
    if needed != given:
        raise ShapeError(f"{name} reads {needed} features where {given} come")


def _constant_tokens(layers: Iterable[Layer]) -> int:
    """Keys of tokens that the map before the layer makes independent of the input."""
    count, before = 0, None
    for layer in layers:
        if isinstance(layer, Attention) and isinstance(before, Linear):
            rows = before.shape_out[0] or 1
            count += sum(
                rows
                for head in layer.heads
                if head.sees == "all"
                and constant_image(before, head.key) is not None
                and constant_image(before, head.value) is not None
            )
        before = layer
    return count


def _arrays(part: Any) -> Iterator[np.ndarray]:
    """Every array stored in a layer."""
    for entry in fields(part):
        value = getattr(part, entry.name)
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Term | Head):
                    yield from _arrays(item)


def _written(shape: Shape) -> str:
    return f"{'n' if shape[0] is None else shape[0]}×{shape[1]}"


def _detail(layer: Layer) -> str:
    """One line on what a layer is made of."""
    if isinstance(layer, Linear):
        count = len(layer.terms)
        terms = f"{count} term{'s' if count != 1 else ''}"
        return terms if layer.constant is None else f"{terms} and a constant"
    if isinstance(layer, Attention):
        count, anchors = len(layer.heads), sum(head.anchors for head in layer.heads)
        seen = sorted({head.sees for head in layer.heads})
        parts = [f"{count} head{'s' if count != 1 else ''} seeing {' or '.join(seen)}"]
        parts += [f"{anchors} prefix anchors"] if anchors else []
        parts += ["causal"] if any(head.causal for head in layer.heads) else []
        parts += ["residual"] if layer.residual else []
        parts += [f"{layer.keep} rows kept"] if layer.keep else []
        return ", ".join(parts)
    return "softmax of each row"
