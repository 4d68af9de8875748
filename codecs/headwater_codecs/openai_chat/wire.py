"""The chat.completion.chunk as its many vendors write it: only the fields that are read.

Two readers. `decode_chunk` is strict and fast, and takes what nearly every frame is. What it refuses is decoded tolerantly and comes to
`read_chunk`, which takes each field for what it can be (a number for a word, one item for a list) and leaves out what it cannot be: an odd
field that only keeps the books must not cost the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from headwater_codecs.tolerant_json import clean, encode_json

Json = dict[str, object]
_T = TypeVar("_T")
ABSENT = Raw(b"null")
_DIGITS = 18  # of a count or an index; what is longer is none


class FunctionPiece(Struct, frozen=True):
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
    name: str | None = None  # these two where a server leaves out `function` around them
    arguments: str | Json | list[object] | None = None
    extra_content: Json | None = None  # Gemini's thought signature


class Delta(Struct, frozen=True):
    """What a chunk adds to a choice; also the whole `message` of an answer that was not streamed."""

    content: str | list[Raw] | None = None
    refusal: str | None = None
    reasoning_content: str | Json | list[object] | None = None
    reasoning: str | Json | list[object] | None = None
    reasoning_text: str | None = None
    reasoning_details: list[Json] | None = None
    tool_calls: list[CallPiece] | None = None
    function_call: FunctionPiece | None = None
    annotations: list[Json] | None = None
    images: list[Raw] | None = None
    audio: Raw = ABSENT  # a type of its own: msgspec takes nothing but null for `Raw | None`


class ChunkChoice(Struct, frozen=True):
    """One choice of a chunk. `text` is the old completion shape, `usage` Moonshot's place for it, `error` OpenRouter's."""

    index: int | None = 0
    delta: Delta | None = None
    finish_reason: str | None = None
    message: Delta | None = None
    text: str | None = None
    usage: Json | None = None
    error: object = None


class Chunk(Struct, frozen=True):
    """One frame. `x_groq` holds Groq's usage and errors, `citations` and `search_results` Perplexity's sources."""

    id: str | None = None
    model: str | None = None
    choices: list[ChunkChoice] | None = None
    usage: Json | None = None
    error: object = None
    citations: list[object] | None = None
    search_results: list[object] | None = None
    x_groq: Json | None = None


decode_chunk = msgspec.json.Decoder(Chunk).decode


def read_chunk(value: Json, left_out: list[str]) -> Chunk:
    """A chunk from its tolerantly decoded value. Names of fields that could not be read are added to `left_out`.

    Only the texts of the answer may keep a lone surrogate, since its other half may be in the next frame.
    """
    take = _Taker(left_out)
    return Chunk(
        take(value, "id", word),
        take(value, "model", word),
        take.items(value, "choices", lambda item: _choice(item, take)),
        take(value, "usage", _object),
        clean(value.get("error")),
        take(value, "citations", _list),
        take(value, "search_results", _list),
        take(value, "x_groq", _object),
    )


class _UnreadableError(Exception):
    """A value that cannot be what its field is."""


class _Taker:
    """Reads one field after another, and notes those that cannot be read."""

    def __init__(self, left_out: list[str]) -> None:
        self._left_out = left_out

    def __call__(self, value: Json, name: str, read: Callable[[object], _T]) -> _T | None:
        given = value.get(name)
        if given is None:
            return None
        try:
            return read(given)
        except _UnreadableError:
            self._left_out.append(name)
            return None

    def items(self, value: Json, name: str, read: Callable[[object], _T]) -> list[_T] | None:
        """The readable items of a list, or of what stands alone in its place. Null among them is nothing."""
        given = value.get(name)
        if given is None:
            return None
        items: list[_T] = []
        for item in given if isinstance(given, list) else [given]:
            try:
                if item is not None:
                    items.append(read(item))
            except _UnreadableError:
                self._left_out.append(name)
        return items


def text(value: object) -> str:
    """A text as it came; a number by its digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    raise _UnreadableError


def word(value: object) -> str:
    """A text that can be encoded."""
    return str(clean(text(value)))


def integer(value: object) -> int | None:
    """An integer, also one that was written as a float or as digits; None for an empty text."""
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return None
        if not value.isascii() or not value.isdigit() or len(value) > _DIGITS:
            raise _UnreadableError
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or abs(value) >= 10**_DIGITS:
        raise _UnreadableError
    return int(value)


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise _UnreadableError
    cleaned = clean(value)
    assert isinstance(cleaned, dict)
    return cleaned


def _list(value: object) -> list[object]:
    cleaned = clean(value)
    return cleaned if isinstance(cleaned, list) else [cleaned]


def _raw(value: object) -> Raw:
    return Raw(encode_json(clean(value)))


def _content(value: object) -> str | list[Raw]:
    if isinstance(value, list):
        return [_raw(part) for part in value if part is not None]
    return [_raw(value)] if isinstance(value, dict) else text(value)


def _loose(value: object) -> str | Json | list[object]:
    """Text, or whatever structure stands in its place."""
    if isinstance(value, dict):
        return _object(value)
    return _list(value) if isinstance(value, list) else text(value)


def _arguments(value: object) -> str | Json | list[object]:
    return encode_json(value).decode() if isinstance(value, bool) else _loose(value)


def _choice(value: object, take: _Taker) -> ChunkChoice:
    if not isinstance(value, dict):
        raise _UnreadableError
    return ChunkChoice(
        take(value, "index", integer),
        take(value, "delta", lambda given: _delta(given, take)),
        take(value, "finish_reason", word),
        take(value, "message", lambda given: _delta(given, take)),
        take(value, "text", text),
        take(value, "usage", _object),
        clean(value.get("error")),
    )


def _delta(value: object, take: _Taker) -> Delta:
    if isinstance(value, str):
        return Delta(content=value)
    if not isinstance(value, dict):
        raise _UnreadableError
    return Delta(
        take(value, "content", _content),
        take(value, "refusal", text),
        take(value, "reasoning_content", _loose),
        take(value, "reasoning", _loose),
        take(value, "reasoning_text", text),
        take.items(value, "reasoning_details", _object),
        take.items(value, "tool_calls", lambda item: _call(item, take)),
        take(value, "function_call", lambda given: _function(given, take)),
        take.items(value, "annotations", _object),
        take.items(value, "images", _raw),
        take(value, "audio", _raw) or ABSENT,
    )


def _call(value: object, take: _Taker) -> CallPiece:
    if not isinstance(value, dict):
        raise _UnreadableError
    return CallPiece(
        take(value, "index", integer),
        take(value, "id", word),
        take(value, "type", word),
        take(value, "function", lambda given: _function(given, take)),
        take(value, "custom", lambda given: _function(given, take)),
        take(value, "name", word),
        take(value, "arguments", _arguments),
        take(value, "extra_content", _object),
    )


def _function(value: object, take: _Taker) -> FunctionPiece:
    if not isinstance(value, dict):
        raise _UnreadableError
    return FunctionPiece(take(value, "name", word), take(value, "arguments", _arguments), take(value, "input", text))
