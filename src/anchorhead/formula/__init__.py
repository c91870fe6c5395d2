"""Formulas: targets as texts, exact, from NumPy functions and SymPy expressions."""

from anchorhead.formula.exact import NotTraceable
from anchorhead.formula.expression import FUNCTIONS
from anchorhead.formula.symbolic import from_sympy
from anchorhead.formula.text import Formula
from anchorhead.formula.traced import trace

__all__ = ["FUNCTIONS", "Formula", "NotTraceable", "from_sympy", "trace"]
