"""Running a network: a NumPy reference to be read, and a PyTorch module to be fast."""

from __future__ import annotations

import math
import sys
from typing import Any

from anchorhead.errors import ShapeError, require_array
from anchorhead.layers import Attention
from anchorhead.network import Network
from anchorhead.run import numpy as reference

__all__ = ["run"]


def run(network: Network, X: Any) -> Any:
    """The network's output for X (any leading batch dimensions, then tokens × features).

    A NumPy array gives a float64 array, computed by the reference. A torch tensor gives a tensor of
    its dtype and device, computed by the torch module, and gradients flow through it.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(X, torch.Tensor):
        from anchorhead.run import torch as fast

        return fast.evaluate(network, X)
    X = require_array("X", X)
    require_input_shape(network, X.shape)
    return reference.evaluate(network, X)


def require_input_shape(network: Network, shape: tuple[int, ...]) -> None:
    """Check that arrays of this ``shape`` (leading batch dimensions allowed) fit the network."""
    rows, width = network.shape_in
    given = shape[-2:]
    if len(given) < 2 or given[1] != width or (rows is not None and given[0] != rows):
        needed = f"({'any number of tokens' if rows is None else rows}, {width})"
        raise ShapeError(
            f"X has shape {tuple(shape)} where the network takes {needed}; leading batch "
            f"dimensions are allowed"
        )
    if math.prod(shape) == 0:
        raise ShapeError(f"X is empty (shape {tuple(shape)}); give it at least one entry")
    keeps = (layer.keep for layer in network.layers if isinstance(layer, Attention))
    kept = next((keep for keep in keeps if keep is not None), None)
    if rows is None and kept is not None and given[0] < kept:
        raise ShapeError(f"X has {given[0]} tokens where the network keeps {kept}; give more")
