"""From the events of a Messages stream to ours. Rows OR-ANS, WIRE-13, WIRE-14, WIRE-52.

Every content block has a number, which is its key here. The JSON's own `type` says what an event is, since proxies drop the `event:` line. A
block that we do not model (a server tool, its result, a container) is kept as one opaque item: its start with what its deltas added. The
stream ends well with `message_stop`, or with a stop reason and then the end of the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw
from msgspec import json as msgspec_json

from headwater_codecs.anthropic_messages.wire import decode_block, decode_text
from headwater_codecs.framing import Fault, snippet
from headwater_codecs.neutral import Citation, Event, FinishReason, TextDelta, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.anthropic_messages.usage import read_usage
from headwater_providers.blocks import OpenBlock
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of

FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "refusal",
    "compaction": "pause",
    "sensitive": "content_filter",
}
_BREAKING = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "sensitive"})  # the newest call may lack what nobody can see missing
_CALL_FIELDS = frozenset({"type", "id", "name", "input"})


class _Opaque:
    """An opaque block being put together: its start, and what deltas added."""

    __slots__ = ("added", "input", "start")

    def __init__(self, start: bytes) -> None:
        self.start = start
        self.input: list[str] = []
        self.added: Json = {}


class MessagesTranslator(EventTranslator):
    """Frames of one response to events; see the module's text for the rules."""

    protocol = "anthropic-messages"

    def __init__(self, dialect: MessagesDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(provider=provider, choices=choices, raw=raw)
        self._dialect = dialect or MessagesDialect()
        self._stop_reason: str | None = None
        self._stop_sequence: str | None = None
        self._opaque: dict[int, _Opaque] = {}
        self._given: dict[int, str] = {}  # arguments that came whole with the start of a call
        self._text_at = -1  # the open text block that plain pieces belong to, and its index in our stream
        self._text_index = 0

    def feed(self, frames: Sequence[Frame | Fault], /) -> list[Event]:
        """The events of these frames."""
        writer = self._writer
        for frame in frames:
            if writer.done:
                break
            if self._text_at >= 0 and type(frame) is Frame and not self._raw:
                try:
                    event = decode_text(frame.data)
                except (ValueError, RecursionError):  # also msgspec's own errors
                    pass
                else:
                    if event.index == self._text_at:
                        if text := event.delta.text:
                            writer.out.append(TextDelta(self._text_index, text))
                        continue
            self._take(frame)
        return writer.take()

    def _event(self, value: Json, frame: Frame) -> None:
        kind = value.get("type") or frame.event
        handle = _EVENTS.get(kind) if isinstance(kind, str) else None
        if handle is not None:
            handle(self, value, frame)
        elif value.get("error") or (frame.event == "error" and kind != "ping"):
            self._in_band(value)
        elif kind is None or (not frame.terminated and not self._writer.started):
            self._fail(error_info("malformed", f"the body is no Messages stream: {snippet(frame.data)}", phase="stream"))

    def _start(self, value: Json, frame: Frame) -> None:
        message = object_of(value.get("message"))
        self._identify(message)
        if self._writer.started:
            self.note("second_start", "a second message_start came in the same stream")
        self._content(message)  # what was made before the stream began
        self._stop_reason = self._stop_reason or word_of(message.get("stop_reason"))

    def _identify(self, message: Json) -> None:
        writer = self._writer
        writer.response_id = writer.response_id or word_of(message.get("id"))
        writer.model = writer.model or word_of(message.get("model"))
        if usage := object_of(message.get("usage")):
            writer.count(read_usage(usage))

    def _block_start(self, value: Json, frame: Frame) -> None:
        index = _index(value)
        block = object_of(value.get("content_block"))
        self._open(index, block, frame.data)

    def _open(self, index: int, block: Json, data: bytes) -> None:
        kind = text_of(block.get("type"))
        blocks = self._blocks
        self.progress += 1
        if index in blocks:
            self._close(index)
            self.note("block_not_stopped", "a content block began under the number of one that had not stopped")
        if kind == "text":
            blocks.write(index, "text", text_of(block.get("text")))
            self._expect_text(index)
            for citation in list_of(block.get("citations")):
                self._cite(index, citation)
        elif kind == "thinking":
            blocks.write(index, "reasoning", text_of(block.get("thinking")))
            self._sign(index, text_of(block.get("signature")))
        elif kind == "redacted_thinking":
            opened = blocks.open(index, "reasoning")
            opened.redacted, opened.data = True, text_of(clean(block.get("data")))
        elif kind == "tool_use":
            call = blocks.open_call(index, word_of(block.get("name")) or "", word_of(block.get("id")))
            if more := {name: clean(item) for name, item in block.items() if name not in _CALL_FIELDS}:
                call.meta = Raw(encode_json(more))  # who called it, for replay
            given = block.get("input")
            if given not in (None, {}, ""):
                self._given[index] = given if isinstance(given, str) else encode_json(clean(given)).decode()
        else:
            blocks.open_opaque(index, kind or "unknown", item_id=word_of(block.get("id")))
            try:
                start = bytes(decode_block(data).content_block)
            except (ValueError, RecursionError):  # bytes that are not quite JSON, or a block out of a whole message
                start = encode_json(clean(block))
            self._opaque[index] = _Opaque(start)

    def _expect_text(self, index: int) -> None:
        block = self._blocks.get(index)
        self._text_at, self._text_index = (index, block.index) if block is not None and block.kind == "text" and not block.held else (-1, 0)

    def _block_delta(self, value: Json, frame: Frame) -> None:
        index = _index(value)
        delta = object_of(value.get("delta"))
        kind = text_of(delta.get("type"))
        block = self._blocks.get(index)
        if kind == "text_delta":
            if text := text_of(delta.get("text")):
                if block is not None and block.kind not in ("text",):
                    self.note("odd_delta", f"a text_delta came for a block of kind {block.kind}; it opened a text block of its own")
                self._blocks.write(index, "text", text)
                self._expect_text(index)
        elif kind == "thinking_delta":
            if text := text_of(delta.get("thinking")):
                self._blocks.write(index, "reasoning", text)
        elif kind == "signature_delta":
            self._sign(index, text_of(delta.get("signature")))
        elif kind == "input_json_delta":
            self._input(index, block, text_of(delta.get("partial_json")))
        elif kind == "citations_delta":
            self._cite(index, delta.get("citation"))
        elif index in self._opaque:
            self._opaque[index].added.update({name: item for name, item in delta.items() if name != "type"})
            self.progress += 1

    def _input(self, index: int, block: OpenBlock | None, piece: str) -> None:
        if not piece:
            return
        if index in self._opaque:
            self._opaque[index].input.append(piece)
            self.progress += 1
        elif block is not None and block.kind == "tool_call":
            self._given.pop(index, None)  # what came with the start was a placeholder
            self._blocks.add_arguments(index, piece)
        else:
            self.note("odd_delta", "arguments came for no tool call; they were left out", snippet(piece.encode("utf-8", "replace")))

    def _sign(self, index: int, piece: str) -> None:
        """A piece of a thinking block's signature: it is joined, and shows the model at work."""
        if not piece:
            return
        self.progress += 1
        block = self._blocks.get(index) or self._blocks.open(index, "reasoning")
        block.signature = (block.signature or "") + str(clean(piece))

    def _cite(self, index: int, citation: object) -> None:
        if not isinstance(citation, dict):
            return
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks.open(index, "text")
            self._expect_text(index)
        cited = clean(citation)
        assert isinstance(cited, dict)
        title = word_of(cited.get("title")) or word_of(cited.get("document_title"))
        kind = word_of(cited.get("type")) or "citation"
        url = word_of(cited.get("url"))
        self._writer.content(Citation(block.index, 0, kind, url, title, word_of(cited.get("cited_text")), Raw(encode_json(cited))))

    def _block_stop(self, value: Json, frame: Frame) -> None:
        index = _index(value)
        if index in self._blocks:
            self._close(index)

    def _close(self, index: int, complete: bool = True) -> None:
        if index == self._text_at:
            self._text_at = -1
        if (opaque := self._opaque.pop(index, None)) is not None:
            block = self._blocks.get(index)
            assert block is not None
            block.raw = _whole(opaque)
        if given := self._given.pop(index, None):
            self._blocks.add_arguments(index, given)
        self._blocks.close(index, complete)

    def _message_delta(self, value: Json, frame: Frame) -> None:
        delta = object_of(value.get("delta"))
        if usage := object_of(value.get("usage")):
            self._writer.count(read_usage(usage, self._writer.usage))
        if reason := word_of(delta.get("stop_reason")):
            self._stop_reason = reason
            self._stop_sequence = word_of(delta.get("stop_sequence"))
            self._close_all()
            self.settled = True

    def _message_stop(self, value: Json, frame: Frame) -> None:
        if self._stop_reason is None:
            self.note("no_stop_reason", "the stream ended with message_stop but without a stop reason")
        self._end()

    def _whole_message(self, value: Json, frame: Frame) -> None:
        """A message that was not streamed."""
        self._identify(value)
        self._content(value)
        self._stop_reason = word_of(value.get("stop_reason"))
        self._stop_sequence = word_of(value.get("stop_sequence"))
        if self._stop_reason is None:
            self._fail(error_info("truncated", "the message has no stop reason", phase="stream"))
        else:
            self._end()

    def _content(self, message: Json) -> None:
        for index, block in enumerate(list_of(message.get("content"))):
            if isinstance(block, dict):
                self._open(index, block, b"")
                if index in self._blocks:
                    self._close(index)

    def _error(self, value: Json, frame: Frame) -> None:
        self._in_band(value)

    def _ping(self, value: Json, frame: Frame) -> None:
        """Says nothing."""

    def _close_all(self) -> None:
        cut = self._stop_reason in _BREAKING
        blocks = self._blocks
        for index in sorted(self._opaque):
            self._close(index)
        for index in list(self._given):
            blocks.add_arguments(index, self._given.pop(index))
        self._text_at = -1
        blocks.close_all(cut=cut)

    def _ended_well(self) -> bool:
        return self._stop_reason is not None

    def _missing(self) -> str:
        return "a stop reason and without message_stop"

    def _end(self) -> None:
        self._close_all()
        raw = self._stop_reason
        self._finish_with("unknown" if raw is None else FINISH.get(raw, "unknown"), raw, detail=self._stop_sequence)

    def _fail(self, error: object, raw_finish_reason: str | None = None) -> None:
        for index in sorted(self._opaque):
            self._close(index, complete=False)
        super()._fail(error, raw_finish_reason or self._stop_reason)  # type: ignore[arg-type]  # an ErrorInfo


def _index(value: Json) -> int:
    index = value.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0


def _whole(opaque: _Opaque) -> bytes:
    """The block as one object: byte-exact where nothing was added to its start."""
    if not opaque.input and not opaque.added:
        return opaque.start
    whole = msgspec_json.decode(opaque.start)
    assert isinstance(whole, dict)
    if opaque.input:
        text = "".join(opaque.input)
        try:
            whole["input"] = msgspec_json.decode(text)
        except (ValueError, RecursionError):
            whole["input"] = clean(text)  # cut: kept as the text that it is
    for name, item in opaque.added.items():
        whole[name] = clean(item)
    return encode_json(whole)


_EVENTS = {
    "message_start": MessagesTranslator._start,
    "content_block_start": MessagesTranslator._block_start,
    "content_block_delta": MessagesTranslator._block_delta,
    "content_block_stop": MessagesTranslator._block_stop,
    "message_delta": MessagesTranslator._message_delta,
    "message_stop": MessagesTranslator._message_stop,
    "message": MessagesTranslator._whole_message,
    "error": MessagesTranslator._error,
    "ping": MessagesTranslator._ping,
}
