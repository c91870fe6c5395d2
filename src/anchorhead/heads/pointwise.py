"""Heads of one variable as a whole network: the same function applied to every token."""

from __future__ import annotations

from typing import Any

import numpy as np

from anchorhead.errors import InputError, require_array, require_integer, require_shape
from anchorhead.heads.anchors import Anchors
from anchorhead.layers import Attention, Head, Linear, Term
from anchorhead.network import Network

__all__ = ["pointwise"]


def pointwise(*heads: Anchors, directions: Any = None, tokens: int | None = None) -> Network:
    """The network n×d → n×width that adds up its heads, for every token by itself.

    A head computes F(y) = Σ_k v_k e^{s_k} / Σ_k e^{s_k} of y = w·x, x being the token.
    The linear map writes (y − centre)/unit of every token and every direction, as the first head that
    looks there has them, and a 1; each head moves that to its own centre. Each head sees only its
    anchors, which stand beside the tokens as constant keys and values. All heads have the same width.

    Args:
        heads: The anchors of each head.
        directions: w, one row of d numbers for each head; without it d is 1 and y is the token.
        tokens: n; without it the network takes any number of tokens.
    """
    if not heads or not all(isinstance(head, Anchors) for head in heads):
        raise InputError(
            "heads are not all Anchors; give at least one, such as heads.uniform makes"
        )
    if any(head.values.shape[1] != heads[0].values.shape[1] for head in heads):
        raise InputError("heads differ in width; give all of them as many values an anchor")
    if directions is None:
        looks = np.ones((len(heads), 1))
    else:
        looks = require_array("directions", directions, dimensions=2)
        require_shape("directions", looks, (len(heads), looks.shape[1]), "one for each head")
    if tokens is not None:
        tokens = require_integer("tokens", tokens, least=1)
    distinct, first, column = np.unique(looks, axis=0, return_index=True, return_inverse=True)
    frames = [(heads[i].centre, heads[i].unit) for i in first]
    units = np.array([unit for _, unit in frames])
    features = np.append((distinct / units[:, None]).T, np.zeros((looks.shape[1], 1)), axis=1)
    constant = np.array([*(-centre / unit for centre, unit in frames), 1.0])
    query = Linear(
        (tokens, looks.shape[1]),
        (tokens, len(constant)),
        (Term(features=features),),
        constant[None],
    )
    made = (
        _reading(head, int(at), frames[at], len(constant))
        for head, at in zip(heads, column.ravel(), strict=True)
    )
    return Network((query, Attention(tuple(made))))


def _reading(head: Anchors, column: int, frame: tuple[float, float], width: int) -> Head:
    """The head, its query ((y − centre)/unit, 1) made from a column with another centre and unit."""
    centre, unit = frame
    query = np.zeros((width, 2))
    query[column, 0] = unit / head.unit
    query[-1] = (centre - head.centre) / head.unit, 1.0
    return Head(query=query, anchor_keys=head.keys, anchor_values=head.values, sees="anchors")
