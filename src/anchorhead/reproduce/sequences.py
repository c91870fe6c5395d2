"""Theorems 3 and 4 measured: random ReLU networks, and functions that are no ReLU network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from anchorhead.domain import Box
from anchorhead.forms import to_prefix
from anchorhead.network import Size
from anchorhead.theorems import ReLUNetwork, one_layer_softmax, relu_approximator, two_layers
from anchorhead.theorems.ramps import Placement

__all__ = [
    "SIZES",
    "Row",
    "hard_inputs",
    "moving_average_sine",
    "random_relu",
    "relu_rows",
    "road_rows",
    "sorted_tokens",
]


@dataclass(frozen=True)
class Row:
    """One network measured against its target."""

    target: str
    theorem: str
    asked: float
    bound: float
    error: float
    inputs: int
    size: Size
    seconds: float


def random_relu(n: int, d: int, hidden: int, seed: int) -> ReLUNetwork:
    """A random ReLU network n×d → n×d with weights of standard deviation 1/√(fan-in)."""
    rng = np.random.default_rng(seed)
    entries = n * d
    return ReLUNetwork(
        rng.normal(size=(hidden, entries)) / np.sqrt(entries),
        rng.normal(size=hidden),
        rng.normal(size=(entries, hidden)) / np.sqrt(hidden),
        rng.normal(size=entries),
        (n, d),
        (n, d),
    )


def hard_inputs(relu: ReLUNetwork, box: Box, count: int, seed: int) -> np.ndarray:
    """Inputs that try every part of the box: ``count`` random ones, then the corner-like ones.

    These are the corners at which each neuron and each output's linear part is largest or smallest,
    as many random corners, and random points on the segments between a neuron's two corners, which
    drive that neuron through all of its range.
    """
    rng = np.random.default_rng(seed)
    shape, low, high = box.shape, box.low.ravel(), box.high.ravel()
    rows = np.vstack([relu.hidden_weights, relu.output_weights @ relu.hidden_weights])
    top, bottom = np.where(rows > 0, high, low), np.where(rows > 0, low, high)
    corners = np.where(rng.random(top.shape) < 0.5, low, high)
    along = rng.random((count // 2, 1))
    pick = rng.integers(relu.hidden, size=count // 2)
    between = bottom[pick] + along * (top[pick] - bottom[pick])
    inside = rng.uniform(low, high, (count, len(low)))
    return np.vstack([inside, top, bottom, corners, between]).reshape(-1, *shape)


SIZES = ((20, 5, 10), (50, 10, 10))
"""Tokens, features and hidden neurons of the random ReLU networks."""


FINE = 1e-6
"""The error asked of graded anchors."""


def relu_rows(
    sizes: Sequence[tuple[int, int, int]] = SIZES, error: float = 0.1, count: int = 1000
) -> list[Row]:
    """Random ReLU networks of the paper's sizes through both theorems, and with graded anchors."""
    rows = []
    for n, d, hidden in sizes:
        relu = random_relu(n, d, hidden, seed=0)
        box = Box.cube(-1, 1, (n, d))
        X = hard_inputs(relu, box, count, seed=1)
        name = f"random ReLU n={n} d={d} hidden={hidden}"
        for theorem in (two_layers, one_layer_softmax):
            rows.append(_row(name, theorem, relu, relu, box, error, X))
            rows.append(_row(name, theorem, relu, relu, box, FINE, X, anchors="graded"))
    return rows


def sorted_tokens(X: np.ndarray) -> np.ndarray:
    """The tokens in ascending order, feature by feature; 1-Lipschitz in the largest entry."""
    return np.sort(X, axis=-2)


def moving_average_sine(X: np.ndarray) -> np.ndarray:
    """The sine of the mean of each token and the one before it; 1-Lipschitz in the largest entry."""
    before = np.concatenate([X[..., :1, :], X[..., :-1, :]], axis=-2)
    return np.sin((X + before) / 2)


def road_rows(error: float = 0.1, count: int = 1000) -> list[Row]:
    """Functions that are no ReLU network, from the bare function: half the error for each step."""
    rows = []
    for name, f, box in (
        ("sorting two numbers", sorted_tokens, Box.cube(0, 1, (2, 1))),
        ("moving average, then sin", moving_average_sine, Box.cube(-2, 2, (3, 1))),
    ):
        relu = relu_approximator(f, box, error / 2, modulus=lambda delta: delta)
        X = hard_inputs(relu, box, count, seed=1)
        rows += [
            _row(name, theorem, f, relu, box, error, X, spent=error / 2)
            for theorem in (two_layers, one_layer_softmax)
        ]
    return rows


def _row(
    name: str,
    theorem: Callable,
    f: Callable[[np.ndarray], np.ndarray],
    relu: ReLUNetwork,
    box: Box,
    error: float,
    X: np.ndarray,
    spent: float = 0.0,
    anchors: Placement = "uniform",
) -> Row:
    start = perf_counter()
    made = theorem(relu, box, error - spent, anchors=anchors)
    seconds = perf_counter() - start
    worst = float(np.abs(to_prefix(made.network)(X) - f(X)).max())
    size = made.network.size
    called = theorem.__name__ if anchors == "uniform" else f"{theorem.__name__}, {anchors}"
    return Row(name, called, error, made.bound + spent, worst, len(X), size, seconds)
