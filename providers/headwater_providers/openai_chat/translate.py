"""From chat.completion.chunk frames to events.

Per choice there is at most one open block of prose (text, reasoning or refusal), a new one at every switch, and any number of open tool calls.
The finish reason closes them; it is kept until `[DONE]` or the end of the bytes, since usage and, from some relays, text follow it.
The end is good with a finish reason for every choice, or with `[DONE]`; else the stream was cut.

Hot path: most frames of an answer differ from the one before in their text alone. Once such a frame was read in full, `TextTemplate` takes
the text out of the next ones without parsing them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from headwater_codecs import tolerant_json
from headwater_codecs.framing import Fault, snippet
from headwater_codecs.neutral import Diagnostic, ErrorInfo, Event, RawFrame, TextDelta, error_info
from headwater_codecs.openai_chat.wire import Chunk, ChunkChoice, decode_chunk, read_chunk
from headwater_codecs.sse import Frame
from headwater_providers.openai_chat.choice import ChoiceState
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.errors import read_in_band
from headwater_providers.openai_chat.template import TextTemplate
from headwater_providers.openai_chat.usage import read_usage
from headwater_providers.writer import EventWriter

FIRST_PAUSE = 4  # frames of text before the first one: a short answer would not win back what learning costs
MAX_PAUSE = 256  # frames between two attempts to learn a template where none ever fits
_BROKEN_OFF = frozenset({"network", "truncated"})


class ChatTranslator:
    """Frames of one response to events; see the module's text for the rules."""

    def __init__(self, dialect: ChatDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.progress = 0
        self.settled = False  # every choice has its finish reason: only trailing usage may follow
        self._dialect = dialect or ChatDialect()
        self._writer = EventWriter(provider)
        self._choices: dict[int, ChoiceState] = {}
        self._expected = choices
        self._raw = raw
        self._citations: list[object] = []
        self._template: TextTemplate | None = None
        self._learning = not raw and not self._dialect.think_tags and not self._dialect.cumulative_deltas
        self._hits = 1  # frames that the last template took
        self._pause = FIRST_PAUSE  # frames until another template is worth learning
        self._pauses = 1

    @property
    def done(self) -> bool:
        """True once the terminal event is out."""
        return self._writer.done

    def feed(self, frames: Sequence[Frame | Fault], /) -> list[Event]:
        """The events of these frames."""
        writer = self._writer
        template = self._template
        match: Callable[[bytes], str | None] | None = template.match if template is not None else None
        for frame in frames:
            if match is not None and type(frame) is Frame and not frame.event and (text := match(frame.data)) is not None:
                writer.out.append(TextDelta(template.index, text))  # type: ignore[union-attr]  # match is its method
                self._hits += 1
                continue
            if writer.done:
                break
            self._frame(frame)
            template = self._template
            match = template.match if template is not None else None
        return writer.take()

    def finish(self) -> list[Event]:
        """The bytes have ended cleanly: was the stream whole?"""
        if not self._writer.done:
            if (self._choices and all(choice.finished for choice in self._choices.values())) or self._dialect.eof_is_end:
                self._end()
            else:
                self._fail(error_info("truncated", "the stream ended without a finish reason and without [DONE]", phase="stream"))
        return self._writer.take()

    def fail(self, error: ErrorInfo) -> list[Event]:
        """The stream broke outside of the protocol. With every finish reason seen the answer was whole all the same."""
        if not self._writer.done:
            self._break_off(error)
        return self._writer.take()

    def _break_off(self, error: ErrorInfo) -> None:
        if error.kind in _BROKEN_OFF and self.settled:
            self.note("broken_after_finish", "the connection broke after the finish reason", error.message)
            self._end()
        else:
            self._fail(error)

    def _frame(self, frame: Frame | Fault) -> None:
        if isinstance(frame, Fault):
            self._break_off(frame.error)
            return
        if self._raw:
            self._writer.aside(RawFrame(frame.data, frame.event))
        if frame.event == "error":
            self._in_band(self._tolerant(frame.data))
            return
        try:
            chunk = decode_chunk(frame.data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._odd(frame)
            return
        self._chunk(chunk, frame)

    def _chunk(self, chunk: Chunk, frame: Frame) -> None:
        writer = self._writer
        if not chunk.choices and not chunk.error and self._is_bare_error(chunk):
            self._in_band({"message": chunk.message or chunk.detail, "code": chunk.code})
            return
        if chunk.id and writer.response_id is None:
            writer.response_id = chunk.id
        if chunk.model and writer.model is None:
            writer.model = chunk.model
        if chunk.choices is None and chunk.usage is None and not chunk.error and not frame.terminated:
            self._fail(error_info("malformed", f"the body is no chat completion: {snippet(frame.data)}", phase="stream"))
            return
        for item in chunk.choices or ():
            self._choice(item, chunk, frame)
        if chunk.usage:
            writer.count(read_usage(chunk.usage))
        if chunk.x_groq:
            self._groq(chunk.x_groq)
        if chunk.citations and chunk.citations != self._citations:
            self._citations = chunk.citations
            self._state(0).cite(chunk.citations)
        if chunk.error:  # last: what came with it is kept
            self._in_band(chunk.error)

    def _choice(self, item: ChunkChoice, chunk: Chunk, frame: Frame) -> None:
        state = self._state(item.index or 0)
        before = state.plain_index
        state.feed(item)
        if item.finish_reason:
            self.settled = len(self._choices) >= self._expected and all(choice.finished for choice in self._choices.values())
        if item.usage and not chunk.usage:
            self._writer.count(read_usage(item.usage))
        if not self._learning:
            return
        if state.number == 0 and before is not None and before == state.plain_index and item.delta is not None and not frame.event:
            self._learn(frame.data, chunk, before)
        elif self._template is not None and (state.number != 0 or state.plain_index != self._template.index):
            self._template = None

    def _learn(self, data: bytes, chunk: Chunk, index: int) -> None:
        """Learn a template from this frame, less and less often where frames differ in more than their text: learning costs a parse."""
        if self._pause:
            self._pause -= 1
            return
        if self._hits:
            self._pauses = 1
        else:
            self._pauses = min(2 * self._pauses, MAX_PAUSE)
            self._pause = self._pauses
        self._template = TextTemplate.learn(data, chunk, index)
        self._hits = 0

    def _state(self, number: int) -> ChoiceState:
        state = self._choices.get(number)
        if state is None:
            state = self._choices[number] = ChoiceState(number, self._writer, self._dialect, self)
        return state

    def _groq(self, extra: dict[str, object]) -> None:
        if isinstance(usage := extra.get("usage"), dict):
            self._writer.count(read_usage(usage))
        if error := extra.get("error"):
            self._in_band(error)

    def _odd(self, frame: Frame) -> None:
        """A frame that the strict decoder refused: the end marker, a tolerable oddity, or nonsense."""
        data = frame.data.strip()
        if data.startswith(b"[DONE]"):
            self._done()
            return
        if data.startswith(b"data:") and not self._dialect.strict:
            self._note_once("repeated_prefix", "frames carry a second 'data:' prefix")
            self._frame(Frame(data[5:].strip(), frame.event, frame.id, frame.retry, frame.terminated))
            return
        try:
            value = tolerant_json.decode(data)
        except ValueError:
            if not frame.terminated:
                self._break_off(error_info("truncated", f"the stream ended inside a frame: {snippet(data)}", phase="stream"))
            else:
                self._fail(error_info("malformed", f"a frame is not JSON: {snippet(data)}", phase="stream"))
            return
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and value[0].get("error"):
            value = value[0]
        if not isinstance(value, dict):
            if self._dialect.strict:
                self._fail(error_info("malformed", f"a frame is no JSON object: {snippet(data)}", phase="stream"))
            else:
                self.note("odd_frame", "a frame is no JSON object and was skipped", snippet(data))
            return
        try:
            chunk = read_chunk(value)
        except msgspec.ValidationError as error:
            if value.get("error"):
                self._in_band(value["error"])
            else:
                self._fail(error_info("malformed", f"a frame does not look like a chat completion ({error}): {snippet(data)}", phase="stream"))
            return
        if b"\xef\xbf\xbd" not in data and "\ufffd" in data.decode("utf-8", "replace"):
            self._note_once("bad_utf8", "bytes that are not UTF-8 were replaced")
        self._chunk(chunk, frame)

    @staticmethod
    def _is_bare_error(chunk: Chunk) -> bool:
        """An error without the `error` key: FastChat's and DashScope's `{"object": "error" | "code": ..., "message": ...}`, FastAPI's `detail`."""
        return bool((chunk.kind == "error" or chunk.code or chunk.detail) and (chunk.message or chunk.detail) and chunk.usage is None)

    @staticmethod
    def _tolerant(data: bytes) -> object:
        try:
            value = tolerant_json.decode(data)
        except ValueError:
            return data.decode("utf-8", "replace")
        return value.get("error") or value if isinstance(value, dict) else value

    def _in_band(self, payload: object) -> None:
        self._fail(read_in_band(payload).with_(phase="stream"))

    def _done(self) -> None:
        if not self._choices or not all(choice.finished for choice in self._choices.values()):
            self.note("no_finish_reason", "the stream ended with [DONE] but without a finish reason")
        self._end()

    def _end(self) -> None:
        """Close what is open and write the terminal, in the order of the choices."""
        states = [self._state(number) for number in sorted(self._choices)] or [self._state(0)]
        for state in states:
            state.close()
            if state.wrong is not None:
                self._fail(error_info("malformed", state.wrong, phase="stream"))
                return
        self._template = None
        self._writer.finish([state.end() for state in states])

    def _fail(self, error: ErrorInfo) -> None:
        self._template = None
        for state in self._choices.values():
            state.release()
        first = self._choices.get(0)
        self._writer.fail(error, first.raw_finish if first is not None else None)

    def note(self, code: str, message: str, detail: str | None = None) -> None:
        """Keep a diagnostic: something odd that did not stop the stream."""
        self.diagnostics.append(Diagnostic(code, message, detail))

    def _note_once(self, code: str, message: str) -> None:
        if all(diagnostic.code != code for diagnostic in self.diagnostics):
            self.note(code, message)
