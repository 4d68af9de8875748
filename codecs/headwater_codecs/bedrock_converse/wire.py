"""The event that most events of a ConverseStream are: one piece of text. Its type is the proof: anything else is refused and read in full."""

from __future__ import annotations

import msgspec
from msgspec import Struct


class TextPiece(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The delta of a text block."""

    text: str


class TextDeltaEvent(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A `contentBlockDelta` with a piece of text; `p` is padding."""

    delta: TextPiece
    index: int = msgspec.field(name="contentBlockIndex", default=0)
    p: str = ""


# Raises msgspec.DecodeError (or ValidationError, its child) for any other event.
decode_text = msgspec.json.Decoder(TextDeltaEvent).decode
