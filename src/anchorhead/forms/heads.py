"""Heads form: the anchors are spread over heads that see only the n tokens of the sequence.

This is the strict class of theorem 2: the sequence does not grow, and its positions, told apart by
one-hot columns, tell a token which anchor it holds for each head.
"""

from __future__ import annotations

import numpy as np

from anchorhead.errors import FormError, require_positive
from anchorhead.forms.pairs import (
    added_columns,
    held_rows,
    map_pairs,
    reading,
    rejoined,
    require_rows,
)
from anchorhead.forms.prefix import to_prefix
from anchorhead.heads.anchors import Anchors, merge, share, sharing_error
from anchorhead.layers import Attention, Head, Layer, Linear
from anchorhead.network import Network

__all__ = ["to_heads"]


def to_heads(network: Network, agreement: float = 1e-9) -> Network:
    """The same network with every head's anchors spread over heads on the n tokens.

    Statement. A head that sees only p anchors becomes one head where p ≤ n, with the same function
    in exact arithmetic. Where p > n ≥ 3, and the scores depend on one affine function of the token,
    it becomes ⌈p/(n − 2)⌉ heads of n − 2 anchors and two sentinels; their sum differs from the head
    by at most ``sharing_error``, which must not exceed ``agreement`` (with uniform anchors it is of
    the order of softmax_error²). Heads that see tokens stay as they are.

    Raises:
        FormError: A layer takes any number of tokens, has fewer than three for more anchors than
            that, has scores that depend on several variables, or anchors too soft to be shared
            within ``agreement``; or a head holds anchors beside tokens it sees.
    """
    agreement = require_positive("agreement", agreement)

    def rewrite(name: str, before: Linear, layer: Attention) -> list[Layer]:
        return _rewrite(name, before, layer, agreement)

    return map_pairs(to_prefix(network), rewrite)


def _rewrite(name: str, before: Linear, layer: Attention, agreement: float) -> list[Layer]:
    if not any(head.anchors for head in layer.heads):
        return [before, layer]
    n = require_rows(name, before)
    heads: list[Head] = []
    for number, head in enumerate(layer.heads):
        called = f"{name}.heads[{number}]"
        if head.anchors and head.sees != "anchors":
            raise FormError(
                f"{called} holds anchors beside the tokens it sees, and the heads form has no "
                f"place for them; use to_sequence, or keep the prefix form"
            )
        if head.anchors:
            heads += _spread(called, before, head, n, agreement)
        else:
            depth, width = head.query.shape[1], head.value_width
            blank = np.zeros((n, depth + 1)), np.zeros((n, width))
            heads.append(reading(head, np.zeros(n), *blank))
    return rejoined(added_columns(before, np.eye(n)), heads, layer, layer.keep or n)


def _spread(name: str, before: Linear, head: Head, n: int, agreement: float) -> list[Head]:
    """The heads, each reading at most n keys and values from the positions, that sum to the head."""
    assert head.anchor_keys is not None
    assert head.anchor_values is not None
    one = np.ones(n)
    if head.anchors <= n:
        return [reading(head, one, *held_rows(head.anchor_keys, head.anchor_values, n))]
    if n < 3:
        raise FormError(
            f"{name} has {head.anchors} anchors for {n} tokens, and sharing them takes at least "
            f"3 tokens; use to_sequence"
        )
    alone, anchors = _on_one_variable(name, before, head)
    error = sharing_error(anchors, n)
    if not error <= agreement:
        raise FormError(
            f"{name} can share its {head.anchors} anchors among heads only within {error:.1e} "
            f"where agreement is {agreement:.1e}; use sharper anchors (a smaller softmax_error), "
            f"to_sequence, or a larger agreement"
        )
    return [reading(alone, one, piece.keys, piece.values) for piece in share(anchors, n)]


def _on_one_variable(name: str, before: Linear, head: Head) -> tuple[Head, Anchors]:
    """The head with a single number y as its query, and its anchors with scores affine in y.

    Queries lie in q̄ + U, where U is spanned by what the linear map lets vary and by the differences
    of its constant rows. A term that all scores share does not matter, so only keys relative to the
    middle one count. On U these must be α_k e for one direction e; then y = e·q, the slopes are α_k
    and the intercepts are the keys times q̄, with q̄ taken orthogonal to U.
    """
    assert head.anchor_keys is not None
    values = head.anchor_values
    assert values is not None
    values = values if head.output is None else values @ head.output
    varying = [_features(before, term.features) @ head.query for term in before.terms]
    constant = _constant_rows(before) @ head.query
    directions = np.vstack([*varying, constant - constant[0]])
    keys = head.anchor_keys - head.anchor_keys[head.anchors // 2]
    _, sizes, basis = np.linalg.svd(directions, full_matrices=False)
    basis = basis[sizes > 1e-13 * sizes.max(initial=0.0)]
    _, strengths, right = np.linalg.svd(keys @ basis.T, full_matrices=False)
    if len(strengths) > 1 and strengths[1] > 1e-12 * strengths[0]:
        raise FormError(
            f"{name} has {head.anchors} anchors in several variables, more than its tokens can "
            f"hold in one head; use to_sequence"
        )
    direction = right[0] @ basis if len(basis) else np.zeros(head.query.shape[1])
    resting = constant[0] - basis.T @ (basis @ constant[0])
    slopes, intercepts = keys @ direction, keys @ resting
    order = np.argsort(slopes, kind="stable")
    anchors = merge(Anchors(slopes[order], intercepts[order], values[order]))
    alone = Head(
        query=head.query @ direction[:, None],
        anchor_keys=anchors.slopes[:, None],
        anchor_values=anchors.values,
        sees="anchors",
    )
    return alone, anchors


def _features(linear: Linear, features: np.ndarray | None) -> np.ndarray:
    return np.eye(linear.shape_out[1]) if features is None else features


def _constant_rows(linear: Linear) -> np.ndarray:
    return np.zeros((1, linear.shape_out[1])) if linear.constant is None else linear.constant
