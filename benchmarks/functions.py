"""One network for each function: its size and its error, beside the paper's construction."""

from __future__ import annotations

import numpy as np

from anchorhead.compiler.candidates import Candidate, keys_of
from anchorhead.compiler.function import chosen
from anchorhead.compiler.paper import staircase
from anchorhead.compiler.target import given
from anchorhead.layers import Attention, Linear
from anchorhead.network import Network
from anchorhead.reproduce.__main__ import markdown
from anchorhead.reproduce.functions import FUNCTIONS, Function, measured
from benchmarks.timing import best

REPEATS = 3
"""A compilation is timed so often, and the least time taken."""


def table() -> str:
    """Anchors, errors, compile time, the largest value and slope, and the paper's p, by function."""
    head = ["function", "domain", "error asked", "anchors at most", "anchors", "keys", "made as"]
    head += ["sup error measured", "compile ms", "largest value", "steepest score", "paper's p"]
    return markdown(head, [_row(function) for function in FUNCTIONS]) + "\n\n" + LEGEND


LEGEND = (
    "Errors are measured at 120,000 points, half of them crowding toward kinks, ends and corners down "
    "to 10⁻¹⁷ of the domain. A gate's keys are its anchors and the token itself. The steepest score is "
    "the largest |ds/dx|. The paper's p is that of uniform anchors whose nearest wins, for the same "
    "error in exact arithmetic: measured for as many as 2¹⁵ and continued at the rate measured."
)


def _row(function: Function) -> tuple[str, ...]:
    made, seconds = _made(function), best(lambda: _made(function), REPEATS)
    network, paper = made.network, staircase(given(function.of, function.domain), function.error)
    return (
        function.name,
        _written(function),
        f"{function.error:.0e}",
        str(function.most),
        str(network.size.anchors),
        str(keys_of(network)),
        made.construction,
        f"{measured(network, function):.2e}",
        f"{1000 * seconds:.0f}",
        *(f"{largest:.1e}" for largest in _largest(network)),
        f"{paper.anchors:,.0f}" if paper.anchors < 1e9 else f"{paper.anchors:.1e}",
    )


def _made(function: Function) -> Candidate:
    """What ``compile`` takes its network from."""
    return chosen(
        function.of, function.domain, function.error, function.dtype, None, "sup", gates=True
    )


def _written(function: Function) -> str:
    low, high = function.domain[0]
    return f"[{low:g}, {high:g}]" + "²" * (function.variables == 2)


def _largest(network: Network) -> tuple[float, float]:
    """The largest value of an anchor, and the largest derivative of its score by any variable."""
    first, layer = network.layers
    assert isinstance(first, Linear)
    assert isinstance(layer, Attention)
    value = slope = 0.0
    for head in layer.heads:
        if head.anchor_keys is not None:
            slopes = np.asarray(first.terms[0].features) @ head.query @ head.anchor_keys.T
            value = max(value, float(np.abs(np.asarray(head.anchor_values)).max()))
            slope = max(slope, float(np.abs(slopes).max()))
    return value, slope
