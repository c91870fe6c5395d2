"""Functions of one and two variables: how small a network does each, and the paper's beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anchorhead import api
from anchorhead.compiler.paper import staircase
from anchorhead.compiler.target import given
from anchorhead.heads.response import Precision
from anchorhead.network import Network
from anchorhead.run import numpy as reference

__all__ = ["FUNCTIONS", "Compiled", "Function", "clustered", "compiled", "measured"]

POINTS = 120_000
"""Points at which every error is measured."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function on a domain, the error asked for, and how many anchors it may take at most."""

    name: str
    of: Callable[..., np.ndarray]
    domain: Sequence[tuple[float, float]]
    error: float
    most: int
    kinks: tuple[float, ...] = ()
    dtype: Precision = "float64"

    @property
    def variables(self) -> int:
        """How many numbers it takes."""
        return len(self.domain)


@dataclass(frozen=True, eq=False)
class Compiled:
    """The network found for a function, its error measured and proven, and the paper's anchors."""

    function: Function
    network: Network
    error: float
    paper: float

    @property
    def proven(self) -> float:
        """The bound of the network's certificate."""
        made = self.network.certificate
        return math.nan if made is None or made.bound is None else made.bound


def gelu(x: np.ndarray) -> np.ndarray:
    """The Gaussian error linear unit, x Φ(x)."""
    from scipy.special import erf

    return x * (1 + erf(x / np.sqrt(2))) / 2


def franke(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Franke's test function on the unit square."""
    hills = 0.75 * np.exp(-((9 * x - 2) ** 2 + (9 * y - 2) ** 2) / 4)
    hills += 0.75 * np.exp(-((9 * x + 1) ** 2) / 49 - (9 * y + 1) / 10)
    hills += 0.5 * np.exp(-((9 * x - 7) ** 2 + (9 * y - 3) ** 2) / 4)
    return hills - 0.2 * np.exp(-((9 * x - 4) ** 2) - (9 * y - 7) ** 2)


LINE = ((-1.0, 1.0),)

FUNCTIONS = (
    Function("ramp, kinks ±½", lambda x: np.clip(x, -0.5, 0.5), LINE, 1e-6, 56, (-0.5, 0.5)),
    Function("ReLU", lambda x: np.maximum(x, 0), LINE, 1e-6, 30, (0.0,)),
    Function("abs x", np.abs, LINE, 1e-6, 32, (0.0,)),
    Function("√ abs x", lambda x: np.sqrt(np.abs(x)), LINE, 1e-5, 40, (0.0,)),
    Function("sin 3x", lambda x: np.sin(3 * x), LINE, 1e-12, 16),
    Function("exp", np.exp, LINE, 1e-12, 16),
    Function("1/(1+25x²)", lambda x: 1 / (1 + 25 * x * x), LINE, 1e-8, 60),
    Function("sin 20x", lambda x: np.sin(20 * x), LINE, 1e-8, 32),
    Function("GELU", gelu, ((-20.0, 25.0),), 1e-6, 64),
    Function("GELU run in float32", gelu, ((-20.0, 25.0),), 2e-5, 64, (), "float32"),
    Function("tanh", np.tanh, ((-12.0, 12.0),), 1e-8, 64),
    Function("Franke's function", franke, ((0.0, 1.0),) * 2, 1e-6, 576),
    Function("x·y", lambda x, y: x * y, LINE * 2, 1e-10, 64),
)


def compiled(function: Function) -> Compiled:
    """The function's network, tried at POINTS fresh points."""
    network = api.compile(function.of, function.domain, function.error, dtype=function.dtype)
    stairs = staircase(given(function.of, function.domain), function.error)
    return Compiled(function, network, measured(network, function), stairs.anchors)


def measured(network: Network, function: Function) -> float:
    """The largest error at clustered points, computed in the dtype the network was made for."""
    X = clustered(function, seed=11).astype(function.dtype)
    exact = function.of(*X.T.astype(float))
    return float(np.abs(reference.evaluate(network, X)[:, 0].astype(float) - exact).max())


def clustered(function: Function, seed: int) -> np.ndarray:
    """Points of the domain, half of them crowding on all scales toward kinks, ends and corners."""
    rng = np.random.default_rng(seed)
    columns = []
    for low, high in function.domain:
        at = rng.choice([low, high, *function.kinks], POINTS // 2)
        away = rng.choice([-1, 1], POINTS // 2) * 10.0 ** rng.uniform(-17, 0, POINTS // 2)
        even = rng.uniform(low, high, POINTS - POINTS // 2)
        columns.append(np.clip(np.concatenate([even, at + away * (high - low)]), low, high))
    return np.stack(columns, axis=1)
