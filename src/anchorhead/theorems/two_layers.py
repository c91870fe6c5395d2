"""Theorem 3: two multi-head attention layers approximate any ReLU network, hence any function."""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorhead.errors import require_positive
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network
from anchorhead.theorems.construction import Construction
from anchorhead.theorems.neurons import Neurons, ramp_anchors, ramp_error
from anchorhead.theorems.relu import ReLUNetwork

__all__ = ["two_layers"]


def two_layers(relu: ReLUNetwork, domain: Any, error: float) -> Construction:
    """Two attention layers that differ from ``relu`` by at most ``error`` on the whole box.

    Statement (theorem 3.3). For a ReLU network f(X) = C max(W vec(X) + t, 0) + c and a box there are
    two multi-head attention layers with linear maps around them whose output differs from f(X) by
    at most ``error`` in every entry, for every X in the box.

    Layer 1 turns row j into the unit ramp of neuron j (``neurons.py``), with error η. A linear map
    multiplies it by C_oj (b_j − a_j), one column for each output o. Layer 2 has one head with zero
    scores: its uniform weights take the mean over the rows, and the rows' number is in the
    multipliers, so the mean is the sum. The last map reads the n'd' columns as an n'×d' array. The
    error is η max_o Σ_j |C_oj| (b_j − a_j), and η is chosen to make that at most ``error``.

    Args:
        relu: The network, with its shapes.
        domain: A ``Box``, or pairs (low, high) for the n·d entries of X.
        error: The largest difference allowed in any entry.

    Returns:
        The construction; ``applies(X)`` says whether X lies in the box.
    """
    error = require_positive("error", error)
    neurons = Neurons.of(relu, domain)
    neurons.require_resolvable(error)
    amplification = neurons.amplification
    anchors = ramp_anchors(error / amplification if amplification else 1.0)

    tokens, width = relu.shape_out
    outputs = tokens * width
    gathered, ramps = neurons.layers(anchors, output=np.ones((1, outputs)))
    rows = max(relu.hidden, tokens)
    weigh = Linear((relu.hidden, outputs), (rows, outputs), (Term(scale=rows * neurons.gains.T),))
    nothing = np.zeros((outputs, 1))
    mean = Attention((Head(query=nothing, key=nothing),), keep=tokens)
    own = np.repeat(np.eye(tokens), width, axis=1)
    unfold = Linear(
        (tokens, outputs),
        (tokens, width),
        (Term(scale=own, features=np.tile(np.eye(width), (tokens, 1))),),
        neurons.offsets.reshape(tokens, width),
    )
    network = Network((gathered, ramps, weigh, mean, unfold))
    shared = len(ramps.heads) > 1
    return Construction(network, relu, amplification * ramp_error(anchors, shared), neurons.applies)
