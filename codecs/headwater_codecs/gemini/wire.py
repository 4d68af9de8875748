"""The chunk that most chunks of a Gemini stream are, one piece of text, and parts as they came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Raw, Struct

# Fields of a part that stand beside its content.
BESIDE = frozenset(
    {
        "thought",
        "thoughtSignature",
        "thought_signature",
        "partMetadata",
        "videoMetadata",
        "mediaResolution",
        "mediaProcessing",
        "speechMetadata",
        "documentMetadata",
        "spreadsheetMetadata",
        "audioMetadata",
        "audioTranscription",
    }
)


def part_kind(part: Mapping[str, object]) -> str | None:
    """The field that holds the part's content, which says what it is; None where it has none."""
    return next((name for name, value in part.items() if value is not None and name not in BESIDE), None)


class TextPart(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A part of nothing but text."""

    text: str


class PlainContent(Struct, frozen=True, gc=False):
    """A content of one such part."""

    parts: tuple[TextPart]
    role: str | None = None


class Nothing(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """An object that says nothing: grounded answers have one in every chunk."""


class PlainCandidate(Struct, frozen=True, gc=False, rename="camel"):
    """Candidate 0 in the middle of its answer."""

    content: PlainContent
    index: Literal[0] = 0
    finish_reason: None = None
    grounding_metadata: Nothing | None = None
    citation_metadata: Nothing | None = None
    url_context_metadata: Nothing | None = None


class PlainChunk(Struct, frozen=True, gc=False, rename="camel"):
    """A chunk of nothing but a piece of text, with the usage so far."""

    candidates: tuple[PlainCandidate]
    usage_metadata: Raw | msgspec.UnsetType = msgspec.UNSET
    prompt_feedback: None = None
    error: None = None


class RawContent(Struct, frozen=True):
    """A content with its parts as they came."""

    parts: list[Raw] | None = None


class RawCandidate(Struct, frozen=True):
    """A candidate with its parts as they came."""

    content: RawContent | None = None


class RawChunk(Struct, frozen=True):
    """A chunk with its parts as they came."""

    candidates: list[RawCandidate] | None = None


# Both raise msgspec.DecodeError (or ValidationError, its child) for what is something else.
decode_plain = msgspec.json.Decoder(PlainChunk).decode
decode_raw = msgspec.json.Decoder(RawChunk).decode
