"""Numbers of every kind as the rationals that they exactly are."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from anchorhead.errors import AnchorheadError

__all__ = ["BRANCH", "NotTraceable", "binary", "is_double", "rational"]

MOST_BITS = 8192
"""Python reads integers in a text up to 4300 digits; these have fewer."""

BRANCH = "it branches on its argument (if, while, and, or); use np.where"

LONG = "it uses a number of thousands of digits; use a shorter one"


class NotTraceable(AnchorheadError, TypeError):  # noqa: N818
    """A function does something that no formula says; the message says what, and what to use."""


def rational(value: Any) -> Fraction:
    """The exact value of a Python, NumPy or python-flint number."""
    if type(value).__module__.startswith("flint"):
        value = _flint(value)
    try:
        exact = Fraction(*value.as_integer_ratio())
    except (OverflowError, ValueError):
        raise NotTraceable(
            "it uses inf or nan as a number; use a finite one, or leave it out"
        ) from None
    except (AttributeError, TypeError):
        if hasattr(value, "item") and getattr(value, "shape", None) == ():
            return rational(value.item())
        kind = type(value).__name__
        raise NotTraceable(f"it mixes in a {kind} where a real number is needed") from None
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MOST_BITS:
        raise NotTraceable(LONG)
    return exact


def binary(mantissa: Any, exponent: Any) -> Fraction:
    """The number mantissa · 2^exponent."""
    if abs(int(exponent)) > MOST_BITS:
        raise NotTraceable(LONG)
    return int(mantissa) * Fraction(2) ** int(exponent)


def is_double(exact: Fraction) -> bool:
    """Whether a float64 is exactly this number."""
    try:
        return Fraction(float(exact)) == exact
    except OverflowError:
        return False


def _flint(value: Any) -> Fraction | None:
    """A python-flint integer, rational or exact ball; None for all else."""
    kind = type(value).__name__
    if kind == "fmpz":
        return Fraction(int(value))
    if kind == "fmpq":
        return Fraction(int(value.p), int(value.q))
    if kind != "arb":
        return None
    if not value.is_finite():
        return rational(math.inf)
    if not value.is_exact():
        raise NotTraceable(
            "it mixes in a ball of python-flint with a radius; use its midpoint, or an exact number"
        )
    return binary(*value.man_exp())
