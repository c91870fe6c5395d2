"""From a network, a target and a domain to a certificate."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from anchorhead.enclosure.rounding import rounding
from anchorhead.errors import (
    InputError,
    PrecisionError,
    SizeError,
    require_choice,
    require_integer,
    require_number,
)
from anchorhead.heads.response import Precision
from anchorhead.network import Network
from anchorhead.proof.certificate import Certificate
from anchorhead.proof.checker import Account, Claim, digest, statement, upward
from anchorhead.proof.dissection import Dissection, too_wide
from anchorhead.proof.sampled import sampled
from anchorhead.proof.search import Effort, Progress
from anchorhead.proof.subject import Subject, require_defined, subject

__all__ = ["certify", "of_compiled"]

TIGHT = 1.1
"""How tight a proof is if it is not told otherwise."""

BUDGET = 200_000
"""Cells that a proof looks at if it is not told otherwise."""

COMPILED = {1: 20_000, 2: 4_000}
"""Cells that ``compile`` looks at, by the number of variables; a tenth for more of them."""


def certify(
    network: Network,
    target: Any,
    domain: Any,
    *,
    tightness: float = TIGHT,
    budget: int = BUDGET,
    dtype: Precision = "float64",
    progress: Callable[[Progress], Any] | None = None,
) -> Certificate:
    """A certificate of how far ``network`` is from ``target``, proven where that is possible.

    Statement. Of kind "proven": |network(X) − target(X)| ≤ ``approximation`` for every X of the
    domain, in exact arithmetic, for the very numbers stored; and ≤ ``bound`` = approximation + rounding
    for every X of numbers of ``dtype``, run in it with sums in any order. ``anchorhead.check`` verifies
    it. A target without a formula is sampled: the certificate says what was seen and proves nothing.

    Cells are independent: inside ``joblib.parallel_config(...)`` they are shared out among its workers.

    Args:
        network: The network. One that takes any number of tokens is certified for every token, if
            its heads do not look at other tokens.
        target: A SymPy expression, a list of them, or a function made of NumPy's and SciPy's functions,
            of operators, or of the methods of python-flint's balls, as ``anchorhead.compile`` takes
            it; it is read as a formula, by one call with symbols. Of whole n×d arrays if ``domain``
            is a ``Box`` of that shape.
        domain: As ``compile`` takes it, for a token; or a ``Box`` of shape n×d.
        tightness: The proof is complete when the bound is at most so many times an error that is
            certainly attained, part by part; above 1.
        budget: The most cells to look at; then the bound reached is reported, as incomplete.
        dtype: "float64" or "float32", the numbers the network is run with.
        progress: Called with a ``Progress`` every now and then. Ctrl-C ends the search with the bound
            reached.

    Raises:
        InputError: The target is undefined or infinite somewhere on the domain, or does not fit.
        SizeError: The budget was spent before there was any finite bound.
    """
    if require_number("tightness", tightness) <= 1:
        raise InputError(
            f"tightness is {tightness}; give a number above 1, as no bound is below what is attained"
        )
    require_choice("dtype", dtype, ("float64", "float32"))
    if progress is not None and not callable(progress):
        raise InputError(f"progress is {progress!r}; give a function of one Progress")
    effort = Effort(require_integer("budget", budget, least=1), progress)
    found = subject(network, target, domain)
    if found.formula is None:
        return sampled(network, found, dtype, found.why)
    return _proven(network, found, float(tightness), math.inf, dtype, effort)


def of_compiled(
    network: Network, target: Any, domain: Any, error: float, dtype: Precision
) -> Certificate | None:
    """The certificate of a network made for a target and an error; None where nothing can be proven."""
    found = subject(network, target, domain)
    if found.formula is None:
        return None
    variables = found.box.low.size
    budget = COMPILED.get(variables, COMPILED[2] // 10)
    try:
        made = _proven(network, found, TIGHT, error, dtype, Effort(budget))
    except InputError:
        return None
    return made if made.proven else None


def _proven(
    network: Network,
    found: Subject,
    tightness: float,
    wanted: float,
    dtype: Precision,
    effort: Effort,
) -> Certificate:
    """The certificate of a target with a formula; ``wanted`` is a bound worth some more work."""
    require_defined(found)
    box = found.box
    claim = Claim.of(network, found.record, box.low.tolist(), box.high.tolist())
    if any(too_wide(error, claim.box) for error in claim.errors):
        return sampled(network, found, dtype, "too many of its variables act together")
    made = Dissection(claim, tightness, wanted, effort)
    outputs = [made.hint(error) for error in claim.errors]
    if wanted < math.inf:
        made.wanted = max(
            wanted - rounding(network, claim.arrays, claim.box, made.uncut(), dtype), 0.0
        )
    account = Account(claim.box, made.shares, made.cover)
    bounds = [account.bound(e, hint) for e, hint in zip(claim.errors, outputs, strict=True)]
    approximation = max(bounds) if all(b < math.inf for b in bounds) else math.inf
    rounded = rounding(network, claim.arrays, claim.box, made.cells(), dtype)
    bound = upward([approximation, rounded])
    if approximation < math.inf and not rounded < math.inf:
        raise PrecisionError(
            f"dtype is {dtype}, whose numbers the network's overflow on this domain; scale the "
            f"variables, or use a wider dtype"
        )
    if not bound < math.inf:
        raise SizeError(
            "budget was spent before there was a finite bound; give a larger one, or a domain on which "
            "the target is smaller"
        )
    record = {
        "kind": "proven",
        "complete": made.complete,
        "bound": bound,
        "approximation": approximation,
        "rounding": rounded,
        "attained": account.attained,
        "dtype": dtype,
        "target": found.record,
        "domain": {"low": box.low.tolist(), "high": box.high.tolist()},
        "network": digest(network),
        "method": "Taylor series with balls over cells, part by part (anchorhead.enclosure)",
        "cells": sum(len(cells) for _, cells in made.cells()),
        "seconds": round(time.perf_counter() - effort.started, 4),
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("anchorhead", "python-flint", "numpy")},
        "outputs": outputs,
        "parts": made.record(),
    }
    return Certificate.of({"statement": statement(record, network), **record})
