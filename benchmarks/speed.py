"""How long one network takes in each form, by the NumPy reference and by the torch module."""

from __future__ import annotations

import numpy as np
import torch

from anchorhead.forms import to_heads, to_prefix, to_sequence
from anchorhead.reproduce.__main__ import markdown
from anchorhead.reproduce.sequences import random_relu
from anchorhead.theorems import one_layer_softmax, single_head, two_layers
from benchmarks.timing import best

INPUTS = 200


def table() -> str:
    """Seconds of the slowest cell, and every other as a ratio to its row's NumPy sequence form."""
    rng = np.random.default_rng(0)
    relu = random_relu(20, 5, 10, seed=0)
    box = [(-1, 1)] * 100
    weights, offsets = rng.normal(size=(20, 5)), rng.normal(size=20)
    networks = {
        "single_head, p = 256": single_head(weights, offsets, -1.0, 2.0, 256).network,
        "two_layers, error 0.1": two_layers(relu, box, 0.1).network,
        "one_layer_softmax, error 0.1": one_layer_softmax(relu, box, 0.1).network,
    }
    X = rng.uniform(-1, 1, (INPUTS, 20, 5))
    forms = {"sequence": to_sequence, "heads": to_heads, "prefix": to_prefix}
    head = ["network", "sequence, NumPy: ms an input"]
    head += [f"{form}, {runner}" for form in forms for runner in ("NumPy", "torch")][1:]
    rows = []
    for name, network in networks.items():
        times = []
        for form in forms.values():
            rewritten = form(network)
            module, tensor = rewritten.to_torch(), torch.tensor(X)
            times += [best(lambda n=rewritten: n(X)), best(lambda m=module, x=tensor: m(x))]
        shown = [f"{1000 * times[0] / INPUTS:.3f}"]
        rows.append((name, *shown, *(f"× {time / times[0]:.2f}" for time in times[1:])))
    return markdown(head, rows)
