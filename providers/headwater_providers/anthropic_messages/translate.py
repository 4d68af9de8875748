"""From the events of a Messages stream to ours. Rows OR-ANS, WIRE-13, WIRE-14, WIRE-52.

Every content block has a number, which is its key here. The JSON's own `type` says what an event is, since proxies drop the `event:` line. A
block that we do not model (a server tool, its result, a container) is kept as one opaque item: its start with what its deltas added. The
stream ends well with `message_stop`, or with a stop reason and then the end of the bytes.
"""

from __future__ import annotations

from msgspec import Raw

from headwater_codecs.anthropic_messages.wire import decode_block, decode_content, decode_fields, decode_text
from headwater_codecs.framing import snippet
from headwater_codecs.neutral import Citation, ErrorInfo, TextDelta, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.anthropic_messages.opaque import OpaqueBlock, is_utf8
from headwater_providers.anthropic_messages.usage import read_metrics, read_usage
from headwater_providers.bare_error import is_bare_error
from headwater_providers.blocks import OpenBlock
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of
from headwater_providers.finish_reasons import BREAKING, is_absent, unified

_CALL_FIELDS = frozenset({"type", "id", "name", "input"})


class MessagesTranslator(EventTranslator):
    """Frames of one response to events; see the module's text for the rules."""

    protocol = "anthropic-messages"

    def __init__(self, dialect: MessagesDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or MessagesDialect(), provider=provider, choices=choices, raw=raw)
        self._stop_reason: str | None = None
        self._detail: str | None = None  # the stop sequence, or why the model refused
        self._opaque: dict[int, OpaqueBlock] = {}
        self._given: dict[int, str] = {}  # arguments that came whole with the start of a call
        self._cited: dict[int, list[bytes]] = {}  # the sources of a text block, for replay
        self._ended_empty: int | None = None  # a call that stopped without arguments: only what follows tells whether they are missing
        self._nameless = False  # arguments came for a call that nobody named
        self._text_at = -1  # the open text block that plain pieces belong to, and its index in our stream
        self._text_index = 0

    def _plain(self, frame: Frame) -> bool:
        if self._text_at < 0:
            return False
        try:
            event = decode_text(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        if event.index != self._text_at:
            return False
        if text := event.delta.text:
            self._writer.out.append(TextDelta(self._text_index, text))
        return True

    def _event(self, value: Json, frame: Frame) -> None:
        kind = value.get("type") or frame.event
        handle = _EVENTS.get(kind) if isinstance(kind, str) else None
        if handle is not None:
            handle(self, value, frame)
        elif value.get("error") or frame.event == "error" or is_bare_error(value):
            self._in_band(value)
        elif kind is None or (not frame.terminated and not self._writer.started):
            self._fail(error_info("malformed", f"the body is no Messages stream: {snippet(frame.data)}", phase="stream"))

    def _start(self, value: Json, frame: Frame) -> None:
        message = object_of(value.get("message"))
        self._identify(message)
        if self._writer.started:
            self.note("second_start", "a second message_start came in the same stream")
        if list_of(message.get("content")):  # what was made before the stream began, as with tools that code calls
            self._content(message, frame)
            self._stop(message)

    def _identify(self, message: Json) -> None:
        writer = self._writer
        writer.response_id = writer.response_id or word_of(message.get("id"))
        writer.model = writer.model or word_of(message.get("model"))
        if usage := object_of(message.get("usage")):
            writer.count(read_usage(usage))

    def _block_start(self, value: Json, frame: Frame) -> None:
        index = _index(value)
        block = object_of(value.get("content_block"))
        try:
            raw = bytes(decode_block(frame.data).content_block)
        except (ValueError, RecursionError):  # bytes that are not quite JSON
            raw = b""
        self._open(index, block, raw)

    def _open(self, index: int, block: Json, raw: bytes) -> None:
        """A block opens; `raw` are its bytes, b"" where they are not to be had as they came."""
        raw = raw if is_utf8(raw) else encode_json(clean(block))
        kind = text_of(block.get("type"))
        blocks = self._blocks
        self.progress += 1
        self._settle_empty(cut=False)
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
            opened.redacted, opened.data = True, word_of(block.get("data")) or ""
        elif kind == "tool_use":
            self._open_call(index, block, raw)
        else:
            blocks.open_opaque(index, word_of(kind) or "unknown", item_id=word_of(block.get("id")))
            self._opaque[index] = OpaqueBlock(raw)

    def _open_call(self, index: int, block: Json, raw: bytes) -> None:
        name = word_of(block.get("name"))
        if name is None:
            self._nameless = True
            return
        call = self._blocks.open_call(index, name, word_of(block.get("id")))
        fields = decode_fields(raw)
        if more := {name: item for name, item in fields.items() if name not in _CALL_FIELDS}:
            call.meta = Raw(encode_json(more))  # who called it, for replay
        given = block.get("input")
        if given not in (None, {}, ""):
            self._given[index] = str(clean(given)) if isinstance(given, str) else bytes(fields["input"]).decode()

    def _expect_text(self, index: int) -> None:
        block = self._blocks.get(index)
        self._text_at, self._text_index = (index, block.index) if block is not None and block.kind == "text" and not block.held else (-1, 0)

    def _block_delta(self, value: Json, frame: Frame) -> None:
        index = _index(value)
        delta = object_of(value.get("delta"))
        kind = text_of(delta.get("type"))
        blocks = self._blocks
        block = blocks.get(index)
        if kind == "text_delta":
            if text := text_of(delta.get("text")):
                if block is not None and block.kind != "text":
                    self.note("odd_delta", f"a text_delta came for a block of kind {block.kind}; it opened a text block of its own")
                blocks.write(index, "text", text)
                self._expect_text(index)
        elif kind == "thinking_delta":
            if text := text_of(delta.get("thinking")):
                blocks.write(index, "reasoning", text)
                self._expect_text(index)  # no longer, where it ended a block of text
        elif kind == "signature_delta":
            self._sign(index, text_of(delta.get("signature")))
        elif kind == "input_json_delta":
            self._input(index, block, text_of(delta.get("partial_json")))
        elif kind == "citations_delta":
            self._cite(index, delta.get("citation"))
        elif index in self._opaque:
            self._opaque[index].add(delta)
            self.progress += 1

    def _input(self, index: int, block: OpenBlock | None, piece: str) -> None:
        if not piece:
            return
        if index in self._opaque:
            self._opaque[index].input.append(piece)
            self.progress += 1
        elif block is not None and block.kind == "tool_call":
            if not block.fragments and not piece.strip():
                return  # white space in front says nothing yet
            self._given.pop(index, None)  # what came with the start was a placeholder
            self._blocks.add_arguments(index, piece)
        else:
            self._nameless = True
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
        self._cited.setdefault(index, []).append(encode_json(cited))
        self._writer.content(Citation(block.index, 0, kind, url, title, word_of(cited.get("cited_text")), Raw(encode_json(cited))))

    def _block_stop(self, value: Json, frame: Frame) -> None:
        index = _index(value)
        block = self._blocks.get(index)
        if block is not None and block.kind == "tool_call" and not block.fragments and index not in self._given:
            self._settle_empty(cut=False)
            self._ended_empty = index
        elif block is not None:
            self._close(index)

    def _settle_empty(self, cut: bool) -> None:
        """Close the call that stopped without arguments: it takes none, unless the answer was `cut` right there."""
        index, self._ended_empty = self._ended_empty, None
        if index is not None and index in self._blocks:
            self._close(index, complete=not cut)

    def _close(self, index: int, complete: bool = True) -> None:
        block = self._blocks.get(index)
        assert block is not None
        if index == self._text_at:
            self._text_at = -1
        if (opaque := self._opaque.pop(index, None)) is not None:
            block.raw, whole = opaque.whole()
            complete = complete and whole
        if (given := self._given.pop(index, None)) and block.kind == "tool_call":
            self._blocks.add_arguments(index, given)
        if (cited := self._cited.pop(index, None)) and block.kind == "text":
            block.meta = Raw(b'{"citations":[%b]}' % b",".join(cited))
        self._blocks.close(index, complete)

    def _message_delta(self, value: Json, frame: Frame) -> None:
        delta = object_of(value.get("delta"))
        if usage := object_of(value.get("usage")) or object_of(delta.get("usage")):
            self._writer.count(read_usage(usage, self._writer.usage))
        if self._stop(delta):
            self._close_all()
            self.settled = True

    def _stop(self, said: Json) -> bool:
        """Take the stop reason; whether there is one."""
        reason = word_of(said.get("stop_reason"))
        if reason is None or is_absent(reason):
            return False
        self._stop_reason = reason
        self._detail = word_of(said.get("stop_sequence")) or word_of(object_of(said.get("stop_details")).get("explanation"))
        return True

    def _message_stop(self, value: Json, frame: Frame) -> None:
        if usage := object_of(value.get("usage")):
            self._writer.count(read_usage(usage, self._writer.usage))
        if metrics := object_of(value.get("amazon-bedrock-invocationMetrics")):
            self._writer.count(read_metrics(metrics, self._writer.usage))
        if self._stop_reason is None:
            self.note("no_stop_reason", "the stream ended with message_stop but without a stop reason")
        self._end()

    def _whole_message(self, value: Json, frame: Frame) -> None:
        """A message that was not streamed."""
        self._identify(value)
        self._content(value, frame)
        if self._stop(value):
            self._end()
        else:
            self._fail(error_info("truncated", "the message has no stop reason", phase="stream"))

    def _content(self, message: Json, frame: Frame) -> None:
        blocks = list_of(message.get("content"))
        try:
            raws = decode_content(frame.data)
        except (ValueError, RecursionError):  # bytes that are not quite JSON
            raws = []
        for number, block in enumerate(blocks):
            if isinstance(block, dict):
                self._open(number, block, raws[number] if len(raws) == len(blocks) else b"")
                if number in self._blocks:
                    self._block_stop({"index": number}, frame)

    def _error(self, value: Json, frame: Frame) -> None:
        self._in_band(value)

    def _ping(self, value: Json, frame: Frame) -> None:
        """Says nothing."""

    def _close_all(self) -> None:
        """The answer is over: what never stopped ends here. Where it was broken off, the newest call may lack its arguments."""
        cut = unified(self._stop_reason) in BREAKING or unified(self._stop_reason) == "refusal"
        self._settle_empty(cut)
        for index in self._opened():
            self._close_cut(index, cut)

    def _close_cut(self, index: int, cut: bool) -> None:
        block = self._blocks.get(index)
        assert block is not None
        bare = block.kind == "tool_call" and not block.fragments and index not in self._given
        newest = block.index == self._writer.next_index - 1
        self._close(index, complete=not (cut and newest and (bare or block.kind == "opaque")))

    def _opened(self) -> list[int]:
        """The numbers of the open blocks, in the order in which they were opened."""
        return [key for key in self._blocks.open_keys() if isinstance(key, int)]

    def _ended_well(self) -> bool:
        return self._stop_reason is not None

    def _missing(self) -> str:
        return "a stop reason and without message_stop"

    def _end(self) -> None:
        self._close_all()
        if self._nameless:
            self._fail(error_info("malformed", "a tool call never got a name", phase="stream"))
            return
        raw = self._stop_reason
        reason = unified(raw)
        if reason == "tool_calls" and not self._blocks.calls and not self._blocks.cut_calls:
            self.note("tool_calls_without_call", f"the stop reason is {raw}, but there is no tool call")
            reason = "stop"
        self._finish_with(reason, raw, detail=self._detail)

    def _fail(self, error: ErrorInfo, raw_finish_reason: str | None = None) -> None:
        if not self._writer.done:
            for index in self._opened():
                self._close(index, complete=False)
        super()._fail(error, raw_finish_reason or self._stop_reason)


def _index(value: Json) -> int:
    index = value.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0


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
