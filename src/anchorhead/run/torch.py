"""The same network as a ``torch.nn.Module``: batched over heads, differentiable, on any device.

Heads of one layer that have the same shape are stacked and run together. Queries are taken a block
at a time; where gradients are needed the blocks are recomputed on the way back, so that memory
stays bounded there too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from anchorhead.errors import InputError, MissingExtraError, PrecisionError
from anchorhead.layers import Attention, Head, Layer, Linear, Term
from anchorhead.network import Network
from anchorhead.run import require_input_shape
from anchorhead.run.numpy import SCORES, entries_per_input

try:
    import torch
    from torch import Tensor, nn
    from torch.utils.checkpoint import checkpoint
except ImportError:
    raise MissingExtraError("PyTorch", "torch") from None

__all__ = ["AttentionOnly", "evaluate", "module"]

_KEPT = "_torch_modules"
"""Where a network keeps the modules made of it, by dtype and device; they go when it goes."""


def module(
    network: Network, dtype: torch.dtype | None = None, trainable: bool = False
) -> AttentionOnly:
    """The network as a module of this ``dtype``; its weights are parameters where ``trainable``."""
    dtype = torch.float64 if dtype is None else dtype
    if dtype not in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        raise InputError(f"dtype is {dtype}; use a floating dtype such as torch.float64")
    largest, limit = network.size.largest_weight, torch.finfo(dtype).max
    if largest > limit:
        raise PrecisionError(
            f"dtype {dtype} ends at {limit:.3g} where the largest weight is {largest:.3g}; "
            f"use torch.float64"
        )
    return AttentionOnly(network, dtype, trainable)


def evaluate(network: Network, X: Tensor) -> Tensor:
    """The network's output for a tensor, in its dtype and on its device; the module is kept."""
    if not X.is_floating_point():
        raise InputError(f"X holds {X.dtype} numbers where floats are needed; pass X.double()")
    if X.layout != torch.strided or X.is_meta:
        raise InputError("X is sparse or a meta tensor; pass a dense one with its numbers")
    require_input_shape(network, tuple(X.shape))
    if not bool(torch.isfinite(X).all()):
        raise InputError("X holds NaN or infinity; replace them by finite numbers")
    made = vars(network).setdefault(_KEPT, {})
    place = X.dtype, X.device
    if place not in made:
        with torch.inference_mode(False):
            made[place] = module(network, X.dtype).to(X.device)
    Y = made[place](X)
    if not bool(torch.isfinite(Y).all()):
        raise PrecisionError(
            f"X is so large that the network's scores overflow in {X.dtype}; keep X nearer to the "
            f"domain the network was made for, or use torch.float64"
        )
    return Y


class AttentionOnly(nn.Module):
    """A network of linear maps and softmax attention; takes any leading batch dimensions."""

    def __init__(self, network: Network, dtype: torch.dtype, trainable: bool):
        super().__init__()
        self.network = network
        self.layers = nn.ModuleList(_layer(layer, dtype, trainable) for layer in network.layers)

    def forward(self, X: Tensor) -> Tensor:
        """The network's output for X: (…, tokens, features) → (…, tokens out, features out)."""
        if not isinstance(X, Tensor):
            raise InputError(f"X is a {type(X).__name__} where a torch tensor is needed")
        weight = next(chain(self.parameters(), self.buffers()), X)
        if weight.dtype != X.dtype and not torch.is_autocast_enabled(X.device.type):
            raise InputError(
                f"X is {X.dtype} where the module is {weight.dtype}; convert one of them"
            )
        require_input_shape(self.network, tuple(X.shape))
        batch = X.shape[:-2]
        X = X.reshape(-1, *X.shape[-2:])
        step = max(1, SCORES // entries_per_input(self.network, X.shape[1]))
        Y = _joined((self._forward(block) for block in X.split(step)), len(X), dim=0)
        return Y.reshape(*batch, *Y.shape[1:])

    def _forward(self, X: Tensor) -> Tensor:
        for layer in self.layers:
            X = layer(X)
        return X


def _layer(layer: Layer, dtype: torch.dtype, trainable: bool) -> nn.Module:
    if isinstance(layer, Linear):
        return _Linear(layer, dtype, trainable)
    if isinstance(layer, Attention):
        return _Attention(layer, dtype, trainable)
    return nn.Softmax(dim=-1)


class _Weights(nn.Module):
    """Holds arrays as parameters or buffers, under the names they have in the network."""

    def _hold(self, arrays: dict[str, np.ndarray | None], dtype: torch.dtype, trainable: bool):
        for name, array in arrays.items():
            tensor = None if array is None else torch.tensor(array, dtype=dtype)
            if trainable and tensor is not None:
                self.register_parameter(name, nn.Parameter(tensor))
            else:
                self.register_buffer(name, tensor)


class _Term(_Weights):
    features: Tensor | None
    tokens: Tensor | None
    scale: Tensor | None

    def __init__(self, term: Term, dtype: torch.dtype, trainable: bool):
        super().__init__()
        arrays = {"features": term.features, "tokens": term.tokens, "scale": term.scale}
        self._hold(arrays, dtype, trainable)

    def forward(self, X: Tensor) -> Tensor:
        if self.scale is not None:
            X = self.scale * X
        if self.features is not None:
            X = X @ self.features
        return X if self.tokens is None else self.tokens @ X


class _Linear(_Weights):
    constant: Tensor | None

    def __init__(self, layer: Linear, dtype: torch.dtype, trainable: bool):
        super().__init__()
        self.rows, self.width = layer.shape_out
        self.terms = nn.ModuleList(_Term(term, dtype, trainable) for term in layer.terms)
        self._hold({"constant": layer.constant}, dtype, trainable)

    def forward(self, X: Tensor) -> Tensor:
        rows = self.rows or X.shape[1]
        Y = X.new_zeros(len(X), rows, self.width)
        if self.constant is not None:
            Y = Y + self.constant
        for term in self.terms:
            image = term(X)[:, :rows]
            short = rows - image.shape[1]
            Y = Y + (nn.functional.pad(image, (0, 0, 0, short)) if short else image)
        return Y


class _Attention(nn.Module):
    def __init__(self, layer: Attention, dtype: torch.dtype, trainable: bool):
        super().__init__()
        self.keep, self.residual, self.width = layer.keep, layer.residual, layer.width_out
        alike: dict[tuple, list[Head]] = {}
        for head in layer.heads:
            alike.setdefault(_kind(head), []).append(head)
        self.stacks = nn.ModuleList(_Stack(heads, dtype, trainable) for heads in alike.values())

    def forward(self, Z: Tensor) -> Tensor:
        rows = self.keep or Z.shape[1]
        Y = Z[:, :rows] if self.residual else Z.new_zeros(len(Z), rows, self.width)
        for stack in self.stacks:
            Y = Y + stack(Z, rows)
        return Y


_ARRAYS = ("query", "key", "value", "output", "anchor_keys", "anchor_values")


def _kind(head: Head) -> tuple:
    """What two heads must share to be run together."""
    shapes = tuple(getattr(getattr(head, name), "shape", None) for name in _ARRAYS)
    return head.sees, head.causal, shapes


class _Stack(_Weights):
    """Heads of one kind, their arrays stacked along a first dimension."""

    query: Tensor
    key: Tensor | None
    value: Tensor | None
    output: Tensor | None
    anchor_keys: Tensor | None
    anchor_values: Tensor | None

    def __init__(self, heads: Sequence[Head], dtype: torch.dtype, trainable: bool):
        super().__init__()
        self.sees, self.causal = heads[0].sees, heads[0].causal
        self.count, self.anchors = len(heads), heads[0].anchors
        self._hold({name: _stacked(heads, name) for name in _ARRAYS}, dtype, trainable)

    def forward(self, Z: Tensor, rows: int) -> Tensor:
        tokens = Z[:, None]
        Q = tokens[:, :, :rows] @ self.query
        K = None if self.key is None else tokens @ self.key
        V = tokens if self.value is None else tokens @ self.value
        keys = self.anchors + (0 if K is None else K.shape[2])
        step = max(1, SCORES // (len(Z) * self.count * keys))
        if step >= rows:
            return self._mix(Q, K, V, 0)
        blocks = ((Q[:, :, start : start + step], start) for start in range(0, rows, step))
        mixed = (self._mix_lightly(queries, K, V, start) for queries, start in blocks)
        return _joined(mixed, rows, dim=1)

    def _mix_lightly(self, Q: Tensor, K: Tensor | None, V: Tensor, start: int) -> Tensor:
        """As ``_mix``, but scores that gradients need are computed anew instead of kept."""
        read = (Q, K, V, self.anchor_keys, self.anchor_values, self.output)
        if not (torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in read)):
            return self._mix(Q, K, V, start)
        mixed = checkpoint(self._mix, Q, K, V, start, use_reentrant=False)
        assert isinstance(mixed, Tensor)
        return mixed

    def _mix(self, Q: Tensor, K: Tensor | None, V: Tensor, start: int) -> Tensor:
        """What the heads write for the queries from row ``start`` on, summed over heads."""
        stop = start + Q.shape[2]
        scores = []
        if K is not None and self.sees == "self":
            scores.append((Q * K[:, :, start:stop]).sum(dim=-1, keepdim=True))
        elif K is not None:
            seen = Q @ K.transpose(-1, -2)
            if self.causal:
                place = torch.arange(K.shape[2], device=Q.device)
                seen = seen.masked_fill(place > place[start:stop, None], -torch.inf)
            scores.append(seen)
        if self.anchor_keys is not None:
            scores.append(Q @ self.anchor_keys.transpose(-1, -2))
        weights = torch.softmax(torch.cat(scores, dim=-1) if len(scores) > 1 else scores[0], -1)
        seen, anchored = weights.split([weights.shape[-1] - self.anchors, self.anchors], dim=-1)
        parts = []
        if K is not None:
            parts.append(seen * V[:, :, start:stop] if self.sees == "self" else seen @ V)
        if self.anchor_values is not None:
            parts.append(anchored @ self.anchor_values)
        mixed = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return (mixed if self.output is None else mixed @ self.output).sum(dim=1)


def _joined(parts: Iterator[Tensor], length: int, dim: int) -> Tensor:
    """The parts one after another along ``dim``, ``length`` in all.

    Without gradients each is copied into place as it comes: kept small results between large
    temporary ones would fragment the heap without bound.
    """
    first = next(parts)
    if first.requires_grad:
        return torch.cat([first, *parts], dim)
    shape = list(first.shape)
    shape[dim] = length
    whole, at = first.new_empty(shape), 0
    for part in chain([first], parts):
        whole.narrow(dim, at, part.shape[dim]).copy_(part)
        at += part.shape[dim]
    return whole


def _stacked(heads: Sequence[Head], name: str) -> np.ndarray | None:
    arrays = [getattr(head, name) for head in heads]
    return None if arrays[0] is None else np.stack(arrays)
