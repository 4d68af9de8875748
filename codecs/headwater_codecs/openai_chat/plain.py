"""The frame that most frames are: one piece of text, or of reasoning, for choice 0, and nothing else.

Its types are the proof: whatever else a chunk can carry must be null or absent here, so a frame that decodes is plain, and any other one is
refused and read in full. That is half the work of reading it in full and asking every field (0.6 against 0.7 us for the decoding alone, 0.9
against 3 us with the asking, for a chunk of 350 bytes).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct


class _TextDelta(Struct, frozen=True, gc=False):
    content: str = ""
    refusal: None = None
    reasoning_content: None = None
    reasoning: None = None
    reasoning_text: None = None
    reasoning_details: None = None
    tool_calls: None = None
    function_call: None = None
    annotations: None = None
    images: None = None
    audio: None = None


class _ReasoningDelta(Struct, frozen=True, gc=False):
    reasoning_content: str = ""
    content: Literal[""] | None = None
    refusal: None = None
    reasoning: None = None
    reasoning_text: None = None
    reasoning_details: None = None
    tool_calls: None = None
    function_call: None = None
    annotations: None = None
    images: None = None
    audio: None = None


class _TextChoice(Struct, frozen=True, gc=False):
    delta: _TextDelta
    index: Literal[0] = 0
    finish_reason: None = None
    message: None = None
    text: None = None
    usage: None = None
    error: None = None


class _ReasoningChoice(Struct, frozen=True, gc=False):
    delta: _ReasoningDelta
    index: Literal[0] = 0
    finish_reason: None = None
    message: None = None
    text: None = None
    usage: None = None
    error: None = None


class _TextChunk(Struct, frozen=True, gc=False):
    choices: tuple[_TextChoice]
    usage: None = None
    error: None = None
    citations: None = None
    search_results: None = None
    x_groq: None = None


class _ReasoningChunk(Struct, frozen=True, gc=False):
    choices: tuple[_ReasoningChoice]
    usage: None = None
    error: None = None
    citations: None = None
    search_results: None = None
    x_groq: None = None


_text = msgspec.json.Decoder(_TextChunk).decode
_reasoning = msgspec.json.Decoder(_ReasoningChunk).decode


def plain_text(data: bytes) -> str:
    """The text of a frame that is nothing but text. Raises msgspec.DecodeError (or ValidationError, its child) for any other frame."""
    return _text(data).choices[0].delta.content


def plain_reasoning(data: bytes) -> str:
    """The reasoning of a frame that is nothing but `reasoning_content`. Raises like `plain_text`."""
    return _reasoning(data).choices[0].delta.reasoning_content


PLAIN: dict[str, Callable[[bytes], str]] = {"text": plain_text, "reasoning": plain_reasoning}
