"""The theorems of *Universal Approximation with Softmax Attention* as constructions."""

from anchorhead.theorems.approximator import relu_approximator
from anchorhead.theorems.construction import Construction
from anchorhead.theorems.multi_head import multi_head
from anchorhead.theorems.one_layer_softmax import one_layer_softmax
from anchorhead.theorems.relu import ReLUNetwork
from anchorhead.theorems.single_head import single_head
from anchorhead.theorems.two_layers import two_layers

__all__ = [
    "Construction",
    "ReLUNetwork",
    "multi_head",
    "one_layer_softmax",
    "relu_approximator",
    "single_head",
    "two_layers",
]
