"""What the models behind InvokeModel say, by family: Claude's and Nova's own events, and pieces of text of the others. Each in a message."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import ClassVar, Protocol

import msgspec
from msgspec import Struct

from headwater.sim.one_choice import OneChoice
from headwater_codecs.anthropic_messages import encode as anthropic_messages
from headwater_codecs.aws_event_stream import EventStreamParser, encode_message
from headwater_codecs.bedrock_converse import encode as bedrock_converse
from headwater_codecs.event_encoder import Handlers, Json, as_object, encode_json
from headwater_codecs.neutral import Event, FinishReason, Response, Usage
from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.events import Finish, RefusalDelta, StreamFailed, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from headwater_providers.bedrock_invoke.dialect import DEFAULT, Family
from headwater_providers.bedrock_invoke.request import family_of

_METRICS = "amazon-bedrock-invocationMetrics"


class _Plain(Struct, frozen=True):
    """A family whose chunks are pieces of text: a piece as an object, its words for the reasons, and a whole answer."""

    piece: Callable[[str, str | None], Json]
    reasons: dict[FinishReason, str]
    whole: Callable[[str, str, Usage], Json]

    def reason(self, reason: FinishReason | None) -> str:
        """The family's word."""
        return self.reasons.get(reason or "stop", self.reasons["stop"])


_MISTRAL: dict[FinishReason, str] = {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}
_PLAIN: dict[Family, _Plain] = {
    "titan": _Plain(
        lambda text, reason: {"outputText": text, "index": 0, "completionReason": reason},
        {"stop": "FINISH", "length": "LENGTH", "content_filter": "CONTENT_FILTERED"},
        lambda text, reason, usage: {
            "inputTextTokenCount": usage.input_tokens or 0,
            "results": [{"tokenCount": usage.output_tokens or 0, "outputText": text, "completionReason": reason}],
        },
    ),
    "llama": _Plain(
        lambda text, reason: {"generation": text, "stop_reason": reason},
        {"stop": "stop", "length": "length"},
        lambda text, reason, usage: {
            "generation": text,
            "prompt_token_count": usage.input_tokens or 0,
            "generation_token_count": usage.output_tokens or 0,
            "stop_reason": reason,
        },
    ),
    "mistral": _Plain(
        lambda text, reason: {"outputs": [{"text": text, "stop_reason": reason}]},
        {"stop": "stop", "length": "length"},
        lambda text, reason, usage: {"outputs": [{"text": text, "stop_reason": reason}]},
    ),
    "mistral-chat": _Plain(
        lambda text, reason: {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "stop_reason": reason}]},
        _MISTRAL,
        lambda text, reason, usage: {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "stop_reason": reason}]},
    ),
}


class Invoke(Protocol):
    """Events in, messages out."""

    def feed(self, events: Iterable[Event], /) -> bytes: ...


class ClaudeEncoder:
    """Anthropic's events. A failure is an exception of the stream, as with all families."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        self._inner = anthropic_messages.MessagesEncoder(model=model, id=id, created=created)

    def feed(self, events: Iterable[Event], /) -> bytes:
        """The bytes of these events."""
        out = b""
        for event in events:
            written = self._inner.feed([event])
            if isinstance(event, StreamFailed):
                return out + bedrock_converse.encode_exception(event.error)
            for frame in written.split(b"\n\n"):
                _, found, data = frame.partition(b"data: ")
                if found:
                    out += _packed(data)
        return out


class NovaEncoder:
    """The events of Converse, each under its name in a chunk."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        self._inner = bedrock_converse.ConverseEncoder(model=model, id=id, created=created)

    def feed(self, events: Iterable[Event], /) -> bytes:
        """The bytes of these events."""
        out = b""
        for message in EventStreamParser().feed(self._inner.feed(events)):
            if (kind := message.headers.get(":event-type")) is None:
                out += encode_message(message.headers, message.payload)
            else:
                out += _packed(encode_json({str(kind): msgspec.Raw(message.payload)}))
        return out


class PlainEncoder(OneChoice):
    """Pieces of text; whole calls, which only Mistral's chat has."""

    def __init__(self, *, model: str, id: str, created: int, family: Family) -> None:
        super().__init__(model=model, id=id, created=created)
        self._family = family
        self._plain = _PLAIN[family]
        self._calls: dict[int, tuple[ToolCallStart, list[str]]] = {}

    def _text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        out.append(_packed(encode_json(self._plain.piece(event.text, None))))

    def _call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        self._calls[event.index] = (event, [])

    def _arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        self._calls[event.index][1].append(event.arguments)

    def _call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        start, pieces = self._calls[event.index]
        if self._family == "mistral-chat":
            chunk = self._plain.piece("", None)
            chunk["choices"][0]["message"]["tool_calls"] = [_call(start.id, start.name, "".join(pieces))]
            out.append(_packed(encode_json(chunk)))

    def _finish(self, event: Finish, out: list[bytes]) -> None:
        chunk = self._plain.piece("", self._plain.reason(event.finish_reason))
        if (usage := event.usage) is not None:
            chunk[_METRICS] = {"inputTokenCount": usage.input_tokens or 0, "outputTokenCount": usage.output_tokens or 0}
        out.append(_packed(encode_json(chunk)))

    def _fail(self, event: StreamFailed, out: list[bytes]) -> None:
        out.append(bedrock_converse.encode_exception(event.error))

    handlers: ClassVar[Handlers] = {
        TextDelta: _text,
        RefusalDelta: _text,
        ToolCallStart: _call_start,
        ToolCallDelta: _arguments,
        ToolCallEnd: _call_end,
        Finish: _finish,
        StreamFailed: _fail,
    }


def invoke_encoder(*, model: str, id: str, created: int, family: Family = "anthropic") -> Invoke:
    """The encoder of this family."""
    if family == "anthropic":
        return ClaudeEncoder(model=model, id=id, created=created)
    if family == "nova":
        return NovaEncoder(model=model, id=id, created=created)
    return PlainEncoder(model=model, id=id, created=created, family=family)


def told_family(model: str, body: Json) -> Family:
    """Whose body this is: the model's name tells, else the fields do, as far as they can."""
    try:
        return family_of(model, DEFAULT)
    except ConfigurationError:
        pass
    if "inputText" in body:
        return "titan"
    if "prompt" in body:
        return "llama" if "max_gen_len" in body else "mistral"
    messages = body["messages"] if isinstance(body.get("messages"), list) else []
    parts = [part for message in messages if isinstance(message, dict) for part in message.get("content") or [] if isinstance(part, dict)]
    is_nova = "inferenceConfig" in body or "schemaVersion" in body or any("type" not in part for part in parts)
    return "nova" if is_nova and "anthropic_version" not in body else "anthropic"


def encode_invoked(response: Response, *, model: str, id: str, created: int, family: Family = "anthropic") -> bytes:
    """The whole answer of a model of this family."""
    if family == "anthropic":
        return anthropic_messages.encode_response(response, model=model, id=id)
    if family == "nova":
        return bedrock_converse.encode_response(response, model=model, id=id, created=created)
    plain = _PLAIN[family]
    whole = plain.whole(response.text, plain.reason(response.finish_reason), response.usage or Usage())
    if family == "mistral-chat" and response.tool_calls:
        whole["choices"][0]["message"]["tool_calls"] = [_call(call.id, call.name, call.arguments) for call in response.tool_calls if call.complete]
    return encode_json(whole)


def _call(id: str, name: str, arguments: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": encode_json(as_object(arguments.encode()) or {}).decode()}}


def _packed(event: bytes) -> bytes:
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return encode_message(headers, encode_json({"bytes": base64.b64encode(event).decode()}))
