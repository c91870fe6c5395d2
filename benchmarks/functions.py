"""One network for each function: its size and its error, beside the paper's construction."""

from __future__ import annotations

from time import perf_counter

import numpy as np

import anchorhead
from anchorhead.compiler.candidates import keys_of
from anchorhead.compiler.function import chosen
from anchorhead.layers import Attention, Linear
from anchorhead.network import Network
from anchorhead.reproduce.__main__ import markdown
from benchmarks.targets import FUNCTIONS, Function, clustered

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
    domain = function.domain[0] if len(function.domain) == 1 else function.domain
    seconds = []
    for _ in range(REPEATS):
        start = perf_counter()
        network = anchorhead.compile(function.of, domain, function.error, dtype=function.dtype)
        seconds.append(perf_counter() - start)
    rows = anchorhead.plan(function.of, domain, function.error).rows
    paper = next(row for row in rows if "paper" in row.construction)
    made = chosen(function.of, domain, function.error, function.dtype, None, "sup", gates=True)
    return (
        function.name,
        _written(function),
        f"{function.error:.0e}",
        str(function.most),
        str(network.size.anchors),
        str(keys_of(network)),
        made.construction,
        f"{_measured(network, function):.2e}",
        f"{1000 * min(seconds):.0f}",
        f"{_largest_value(network):.1e}",
        f"{_steepest(network):.1e}",
        f"{paper.anchors:,.0f}" if paper.anchors < 1e9 else f"{paper.anchors:.1e}",
    )


def _written(function: Function) -> str:
    low, high = function.domain[0]
    return f"[{low:g}, {high:g}]" + "²" * (len(function.domain) == 2)


def _measured(network: Network, function: Function) -> float:
    """The largest error, computed in the dtype the network was made for."""
    X = clustered(function, seed=11)
    if function.dtype == "float32":
        import torch

        X = X.astype(np.float32)
        answer = network.to_torch(dtype=torch.float32)(torch.tensor(X)).numpy().astype(float)
    else:
        answer = network(X)
    return float(np.abs(answer[:, 0] - function.of(*X.T.astype(float))).max())


def _largest_value(network: Network) -> float:
    heads = (
        head for layer in network.layers if isinstance(layer, Attention) for head in layer.heads
    )
    return max(float(np.abs(head.anchor_values).max()) for head in heads if head.anchors)


def _steepest(network: Network) -> float:
    """The largest derivative of any score by any variable."""
    first, layer = network.layers
    assert isinstance(first, Linear)
    assert isinstance(layer, Attention)
    (term,) = first.terms
    slopes = [
        term.features @ head.query @ head.anchor_keys.T for head in layer.heads if head.anchors
    ]
    return max(float(np.abs(slope).max()) for slope in slopes)
