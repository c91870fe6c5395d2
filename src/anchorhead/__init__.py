"""Functions as softmax-attention-only networks: weights computed, never trained, with their error.

What is named here is the public interface: ``compile`` makes the smallest network found that does
what a function does, ``plan`` shows every way to do it; ``certify`` proves how far a network is from a
formula and ``check`` verifies such a proof. ``anchorhead.theorems``, ``anchorhead.forms``
and ``anchorhead.heads`` hold the constructions; ``anchorhead.errors`` every error they raise.
"""

from anchorhead import errors, forms, heads, theorems
from anchorhead.api import (
    Certificate,
    Plan,
    Progress,
    Row,
    Verdict,
    certify,
    check,
    compile,  # noqa: A004
    plan,
)
from anchorhead.domain import Box, Interval
from anchorhead.export import load
from anchorhead.layers import Attention, Head, Linear, Softmax, Term
from anchorhead.network import Network, Size

__version__ = "0.1.0"

__all__ = [
    "Attention",
    "Box",
    "Certificate",
    "Head",
    "Interval",
    "Linear",
    "Network",
    "Plan",
    "Progress",
    "Row",
    "Size",
    "Softmax",
    "Term",
    "Verdict",
    "certify",
    "check",
    "compile",
    "errors",
    "forms",
    "heads",
    "load",
    "plan",
    "theorems",
]
