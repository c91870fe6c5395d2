"""How long a proof takes, beside Sollya's for a polynomial that is as accurate."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import numpy as np
from tests.peers.sollya import Sollya

import anchorhead
from anchorhead.reproduce.__main__ import markdown
from benchmarks.timing import best

CASES: tuple[tuple[str, Callable[[np.ndarray], np.ndarray], float, int], ...] = (
    ("sin(3*x)", lambda x: np.sin(3 * x), 1e-12, 1),
    ("exp(x)", np.exp, 1e-12, 1),
    ("1/(1 + 25*x**2)", lambda x: 1 / (1 + 25 * x * x), 2e-4, 16),
)
"""A target's text and function, the error asked for, and in how many pieces Sollya is fastest."""

LEGEND = (
    "On [-1, 1]; sup |network − f| in exact arithmetic lies between attained and proven. The "
    "polynomial is the first by degree, with coefficients of float64, whose error is proven to be no "
    "larger. Of that error Sollya's supnorm gives the interval, asked for within 2⁻⁷: for 1/(1+25x²) "
    "on 16 pieces of the domain, as the whole takes minutes. Its ms include the start of its process."
)


def table() -> str:
    """Anchors, bounds, cells and time of our proof; degree, bounds and time of Sollya's."""
    head = ["function", "error asked", "anchors", "attained", "proven", "cells", "ms"]
    head += ["polynomial's degree", "Sollya's interval", "Sollya's ms"]
    path = shutil.which("sollya")
    sollya = Sollya(path) if path is not None else None
    return markdown(head, [_row(sollya, *case) for case in CASES]) + "\n\n" + LEGEND


def _row(
    sollya: Sollya | None,
    name: str,
    f: Callable[[np.ndarray], np.ndarray],
    error: float,
    pieces: int,
) -> tuple[str, ...]:
    network = anchorhead.compile(f, (-1, 1), error, prove=False)
    made = anchorhead.certify(network, f, (-1, 1))
    seconds = best(lambda: anchorhead.certify(network, f, (-1, 1)))
    ours = (f"{made.attained:.3e}", f"{made.approximation:.3e}", f"{made.cells}")
    row = (name, f"{error:.0e}", f"{network.size.anchors}", *ours, f"{1000 * seconds:.0f}")
    if sollya is None:
        return (*row, "absent", "absent", "absent")
    polynomial = sollya.least(name, made.approximation)
    low, high = sollya.norm(polynomial, name, pieces)
    seconds = best(lambda: sollya.norm(polynomial, name, pieces))
    interval = f"[{float(low):.3e}, {float(high):.3e}]"
    return (*row, f"{len(polynomial) - 1}", interval, f"{1000 * seconds:.0f}")
