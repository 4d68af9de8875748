"""What most events of a run are: one piece of a message's text. Its type is the proof: anything else is refused and read in full."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct


class Text(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A piece of text without annotations."""

    value: str
    annotations: Annotated[list[Raw], Meta(max_length=0)] = []


class TextPart(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The part of the message that it belongs to."""

    index: int
    type: Literal["text"]
    text: Text


class TextDelta(Struct, frozen=True, gc=False):
    """What is new in the message."""

    content: tuple[TextPart]


class TextDeltaEvent(Struct, frozen=True, gc=False):
    """A `thread.message.delta` with one piece of text."""

    id: str
    delta: TextDelta


# Raises msgspec.DecodeError (or ValidationError, its child) for any other event.
decode_text = msgspec.json.Decoder(TextDeltaEvent).decode
