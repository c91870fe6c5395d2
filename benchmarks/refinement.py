"""What each step of refinement gives: errors with the same number of anchors, a step more a column."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np

from anchorhead.heads import graded, search, smooth
from anchorhead.heads.search import Found
from anchorhead.reproduce.__main__ import markdown

CASES: tuple[tuple[str, Callable[[bool], Found]], ...] = (
    ("sin 3x, 8", lambda refine: smooth(lambda x: np.sin(3 * x), -1, 1, 8, refine=refine)),
    (
        "1/(1+25x²), 12",
        lambda refine: smooth(lambda x: 1 / (1 + 25 * x * x), -1, 1, 12, refine=refine),
    ),
    ("sin 20x, 20", lambda refine: smooth(lambda x: np.sin(20 * x), -1, 1, 20, refine=refine)),
    ("√x, 12", lambda refine: graded(np.sqrt, 0, 1, 12, [0.0], refine=refine)),
    ("√x, 24", lambda refine: graded(np.sqrt, 0, 1, 24, [0.0], refine=refine)),
    ("abs x, 24", lambda refine: graded(np.abs, -1, 1, 24, [0.0], refine=refine)),
)


def table() -> str:
    """Errors by step: least squares on the best mesh of the family, exchange, descent, reweighting."""
    head = ["function, anchors", "least squares", "+ exchange", "+ descent", "+ reweighting"]
    rows = []
    for name, make in CASES:
        errors = [
            _error(make, refine=False, exchange=False, rounds=False),
            _error(make, refine=False, exchange=True, rounds=False),
            _error(make, refine=True, exchange=True, rounds=False),
            _error(make, refine=True, exchange=True, rounds=True),
        ]
        rows.append((name, *(f"{error:.1e}" for error in errors)))
    return markdown(head, rows)


def _error(make: Callable[[bool], Found], *, refine: bool, exchange: bool, rounds: bool) -> float:
    with ExitStack() as patches:
        if not exchange:
            patches.enter_context(patch.object(search, "exchange", lambda P, f, v, damping: v))
        if not rounds:
            patches.enter_context(patch.object(search, "ROUNDS", 0))
        return make(refine).error
