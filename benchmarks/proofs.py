"""Proofs: how tight, how many cells, how long; and the theorems' bounds, proven for instances."""

from __future__ import annotations

import numpy as np

import anchorhead
from anchorhead import Box
from anchorhead.reproduce.__main__ import markdown
from anchorhead.reproduce.functions import FUNCTIONS, Function, measured
from anchorhead.theorems import (
    ReLUNetwork,
    multi_head,
    one_layer_softmax,
    single_head,
    two_layers,
)
from benchmarks.timing import best

REPEATS = 3
"""A proof of one variable is timed so often, and the least time taken."""


def table() -> str:
    """Every function of the first table, then instances of the theorems."""
    head = ["function", "sampled", "attained", "proven", "proven/attained", "rounding", "bound"]
    head += ["cells", "proof ms", "check ms", "bytes"]
    functions = markdown(head, [_row(function) for function in FUNCTIONS])
    heading = ["theorem", "its bound", "proven", "parts", "cells", "seconds"]
    theorems = markdown(heading, _theorems())
    return f"{functions}\n\n{LEGEND}\n\n{theorems}"


LEGEND = (
    "Sampled: the largest error at 120,000 points, run in the dtype. Attained, proven: an error that "
    "is certainly taken and one that is never exceeded, in exact arithmetic. Rounding: what the dtype "
    "may add at most, with sums in any order. Bound: proven and rounding together. Bytes are those of "
    "the certificate.\n\nThe theorems state their bounds for exact arithmetic; the certificate of an "
    "instance proves one for the weights stored."
)


def _row(function: Function) -> tuple[str, ...]:
    network = anchorhead.compile(
        function.of, function.domain, function.error, dtype=function.dtype, prove=False
    )

    def prove() -> anchorhead.Certificate:
        return anchorhead.certify(network, function.of, function.domain, dtype=function.dtype)

    made = prove()
    repeats = REPEATS if function.variables == 1 else 1
    return (
        function.name,
        f"{measured(network, function):.3e}",
        f"{made.attained:.3e}",
        f"{made.approximation:.3e}",
        f"{(made.approximation or 0) / made.attained:.4f}",
        f"{made.rounding:.1e}",
        f"{made.bound:.3e}",
        str(made.cells),
        f"{1000 * best(prove, repeats):.0f}",
        f"{1000 * best(lambda: anchorhead.check(made, network), repeats):.0f}",
        f"{len(made.text):,}",
    )


def _theorems() -> list[tuple[str, ...]]:
    rng = np.random.default_rng(7)
    weights, offsets = rng.normal(size=(8, 2)), 0.3 * rng.normal(size=8)
    relu = ReLUNetwork(
        rng.normal(size=(20, 10)) / 3,
        rng.normal(size=20),
        rng.normal(size=(10, 20)) / 5,
        rng.normal(size=10),
        (2, 5),
        (2, 5),
    )
    ramps, arrays = Box.cube(-1, 1, (8, 2)), Box.cube(-1, 1, (2, 5))
    cases = [
        ("T1, 8 tokens, 32 anchors", single_head(weights, offsets, -0.5, 0.5, 32), ramps),
        (
            "T1 graded, 12 anchors",
            single_head(weights, offsets, -0.5, 0.5, "graded", count=12),
            ramps,
        ),
        ("T2, 4 heads", multi_head(weights, offsets, -0.5, 0.5, 4), ramps),
        ("T3 graded, 20 neurons", two_layers(relu, arrays, 1e-6, anchors="graded"), arrays),
        ("T4 graded, 20 neurons", one_layer_softmax(relu, arrays, 1e-6, anchors="graded"), arrays),
    ]
    rows = []
    for name, made, box in cases:
        proof = anchorhead.certify(made.network, made.target, box)
        rows.append(
            (
                name,
                f"{made.bound:.3e}",
                f"{proof.approximation:.3e}",
                str(len(proof.record["parts"])),
                str(proof.cells),
                f"{proof.seconds:.2f}",
            )
        )
    return rows
