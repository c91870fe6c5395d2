"""A network as data: layers in a row, their shapes checked from one to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from anchorhead.errors import InputError, ShapeError
from anchorhead.layers import (
    Attention,
    Head,
    Layer,
    Linear,
    Shape,
    Softmax,
    Term,
    constant_image,
    require_parts,
)

if TYPE_CHECKING:
    import os

    import torch

    from anchorhead.proof.certificate import Certificate

__all__ = ["Network", "Size"]


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
    ``certificate`` is the proof of what it does, where ``compile`` has made one.
    """

    layers: tuple[Layer, ...]
    certificate: Certificate | None = None
    shape_in: Shape = field(init=False)
    shape_out: Shape = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "layers", require_parts("layers", self.layers, Layer))
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
        softmaxes = sum(isinstance(layer, Softmax) for layer in self.layers)
        parts = [_counted(size.layers - softmaxes, "attention layer")]
        parts += [_counted(softmaxes, "plain softmax")] if softmaxes else []
        parts += [_counted(size.heads, "head"), _counted(size.anchors, "anchor")]
        parts += [_counted(size.parameters, "parameter")]
        parts += [f"largest weight {size.largest_weight:.3g}"]
        title = f"Network {_written(self.shape_in)} → {_written(self.shape_out)}: "
        return "\n".join([title + ", ".join(parts), *(row.rstrip() for row in table)])

    __repr__ = __str__


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
    return shape


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


def _counted(number: int, noun: str) -> str:
    plural = "" if number == 1 else "es" if noun.endswith("x") else "s"
    return f"{number:,} {noun}{plural}"


def _detail(layer: Layer) -> str:
    """One line on what a layer is made of."""
    if isinstance(layer, Linear):
        terms = _counted(len(layer.terms), "term")
        return terms if layer.constant is None else f"{terms} and a constant"
    if isinstance(layer, Attention):
        anchors = sum(head.anchors for head in layer.heads)
        seen = sorted({head.sees for head in layer.heads})
        parts = [f"{_counted(len(layer.heads), 'head')} seeing {' or '.join(seen)}"]
        parts += [_counted(anchors, "prefix anchor")] if anchors else []
        parts += ["causal"] if any(head.causal for head in layer.heads) else []
        parts += ["residual"] if layer.residual else []
        parts += [f"{_counted(layer.keep, 'row')} kept"] if layer.keep else []
        return ", ".join(parts)
    return "softmax of each row"
