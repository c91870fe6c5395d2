"""Networks as files."""

from anchorhead.export.folder import load, save

__all__ = ["load", "save"]
