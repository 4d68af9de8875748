"""From the lines of an Ollama answer to events. Each line is an object; the one that is `done` ends the stream. Rows B223, B224, WIRE-38."""

from __future__ import annotations

from typing import Literal

import msgspec

from headwater_codecs.framing import snippet
from headwater_codecs.neutral import FinishReason, TextDelta, Usage, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.counts import read_count
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of
from headwater_providers.finish_reasons import unified
from headwater_providers.ollama_chat.dialect import OllamaDialect

_LOADED: dict[str, FinishReason] = {"load": "stop", "unload": "stop"}  # a request without messages only did that
_COUNTED = ("_count", "_duration")  # ends of names


class _PlainMessage(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    content: str
    role: str | None = None


class _PlainLine(msgspec.Struct, frozen=True, gc=False):
    message: _PlainMessage
    done: Literal[False]
    error: None = None


_decode_plain = msgspec.json.Decoder(_PlainLine).decode


class OllamaTranslator(EventTranslator):
    """Frames of one response to events."""

    protocol = "ollama-chat"

    def __init__(self, dialect: OllamaDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or OllamaDialect(), provider=provider, choices=choices, raw=raw)
        self._done_reason: str | None = None
        self._calls = 0
        self._text_index: int | None = None  # of the open block of text

    def _plain(self, frame: Frame) -> bool:
        if self._text_index is None:
            return False
        try:
            line = _decode_plain(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        if text := line.message.content:
            self._writer.out.append(TextDelta(self._text_index, text))
        return True

    def _event(self, value: Json, frame: Frame) -> None:
        self._text_index = None
        if error := value.get("error"):
            self._in_band(error if isinstance(error, dict) else {"message": error, "code": value.get("status_code")})
            return
        if "message" not in value and "response" not in value and "done" not in value:
            if not self._writer.started and not frame.terminated:
                self._fail(error_info("malformed", f"the body is no answer of Ollama's: {snippet(frame.data)}", phase="stream"))
            else:
                self.note("odd_frame", "a line has none of the known fields; it was left out", snippet(frame.data))
            return
        self._writer.model = self._writer.model or word_of(value.get("model"))
        message = object_of(value.get("message"))
        self._prose("reasoning", text_of(message.get("thinking")) or text_of(value.get("thinking")))
        self._prose("text", text_of(message.get("content")) or text_of(value.get("response")))
        for call in list_of(message.get("tool_calls")):
            self._call(object_of(call))
        for image in list_of(message.get("images")):
            self._other("image", image)
        if value.get("done") is True:
            self._done_reason = word_of(value.get("done_reason"))
            self._count(value)
            self._end()
        elif (block := self._blocks.get("prose")) is not None and block.kind == "text" and not block.held:
            self._text_index = block.index

    def _prose(self, kind: Literal["text", "reasoning"], text: str) -> None:
        if text:
            self._blocks.write("prose", kind, text)

    def _call(self, call: Json) -> None:
        """A call, whole: its arguments are an object."""
        function = object_of(call.get("function"))
        name = word_of(function.get("name"))
        if name is None:
            self.note("nameless_call", "a tool call has no name; it was left out")
            return
        if "prose" in self._blocks:
            self._blocks.close("prose")
        self._calls += 1
        key = self._calls
        self._blocks.open_call(key, name, word_of(call.get("id")))
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            self._blocks.add_arguments(key, arguments)
        elif arguments:
            self._blocks.add_arguments(key, encode_json(clean(arguments)).decode())
        self._blocks.close(key)

    def _other(self, kind: str, value: object) -> None:
        if "prose" in self._blocks:
            self._blocks.close("prose")
        self._blocks.open_opaque("other", kind).raw = encode_json(clean(value))
        self._blocks.close("other")

    def _count(self, value: Json) -> None:
        read, written = read_count(value.get("prompt_eval_count")), read_count(value.get("eval_count"))
        if read is not None or written is not None:
            kept = clean({name: item for name, item in value.items() if name.endswith(_COUNTED)})
            assert isinstance(kept, dict)
            self._writer.count(Usage(read, written, raw=kept))

    def _ended_well(self) -> bool:
        return False

    def _missing(self) -> str:
        return "its line that is `done`"

    def _end(self) -> None:
        raw = self._done_reason
        if raw is None:
            self._finish_with("stop" if self._calls else "unknown", None)
        else:
            self._finish_with(_LOADED.get(raw) or unified(raw), raw)
