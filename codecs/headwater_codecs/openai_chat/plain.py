"""The frame that most frames are: one piece of text, or of reasoning, for choice 0, and nothing else.

Its types are the proof: whatever else a chunk can carry must be null or absent here, so a frame that decodes is plain, and any other one is
refused and read in full. The decoding alone is a tenth cheaper than a full one (0.61 against 0.69 us for a chunk of 350 bytes); what it really saves
is to ask every field of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, TypeVar

import msgspec
from msgspec import Struct


class _NoMore(Struct, frozen=True, gc=False, kw_only=True):
    """What a delta may not hold to be plain."""

    refusal: None = None
    reasoning: None = None
    reasoning_text: None = None
    reasoning_details: None = None
    tool_calls: None = None
    function_call: None = None
    annotations: None = None
    images: None = None
    audio: None = None


class _TextDelta(_NoMore, frozen=True, gc=False, kw_only=True):
    content: str = ""
    reasoning_content: None = None


class _ReasoningDelta(_NoMore, frozen=True, gc=False, kw_only=True):
    content: Literal[""] | None = None
    reasoning_content: str = ""


_Delta = TypeVar("_Delta")


class _Choice(Struct, Generic[_Delta], frozen=True, gc=False):
    delta: _Delta
    index: Literal[0] = 0
    finish_reason: None = None
    message: None = None
    text: None = None
    usage: None = None
    error: None = None


class _Chunk(Struct, Generic[_Delta], frozen=True, gc=False):
    choices: tuple[_Choice[_Delta]]
    usage: None = None
    error: None = None
    citations: None = None
    search_results: None = None
    x_groq: None = None


_text = msgspec.json.Decoder(_Chunk[_TextDelta]).decode
_reasoning = msgspec.json.Decoder(_Chunk[_ReasoningDelta]).decode


def plain_text(data: bytes) -> str:
    """The text of a frame that is nothing but text. Raises msgspec.DecodeError (or ValidationError, its child) for any other frame."""
    return _text(data).choices[0].delta.content


def plain_reasoning(data: bytes) -> str:
    """The reasoning of a frame that is nothing but `reasoning_content`. Raises like `plain_text`."""
    return _reasoning(data).choices[0].delta.reasoning_content


PLAIN: dict[str, Callable[[bytes], str]] = {"text": plain_text, "reasoning": plain_reasoning}
