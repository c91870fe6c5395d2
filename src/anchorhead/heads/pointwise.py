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
    The linear map writes (y − centre)/unit of every token, once for each direction, centre and unit
    that heads have, and a 1: so that rounding is relative to each head's own centre. Each head sees
    only its anchors, which stand beside the tokens as constant keys and values. All heads have the
    same width.

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
    views = np.column_stack([looks, [(head.centre, head.unit) for head in heads]])
    distinct, column = np.unique(views, axis=0, return_inverse=True)
    centres, units = distinct[:, -2], distinct[:, -1]
    width = looks.shape[1]
    features = np.append((distinct[:, :width] / units[:, None]).T, np.zeros((width, 1)), axis=1)
    query = Linear(
        (tokens, width),
        (tokens, len(distinct) + 1),
        (Term(features=features),),
        np.append(-centres / units, 1.0)[None],
    )
    pick = np.eye(len(distinct) + 1)
    made = (
        Head(
            query=pick[:, [at, -1]],
            anchor_keys=head.keys,
            anchor_values=head.values,
            sees="anchors",
        )
        for head, at in zip(heads, column.ravel(), strict=True)
    )
    return Network((query, Attention(tuple(made))))
