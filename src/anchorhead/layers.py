"""What a network is made of: linear maps of a whole sequence, and softmax attention. Nothing else.

Rows are tokens: X is n×d. There is no layer for an activation or a feed-forward network, so that
"attention only" is a property of the type. All arrays are float64, read-only and checked once, when
the object that holds them is made. How layers are run is written in ``anchorhead.run``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from anchorhead.errors import (
    InputError,
    ShapeError,
    require_array,
    require_flag,
    require_integer,
    require_shape,
)

__all__ = [
    "Attention",
    "Head",
    "Layer",
    "Linear",
    "Shape",
    "Softmax",
    "Term",
    "constant_image",
    "require_parts",
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


def require_parts(name: str, given: Any, kind: Any) -> tuple[Any, ...]:
    """The given things as a tuple, if each is of this kind (a class or a union of classes)."""
    try:
        parts = tuple(given)
    except TypeError:
        raise InputError(f"{name} is a {type(given).__name__}; give a tuple") from None
    for number, part in enumerate(parts):
        if not isinstance(part, kind):
            named = " or ".join(each.__name__ for each in get_args(kind) or (kind,))
            raise InputError(f"{name}[{number}] is a {type(part).__name__}; use {named}")
    return parts


def _checked_shape(name: str, shape: Any) -> Shape:
    """Tokens (None for any number) and features, as plain integers."""
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise ShapeError(f"{name} is {shape!r} where a pair (tokens, features) is needed")
    rows = None if shape[0] is None else require_integer(f"{name}[0]", shape[0], least=1)
    return rows, require_integer(f"{name}[1]", shape[1], least=1)


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
        object.__setattr__(self, "terms", require_parts("terms", self.terms, Term))
        self._freeze(constant=2)
        for name in ("shape_in", "shape_out"):
            object.__setattr__(self, name, _checked_shape(name, getattr(self, name)))
        rows_in, (rows_out, width_out) = self.shape_in[0], self.shape_out
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
        if self.query is None:
            raise InputError("query is missing; give it")
        object.__setattr__(self, "causal", require_flag("causal", self.causal))
        self._freeze(query=2, key=2, value=2, output=2, anchor_keys=2, anchor_values=2)
        if not isinstance(self.sees, str) or self.sees not in ("all", "self", "anchors"):
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
        object.__setattr__(self, "heads", require_parts("heads", self.heads, Head))
        object.__setattr__(self, "residual", require_flag("residual", self.residual))
        if not self.heads:
            raise InputError("heads is empty; give a layer at least one head")
        if self.keep is not None:
            object.__setattr__(self, "keep", require_integer("keep", self.keep, least=1))
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
