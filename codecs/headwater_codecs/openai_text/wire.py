"""What most chunks of a completion are: one piece of text. Its type is the proof: anything else is refused and read in full."""

from __future__ import annotations

import msgspec
from msgspec import Struct


class TextChoice(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A choice in the middle of its text; `stop_reason` is a server's own."""

    text: str
    index: int = 0
    logprobs: None = None
    finish_reason: None = None
    stop_reason: None = None


class TextChunk(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A chunk of nothing but a piece of text."""

    choices: tuple[TextChoice]
    id: str = ""
    object: str = ""
    created: int = 0
    model: str = ""
    system_fingerprint: str | None = None
    usage: None = None


# Raises msgspec.DecodeError (or ValidationError, its child) for any other chunk.
decode_text = msgspec.json.Decoder(TextChunk).decode
