"""The pipeline a reader starts from: plan, compile, certify, check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anchorhead.compiler.function import chosen
from anchorhead.compiler.planner import Plan, Row, plan
from anchorhead.compiler.written import FORMS, in_form
from anchorhead.errors import require_choice, require_flag
from anchorhead.heads.response import Precision
from anchorhead.network import Network
from anchorhead.proof.certificate import Certificate
from anchorhead.proof.certify import certify, of_compiled
from anchorhead.proof.checker import Verdict, check
from anchorhead.proof.search import Progress

__all__ = [
    "Certificate",
    "Plan",
    "Progress",
    "Row",
    "Verdict",
    "certify",
    "check",
    "compile",
    "plan",
]


def compile(  # noqa: A001
    target: Any,
    domain: Any,
    error: float = 1e-6,
    *,
    dtype: Precision = "float64",
    kinks: Any = None,
    norm: str = "sup",
    form: str = "prefix",
    prove: bool = True,
) -> Network:
    """The smallest softmax-attention-only network found that does what ``target`` does on ``domain``.

    The network treats every token alike: n×d to n×width for d variables. Its error, what rounding may
    add in ``dtype`` included, is measured where the network is finest and tried again at fresh points.
    Where the target can be read as a formula, a proof follows: ``network.certificate``.

    Args:
        target: A function of one array for each variable, or of one array points × variables. It
            answers with one value for each point, several along the last axis, or a tuple of arrays.
            A function of plain numbers is called point by point.
        domain: A pair (low, high), a list of pairs, or a dict of name to pair.
        error: The largest error allowed.
        dtype: "float64" or "float32": the numbers the network will be computed with.
        kinks: Where the target is not smooth, inside the domain, instead of searching for it: a list
            for one variable, a list of lists or a dict of name to list for several.
        norm: "sup" for the largest error anywhere, "rms" for its root mean square over the domain.
        form: "prefix" for any number of tokens, the anchors beside them; "sequence" for one token,
            the anchors in rows of the linear map; "heads" for as many tokens as a head has anchors,
            each token holding one of them.
        prove: Whether to prove the error of what was found, where ``certify`` can.

    Raises:
        InputError: The target jumps, is not finite, or cannot be called; or an argument is unusable.
        PrecisionError: The error is below what can be met; the message says what could be.
    """
    require_choice("form", form, FORMS)
    require_flag("prove", prove)
    made = chosen(target, domain, error, dtype, kinks, norm, gates=form == "prefix")
    network = in_form(made.network, form)
    if not prove:
        return network
    return replace(network, certificate=of_compiled(network, target, domain, error, dtype))
