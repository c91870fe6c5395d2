"""A certificate: what is claimed of a network, and all that is needed to verify it, as a text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anchorhead.domain import Box
from anchorhead.errors import InputError
from anchorhead.proof.checker import FORMAT, VERSION, sealed

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """|network(X) − target(X)| ≤ bound on a domain, with the subdivision that proves it.

    Immutable; ``text`` is readable JSON, and all there is: ``Certificate(text)`` reads it back. A
    certificate of ``kind`` "sampled" proves nothing and has no bound.
    """

    text: str

    def __post_init__(self):
        if not isinstance(self.text, str):
            raise InputError(
                f"text is a {type(self.text).__name__}; give a certificate's text, certificate.text"
            )
        try:
            record = json.loads(self.text)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise InputError("text is no certificate; give what certificate.text holds, whole")
        if record.get("version") != VERSION:
            raise InputError(
                f"text is a certificate of version {record.get('version')!r} where this anchorhead "
                f"reads {VERSION}; read it with the anchorhead that wrote it"
            )

    @classmethod
    def of(cls, record: dict[str, Any]) -> Certificate:
        """The certificate that tells a record, sealed with its digest."""
        record = {"format": FORMAT, "version": VERSION, **record}
        return cls(json.dumps(sealed(record), indent=1, ensure_ascii=False, allow_nan=False))

    @property
    def record(self) -> dict[str, Any]:
        """The text as data; changing it changes nothing."""
        return json.loads(self.text)

    @cached_property
    def _told(self) -> dict[str, Any]:
        return self.record

    @property
    def kind(self) -> str:
        """Whether the bound is "proven", or errors were only "sampled"."""
        return self._told["kind"]

    @property
    def proven(self) -> bool:
        """Whether there is a proof."""
        return self.kind == "proven"

    @property
    def complete(self) -> bool:
        """Whether the search for the bound ended by itself, not at its budget or by Ctrl-C."""
        return self._told["complete"]

    @property
    def statement(self) -> str:
        """What is claimed, in words."""
        return self._told["statement"]

    @property
    def bound(self) -> float | None:
        """The proven bound when the network is run in ``dtype``: approximation and rounding."""
        return self._told["bound"]

    @property
    def approximation(self) -> float | None:
        """The proven bound in exact arithmetic."""
        return self._told["approximation"]

    @property
    def rounding(self) -> float | None:
        """What rounding in ``dtype``, in any order of summation, may add."""
        return self._told["rounding"]

    @property
    def attained(self) -> float:
        """An error that is certainly taken somewhere in exact arithmetic, or the largest seen."""
        return self._told["attained"]

    @property
    def dtype(self) -> str:
        """The numbers that the network is run with."""
        return self._told["dtype"]

    @property
    def cells(self) -> int:
        """How many cells the proof has."""
        return self._told["cells"]

    @property
    def target(self) -> str:
        """The target as text."""
        target = self._told["target"]
        shown = [f"{name} = {text}" for name, text in target["where"]]
        return "\n".join([*shown, *target["outputs"]])

    @property
    def domain(self) -> Box:
        """Where the statement holds: of one row, it is that of every token by itself."""
        low, high = (np.array(self._told["domain"][end]) for end in ("low", "high"))
        return Box(low, high)

    @property
    def seconds(self) -> float:
        """How long the proof took."""
        return self._told["seconds"]

    def __str__(self) -> str:
        return self.statement

    __repr__ = __str__
