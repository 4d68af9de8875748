"""The one event stream: what every provider's bytes become.

Laws (held by `EventWriter`, checked by the aggregator): `StreamStart` first and once; one terminal (`Finish` or `StreamFailed`)
and nothing after it; `index` counts block starts in arrival order over all choices; every start has its end; no empty delta.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Raw, Struct

from headwater_codecs.neutral.errors import ErrorInfo
from headwater_codecs.neutral.usage import Usage

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "refusal", "pause", "error", "unknown"]
CallKind = Literal["function", "custom"]


class _Event(Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Common settings: frozen, tagged with `type`."""


class StreamStart(_Event, frozen=True, tag="stream_start"):
    """First, exactly once; held back until the attempt has content or ends. None where the provider has not said."""

    model: str | None = None
    response_id: str | None = None
    provider: str | None = None


class _BlockStart(_Event, frozen=True):
    index: int
    choice: int = 0
    item_id: str | None = None


class TextStart(_BlockStart, frozen=True, tag="text_start"):
    """A block of answer text opens."""


class ReasoningStart(_BlockStart, frozen=True, tag="reasoning_start"):
    """A block of the model's reasoning opens."""


class RefusalStart(_BlockStart, frozen=True, tag="refusal_start"):
    """A block of refusal opens: neither text nor an error."""


class TextDelta(_Event, frozen=True, tag="text_delta"):
    """A piece of text, never empty."""

    index: int
    text: str


class ReasoningDelta(_Event, frozen=True, tag="reasoning_delta"):
    """A piece of reasoning, never empty."""

    index: int
    text: str


class RefusalDelta(_Event, frozen=True, tag="refusal_delta"):
    """A piece of a refusal, never empty."""

    index: int
    text: str


class TextEnd(_Event, frozen=True, tag="text_end"):
    """The text block is closed. `signature` and `meta` are byte-exact, for replay."""

    index: int
    complete: bool = True
    signature: str | None = None
    meta: Raw | None = None


class ReasoningEnd(_Event, frozen=True, tag="reasoning_end"):
    """The reasoning block is closed. `redacted` blocks have no text but `data`; `signature`, `data`, `meta` are opaque."""

    index: int
    complete: bool = True
    signature: str | None = None
    redacted: bool = False
    data: str | None = None
    meta: Raw | None = None


class RefusalEnd(_Event, frozen=True, tag="refusal_end"):
    """The refusal block is closed."""

    index: int
    complete: bool = True


class ToolCallStart(_Event, frozen=True, tag="tool_call_start"):
    """A tool call opens; sent when its name is final. `id` is stable from here on (made up where the provider gives none)."""

    index: int
    id: str
    name: str
    choice: int = 0
    item_id: str | None = None
    kind: CallKind = "function"


class ToolCallDelta(_Event, frozen=True, tag="tool_call_delta"):
    """A *fragment* of the arguments' JSON (of the free text for a custom tool), never empty."""

    index: int
    arguments: str


class ToolCallEnd(_Event, frozen=True, tag="tool_call_end"):
    """The call is closed. With `complete=False` it must never be run."""

    index: int
    complete: bool = True
    signature: str | None = None
    meta: Raw | None = None


class OpaqueStart(_Event, frozen=True, tag="opaque_start"):
    """An item of the provider that Headwater does not model opens: a search, an image, code."""

    index: int
    kind: str
    choice: int = 0
    item_id: str | None = None


class OpaqueEnd(_Event, frozen=True, tag="opaque_end"):
    """The item is closed; `raw` is its JSON, byte-exact, kept for replay."""

    index: int
    complete: bool = True
    raw: bytes = b""


class Citation(_Event, frozen=True, tag="citation"):
    """A source for the block `index`."""

    index: int
    choice: int = 0
    kind: str = "url"
    url: str | None = None
    title: str | None = None
    cited_text: str | None = None
    raw: Raw | None = None


class UsageUpdate(_Event, frozen=True, tag="usage_update"):
    """The merged usage so far."""

    usage: Usage


class ChoiceEnd(_Event, frozen=True, tag="choice_end"):
    """A choice is over: the unified reason, and the provider's own word."""

    choice: int
    finish_reason: FinishReason
    raw_finish_reason: str | None = None


class RawFrame(_Event, frozen=True, tag="raw_frame"):
    """One frame as it came, before its events; only with `raw=True`."""

    data: bytes
    event: str = ""


class Finish(_Event, frozen=True, tag="finish"):
    """Terminal: the stream ended as its protocol says a stream ends well."""

    finish_reason: FinishReason
    raw_finish_reason: str | None = None
    usage: Usage | None = None
    detail: str | None = None


class StreamFailed(_Event, frozen=True, tag="stream_failed"):
    """Terminal: the stream did not end well. What came before stays readable."""

    error: ErrorInfo
    raw_finish_reason: str | None = None
    usage: Usage | None = None


Event: TypeAlias = (
    StreamStart
    | TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | RefusalStart
    | RefusalDelta
    | RefusalEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | OpaqueStart
    | OpaqueEnd
    | Citation
    | UsageUpdate
    | ChoiceEnd
    | RawFrame
    | Finish
    | StreamFailed
)
TERMINALS: frozenset[type] = frozenset({Finish, StreamFailed})
# What does not show that the model is at work: re-arms no deadline and is held back before the first content.
NO_PROGRESS: frozenset[type] = frozenset({StreamStart, UsageUpdate, RawFrame})
