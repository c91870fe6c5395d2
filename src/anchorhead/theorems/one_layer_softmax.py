"""Theorem 4: one multi-head attention layer and a plain softmax do the same as two layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from anchorhead.errors import require_choice, require_positive
from anchorhead.layers import Linear, Softmax, Term
from anchorhead.network import Network
from anchorhead.theorems.construction import Construction
from anchorhead.theorems.neurons import Neurons, selection, unit_ramp
from anchorhead.theorems.ramps import PLACEMENTS, Placement
from anchorhead.theorems.relu import ReLUNetwork

__all__ = ["one_layer_softmax"]


def one_layer_softmax(
    relu: ReLUNetwork, domain: Any, error: float, *, anchors: Placement = "uniform"
) -> Construction:
    """One attention layer and a row softmax that differ from ``relu`` by at most ``error``.

    Statement (theorem 4). For a ReLU network f(X) = C max(W vec(X) + t, 0) + c and a box there are
    one multi-head attention layer and one softmax, with linear maps around them, whose output
    differs from f(X) by at most ``error`` in every entry, for every X in the box.

    The attention layer turns row j into the unit ramp of neuron j, with error η. The output o is
    g_o = offset_o + Σ_j C_oj (b_j − a_j) ramp_j, linear in that; over the box it lies in an interval
    [l_o, l_o + r_o] that is known. A linear map writes into row o the scores of uniform anchors on
    that interval, affine in g_o; the softmax selects; the last maps read the anchors' values and
    put entry o in its place. The error is η max_o Σ_j |C_oj| (b_j − a_j) plus that of the second
    selection, (½ + tail) r_o Δ; the two shares are chosen to need the fewest scores.

    With ``anchors="graded"`` the unit ramp has 5 anchors as in ``two_layers``, and the second
    selection 3 scores: the identity group alone, without kinks, within η r_o/2 and of slope at
    most 1, so that it does not magnify the first layer's error.

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
    tokens, width = relu.shape_out
    outputs = tokens * width
    low, spread = neurons.output_ranges()
    amplification, widest = neurons.amplification, float(spread.max())
    spent = neurons.allowance(anchors, error)
    first, second = _shares(error - spent, relu.hidden * amplification, outputs * widest)
    chosen, chosen_error = selection(anchors, second / widest if widest else 1.0)
    if anchors == "graded":  # three scores, and the first layer may have all that they leave
        first = error - spent - widest * chosen_error
    allowed = first / amplification if amplification else 1.0
    pieces, ramp_error = unit_ramp(anchors, allowed, relu.hidden)

    gathered, ramps = neurons.layers(pieces, output=None)
    inverse = np.divide(1, spread, out=np.zeros(outputs), where=spread > 0) / chosen.unit
    place = (neurons.offsets - low) * inverse - chosen.centre / chosen.unit
    score = Linear(
        (relu.hidden, 1),
        (outputs, len(chosen)),
        (Term(features=chosen.slopes[None], tokens=neurons.gains * inverse[:, None]),),
        place[:, None] * chosen.slopes + chosen.intercepts,
    )
    read = Linear(
        (outputs, len(chosen)),
        (outputs, width),
        (Term(features=np.repeat(chosen.values, width, axis=1)),),
    )
    own = np.tile(np.eye(width), (tokens, 1)) * spread[:, None]
    fold = np.repeat(np.eye(tokens), width, axis=1)
    unfold = Linear(
        (outputs, width),
        (tokens, width),
        (Term(scale=own, tokens=fold),),
        low.reshape(tokens, width),
    )
    network = Network((gathered, ramps, score, Softmax(), read, unfold))
    bound = amplification * ramp_error + widest * chosen_error + spent
    return Construction(network, relu, bound, neurons.applies)


def _shares(error: float, first: float, second: float) -> tuple[float, float]:
    """Split ``error`` so that first/e₁ + second/e₂, the number of scores, is least."""
    part = math.sqrt(first) / (math.sqrt(first) + math.sqrt(second)) if first or second else 0.5
    return part * error, (1 - part) * error
