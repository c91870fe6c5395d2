"""Plans as a user sees them."""

from __future__ import annotations

import anchorhead
from anchorhead.reproduce.functions import FUNCTIONS, Function

SHOWN = ("abs x", "√ abs x", "sin 3x", "GELU", "Franke's function", "x·y")


def table() -> str:
    """What ``print(anchorhead.plan(…))`` prints for some of the functions above."""
    shown = [function for function in FUNCTIONS if function.name in SHOWN]
    return "\n\n".join(f"{function.name}:\n\n```\n{_plan(function)}\n```" for function in shown)


def _plan(function: Function) -> str:
    return str(anchorhead.plan(function.of, function.domain, function.error))
