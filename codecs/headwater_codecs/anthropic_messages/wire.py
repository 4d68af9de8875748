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


class WholeMessage(Struct, frozen=True):
    """A message with its blocks as they came."""

    content: list[Raw] | None = None


class MessageStart(WholeMessage, frozen=True):
    """The same inside of a `message_start`."""

    message: WholeMessage = WholeMessage()


# Raise msgspec.DecodeError (or ValidationError, its child) for any other event.
decode_text = msgspec.json.Decoder(TextDeltaEvent).decode
decode_block = msgspec.json.Decoder(BlockStart).decode
_decode_message = msgspec.json.Decoder(MessageStart).decode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def decode_content(data: bytes) -> list[bytes]:
    """The blocks of a whole message, or of the one in a `message_start`, as they came. Raises msgspec.DecodeError."""
    event = _decode_message(data)
    return [bytes(raw) for raw in event.content or event.message.content or []]


def decode_fields(block: bytes) -> dict[str, Raw]:
    """The fields of a block, each as it came; none where it is no object."""
    try:
        return _decode_fields(block)
    except (ValueError, RecursionError):
        return {}
