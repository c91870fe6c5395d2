"""Theorem 3: two multi-head attention layers approximate any ReLU network, hence any function."""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorhead.errors import require_choice, require_positive
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network
from anchorhead.theorems.construction import Construction
from anchorhead.theorems.neurons import Neurons, unit_ramp
from anchorhead.theorems.ramps import PLACEMENTS, Placement
from anchorhead.theorems.relu import ReLUNetwork

__all__ = ["two_layers"]


def two_layers(
    relu: ReLUNetwork, domain: Any, error: float, *, anchors: Placement = "uniform"
) -> Construction:
    """Two attention layers that differ from ``relu`` by at most ``error`` on the whole box.

    Statement (theorem 3.3). For a ReLU network f(X) = C max(W vec(X) + t, 0) + c and a box there are
    two multi-head attention layers with linear maps around them whose output differs from f(X) by
    at most ``error`` in every entry, for every X in the box.

    Layer 1 turns row j into the unit ramp of neuron j (``neurons.py``), with error η. A linear map
    multiplies it by C_oj (b_j − a_j), one column for each output o. Layer 2 has one head with zero
    scores: its uniform weights take the mean over the rows, and the rows' number is in the
    multipliers, so the mean is the sum. The last map reads the n'd' columns as an n'×d' array. The
    error is η max_o Σ_j |C_oj| (b_j − a_j), and η is chosen to make that at most ``error``.

    With ``anchors="graded"`` the unit ramp has 5 anchors for any η that float64 can show
    (``heads/ramp.py``), in one head of max(hidden, 5) rows. What rounding may add elsewhere,
    ``Neurons.allowance``, is part of the bound.

    Args:
        relu: The network, with its shapes.
        domain: A ``Box``, or pairs (low, high) for the n·d entries of X.
        error: The largest difference allowed in any entry.
        anchors: "uniform", the paper's, or "graded".

    Returns:
        The construction; ``applies(X)`` says whether X lies in the box.
    """
    error = require_positive("error", error)
    require_choice("anchors", anchors, PLACEMENTS)
    neurons = Neurons.of(relu, domain)
    neurons.require_resolvable(error)
    amplification = neurons.amplification
    spent = neurons.allowance(anchors, error)
    allowed = (error - spent) / amplification if amplification else 1.0
    pieces, ramp_error = unit_ramp(anchors, allowed, relu.hidden)

    tokens, width = relu.shape_out
    outputs = tokens * width
    gathered, ramps = neurons.layers(pieces, output=np.ones((1, outputs)))
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
    return Construction(network, relu, amplification * ramp_error + spent, neurons.applies)
