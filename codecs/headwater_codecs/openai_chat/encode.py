"""Events to the bytes of an OpenAI chat stream, for services that answer in that protocol.

Strategy: one table from event type to method; every chunk is a struct with the fields that real clients demand, written by one encoder.
The identity of the answer (id, model, created) is given from outside, so equal events give equal bytes. What this wire cannot carry is left
out: signatures and redacted reasoning, item ids, opaque items, citations other than addresses, cut calls being cut, raw frames, and the
provider's own word for a finish reason. Reasoning goes out as `reasoning_content`, which most clients read.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET

from headwater_codecs.event_encoder import EventEncoder, Handlers, encode_json
from headwater_codecs.neutral.errors import ErrorInfo
from headwater_codecs.neutral.events import (
    CallKind,
    ChoiceEnd,
    Citation,
    Finish,
    ReasoningDelta,
    ReasoningStart,
    RefusalDelta,
    RefusalStart,
    StreamFailed,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from headwater_codecs.neutral.response import Choice, Response
from headwater_codecs.neutral.usage import Usage
from headwater_codecs.openai_chat.encode_wire import (
    ERROR_CODES,
    ERROR_TYPES,
    Annotation,
    Completion,
    MessageChoice,
    UrlCitation,
    WrittenChoice,
    WrittenChunk,
    WrittenDelta,
    WrittenError,
    written_call,
    written_finish_reason,
    written_usage,
)

DONE = b"data: [DONE]\n\n"


class _OpenChoice:
    """What the encoder must remember of a choice: how many calls it has, and whether it refused."""

    __slots__ = ("calls", "refused")

    def __init__(self) -> None:
        self.calls = 0
        self.refused = False


class _OpenCall:
    __slots__ = ("choice", "empty", "kind", "number")

    def __init__(self, choice: int, number: int, kind: CallKind) -> None:
        self.choice = choice
        self.number = number
        self.kind = kind
        self.empty = True


class ChatEncoder(EventEncoder):
    """One answer as `chat.completion.chunk` events. Pure and deterministic.

    Every choice begins with a chunk that carries its role and ends with one that carries its finish reason; with `include_usage` a chunk
    without choices follows, where the usage is known; then `[DONE]`. A failed stream ends with an error object instead, and no `[DONE]`.
    """

    def __init__(self, *, model: str, id: str, created: int, include_usage: bool = True) -> None:
        super().__init__(model=model, id=id, created=created)
        self._include_usage = include_usage
        self._choices: dict[int, _OpenChoice] = {}
        self._blocks: dict[int, int] = {}  # text, reasoning and refusal blocks: index -> choice
        self._calls: dict[int, _OpenCall] = {}  # tool calls: index -> call
        self._usage: Usage | None = None

    def _chunk(self, choice: int, delta: WrittenDelta, finish_reason: str | None = None) -> bytes:
        chunk = WrittenChunk(self.id, "chat.completion.chunk", self.created, self.model, [WrittenChoice(choice, delta, finish_reason)])
        return b"data: %b\n\n" % encode_json(chunk)

    def _open(self, choice: int, out: list[bytes]) -> _OpenChoice:
        """The choice, its role chunk sent."""
        if choice not in self._choices:
            self._choices[choice] = _OpenChoice()
            out.append(self._chunk(choice, WrittenDelta(role="assistant", content="")))
        return self._choices[choice]

    def _on_block_start(self, event: TextStart | ReasoningStart | RefusalStart, out: list[bytes]) -> None:
        self._blocks[event.index] = event.choice
        self._open(event.choice, out)

    def _on_text(self, event: TextDelta, out: list[bytes]) -> None:
        out.append(self._chunk(self._blocks[event.index], WrittenDelta(content=event.text)))

    def _on_reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        out.append(self._chunk(self._blocks[event.index], WrittenDelta(reasoning_content=event.text)))

    def _on_refusal(self, event: RefusalDelta, out: list[bytes]) -> None:
        choice = self._blocks[event.index]
        self._choices[choice].refused = True
        out.append(self._chunk(choice, WrittenDelta(refusal=event.text)))

    def _on_call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        choice = self._open(event.choice, out)
        call = self._calls[event.index] = _OpenCall(event.choice, choice.calls, event.kind)
        choice.calls += 1
        out.append(self._chunk(event.choice, WrittenDelta(tool_calls=[written_call(call.number, event.id, event.name, "", event.kind)])))

    def _on_arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        call = self._calls[event.index]
        call.empty = False
        out.append(self._chunk(call.choice, WrittenDelta(tool_calls=[written_call(call.number, UNSET, UNSET, event.arguments, call.kind)])))

    def _on_call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        """A call without arguments gets `{}`: clients parse what they were sent."""
        call = self._calls.pop(event.index)
        if call.empty and event.complete and call.kind == "function":
            out.append(self._chunk(call.choice, WrittenDelta(tool_calls=[written_call(call.number, UNSET, UNSET, "{}", call.kind)])))

    def _on_citation(self, event: Citation, out: list[bytes]) -> None:
        if event.url is not None:
            self._open(event.choice, out)
            out.append(self._chunk(event.choice, WrittenDelta(annotations=[Annotation(UrlCitation(event.url, event.title))])))

    def _on_usage(self, event: UsageUpdate, out: list[bytes]) -> None:
        self._usage = event.usage

    def _on_choice_end(self, event: ChoiceEnd, out: list[bytes]) -> None:
        choice = self._open(event.choice, out)
        out.append(self._chunk(event.choice, WrittenDelta(), written_finish_reason(event.finish_reason, choice.refused)))

    def _on_finish(self, event: Finish, out: list[bytes]) -> None:
        usage = event.usage or self._usage
        if self._include_usage and usage is not None:
            chunk = WrittenChunk(self.id, "chat.completion.chunk", self.created, self.model, [], written_usage(usage))
            out.append(b"data: %b\n\n" % encode_json(chunk))
        out.append(DONE)

    def _on_failed(self, event: StreamFailed, out: list[bytes]) -> None:
        out.append(b"data: %b\n\n" % encode_error(event.error))

    handlers: ClassVar[Handlers] = {
        TextStart: _on_block_start,
        ReasoningStart: _on_block_start,
        RefusalStart: _on_block_start,
        TextDelta: _on_text,
        ReasoningDelta: _on_reasoning,
        RefusalDelta: _on_refusal,
        ToolCallStart: _on_call_start,
        ToolCallDelta: _on_arguments,
        ToolCallEnd: _on_call_end,
        Citation: _on_citation,
        UsageUpdate: _on_usage,
        ChoiceEnd: _on_choice_end,
        Finish: _on_finish,
        StreamFailed: _on_failed,
    }


def encode_error(error: ErrorInfo) -> bytes:
    """A failure in the protocol's own form: the data of an event, or the body of a JSON answer."""
    code = error.code or ERROR_CODES.get(error.kind, error.kind)
    if error.kind == "context_overflow":  # no type says it, and nobody knows the words of all vendors
        code = ERROR_CODES["context_overflow"]
    return encode_json({"error": WrittenError(error.message, ERROR_TYPES.get(error.kind, "server_error"), None, code)})


def encode_response(response: Response, *, model: str, id: str, created: int) -> bytes:
    """The whole answer as one `chat.completion` body; an error object where it failed. `created` is in seconds since the epoch.

    Cut calls are left out: this wire cannot say that they must not be run.
    """
    if response.error is not None:
        return encode_error(response.error)
    choices = [MessageChoice(choice.index, _message(choice), _message_finish_reason(choice)) for choice in response.choices]
    usage = UNSET if response.usage is None else written_usage(response.usage)
    return encode_json(Completion(id, "chat.completion", created, model, choices, usage))


def _message(choice: Choice) -> WrittenDelta:
    calls = [written_call(UNSET, call.id, call.name, call.arguments, call.kind) for call in choice.tool_calls if call.complete]
    cited = [
        Annotation(UrlCitation(citation.url, citation.title)) for block in choice.blocks for citation in block.citations if citation.url is not None
    ]
    return WrittenDelta(
        "assistant",
        choice.text or None,
        choice.reasoning or UNSET,
        choice.refusal or UNSET,
        calls or UNSET,
        cited or UNSET,
    )


def _message_finish_reason(choice: Choice) -> str | None:
    return None if choice.finish_reason is None else written_finish_reason(choice.finish_reason, choice.refusal is not None)
