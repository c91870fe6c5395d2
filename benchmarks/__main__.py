"""Measure, print, and write docs/benchmarks.md."""

from __future__ import annotations

import contextlib
import io
import os
import platform
from pathlib import Path

import numpy as np

import anchorhead
from anchorhead.reproduce.__main__ import main as reproduce
from benchmarks import (
    convergence,
    functions,
    memory,
    plans,
    proofs,
    refinement,
    speed,
    supnorm,
    windows,
)

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main() -> None:
    """Run every comparison of this page, one after the other."""
    sections = [
        ("Functions: the smallest network found", functions.table()),
        ("Convergence: the error against the number of anchors", convergence.table()),
        ("Proofs: every function, and the theorems' instances", proofs.table()),
        ("Proofs: beside Sollya's supnorm of a polynomial as accurate", supnorm.table()),
        ("Plans", plans.table()),
        ("Refinement: what each step gives", refinement.table()),
        ("The theorems", _theorems()),
        ("Speed: the forms and the runners", speed.table()),
        ("Windows: anchors that weigh nothing are skipped", windows.table()),
        ("Memory: tokens without end", memory.table()),
    ]
    parts = [f"## {title}\n\n{text}\n" for title, text in sections]
    PAGE.write_text("\n".join([_head(), *parts]))
    print(PAGE.read_text())
    print(f"written to {PAGE}")


def _head() -> str:
    return (
        "# Benchmarks\n\n"
        f"Written by `make bench`: anchorhead {anchorhead.__version__}, NumPy {np.__version__}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores. Every number was measured in "
        f"that one run; compare ratios, not seconds.\n"
    )


def _theorems() -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        reproduce([])
    return printed.getvalue().rstrip()


if __name__ == "__main__":
    main()
