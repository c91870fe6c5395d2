"""What can be said of a target that is only a black box: what was seen, and how likely that is all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from anchorhead.errors import InputError
from anchorhead.heads.response import Precision
from anchorhead.network import Network
from anchorhead.proof.certificate import Certificate
from anchorhead.proof.checker import digest
from anchorhead.run.numpy import evaluate

if TYPE_CHECKING:
    from anchorhead.proof.subject import Subject

__all__ = ["sampled"]

POINTS = 2**16
"""Arrays drawn from the domain."""

CONFIDENCE = 0.999
"""Of the statement about the part of the domain where the error is larger than seen."""

SEED = 1
"""Of the draw."""


def sampled(network: Network, found: Subject, dtype: Precision, why: str) -> Certificate:
    """The certificate of a target that is sampled at POINTS arrays drawn uniformly from the domain.

    Statement. If the error exceeds what was seen on a part q of the domain, then N independent points
    all miss that part with probability (1 − q)^N. So with confidence c, q ≤ 1 − (1 − c)^{1/N}.
    """
    started = time.perf_counter()
    box = found.box
    X = box.sample(POINTS, SEED).astype(dtype)
    if found.values is None:
        raise InputError(
            f"target cannot be proven ({why}) and is no function that could be sampled"
        )
    if box.low.ndim == 1:
        rows = network.shape_in[0] or 1
        tokens = np.broadcast_to(X[:, None], (POINTS, rows, X.shape[1]))
        apart = evaluate(network, tokens).astype(float) - found.values(X.astype(float))[:, None]
    else:
        apart = evaluate(network, X).astype(float)
        apart = apart - np.asarray(found.values(X.astype(float))).reshape(apart.shape)
    seen = float(np.abs(apart).max())
    fraction = float(-np.expm1(np.log1p(-CONFIDENCE) / POINTS))
    return Certificate.of(
        {
            "statement": (
                f"sampled, not proven ({why}): the largest error at {POINTS} points is {seen:.4g}; "
                f"with confidence {CONFIDENCE} it is larger on at most {fraction:.2g} of the domain"
            ),
            "kind": "sampled",
            "complete": True,
            "bound": None,
            "approximation": None,
            "rounding": None,
            "attained": seen,
            "dtype": dtype,
            "target": found.record,
            "domain": {"low": box.low.tolist(), "high": box.high.tolist()},
            "network": digest(network),
            "method": f"{POINTS} points drawn uniformly, seed {SEED}",
            "points": POINTS,
            "confidence": CONFIDENCE,
            "fraction": fraction,
            "cells": 0,
            "seconds": round(time.perf_counter() - started, 4),
        }
    )
