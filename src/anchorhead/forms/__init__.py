"""One network, its anchors held elsewhere: beside the tokens, among them, or spread over heads."""

from anchorhead.forms.heads import to_heads
from anchorhead.forms.prefix import to_prefix
from anchorhead.forms.sequence import to_sequence

__all__ = ["to_heads", "to_prefix", "to_sequence"]
