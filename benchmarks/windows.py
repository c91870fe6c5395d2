"""What skipping anchors without weight saves the NumPy reference, and that it changes nothing."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

import anchorhead
from anchorhead.heads import pointwise, uniform
from anchorhead.network import Network
from anchorhead.reproduce.__main__ import markdown
from anchorhead.run import windows
from benchmarks.timing import best

TOKENS = 20_000


def table() -> str:
    """Time with every anchor at every query, as a ratio to that with windows."""
    root = anchorhead.compile(lambda x: np.sqrt(np.abs(x)), (-1, 1), 1e-5)
    networks = {
        f"uniform, p = {p}": pointwise(uniform(-1.0, 1.0, p, h=20.0)) for p in (64, 512, 4096)
    }
    networks["√ abs x within 1e-5"] = root
    X = np.random.default_rng(0).uniform(-1, 1, (TOKENS, 1))
    rows = [_row(name, network, X) for name, network in networks.items()]
    head = ["network", "anchors", "without windows, ms", "with windows, ms", "ratio", "difference"]
    return f"{TOKENS:,} tokens, NumPy, float64.\n\n" + markdown(head, rows)


def _row(name: str, network: Network, X: np.ndarray) -> tuple[str, ...]:
    with patch.object(windows, "pay", lambda head, Q: False):
        plain, slow = network(X), best(lambda: network(X))
    fast, apart = best(lambda: network(X)), float(np.abs(network(X) - plain).max())
    times = (f"{1000 * slow:.1f}", f"{1000 * fast:.1f}", f"{slow / fast:.1f}")
    return (name, str(network.size.anchors), *times, f"{apart:.0e}")
