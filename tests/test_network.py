from typing import get_args

import numpy as np
import pytest

from anchorhead import Attention, Head, Linear, Network, Softmax, Term
from anchorhead.errors import InputError, ShapeError
from anchorhead.layers import Layer, constant_image

EYE = np.eye(2)


def head(**changes):
    return Head(**{"query": EYE, "key": EYE, **changes})


def anchored(**changes):
    parts = {"query": EYE, "anchor_keys": np.ones((3, 2)), "anchor_values": np.ones((3, 1))}
    return Head(**{**parts, "sees": "anchors", **changes})


def test_attention_only_is_a_property_of_the_type():
    assert set(get_args(Layer)) == {Linear, Attention, Softmax}
    with pytest.raises(InputError, match="use Linear or Attention or Softmax"):
        Network((Linear((2, 2), (2, 2), (Term(),)), np.tanh))


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Linear((2, 3), (2, 4), (Term(),)), "features matrix"),
        (lambda: Linear((2, 3), (2, 4), (Term(features=np.ones((3, 3))),)), r"\(3, 4\)"),
        (lambda: Linear((2, 3), (5, 3), (Term(tokens=np.ones((5, 3))),)), r"\(5, 2\)"),
        (lambda: Linear((2, 3), (2, 3), (Term(scale=np.ones((3, 3))),)), r"\(2, 3\)"),
        (lambda: Linear((2, 3), (2, 3), (), np.ones((3, 3))), "constant"),
        (lambda: Linear((None, 3), (2, 3), ()), "either both"),
        (lambda: Linear((None, 3), (None, 3), (Term(scale=np.ones((1, 3))),)), "fixed number"),
        (lambda: Linear((0, 3), (2, 3), ()), r"shape_in\[0\] is 0"),
        (lambda: Linear((2, 3), (2, 0), ()), r"shape_out\[1\] is 0"),
        (lambda: Linear((2, 3), (2, 3), (Term(features=np.ones(3)),)), "2 dimensions"),
        (lambda: Term(features=np.array([[1]])), "int64"),
        (lambda: Term(features=[[np.inf]]), "inf"),
        (lambda: Head(query=EYE), "key is missing"),
        (lambda: head(key=np.ones((3, 2))), "that of query"),
        (lambda: head(value=np.ones((3, 2))), "3 rows"),
        (lambda: head(output=np.ones((3, 2))), "3 rows"),
        (lambda: head(sees="some"), "'all', 'self' or 'anchors'"),
        (lambda: head(sees="anchors"), "no use for key"),
        (lambda: Head(query=EYE, sees="anchors"), "anchor_keys is missing"),
        (lambda: head(anchor_keys=np.ones((3, 2))), "come together"),
        (lambda: head(anchor_keys=np.ones((3, 1)), anchor_values=np.ones((3, 2))), r"\(3, 2\)"),
        (lambda: head(anchor_keys=np.ones((3, 2)), anchor_values=np.ones((3, 1))), r"\(3, 2\)"),
        (lambda: anchored(anchor_values=np.ones((2, 1))), "anchors × width"),
        (lambda: Attention(()), "at least one head"),
        (lambda: Attention((head(), anchored())), r"heads\[1\] writes 1"),
        (lambda: Attention((anchored(),), residual=True), "residual"),
        (lambda: Attention((head(),), keep=0), "keep is 0"),
        (lambda: head(causal="no"), "True or False"),
        (lambda: Head(query=None), "query is missing"),
        (lambda: head(sees=EYE), "'all', 'self' or 'anchors'"),
        (lambda: Attention((head(),), residual="no"), "True or False"),
        (lambda: Attention(head()), "give a tuple"),
        (lambda: Attention((3,)), r"heads\[0\] is a int; use Head"),
        (lambda: Linear(None, (2, 2), ()), "shape_in is None"),
        (lambda: Linear((2,), (2, 2), ()), "shape_in"),
        (lambda: Linear((2, 2), (2, 2), Term()), "give a tuple"),
        (lambda: Linear((2, 2), (2, 2), (EYE,)), r"terms\[0\] is a ndarray; use Term"),
        (lambda: Network(None), "give a tuple"),
        (lambda: Network((Term(),)), r"layers\[0\] is a Term"),
        (lambda: Network(()), "at least one layer"),
        (lambda: Network((Softmax(),)), "Softmax of unknown width"),
        (
            lambda: Network((Linear((2, 2), (3, 2), (Term(),)), Linear((2, 2), (2, 2), ()))),
            "takes 2 tokens where 3 come",
        ),
        (
            lambda: Network((Linear((2, 2), (3, 5), ()), Attention((head(),)))),
            "reads 2 features where 5 come",
        ),
        (
            lambda: Network((Linear((2, 2), (3, 2), (Term(),)), Attention((head(),), keep=4))),
            "keeps 4 rows where only 3 come",
        ),
    ],
)
def test_shapes_are_checked_on_construction(build, says):
    with pytest.raises(InputError, match=says):
        build()


def test_arrays_are_read_only_copies():
    given = np.eye(2)
    made = Head(query=given, key=given)
    given[0, 0] = 7
    assert made.query[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        made.query[0, 0] = 7
    with pytest.raises(AttributeError):
        made.sees = "self"


def test_shapes_pass_through():
    network = Network(
        (
            Linear((4, 2), (5, 2), (Term(),)),
            Attention((head(value=np.ones((2, 3))),), keep=2),
            Softmax(),
        )
    )
    assert network.shape_in == (4, 2)
    assert network.shape_out == (2, 3)
    free = Network((Attention((anchored(),)),))
    assert free.shape_in == (None, 2)
    assert free.shape_out == (None, 1)
    assert isinstance(free.shape_in, tuple)
    assert Network((Linear((None, 2), (None, 1), ()),)).shape_out == (None, 1)
    with pytest.raises(ShapeError):
        Network((free.layers[0], Linear((3, 1), (3, 1), ())))


def test_size_counts_what_is_there():
    first = Linear((3, 2), (3, 2), (Term(features=np.full((2, 2), -4.0)),), np.ones((1, 2)))
    network = Network((first, Attention((anchored(), anchored())), Softmax()))
    size = network.size
    assert (size.layers, size.heads, size.anchors) == (2, 2, 6)
    assert size.parameters == 4 + 2 + 2 * (4 + 6 + 3)
    assert size.largest_weight == 4


def test_size_counts_constant_tokens_as_anchors():
    constant = Linear((3, 2), (5, 2), (Term(features=np.diag([1.0, 0.0])),), np.ones((5, 2)))
    reads_constant = Head(query=EYE, key=EYE[:, 1:] @ np.ones((1, 2)), value=EYE[:, 1:])
    reads_input = Head(query=EYE, key=EYE, value=EYE[:, 1:])
    assert Network((constant, Attention((reads_constant,)))).size.anchors == 5
    assert Network((constant, Attention((reads_input,)))).size.anchors == 0


def test_constant_image_is_none_where_the_input_shows():
    linear = Linear((3, 2), (4, 2), (Term(features=np.diag([1.0, 0.0])),), np.ones((1, 2)))
    assert constant_image(linear, EYE[:, :1]) is None
    assert constant_image(linear, None) is None
    image = constant_image(linear, EYE[:, 1:])
    assert image is not None
    assert (image == np.ones((4, 1))).all()


def test_prints_as_a_short_table(construction):
    network = construction[0].network
    text = str(network)
    assert len(text.splitlines()) == len(network.layers) + 2
    for word in ("Linear", "Attention", "anchors", "parameters"):
        assert word in text
    assert f"{network.size.parameters:,}" in text
    assert f"{construction[0].bound:.3g}" in str(construction[0])
