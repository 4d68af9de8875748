"""The event that most events of an interaction's stream are: one more piece of text."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct


class TextPiece(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A delta of nothing but text."""

    type: Literal["text"]
    text: str


class PlainDelta(Struct, frozen=True, gc=False):
    """An event with such a delta, and nothing beside it that would be read."""

    event_type: Literal["step.delta"]
    index: int
    delta: TextPiece
    metadata: None = None
    error: None = None


# Raises msgspec.DecodeError (or ValidationError, its child) for what is something else.
decode_plain = msgspec.json.Decoder(PlainDelta).decode
