"""The event that most events of Cohere's chat are: one piece of text. Its type is the proof: anything else is refused and read in full."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct


class TextPiece(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The content of a piece of text."""

    text: str


class TextMessage(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The message of one."""

    content: TextPiece


class TextMessageDelta(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The delta of one."""

    message: TextMessage


class TextDeltaEvent(Struct, frozen=True, gc=False):
    """A `content-delta` with a piece of text."""

    type: Literal["content-delta"]
    index: int
    delta: TextMessageDelta


# Raises msgspec.DecodeError (or ValidationError, its child) for any other event.
decode_text = msgspec.json.Decoder(TextDeltaEvent).decode
