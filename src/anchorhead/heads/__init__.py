"""How one softmax head becomes a function: anchors, and where to put them; one construction a file."""

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.gate import Gate, clip, piecewise_linear, relu
from anchorhead.heads.graded import graded
from anchorhead.heads.grid import Lattice
from anchorhead.heads.pointwise import pointwise
from anchorhead.heads.product import Product, SignedSum, mirrored, product, signed_sum
from anchorhead.heads.search import Found
from anchorhead.heads.smooth import smooth
from anchorhead.heads.uniform import uniform

__all__ = [
    "Anchors",
    "Found",
    "Gate",
    "Lattice",
    "Product",
    "SignedSum",
    "clip",
    "graded",
    "mirrored",
    "piecewise_linear",
    "pointwise",
    "product",
    "relu",
    "signed_sum",
    "smooth",
    "uniform",
]
