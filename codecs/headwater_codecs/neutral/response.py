"""What was received: `Response`, its choices and their blocks.

The aggregator fills these while events pass; they can be read at any moment, also after a failure. Fragments are kept in lists and joined
when asked, so n deltas cost O(n). Only the aggregator writes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct, field

from headwater_codecs.neutral.errors import ErrorInfo, HeadwaterError, exception_for
from headwater_codecs.neutral.events import CallKind, Citation, FinishReason
from headwater_codecs.neutral.request import Message, OpaquePart, Origin, Part, ReasoningPart, TextPart, ToolCallPart
from headwater_codecs.neutral.usage import Usage

BlockKind = Literal["text", "reasoning", "refusal", "tool_call", "opaque"]
OK_REASONS: frozenset[str | None] = frozenset({"stop", "tool_calls", "pause"})


class Diagnostic(NamedTuple):
    """Something odd in the stream that did not stop it."""

    code: str
    message: str
    detail: str | None = None


class Timing(Struct, omit_defaults=True):
    """Seconds from the call, None until it happened. `consumer` is the time spent waiting for whoever pulls."""

    pool: float | None = None
    connected: float | None = None
    headers: float | None = None
    first_byte: float | None = None
    first_content: float | None = None
    last_content: float | None = None
    end: float | None = None
    consumer: float = 0.0


class FailedAttempt(Struct, frozen=True, omit_defaults=True):
    """A request of the stream that did not give the answer: whom it asked, and what went wrong.

    The one that lost a race (`hedge`) has an error of kind `aborted`.
    """

    provider: str
    model: str
    error: ErrorInfo
    usage: Usage | None = None  # as far as it was told


class ToolCall(Struct, frozen=True, omit_defaults=True):
    """A call as received. `arguments` is the text (`{}` when the model gave none). With `complete=False` it must never be run."""

    id: str
    name: str
    arguments: str
    complete: bool
    kind: CallKind = "function"
    signature: str | None = None
    meta: Raw | None = None

    @property
    def input(self) -> object:
        """The arguments, parsed strictly; the text itself for a custom tool. Raises MalformedError where they are no JSON."""
        if self.kind == "custom":
            return self.arguments
        try:
            return msgspec.json.decode(self.arguments.encode())
        except (msgspec.DecodeError, RecursionError) as error:
            info = ErrorInfo("malformed", f"the arguments of call {self.id} ({self.name}) are not JSON: {error}")
            raise exception_for(info) from error


class Block(Struct, eq=False):
    """One block of an answer. `kind` says which of the fields mean something."""

    kind: BlockKind
    index: int
    choice: int
    item_id: str | None = None
    fragments: list[str] = []
    closed: bool = False
    complete: bool = False
    signature: str | None = None
    meta: Raw | None = None
    redacted: bool = False
    data: str | None = None
    raw: bytes = b""
    opaque_kind: str = ""
    citations: list[Citation] = []
    id: str = ""
    name: str = ""
    arguments_kind: CallKind = "function"

    @property
    def text(self) -> str:
        """The deltas joined: text, reasoning, refusal, or a call's arguments."""
        if len(self.fragments) > 1:
            self.fragments[:] = ["".join(self.fragments)]  # in place: the aggregator holds this list's append
        return self.fragments[0] if self.fragments else ""

    @property
    def call(self) -> ToolCall:
        """The block as a tool call (kind `tool_call` only)."""
        text = self.text
        if self.arguments_kind == "function" and not text.strip() and (self.complete or not self.closed):
            text = "{}"
        return ToolCall(self.id, self.name, text, self.complete, self.arguments_kind, self.signature, self.meta)

    def __repr__(self) -> str:
        return f"Block({self.kind!r}, index={self.index}, text={self.text!r}, complete={self.complete})"


class Choice(Struct, eq=False):
    """One of the answers asked for."""

    index: int
    blocks: list[Block] = []
    finish_reason: FinishReason | None = None
    raw_finish_reason: str | None = None

    def _joined(self, kind: BlockKind) -> str:
        return "".join([block.text for block in self.blocks if block.kind == kind])

    @property
    def text(self) -> str:
        """All text blocks joined."""
        return self._joined("text")

    @property
    def reasoning(self) -> str:
        """All reasoning blocks joined."""
        return self._joined("reasoning")

    @property
    def refusal(self) -> str | None:
        """All refusal blocks joined; None when the model did not refuse."""
        return self._joined("refusal") or None

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls in arrival order, cut ones too (`complete=False`)."""
        return [block.call for block in self.blocks if block.kind == "tool_call"]

    def __repr__(self) -> str:
        return f"Choice({self.index}, blocks={self.blocks!r}, finish_reason={self.finish_reason!r})"


class Response(Struct, eq=False):
    """The answer as far as it was received. The per-choice fields are those of choice 0; all are in `choices`."""

    _choices: list[Choice] = []
    detail: str | None = None
    usage: Usage | None = None
    error: ErrorInfo | None = None
    model: str | None = None  # the provider's own name for it
    requested_model: str | None = None
    provider: str | None = None
    protocol: str | None = None
    response_id: str | None = None
    request_id: str | None = None
    attempts: int = 1  # requests made: retries, fallbacks and hedges included
    failed_attempts: Sequence[FailedAttempt] = ()  # those before the one that is told, oldest first
    headers: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    timing: Timing = field(default_factory=Timing)

    @property
    def choices(self) -> Sequence[Choice]:
        """Every choice, by its number; at least choice 0."""
        self.choice(0)
        return self._choices

    def choice(self, number: int) -> Choice:
        """Choice `number`, made when it is not there yet."""
        while len(self._choices) <= number:
            self._choices.append(Choice(len(self._choices)))
        return self._choices[number]

    @property
    def text(self) -> str:
        """The answer's text."""
        return self.choice(0).text

    @property
    def reasoning(self) -> str:
        """The model's reasoning, as far as the provider shows it."""
        return self.choice(0).reasoning

    @property
    def refusal(self) -> str | None:
        """The model's refusal, or None."""
        return self.choice(0).refusal

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls of choice 0."""
        return self.choice(0).tool_calls

    @property
    def blocks(self) -> list[Block]:
        """The blocks of choice 0, in arrival order."""
        return self.choice(0).blocks

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why choice 0 ended, unified; None while it runs and after a failure without one."""
        return self.choice(0).finish_reason

    @property
    def raw_finish_reason(self) -> str | None:
        """The provider's own word for it."""
        return self.choice(0).raw_finish_reason

    @property
    def ok(self) -> bool:
        """True when the stream ended well with `stop`, `tool_calls` or `pause`."""
        return self.error is None and self.finish_reason in OK_REASONS

    def raise_for_error(self) -> None:
        """Raise the typed error of a failed stream, with this response attached.

        A finish reason `error` (the provider gave up inside a stream that ended by the rules) raises ProviderError of kind server.
        """
        if (error := self.to_exception()) is not None:
            raise error

    def to_exception(self) -> HeadwaterError | None:
        """The exception that `raise_for_error` raises, or None."""
        if self.error is not None:
            return exception_for(self.error, self)
        if self.finish_reason == "error":
            said = self.detail or self.raw_finish_reason or "no reason given"
            return exception_for(
                ErrorInfo(
                    "server", f"the provider ended the answer with an error: {said}", code=self.raw_finish_reason, phase="stream", retryable=True
                ),
                self,
            )
        return None

    def message(self, choice: int = 0) -> Message:
        """The answer as a message for the next request. Incomplete calls are left out: they must not be replayed. An answer that failed says so."""
        parts: list[Part] = []
        for block in self.choice(choice).blocks:
            if block.kind == "reasoning":
                parts.append(ReasoningPart(block.text, block.signature, block.redacted, block.data, block.meta))
            elif block.kind == "tool_call" and block.complete:
                call = block.call
                parts.append(ToolCallPart(call.id, call.name, call.arguments, call.kind, True, call.signature, call.meta))
            elif block.kind == "opaque":
                parts.append(OpaquePart(block.opaque_kind, block.raw))
            elif block.kind in ("text", "refusal") and (block.text or block.signature):
                parts.append(TextPart(block.text, block.signature, block.meta))
        asked = self.requested_model or self.model
        origin = Origin(self.provider, self.protocol, asked, None if self.model == asked else self.model)
        return Message("assistant", tuple(parts), origin=origin, failed=self.error is not None or self.choice(choice).finish_reason == "error")

    def __repr__(self) -> str:
        return f"Response(text={self.text!r}, finish_reason={self.finish_reason!r}, error={self.error!r})"
