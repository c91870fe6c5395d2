"""The networks that could do what is asked for, from which the smallest is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anchorhead.layers import Attention
from anchorhead.network import Network

__all__ = ["Candidate", "keys_of", "smallest_of"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A network n×d → n×width for any n, how it is made, and its largest error.

    The error was measured where the network is finest; what rounding may add in the dtype that was
    asked for is included.
    """

    construction: str
    network: Network
    error: float


def keys_of(network: Network) -> int:
    """How many keys each query meets in all heads: the anchors, and the token where it sees itself."""
    return sum(
        head.anchors + (head.sees == "self")
        for layer in network.layers
        if isinstance(layer, Attention)
        for head in layer.heads
    )


def smallest_of(candidates: Iterable[Candidate], error: float) -> Candidate:
    """The candidate with the fewest keys within ``error``; if none is, the one of least error.

    Of equals it is the one with the fewer heads, then the one with the smaller error.
    """
    found: Sequence[Candidate] = tuple(candidates)
    within = [each for each in found if each.error <= error]
    if not within:
        return min(found, key=lambda each: each.error)

    def size(candidate: Candidate) -> tuple[float, ...]:
        network = candidate.network
        return keys_of(network), network.size.heads, candidate.error

    return min(within, key=size)
