"""The networks that could do what is asked for, from which the smallest is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network

__all__ = ["Candidate", "beside", "keys_of", "smallest_of"]


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


def beside(one: Network, other: Network) -> Network:
    """Two networks of a linear map and an attention layer each as one that adds them up."""
    (first, left), (second, right) = one.layers, other.layers
    assert isinstance(first, Linear)
    assert isinstance(second, Linear)
    assert isinstance(left, Attention)
    assert isinstance(right, Attention)
    features = [np.asarray(each.terms[0].features) for each in (first, second)]
    constants = [np.asarray(each.constant) for each in (first, second)]
    widths = [each.shape_out[1] for each in (first, second)]
    linear = Linear(
        first.shape_in,
        (first.shape_out[0], sum(widths)),
        (Term(features=np.hstack(features)),),
        np.hstack(constants),
    )
    heads = [_widened(head, 0, widths[1]) for head in left.heads]
    heads += [_widened(head, widths[0], 0) for head in right.heads]
    return Network((linear, Attention(tuple(heads))))


def _widened(head: Head, before: int, after: int) -> Head:
    """The head for tokens with more features before and after its own."""

    def padded(matrix: np.ndarray | None) -> np.ndarray | None:
        return None if matrix is None else np.pad(matrix, ((before, after), (0, 0)))

    query = padded(head.query)
    assert query is not None
    return replace(head, query=query, key=padded(head.key), value=padded(head.value))
