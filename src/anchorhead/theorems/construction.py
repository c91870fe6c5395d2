"""What a theorem's construction gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anchorhead.network import Network

__all__ = ["Construction"]


@dataclass(frozen=True, eq=False)
class Construction:
    """A network, the exact function it approximates, and how far the two may differ.

    ``target`` takes the arrays the network takes. ``bound`` holds for the weights of this very
    network, in exact arithmetic: |network(X) − target(X)| ≤ bound in every coordinate of every
    token for which ``applies(X)`` is true (one truth value a token of the output).
    """

    network: Network
    target: Callable[[np.ndarray], np.ndarray]
    bound: float
    applies: Callable[[np.ndarray], np.ndarray]

    def __str__(self) -> str:
        return f"{self.network}\nbound {self.bound:.3g}"

    __repr__ = __str__
