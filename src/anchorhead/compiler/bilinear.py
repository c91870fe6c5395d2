"""A product of two variables, shifted and scaled, by the product head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from anchorhead.compiler.candidates import Candidate
from anchorhead.compiler.line import Wish
from anchorhead.compiler.sampling import apart, scattered
from anchorhead.compiler.target import Given
from anchorhead.errors import PrecisionError
from anchorhead.heads.product import product
from anchorhead.layers import Attention, Linear
from anchorhead.network import Network

__all__ = ["bilinear"]

LOOKS = 512
"""Points at which is tried whether a function is bilinear."""


def bilinear(given: Given, wish: Wish) -> Iterator[Candidate]:
    """One product head for f(x, y) = c (x − x₀)(y − y₀) + k: 4 to 13 anchors, whatever the error."""
    low, high = given.box.low, given.box.high
    if len(low) != 2 or given.width > 1:
        return
    corners = np.array([(x, y) for x in (low[0], high[0]) for y in (low[1], high[1])])
    f = given.values(corners)[:, 0].reshape(2, 2)
    c = (f[1, 1] - f[0, 1] - f[1, 0] + f[0, 0]) / (high - low).prod()
    if c == 0:
        return
    rise = np.array([f[1, 0] - f[0, 0], f[0, 1] - f[0, 0]]) / (high - low)
    origin = low - rise[::-1] / c
    k = f[0, 0] - c * (low - origin).prod()
    X = scattered(given, LOOKS, seed=7)
    exact = given.values(X)[:, 0]
    if np.abs(c * (X - origin).prod(axis=1) + k - exact).max() > 0.01 * wish.error:
        return
    (x0, y0), (x1, y1) = low - origin, high - origin
    try:
        made = product(x0, x1, y0, y1, 0.98 * wish.error / abs(c))
    except PrecisionError:
        return
    network = _placed(made.network, origin, float(c), float(k))
    worst = float(apart(network, given, X, wish.dtype).max())
    yield Candidate("product", network, max(made.error * abs(c), worst))


def _placed(network: Network, origin: np.ndarray, scale: float, constant: float) -> Network:
    """The network of x·y as that of scale·(x − x₀)(y − y₀) + constant."""
    first, layer = network.layers
    assert isinstance(first, Linear)
    assert isinstance(layer, Attention)
    shift = sum(-origin @ term.features for term in first.terms if term.features is not None)
    start = np.zeros((1, first.shape_out[1])) if first.constant is None else first.constant
    heads = tuple(
        replace(head, anchor_values=scale * np.asarray(head.anchor_values) + constant)
        for head in layer.heads
    )
    return Network((replace(first, constant=start + shift), replace(layer, heads=heads)))
