"""The reference: what a network computes, as the definitions say it.

Queries are taken a block at a time, so that no more than ``SCORES`` scores exist at once. Where most
anchors weigh nothing at most queries, ``windows`` leaves them out, with the same result to rounding.
"""

from __future__ import annotations

import numpy as np

from anchorhead.errors import PrecisionError
from anchorhead.layers import Attention, Head, Linear, Softmax, Term
from anchorhead.network import Network
from anchorhead.run import windows

__all__ = ["evaluate"]

SCORES = 2**18
"""The largest number of entries of one intermediate array (2 MiB), where one row allows it.

Memory is bounded by it, and blocks that fit into a processor's cache run fastest."""


def evaluate(network: Network, X: np.ndarray) -> np.ndarray:
    """The network's output for an array X of finite numbers in the network's shape.

    Everything is computed in the dtype of X: float64 is the reference, float32 shows what rounding
    makes of it there.
    """
    batch = X.shape[:-2]
    X = X.reshape(-1, *X.shape[-2:])
    step = max(1, SCORES // entries_per_input(network, X.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = [_forward(network, X[i : i + step]) for i in range(0, len(X), step)]
    Y = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    if not np.isfinite(Y).all():
        raise PrecisionError(
            "X is so large that the network's scores overflow; keep X nearer to the domain the "
            "network was made for"
        )
    return Y.reshape(*batch, *Y.shape[1:])


def entries_per_input(network: Network, rows: int) -> int:
    """The largest number of entries between two layers, or of one query's scores, for one input."""
    most = rows * network.shape_in[1]
    for layer in network.layers:
        if isinstance(layer, Linear):
            rows = layer.shape_out[0] or rows
            most = max(most, rows * layer.shape_out[1])
        elif isinstance(layer, Attention):
            keys = max(head.anchors + rows * (head.sees != "anchors") for head in layer.heads)
            rows = layer.keep or rows
            most = max(most, rows * layer.width_out, keys)
    return most


def _forward(network: Network, X: np.ndarray) -> np.ndarray:
    for layer in network.layers:
        if isinstance(layer, Linear):
            X = _linear(layer, X)
        elif isinstance(layer, Attention):
            X = _attention(layer, X)
        elif isinstance(layer, Softmax):
            X = _softmax(X)
    return X


def _linear(layer: Linear, X: np.ndarray) -> np.ndarray:
    """Σ_r M_r ((S_r ∘ X) P_r) + R."""
    rows = layer.shape_out[0] or X.shape[1]
    Y = np.zeros((len(X), rows, layer.shape_out[1]), X.dtype)
    if layer.constant is not None:
        Y += _in_dtype_of(X, layer.constant)
    for term in layer.terms:
        image = _term(term, X)
        kept = min(rows, image.shape[1])
        Y[:, :kept] += image[:, :kept]
    return Y


def _term(term: Term, X: np.ndarray) -> np.ndarray:
    if term.scale is not None:
        X = _in_dtype_of(X, term.scale) * X
    if term.features is not None:
        X = X @ _in_dtype_of(X, term.features)
    return X if term.tokens is None else _in_dtype_of(X, term.tokens) @ X


def _attention(layer: Attention, Z: np.ndarray) -> np.ndarray:
    """Σ_h softmax(Q_h K_hᵀ) V_h W_O,h, and Z itself where the layer is residual."""
    rows = layer.keep or Z.shape[1]
    width = layer.width_out
    Y = Z[:, :rows].copy() if layer.residual else np.zeros((len(Z), rows, width), Z.dtype)
    for head in layer.heads:
        Q = Z[:, :rows] @ _in_dtype_of(Z, head.query)
        K = None if head.key is None else Z @ _in_dtype_of(Z, head.key)
        V = Z if head.value is None else Z @ _in_dtype_of(Z, head.value)
        keys = head.anchors + (0 if K is None else len(K[0]))
        narrow = windows.pay(head, Q)
        step = max(1, SCORES // (len(Z) * (head.value_width if narrow else keys)))
        for start in range(0, rows, step):
            block = slice(start, min(start + step, rows))
            queries = Q[:, block]
            mixed = windows.mix(head, queries) if narrow else _mix(head, queries, K, V, block)
            Y[:, block] += mixed if head.output is None else mixed @ _in_dtype_of(Z, head.output)
    return Y


def _mix(
    head: Head, Q: np.ndarray, K: np.ndarray | None, V: np.ndarray, block: slice
) -> np.ndarray:
    """Softmax-weighted values for a block of queries: first the tokens' part, then the anchors'."""
    scores = []
    if K is not None and head.sees == "self":
        scores.append((Q * K[:, block]).sum(axis=-1, keepdims=True))
    elif K is not None:
        seen = Q @ K.swapaxes(-1, -2)
        if head.causal:
            later = np.arange(K.shape[1]) > np.arange(block.start, block.stop)[:, None]
            seen = np.where(later, -np.inf, seen)
        scores.append(seen)
    if head.anchor_keys is not None:
        scores.append(Q @ _in_dtype_of(Q, head.anchor_keys).T)
    weights = _softmax(np.concatenate(scores, axis=-1) if len(scores) > 1 else scores[0])
    tokens = weights.shape[-1] - head.anchors
    mixed = np.zeros((*Q.shape[:2], head.value_width), Q.dtype)
    if tokens and head.sees == "self":
        mixed += weights[..., :1] * V[:, block]
    elif tokens:
        mixed += weights[..., :tokens] @ V
    if head.anchor_values is not None:
        mixed += weights[..., tokens:] @ _in_dtype_of(Q, head.anchor_values)
    return mixed


def _in_dtype_of(like: np.ndarray, array: np.ndarray) -> np.ndarray:
    """An array of weights as numbers of the dtype that is computed in."""
    return array.astype(like.dtype, copy=False)


def _softmax(scores: np.ndarray) -> np.ndarray:
    """exp(s) / Σ exp(s) along the last axis, shifted by the largest so that nothing overflows."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights
