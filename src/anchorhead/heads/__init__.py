"""How one softmax head becomes a function of one variable: anchors, and where to put them."""

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.gate import Gate, clip, piecewise_linear, relu
from anchorhead.heads.grid import Lattice
from anchorhead.heads.pointwise import pointwise
from anchorhead.heads.product import Product, SignedSum, mirrored, product, signed_sum
from anchorhead.heads.uniform import uniform

__all__ = [
    "Anchors",
    "Gate",
    "Lattice",
    "Product",
    "SignedSum",
    "clip",
    "mirrored",
    "piecewise_linear",
    "pointwise",
    "product",
    "relu",
    "signed_sum",
    "uniform",
]
