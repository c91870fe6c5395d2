"""Theorems 1 and 2 measured: the error falls like 1/p and like 1/H, and stays below the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anchorhead.theorems import Construction, multi_head, single_head

__all__ = ["Rate", "multi_head_rate", "single_head_rate"]

LOW, HIGH = -1.0, 2.0
TOKENS, FEATURES, BATCH = 16, 4, 1500


@dataclass(frozen=True)
class Rate:
    """Sup errors and bounds for networks of growing size."""

    sizes: tuple[int, ...]
    errors: tuple[float, ...]
    bounds: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The slope of log error against log size, by least squares."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.errors), 1)[0])


def single_head_rate(anchors: Sequence[int] = tuple(2**k for k in range(5, 13))) -> Rate:
    """The error of theorem 1 against the number p of anchors."""
    return _rate(anchors, lambda W, t, p: single_head(W, t, LOW, HIGH, p, softmax_error=1e-12))


def multi_head_rate(heads: Sequence[int] = tuple(2**k for k in range(7))) -> Rate:
    """The error of theorem 2 against the number H of heads."""
    return _rate(heads, lambda W, t, H: multi_head(W, t, LOW, HIGH, H, softmax_error=1e-12))


def _rate(sizes: Sequence[int], make: Callable[..., Construction]) -> Rate:
    """Largest error over random inputs whose ramps run through the range and beyond both ends."""
    rng = np.random.default_rng(0)
    weights, offsets = rng.normal(size=(TOKENS, FEATURES)), rng.normal(size=TOKENS)
    X = rng.uniform(-1, 1, (BATCH, TOKENS, FEATURES))
    made = [make(weights, offsets, size) for size in sizes]
    errors = [float(np.abs(c.network(X) - c.target(X)).max()) for c in made]
    return Rate(tuple(sizes), tuple(errors), tuple(c.bound for c in made))
