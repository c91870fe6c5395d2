"""The form in which a compiled network is handed out."""

from __future__ import annotations

from dataclasses import replace

from anchorhead.forms import to_heads, to_sequence
from anchorhead.layers import Attention, Linear
from anchorhead.network import Network

__all__ = ["FORMS", "in_form"]

FORMS = ("prefix", "sequence", "heads")


def in_form(network: Network, form: str) -> Network:
    """A network for any number of tokens, as it is, or with its anchors held by a number of tokens."""
    if form == "prefix":
        return network
    if form == "sequence":
        return to_sequence(_of_tokens(network, 1))
    layers = [layer for layer in network.layers if isinstance(layer, Attention)]
    most = max(head.anchors for layer in layers for head in layer.heads)
    return to_heads(_of_tokens(network, most))


def _of_tokens(network: Network, count: int) -> Network:
    """The network for a fixed number of tokens."""
    layers = tuple(
        replace(layer, shape_in=(count, layer.shape_in[1]), shape_out=(count, layer.shape_out[1]))
        if isinstance(layer, Linear)
        else layer
        for layer in network.layers
    )
    return Network(layers)
