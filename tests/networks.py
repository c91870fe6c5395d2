"""Random networks of every shape the type allows, for properties that hold for all of them."""

import numpy as np
from hypothesis import strategies as st

from anchorhead import Attention, Head, Linear, Network, Softmax, Term
from anchorhead.theorems import ReLUNetwork


def relu_network(n, d, hidden, seed, shape_out=None):
    """A random ReLU network whose values are of order one."""
    rng = np.random.default_rng(seed)
    tokens, width = shape_out or (n, d)
    return ReLUNetwork(
        rng.normal(size=(hidden, n * d)) / np.sqrt(n * d),
        rng.normal(size=hidden),
        rng.normal(size=(tokens * width, hidden)) / np.sqrt(hidden),
        rng.normal(size=tokens * width),
        (n, d),
        (tokens, width),
    )


def evaluate_anchors(anchors, y):
    """F(y) by its definition, one row of values for each y."""
    scores = np.multiply.outer((y - anchors.centre) / anchors.unit, anchors.slopes)
    scores = scores + anchors.intercepts
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (weights / weights.sum(axis=1, keepdims=True)) @ anchors.values


def _matrix(rng, *shape):
    return rng.normal(size=shape)


def random_head(rng, width, out, sees, causal, anchors, narrow):
    depth = int(rng.integers(1, 4))
    value_width = int(rng.integers(1, 4)) if narrow else width
    output = _matrix(rng, value_width, out) if narrow or out != width else None
    tokens = sees != "anchors"
    count = max(anchors, 0 if tokens else 1)
    return Head(
        query=_matrix(rng, width, depth),
        key=_matrix(rng, width, depth) if tokens else None,
        value=_matrix(rng, width, value_width) if tokens and narrow else None,
        output=output,
        anchor_keys=_matrix(rng, count, depth) if count else None,
        anchor_values=_matrix(rng, count, value_width) if count else None,
        sees=sees,
        causal=causal,
    )


def random_linear(rng, shape_in, shape_out, terms):
    (rows_in, width_in), (rows_out, width_out) = shape_in, shape_out
    made = []
    for _ in range(terms):
        kind = rng.integers(4)
        tokens = _matrix(rng, rows_out, rows_in) if kind in (1, 3) else None
        scale = _matrix(rng, rows_in, width_in) if kind >= 2 else None
        square = width_in == width_out and rng.random() < 0.3
        features = None if square else _matrix(rng, width_in, width_out)
        made.append(Term(features=features, tokens=tokens, scale=scale))
    rows = rows_out if rng.random() < 0.5 else 1
    constant = _matrix(rng, rows, width_out) if rng.random() < 0.8 else None
    return Linear(shape_in, shape_out, tuple(made), constant)


@st.composite
def networks(draw, masks=("all", "self", "anchors"), causal=None, least=0):
    """(network, input): two or three layers with any heads, masks, residuals and kept rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 4)))
    first = shape
    layers = []
    for _ in range(draw(st.integers(1, 2))):
        after = (draw(st.integers(1, 7)), draw(st.integers(1, 4)))
        layers.append(random_linear(rng, shape, after, draw(st.integers(0, 3))))
        residual = draw(st.booleans())
        out = after[1] if residual else draw(st.integers(1, 4))
        heads = [
            random_head(
                rng,
                after[1],
                out,
                draw(st.sampled_from(masks)),
                draw(st.booleans()) if causal is None else causal,
                draw(st.integers(least, 5)),
                draw(st.booleans()),
            )
            for _ in range(draw(st.integers(1, 3)))
        ]
        keep = draw(st.none() | st.integers(1, after[0]))
        layers.append(Attention(tuple(heads), residual=residual, keep=keep))
        shape = (keep or after[0], out)
    if draw(st.booleans()):
        layers.append(Softmax())
    return Network(tuple(layers)), rng.normal(size=first)
