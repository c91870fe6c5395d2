"""Fixed seeds for every test, and the networks that several rooms' laws are checked on."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the tests themselves share the cores

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

from anchorhead.theorems import multi_head, one_layer_softmax, single_head, two_layers
from networks import relu_network

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fixed")

torch.set_num_threads(1)  # likewise


def theorem_constructions():
    """One construction of each kind, small: (name, construction, inputs)."""
    rng = np.random.default_rng(5)
    n, d = 6, 3
    weights, offsets = rng.normal(size=(n, d)), rng.normal(size=n)
    X = rng.uniform(-1, 1, (40, n, d))
    relu = relu_network(n, d, 7, seed=6)
    box = [(-1, 1)] * (n * d)
    few, many = rng.integers(0, 3, 40), rng.integers(0, 2, 5 * (n - 2))
    return {
        "single_head": (single_head(weights, offsets, -1.0, 2.0, 64), X),
        "single_head with slots": (
            single_head(weights, offsets, -1.0, 2.0, 40, slots=few, width=4),
            X,
        ),
        "multi_head": (multi_head(weights, offsets, -1.0, 2.0, 9), X),
        "multi_head with slots": (multi_head(weights, offsets, -1.0, 2.0, 5, slots=many), X),
        "two_layers": (two_layers(relu, box, 0.3), X),
        "one_layer_softmax": (one_layer_softmax(relu, box, 0.3), X),
        "multi_head, graded": (multi_head(weights, offsets, -1.0, 2.0, 3, anchors="graded"), X),
        "two_layers, graded": (two_layers(relu, box, 1e-6, anchors="graded"), X),
        "one_layer_softmax, graded": (one_layer_softmax(relu, box, 1e-6, anchors="graded"), X),
    }


@pytest.fixture(scope="session")
def constructions():
    return theorem_constructions()


@pytest.fixture(params=list(theorem_constructions()))
def construction(request, constructions):
    return constructions[request.param]
