"""From chat.completion.chunk frames to events.

Per choice there is at most one open block of prose (text, reasoning or refusal), a new one at every switch, and any number of open tool calls.
The finish reason closes them; it is kept until `[DONE]` or the end of the bytes, since usage and, from some relays, text follow it.
The end is good with a finish reason for every choice, or with `[DONE]`; else the stream was cut.

Hot path: most frames of an answer are one more piece of text (or of reasoning) for the block that is open. A decoder whose types admit nothing
else but the finish reason reads those (`plain`), and the first piece of text too; what it refuses is read in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from headwater_codecs.framing import Fault, snippet
from headwater_codecs.neutral import Diagnostic, ErrorInfo, Event, RawFrame, ReasoningDelta, TextDelta, error_info
from headwater_codecs.openai_chat.plain import PLAIN, OpeningChunk, PlainFrame, PlainReader
from headwater_codecs.openai_chat.wire import Chunk, ChunkChoice, decode_chunk, read_chunk
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean
from headwater_providers.bare_error import NO_JSON, error_in, is_bare_error, says_error, value_of
from headwater_providers.errors import read_in_band
from headwater_providers.odd_frames import SAID, frames_inside
from headwater_providers.openai_chat.choice import UNOPENED, ChoiceState
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.usage import read_usage
from headwater_providers.writer import EventWriter

MAX_PAUSE = 256  # frames between two tries of the plain reader where it never fits: a refusal costs as much as reading in full
MAX_CHOICES = 128  # what OpenAI lets one ask for; a number beyond is nonsense, and would make a list as long
MAX_DIAGNOSTICS = 100  # a server that is odd in every frame shall not fill the memory
_BROKEN_OFF = frozenset({"network", "truncated"})
_KEEP_ALIVE = frozenset({"ping", "keepalive", "heartbeat"})  # event names, and words in place of JSON
_NUMBER, _RAW_FINISH = attrgetter("number"), attrgetter("raw_finish")


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
        self._cited: list[list[object]] = []
        self._plain_allowed = not raw and not self._dialect.think_tags and not self._dialect.cumulative_deltas
        # Reads a frame that is one more piece for the open block, or for the one that it would open.
        self._plain: PlainReader | None = PLAIN["opening"] if self._plain_allowed else None
        self._plain_delta: type[TextDelta | ReasoningDelta] = TextDelta
        self._plain_index = UNOPENED  # of the block
        self._hit = False  # the plain reader took a frame since it was last set
        self._pause = 0  # frames until it is tried again
        self._pauses = 1

    @property
    def done(self) -> bool:
        """True once the terminal event is out."""
        return self._writer.done

    def feed(self, frames: Sequence[Frame | Fault], /) -> list[Event]:
        """The events of these frames."""
        writer = self._writer
        out, plain, delta, index = writer.out, self._plain, self._plain_delta, self._plain_index
        for frame in frames:
            if plain is not None and type(frame) is Frame and not frame.event:
                try:
                    chunk = plain(frame.data)
                except (ValueError, RecursionError):  # also msgspec's own errors
                    self._refused()
                else:
                    choice = chunk.choices[0]
                    if index == UNOPENED:
                        self._opening(chunk)
                        plain, index = self._plain, self._plain_index
                    elif piece := choice.delta.piece:
                        self._hit = True
                        out.append(delta(index, piece))
                    if choice.finish_reason:
                        self._plain_finish(choice.finish_reason)
                        plain = self._plain
                    continue
            if writer.done:
                break
            if type(frame) is Fault:
                self._break_off(frame.error)
            else:
                if self._raw:
                    writer.aside(RawFrame(frame.data, frame.event))
                self._inside(frame)
            out, plain, delta, index = writer.out, self._plain, self._plain_delta, self._plain_index
        return writer.take()

    def finish(self) -> list[Event]:
        """The bytes have ended cleanly: was the stream whole? Where nothing at all was said it never was."""
        if not self._writer.done:
            if self._choices and (self._all_finished() or self._dialect.eof_is_end):
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

    def _opening(self, chunk: PlainFrame) -> None:
        """A plain frame before the first text, or with it."""
        assert type(chunk) is OpeningChunk
        writer = self._writer
        if chunk.id and writer.response_id is None:
            writer.response_id = chunk.id
        if chunk.model and writer.model is None:
            writer.model = chunk.model
        state = self._choices[0] if self._choices else self._state(0)
        if piece := chunk.choices[0].delta.piece:
            self._plain, self._plain_index = PLAIN["text"], state.first_text(piece)

    def _plain_finish(self, reason: str) -> None:
        state = self._choices[0]
        state.finish(reason)
        self._settle()
        if state.raw_finish is not None:
            self._plain = None

    def _inside(self, frame: Frame) -> None:
        if frame.event and self._is_named(frame):
            return
        data = frame.data
        if data.startswith(b"[DONE]"):
            self._done()
            return
        try:
            chunk = decode_chunk(data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            self._odd(frame, data)
            return
        self._chunk(chunk, frame, data)

    def _is_named(self, frame: Frame) -> bool:
        """Whether the frame's name says what it is, whatever it holds: an error, a keep-alive."""
        event = frame.event.strip().lower()
        if event == "error":
            self._in_band(error_in(frame.data))
            return True
        return _is_keep_alive(event)

    def _chunk(self, chunk: Chunk, frame: Frame, data: bytes) -> None:
        writer = self._writer
        error = chunk.error if chunk.error is not None and says_error(chunk.error) else None
        if not chunk.choices and not chunk.usage and error is None and self._is_no_chunk(chunk, frame, data):
            return
        if chunk.id and writer.response_id is None:
            writer.response_id = chunk.id
        if chunk.model and writer.model is None:
            writer.model = chunk.model
        for item in chunk.choices or ():
            if error is None and item.error is not None and says_error(item.error):
                error = item.error
            self._choice(item, chunk, data, broken=error is not None)
        if chunk.usage:
            writer.count(read_usage(chunk.usage))
        if chunk.x_groq:
            if isinstance(usage := chunk.x_groq.get("usage"), dict):
                writer.count(read_usage(usage))
            if error is None and says_error(chunk.x_groq.get("error")):
                error = chunk.x_groq["error"]
        if chunk.search_results:
            self._cite(chunk.search_results)
        if chunk.citations:
            self._cite(chunk.citations)
        if error is not None:  # last: what came with it is kept
            self._in_band(error if isinstance(error, dict | list | str) else error_in(data))

    def _is_no_chunk(self, chunk: Chunk, frame: Frame, data: bytes) -> bool:
        """A frame without choices: a keep-alive, or an error that is not called so. True when it is dealt with."""
        value = value_of(data)
        if isinstance(value, dict) and is_bare_error(value):
            self._in_band(value)
            return True
        if chunk.choices is None and not frame.terminated and not self._choices:
            self._fail(error_info("malformed", f"the body is no chat completion: {snippet(data)}", phase="stream"))
            return True
        return False

    def _choice(self, item: ChunkChoice, chunk: Chunk, data: bytes, broken: bool) -> None:
        number = item.index or 0
        if not 0 <= number < max(self._expected, MAX_CHOICES):
            self._leave_out("odd_choice", f"a choice has the number {number}", data)
            return
        state = self._state(number)
        state.feed(item, broken)
        if item.finish_reason:
            self._settle()
        if item.usage and not chunk.usage:
            self._writer.count(read_usage(item.usage))
        if self._plain_allowed:
            self._expect_plain(state)

    def _settle(self) -> None:
        self.settled = len(self._choices) >= self._expected and self._all_finished()

    def _expect_plain(self, state: ChoiceState) -> None:
        """Set the plain reader for what may follow; less and less often where the frames of a vendor always hold more."""
        self._plain = None
        if self._pause:
            self._pause -= 1
        elif (block := state.plain) is not None and state.number == 0 and len(self._choices) == 1:
            kind, self._plain_index = block
            self._plain = PLAIN[kind]
            self._plain_delta = ReasoningDelta if kind == "reasoning" else TextDelta
            self._hit = False

    def _refused(self) -> None:
        """The plain reader refused a frame."""
        self._plain = None
        if self._hit or self._plain_index == UNOPENED:
            self._pauses = 1
        else:
            self._pauses = self._pause = min(2 * self._pauses, MAX_PAUSE)

    def _state(self, number: int) -> ChoiceState:
        state = self._choices.get(number)
        if state is None:
            state = self._choices[number] = ChoiceState(number, self._writer, self._dialect, self)
        return state

    def _cite(self, sources: list[object]) -> None:
        if sources not in self._cited:
            self._cited = [*self._cited[-1:], sources]  # the two lists of one frame, which the next frames repeat
            self._state(0).sources.cite(sources)

    def _odd(self, frame: Frame, data: bytes) -> None:
        """A frame that the strict decoder refused: the end marker, a tolerable oddity, or nonsense."""
        data = data.strip()
        if data.startswith(b"[DONE]") or data == b'"[DONE]"':
            self._done()
            return
        if not data or _is_keep_alive(data[:40].decode("utf-8", "replace")):
            return
        if not self._dialect.strict and (odd := frames_inside(frame)) is not None:
            code, inside = odd
            self._note_once(code, SAID[code])
            for one in inside:
                if not self._writer.done:
                    self._inside(one)
            return
        value = value_of(data)
        if value is NO_JSON:
            self._no_json(frame, data)
            return
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and says_error(value[0].get("error")):
            value = value[0]
        if not isinstance(value, dict):
            self._leave_out("odd_frame", "a frame is no JSON object", data)
            return
        left_out: list[str] = []
        chunk = read_chunk(value, left_out)
        if left_out:
            if "choices" in left_out and not says_error(chunk.error):
                self._fail(error_info("malformed", f"a frame does not look like a chat completion: {snippet(data)}", phase="stream"))
                return
            self._leave_out("odd_field", f"what a frame has in {', '.join(sorted(set(left_out)))} cannot be read", data)
            if self._writer.done:
                return
        if b"\xef\xbf\xbd" not in data and "\ufffd" in data.decode("utf-8", "replace"):
            self._note_once("bad_utf8", "bytes that are not UTF-8 were replaced")
        self._chunk(chunk, frame, data)

    def _no_json(self, frame: Frame, data: bytes) -> None:
        """A frame that was cut, or nonsense."""
        if frame.terminated:
            self._fail(error_info("malformed", f"a frame is not JSON: {snippet(data)}", phase="stream"))
        else:
            self._break_off(error_info("truncated", f"the stream ended inside a frame: {snippet(data)}", phase="stream"))

    def _leave_out(self, code: str, what: str, data: bytes) -> None:
        """Something that can be left out: noted, or in strict mode the end."""
        if self._dialect.strict:
            self._fail(error_info("malformed", f"{what}: {snippet(data)}", phase="stream"))
        else:
            self.note(code, f"{what}; it was left out", snippet(data))

    def _in_band(self, payload: object) -> None:
        self._fail(read_in_band(clean(payload)).with_(phase="stream"))

    def _all_finished(self) -> bool:
        return None not in map(_RAW_FINISH, self._choices.values())

    def _done(self) -> None:
        if not self._choices or not self._all_finished():
            self.note("no_finish_reason", "the stream ended with [DONE] but without a finish reason")
        self._end()

    def _end(self) -> None:
        """Close what is open and write the terminal, in the order of the choices."""
        states = list(self._choices.values())
        if len(states) != 1:
            states = sorted(states, key=_NUMBER) or [self._state(0)]
        for state in states:
            state.close(last=True)
            if state.wrong is not None:
                self._fail(error_info("malformed", state.wrong, phase="stream"))
                return
        self._writer.finish(map(ChoiceState.end, states))
        self._let_go()

    def _fail(self, error: ErrorInfo) -> None:
        for state in self._choices.values():
            state.give_up()
        first = self._choices.get(0)
        self._writer.fail(error, first.raw_finish if first is not None else None)
        self._let_go()

    def _let_go(self) -> None:
        """The terminal is out. Choices know their translator: without this every stream would be a cycle for the garbage collector."""
        self._plain = None
        self._choices.clear()

    def note(self, code: str, message: str, detail: str | None = None) -> None:
        """Keep a diagnostic: something odd that did not stop the stream."""
        if len(self.diagnostics) < MAX_DIAGNOSTICS:
            self.diagnostics.append(Diagnostic(code, message, detail))

    def _note_once(self, code: str, message: str) -> None:
        if all(diagnostic.code != code for diagnostic in self.diagnostics):
            self.note(code, message)


def _is_keep_alive(text: str) -> bool:
    return text.strip(' \r\n:[]"').lower().replace("-", "").replace("_", "") in _KEEP_ALIVE
