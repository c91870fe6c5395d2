"""How one softmax head becomes a function of one variable: anchors, and where to put them."""

from anchorhead.heads.anchors import Anchors
from anchorhead.heads.pointwise import pointwise
from anchorhead.heads.uniform import uniform

__all__ = ["Anchors", "pointwise", "uniform"]
