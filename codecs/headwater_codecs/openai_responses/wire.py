"""The event that most events of a Responses stream are, a piece of text, and items as they came, for replay."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw, Struct


class TextDeltaEvent(Struct, frozen=True, gc=False):
    """A `response.output_text.delta`."""

    delta: str
    type: Literal["response.output_text.delta"]
    item_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None


class ItemEvent(Struct, frozen=True):
    """An event about a whole item."""

    item: Raw


class Output(Struct, frozen=True):
    """The items of a response."""

    output: list[Raw] = []


class ResponseEvent(Struct, frozen=True):
    """An event about the whole response."""

    response: Output


# All raise msgspec.DecodeError (or ValidationError, its child) for what is something else.
decode_text = msgspec.json.Decoder(TextDeltaEvent).decode
decode_item = msgspec.json.Decoder(ItemEvent).decode
decode_response = msgspec.json.Decoder(ResponseEvent).decode
decode_output = msgspec.json.Decoder(Output).decode
