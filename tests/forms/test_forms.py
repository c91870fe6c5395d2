"""One law for every form: it is the same function. And what each refuses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from anchorhead import Attention, Head, Linear, Network, Term
from anchorhead.errors import FormError, InputError
from anchorhead.forms import to_heads, to_prefix, to_sequence
from anchorhead.theorems import single_head
from networks import networks

FORMS = [to_prefix, to_sequence, to_heads]
EYE = np.eye(2)


def refusal(form, network):
    """What the form says against the network, or None."""
    try:
        form(network)
    except FormError as error:
        return str(error)
    return None


def heads_of(network):
    return [head for layer in network.layers for head in getattr(layer, "heads", ())]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_function(construction, form):
    made, X = construction
    for network in (made.network, *(other(made.network) for other in FORMS)):
        rewritten = form(network)
        assert rewritten.shape_in == network.shape_in
        assert rewritten.shape_out == network.shape_out
        apart = np.abs(rewritten(X) - made.network(X)).max(axis=-1)
        assert apart[made.applies(X)].max() <= 1e-9


@pytest.mark.parametrize("form", FORMS)
@given(drawn=networks())
def test_any_network_is_rewritten_or_refused(form, drawn):
    """Random networks have soft anchors in several variables, so sharing may be refused."""
    network, X = drawn
    if form is not to_prefix:
        refused = refusal(form, network)
        assert refused is None or refused.startswith("attention layer ")
        if refused is not None:
            return
    rewritten = form(network)
    np.testing.assert_allclose(rewritten(X), network(X), rtol=1e-9, atol=1e-9)


@given(drawn=networks(masks=("anchors",)))
def test_networks_of_anchors_alone_always_have_a_sequence_form(drawn):
    network, X = drawn
    rewritten = to_sequence(network)
    assert all(head.anchors == 0 for head in heads_of(rewritten))
    np.testing.assert_allclose(rewritten(X), network(X), rtol=1e-9, atol=1e-9)


@given(drawn=networks(masks=("all",), causal=False, least=1))
def test_heads_that_see_tokens_and_anchors_have_one_too(drawn):
    network, X = drawn
    np.testing.assert_allclose(to_sequence(network)(X), network(X), rtol=1e-9, atol=1e-9)


def test_each_form_holds_its_anchors_where_it_says(constructions):
    for name, (made, _) in constructions.items():
        first = 1 if "layers" in name or "softmax" in name else 0
        prefix = heads_of(to_prefix(made.network))
        assert prefix[0].sees == "anchors"
        for form in (to_sequence, to_heads):
            strict = heads_of(form(made.network))
            assert all(head.sees == "all" and head.anchors == 0 for head in strict)
        spread = to_heads(made.network).layers
        tokens = made.network.shape_in[0] if not first else 7
        assert spread[0].shape_out[0] == tokens


def test_prefix_drops_what_only_anchors_needed(constructions):
    made, _ = constructions["single_head"]
    n, d = made.network.shape_in
    assert made.network.layers[0].shape_out == (64, 2 * d + 3)
    assert to_prefix(made.network).layers[0].shape_out == (n, d + 1)


def test_sequence_of_a_prefix_has_as_many_rows_as_anchors(constructions):
    made, _ = constructions["single_head"]
    assert to_sequence(to_prefix(made.network)).layers[0].shape_out[0] == 64


def test_heads_spread_by_tokens_less_two(constructions):
    made, _ = constructions["single_head"]
    assert len(heads_of(to_heads(made.network))) == 16


def test_sharp_anchors_share_and_soft_ones_are_refused():
    def made(error):
        return single_head(np.ones((4, 1)), np.zeros(4), 0.0, 1.0, 50, softmax_error=error).network

    to_heads(made(1e-9))
    with pytest.raises(FormError, match="smaller softmax_error"):
        to_heads(made(0.5))
    X = np.linspace(-1, 2, 400).reshape(-1, 4, 1)
    loose = to_heads(made(0.5), agreement=1.0)
    apart = np.abs(loose(X) - made(0.5)(X)).max()
    assert 1e-9 < apart <= 1.0


def anchored(keys, values=None, **more):
    values = np.ones((len(keys), 1)) if values is None else values
    return Head(query=EYE, anchor_keys=keys, anchor_values=values, sees="anchors", **more)


def after_identity(*heads, n=4, **more):
    return Network((Linear((n, 2), (n, 2), (Term(),)), Attention(tuple(heads), **more)))


MANY = np.random.default_rng(0).normal(size=(9, 2))


@pytest.mark.parametrize(
    ("form", "network", "says"),
    [
        (to_sequence, Network((Attention((anchored(MANY),)),)), "any number of tokens"),
        (to_heads, Network((Attention((anchored(MANY),)),)), "any number of tokens"),
        (
            to_sequence,
            after_identity(Head(query=EYE, key=EYE, sees="self"), anchored(MANY, np.ones((9, 2)))),
            "attention layer 1, head 1 has a mask",
        ),
        (
            to_sequence,
            after_identity(anchored(MANY, np.ones((9, 2))), Head(query=EYE, key=EYE)),
            "attention layer 1, head 2 has no anchors",
        ),
        (to_heads, after_identity(anchored(MANY)), "several variables"),
        (to_heads, after_identity(anchored(MANY), n=2), "at least 3 tokens"),
        (
            to_heads,
            after_identity(Head(query=EYE, key=EYE, anchor_keys=EYE, anchor_values=EYE)),
            "beside the tokens it sees",
        ),
    ],
)
def test_what_cannot_be_is_said(form, network, says):
    with pytest.raises(FormError, match=says):
        form(network)


def test_anchors_that_the_input_does_not_reach_are_one():
    first = Linear((4, 2), (4, 2), (), np.ones((1, 2)))
    network = Network((first, Attention((anchored(MANY, np.arange(9.0)[:, None]),))))
    assert len(heads_of(to_heads(network))) == 1
    np.testing.assert_allclose(to_heads(network)(np.zeros((4, 2))), network(np.zeros((4, 2))))


def test_a_query_that_reads_nothing():
    values = np.arange(9.0)[:, None]
    blind = Head(query=np.zeros((2, 2)), anchor_keys=MANY, anchor_values=values, sees="anchors")
    network = after_identity(blind)
    for form in FORMS:
        np.testing.assert_allclose(form(network)(np.ones((4, 2))), np.full((4, 1), 4.0))


def test_constants_that_differ_from_token_to_token_are_variables_too():
    first = Linear((4, 2), (4, 2), (), np.random.default_rng(2).normal(size=(4, 2)))
    network = Network((first, Attention((anchored(MANY, np.arange(9.0)[:, None]),))))
    assert "several variables" in refusal(to_heads, network)
    flat = Network((replace(first, constant=first.constant * [1, 0]), network.layers[1]))
    assert "can share its 9 anchors" in refusal(to_heads, flat)


def test_a_second_variable_counts_however_small_its_weights():
    """Its inputs may be as large as its weights are small."""
    rng = np.random.default_rng(0)
    k = np.arange(10) - 4.5
    for small in (1e-10, 1e-30):
        first = Linear((4, 2), (4, 3), (Term(features=np.eye(2, 3)),), np.array([[0.0, 0.0, 1.0]]))
        keys = np.column_stack([80 * k, small * rng.normal(size=10), -40 * k**2])
        head = Head(query=np.eye(3), anchor_keys=keys, anchor_values=keys, sees="anchors")
        assert "several variables" in refusal(to_heads, Network((first, Attention((head,)))))


def test_slopes_of_very_different_size_are_kept_apart():
    first = Linear((4, 1), (4, 2), (Term(features=np.eye(1, 2)),), np.array([[0.0, 1.0]]))
    slopes = np.array([0, 1e-3, 1e10, 2e10, 3e10, 4e10])
    breakpoints = np.array([5e3, 6e3, 6001, 6002, 6003])
    keys = np.column_stack([slopes, np.append(0, np.cumsum(-breakpoints * np.diff(slopes)))])
    values = np.arange(6.0)[:, None]
    head = Head(query=EYE, anchor_keys=keys, anchor_values=values, sees="anchors")
    network = Network((first, Attention((head,))))
    X = np.linspace(-2e4, 5.9e3, 400).reshape(-1, 4, 1)
    said = refusal(to_heads, network)
    assert said is not None or np.abs(to_heads(network)(X) - network(X)).max() <= 1e-9


def test_a_number_of_tokens_that_comes_from_before_is_known():
    rng = np.random.default_rng(3)
    any_number = Linear((None, 2), (None, 2), (Term(),), rng.normal(size=(1, 2)))
    fixed = Linear((3, 2), (4, 2), (Term(),))
    network = Network((fixed, any_number, Attention((anchored(MANY[:3]),))))
    X = rng.normal(size=(3, 2))
    for form in FORMS:
        np.testing.assert_allclose(form(network)(X), network(X), atol=1e-12)


def test_a_network_is_needed():
    for form in FORMS:
        with pytest.raises(InputError, match="Network is needed"):
            form(None)


def test_agreement_is_checked(constructions):
    with pytest.raises(InputError, match="agreement"):
        to_heads(constructions["single_head"][0].network, agreement=0)


def test_residual_and_causal_layers_keep_their_meaning():
    X = np.random.default_rng(1).normal(size=(5, 4, 2))
    network = after_identity(anchored(MANY[:3], MANY[:3], causal=True), residual=True, keep=3)
    for form in FORMS:
        np.testing.assert_allclose(form(network)(X), network(X), atol=1e-12)
