"""The chat.completion.chunk as its many vendors write it: only the fields that are read.

Types are as loose as the field needs them: what one vendor sends as text, another sends as a list. A frame that does not fit even so is
read once more by `read_chunk` from its tolerantly decoded value.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct, field

Json = dict[str, object]


class FunctionPiece(Struct, frozen=True, gc=False):
    """A piece of a call: its name, or a fragment of its arguments (a whole object from some servers)."""

    name: str | None = None
    arguments: str | Json | list[object] | None = None
    input: str | None = None  # of a custom tool


class CallPiece(Struct, frozen=True):
    """A piece of one tool call. Nothing in it is reliable: see the rules in `tool_calls`."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: FunctionPiece | None = None
    custom: FunctionPiece | None = None


class Delta(Struct, frozen=True):
    """What a chunk adds to a choice; also the whole `message` of an answer that was not streamed."""

    content: str | list[object] | None = None
    refusal: str | None = None
    reasoning_content: str | list[object] | None = None
    reasoning: str | list[object] | None = None
    reasoning_text: str | None = None
    reasoning_details: list[Json] | None = None
    tool_calls: list[CallPiece] | None = None
    function_call: FunctionPiece | None = None
    annotations: list[Json] | None = None
    images: list[Raw] | None = None
    audio: Raw | None = None


class ChunkChoice(Struct, frozen=True):
    """One choice of a chunk. `text` is the old completion shape, `usage` Moonshot's place for it."""

    index: int | None = 0
    delta: Delta | None = None
    finish_reason: str | None = None
    message: Delta | None = None
    text: str | None = None
    usage: Json | None = None


class Chunk(Struct, frozen=True):
    """One frame. `x_groq` holds Groq's usage and errors; `kind` (`object`) is "error" where a server wraps its failure so."""

    id: str | None = None
    model: str | None = None
    choices: list[ChunkChoice] | None = None
    usage: Json | None = None
    error: object = None
    kind: str | None = field(default=None, name="object")
    citations: list[object] | None = None
    x_groq: Json | None = None
    message: object = None
    code: object = None
    detail: object = None


decode_chunk = msgspec.json.Decoder(Chunk).decode


def read_chunk(value: Json) -> Chunk:
    """A chunk from its decoded value, numbers and strings taken for each other where that is safe. Raises msgspec.ValidationError."""
    return msgspec.convert(value, Chunk, strict=False)
