"""The event that most events of a Messages stream are: one piece of text of a content block.

Its type is the proof: whatever else a delta can be is refused and read in full.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw, Struct


class TextPiece(Struct, frozen=True, gc=False):
    """A `text_delta`."""

    text: str
    type: Literal["text_delta"]


class TextDeltaEvent(Struct, frozen=True, gc=False):
    """A `content_block_delta` with a piece of text."""

    delta: TextPiece
    index: int
    type: Literal["content_block_delta"]


class BlockStart(Struct, frozen=True):
    """A `content_block_start` with its block as it came."""

    content_block: Raw


# Raise msgspec.DecodeError (or ValidationError, its child) for any other event.
decode_text = msgspec.json.Decoder(TextDeltaEvent).decode
decode_block = msgspec.json.Decoder(BlockStart).decode
