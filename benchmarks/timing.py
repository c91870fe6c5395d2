"""How long a call takes, for comparisons within one run."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

__all__ = ["best"]


def best(call: Callable[[], object], repeats: int = 5) -> float:
    """The least seconds of several calls, after one that warms up."""
    call()
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return min(seconds)
