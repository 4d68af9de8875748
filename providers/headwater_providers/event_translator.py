"""What the translators of most protocols share: one JSON object a frame, faults, the terminal, diagnostics.

A protocol says what an object means (`_event`) and whether the stream was whole when its bytes end (`_ended_well`). Nothing that a provider sends
raises: an odd frame is left out with a diagnostic, or it ends the stream as malformed, with what came before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from headwater_codecs import tolerant_json
from headwater_codecs.framing import Fault, snippet
from headwater_codecs.neutral import ChoiceEnd, Diagnostic, ErrorInfo, Event, FinishReason, RawFrame, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean
from headwater_providers.blocks import Blocks
from headwater_providers.errors import read_in_band
from headwater_providers.flags import Dialect
from headwater_providers.odd_frames import SAID, frames_inside
from headwater_providers.writer import EventWriter

Json = dict[str, object]
MAX_DIAGNOSTICS = 100  # a server that is odd in every frame shall not fill the memory
_BROKEN_OFF = frozenset({"network", "truncated"})


class EventTranslator(ABC):
    """Frames of one response to events. Subclasses implement `_event`, `_ended_well` and `_end`."""

    protocol = ""

    def __init__(self, dialect: Dialect, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.progress = 0
        self.settled = False
        self._writer = EventWriter(provider)
        self._blocks = Blocks(self._writer)
        self._expected = choices
        self._raw = raw
        self._eof_is_end = dialect.eof_is_end
        self._strict = dialect.strict

    @property
    def done(self) -> bool:
        """True once the terminal event is out."""
        return self._writer.done

    def feed(self, frames: Sequence[Frame | Fault], /) -> list[Event]:
        """The events of these frames."""
        writer = self._writer
        for frame in frames:
            if writer.done:
                break
            if type(frame) is Frame and not self._raw and self._plain(frame):
                continue
            self._take(frame)
        return writer.take()

    def _take(self, frame: Frame | Fault) -> None:
        if type(frame) is Fault:
            self._break_off(frame.error)
            return
        if frame.exception:
            self._exception(frame)
            return
        if self._raw:
            self._writer.aside(RawFrame(frame.data, frame.event))
        self._frame(frame)

    def finish(self) -> list[Event]:
        """The bytes have ended cleanly: was the stream whole?"""
        if not self._writer.done:
            if self._ended_well() or (self._eof_is_end and self._writer.started):
                self._end()
            else:
                self._fail(error_info("truncated", f"the stream ended without {self._missing()}", phase="stream"))
        return self._writer.take()

    def fail(self, error: ErrorInfo) -> list[Event]:
        """The stream broke outside of the protocol. With the finish reason seen the answer was whole all the same."""
        if not self._writer.done:
            self._break_off(error)
        return self._writer.take()

    def note(self, code: str, message: str, detail: str | None = None) -> None:
        """Keep a diagnostic: something odd that did not stop the stream. Each kind is kept once."""
        if len(self.diagnostics) < MAX_DIAGNOSTICS and all(diagnostic.code != code for diagnostic in self.diagnostics):
            self.diagnostics.append(Diagnostic(code, message, detail))

    # --- what a protocol says

    @abstractmethod
    def _event(self, value: Json, frame: Frame) -> None:
        """What one object of the stream says."""

    def _plain(self, frame: Frame) -> bool:
        """The short way: True where the frame is one more piece of text for an open block, and was written. Its type proves it: no other passes."""
        return False

    def _ended_well(self) -> bool:
        """Whether the answer is whole as far as it was received."""
        return self.settled

    @abstractmethod
    def _end(self) -> None:
        """Write the good terminal."""

    def _missing(self) -> str:
        """What a whole stream would have ended with."""
        return "its finish reason"

    # --- what is the same everywhere

    def _frame(self, frame: Frame) -> None:
        value = self._value(frame)
        if value is not None:
            self._event(value, frame)

    def _value(self, frame: Frame) -> Json | None:
        """The frame's object; None where there is none, which is dealt with."""
        try:
            value = msgspec.json.decode(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return self._odd(frame)
        return value if isinstance(value, dict) else self._no_object(frame)

    def _odd(self, frame: Frame) -> Json | None:
        """A frame that the strict decoder refused."""
        data = frame.data.strip()
        if not data or data.startswith(b"[DONE]"):
            return None
        if not self._strict and (odd := frames_inside(frame)) is not None:
            code, inside = odd
            self.note(code, SAID[code])
            for one in inside:
                if not self._writer.done:
                    self._frame(one)
            return None
        try:
            value = tolerant_json.decode(data)
        except ValueError:
            if frame.terminated:
                self._fail(error_info("malformed", f"a frame is not JSON: {snippet(data)}", phase="stream"))
            else:
                self._break_off(error_info("truncated", f"the stream ended inside a frame: {snippet(data)}", phase="stream"))
            return None
        if b"\xef\xbf\xbd" not in data and "\ufffd" in data.decode("utf-8", "replace"):
            self.note("bad_utf8", "bytes that are not UTF-8 were replaced")
        return value if isinstance(value, dict) else self._no_object(frame)

    def _no_object(self, frame: Frame) -> Json | None:
        if self._strict:
            self._fail(error_info("malformed", f"a frame is no JSON object: {snippet(frame.data)}", phase="stream"))
            return None
        self.note("odd_frame", "a frame is no JSON object; it was left out", snippet(frame.data))
        return None

    def _break_off(self, error: ErrorInfo) -> None:
        if error.kind in _BROKEN_OFF and self.settled:
            self.note("broken_after_finish", "the connection broke after the finish reason", error.message)
            self._end()
        else:
            self._fail(error)

    def _exception(self, frame: Frame) -> None:
        """The frame says by its form that the provider failed; its event is the kind of failure."""
        try:
            told = tolerant_json.decode(frame.data)
        except ValueError:
            told = frame.data.decode("utf-8", "replace")
        self._in_band({"code": frame.event, **told} if isinstance(told, dict) else {"code": frame.event, "message": str(told)})

    def _fail(self, error: ErrorInfo, raw_finish_reason: str | None = None) -> None:
        if not self._writer.done:
            self._blocks.give_up()
            self._writer.fail(error, raw_finish_reason)

    def _in_band(self, payload: object) -> None:
        """The provider says in the stream that it failed."""
        self._fail(read_in_band(clean(payload)).with_(phase="stream"))

    def _finish_with(self, reason: FinishReason, raw: str | None, *, detail: str | None = None, cut: bool = False) -> None:
        """End well with one choice: close what is open, then the terminal. A `stop` after calls that may be run means the calls."""
        self._blocks.close_all(cut=cut)
        if reason == "stop" and self._blocks.calls.get(0):
            reason = "tool_calls"
        self._writer.finish([ChoiceEnd(0, reason, raw)], detail)


def text_of(value: object) -> str:
    """A field that holds text, "" for anything else."""
    return value if isinstance(value, str) else ""


def object_of(value: object) -> Json:
    """A field that holds an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    """A field that holds a list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def word_of(value: object) -> str | None:
    """A field that holds a name or an id, fit to be encoded; None for nothing."""
    return str(clean(value)) if isinstance(value, str) and value else None
