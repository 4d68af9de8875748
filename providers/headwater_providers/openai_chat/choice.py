"""One choice of a chat completion being read: its open block of prose, its tool calls, its finish reason."""

from __future__ import annotations

from typing import Protocol

from msgspec import Raw

from headwater_codecs.neutral import (
    ChoiceEnd,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from headwater_codecs.openai_chat.wire import ABSENT, CallPiece, ChunkChoice, Delta, FunctionPiece, Json
from headwater_codecs.tolerant_json import has_surrogates, join_surrogates
from headwater_providers.finish_reasons import BREAKING, is_absent, unified
from headwater_providers.openai_chat.citations import Citations
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.reasoning import ReasoningDetails, read_part, reasoning_text
from headwater_providers.openai_chat.think_tags import ThinkTags
from headwater_providers.openai_chat.tool_calls import ODDITIES, ToolCalls, says_nothing
from headwater_providers.writer import BlockEnd, EventWriter

_STARTS: dict[str, type[TextStart | ReasoningStart | RefusalStart]] = {"text": TextStart, "reasoning": ReasoningStart, "refusal": RefusalStart}
_DELTAS: dict[str, type[TextDelta | ReasoningDelta | RefusalDelta]] = {"text": TextDelta, "reasoning": ReasoningDelta, "refusal": RefusalDelta}


class Notes(Protocol):
    """Where oddities are noted."""

    progress: int

    def note(self, code: str, message: str, detail: str | None = None) -> None: ...


UNOPENED = -1  # in place of a block's index


class ChoiceState:
    """Reads the deltas of one choice and writes its events."""

    def __init__(self, number: int, writer: EventWriter, dialect: ChatDialect, notes: Notes) -> None:
        self.number = number
        self.raw_finish: str | None = None  # None until it is known
        self.wrong: str | None = None  # what makes the answer unreadable, after `close`: a call that never got a name
        self._writer = writer
        self._notes = notes
        self._kind = ""  # of the open block of prose, "" for none
        self._index = 0
        self._has_text = False  # whether the open block, or the last one, has a delta
        self._call_is_last = False  # nothing came after the newest call
        self._refused = False
        self._tags = ThinkTags(dialect.think_open == "implicit") if dialect.think_tags else None
        self._cumulative: dict[str, str] | None = {} if dialect.cumulative_deltas else None
        self._held: dict[str, str] = {}  # channel -> high surrogate whose other half has not come
        self._fields_seen = False
        self._pieces = 0  # of content
        self._pieces_at_finish = 0
        self._has_deltas = False  # a delta brought content: a whole `message` is a repetition
        # What few answers have is made when it comes.
        self._text: int | None = None  # the newest block of text
        self._sources: Citations | None = None
        self._calls: ToolCalls | None = None
        self._details: ReasoningDetails | None = None
        self._audio: int | None = None  # the open block
        self._audio_pieces: list[bytes] = []

    @property
    def sources(self) -> Citations:
        """Where the sources of this choice go."""
        if self._sources is None:
            self._sources = Citations(self._writer, self.number, self._text)
        return self._sources

    @property
    def plain(self) -> tuple[str, int] | None:
        """Kind and index of the block that a plain piece would just be one delta more for; `UNOPENED` where text would open one. Else None."""
        if self._held or self.raw_finish is not None:
            return None
        if not self._kind and self._calls is None:
            return "opening", UNOPENED
        if not self._has_text or self._kind not in ("text", "reasoning"):
            return None
        return self._kind, self._index

    def first_text(self, piece: str) -> int:
        """A plain piece of text opens the block; its index is given back."""
        self._pieces += 1
        self._open("text")
        self._has_text = self._has_deltas = True
        self._writer.out.append(TextDelta(self._index, piece))
        return self._index

    def feed(self, item: ChunkChoice, broken: bool = False) -> None:
        """One choice of a chunk: reasoning, text and refusal, tool calls, then the finish reason (OR-CCS-05).

        `broken`: an error came with it, so the reason completes nothing.
        """
        delta = item.delta
        if (item.message is not None or item.text) and not self._has_deltas and (delta is None or not _holds_content(delta)):
            if item.message is None:
                self._prose("text", item.text or "")
            elif self.raw_finish is None:  # behind the finish reason it is what was already said
                self._delta(item.message)
        if delta is not None:
            before = self._pieces
            self._delta(delta)
            self._has_deltas = self._has_deltas or self._pieces != before
        if item.finish_reason:
            self.finish(item.finish_reason, broken)

    def close(self, last: bool) -> None:
        """Close the open blocks, in index order. Done at the finish reason, and for the `last` time at the end, for what came after it."""
        if not (self._calls or self._details or self._sources or self._tags or self._held) and self._audio is None:  # nothing but prose
            if self._kind:
                self._writer.close(self._prose_end())
            return
        self.release()
        ends: list[BlockEnd] = []
        if self._calls is not None:
            self.wrong = self._calls.finish()
            ends += self._calls.ends(last=last, cut=self._call_is_last and unified(self.raw_finish) in BREAKING)
        if self._audio is not None:
            ends.append(self._audio_end())
        if self._kind:
            ends.append(self._prose_end())
        for end in sorted(ends, key=lambda end: end.index):
            self._writer.close(end)
        if self._details:  # a signature that came after its block was closed
            self._open("reasoning")
            self._close_prose()
        if last and self._sources is not None and self._sources.waiting:  # sources of an answer without text
            self._open("text")
            self._close_prose()

    def release(self) -> None:
        """Write what was held back: half a surrogate pair, the start of what might have been a tag."""
        for kind in list(self._held):
            del self._held[kind]
            self._channel(kind, "\ufffd")
        self._flush_tags()

    def give_up(self) -> None:
        """The stream failed: write what was received and not yet written, in blocks that end incomplete."""
        self.release()
        if self._calls is not None:
            self._calls.finish()
        if self._audio is not None:
            self._writer.close(self._audio_end(complete=False))
        if self._kind == "reasoning":
            self._writer.close(self._reasoning_end(complete=False))
            self._kind = ""

    def end(self) -> ChoiceEnd:
        """The choice's end: the unified reason beside the vendor's word."""
        reason = unified(self.raw_finish)
        calls = self._calls.calls if self._calls else []
        if reason == "tool_calls" and not calls:
            self._notes.note("tool_calls_without_call", f"the finish reason is {self.raw_finish}, but there is no tool call")
            reason = "stop"
        if reason == "stop" and calls and any(call.complete for call in calls):  # most answers have none
            reason = "tool_calls"
        elif reason == "stop" and self._refused:
            reason = "refusal"
        return ChoiceEnd(self.number, reason, self.raw_finish)

    def _delta(self, delta: Delta) -> None:
        if text := reasoning_text(delta):
            self._fields_seen = True
            self._prose("reasoning", text)
        if delta.reasoning_details:
            self._reasoning_details(delta.reasoning_details)
        content = delta.content
        if content:
            if isinstance(content, str):
                self._prose("text", content)
            else:
                self._parts(content)
        if delta.refusal:
            self._refused = True
            self._prose("refusal", delta.refusal)
        for piece in delta.tool_calls or ():
            self._call(piece)
        if delta.function_call is not None and not delta.tool_calls:  # some servers mirror one in the other
            self._function_call(delta.function_call)
        for note in delta.annotations or ():
            self.sources.annotate(note)
        for image in delta.images or ():
            self._opaque("image", bytes(image))
        if delta.audio is not ABSENT and bytes(delta.audio) != b"null":
            self._hear(bytes(delta.audio))

    def _parts(self, parts: list[Raw]) -> None:
        """Content as a list of typed parts (Mistral): thinking and text; anything else is kept as it is."""
        for raw in parts:
            kind, text = read_part(raw)
            self._fields_seen = self._fields_seen or kind == "reasoning"
            self._refused = self._refused or kind == "refusal"
            if kind in _STARTS:
                self._prose(kind, text)
            else:
                self._opaque(kind, bytes(raw))

    def _call(self, piece: CallPiece, legacy: bool = False) -> None:
        if says_nothing(piece):
            return
        self.release()
        self._close_prose()
        self._notes.progress += 1
        if self._calls is None:
            self._calls = ToolCalls(self._writer, self.number, self._cumulative is not None)
        odd = self._calls.feed(piece, legacy)
        if odd is not None:
            self._notes.note(odd, ODDITIES[odd])
        if odd not in ("late_arguments", "repeated_arguments"):
            self._pieces += 1
            self._call_is_last = True

    def _function_call(self, function: FunctionPiece) -> None:
        if self._calls is None or not self._calls.calls or self._calls.is_legacy:
            self._call(CallPiece(function=function), legacy=True)

    def _opaque(self, kind: str, raw: bytes) -> None:
        self.release()
        self._pieces += 1
        self._close_prose()
        self._leave_calls()
        index = self._writer.open(OpaqueStart(self._writer.next_index, kind, self.number))
        self._writer.close(OpaqueEnd(index, raw=raw))

    def _hear(self, piece: bytes) -> None:
        """A piece of speech: all of them are one block, which opens with the first."""
        self._pieces += 1
        self._notes.progress += 1
        if self._audio is None:
            self._leave_calls()
            self._audio = self._writer.open(OpaqueStart(self._writer.next_index, "audio", self.number))
        self._audio_pieces.append(piece)

    def _audio_end(self, complete: bool = True) -> OpaqueEnd:
        index, self._audio = self._audio, None
        pieces, self._audio_pieces = self._audio_pieces, []
        assert index is not None
        return OpaqueEnd(index, complete, b"[" + b",".join(pieces) + b"]")

    def _prose(self, kind: str, text: str) -> None:
        """A piece of text for a channel: undo repetition, join surrogates, sort out tags, write."""
        if not text:
            return
        self._pieces += 1
        if self._cumulative is not None:
            before = self._cumulative.get(kind, "")
            if before and text.startswith(before):
                self._cumulative[kind], text = text, text[len(before) :]
            else:
                self._cumulative[kind] = before + text
        if self._held and kind not in self._held:
            self.release()
        if self._held or has_surrogates(text):
            text, rest = join_surrogates(self._held.pop(kind, ""), text)
            if rest:
                self._held[kind] = rest
        if text:
            self._channel(kind, text)

    def _channel(self, kind: str, text: str) -> None:
        if self._tags is None:
            self._write(kind, text)
        elif kind == "text":
            for inside, piece in self._tags.feed(text, self._fields_seen):
                self._write("reasoning" if inside else "text", piece)
        else:
            self._flush_tags()
            self._write(kind, text)

    def _flush_tags(self) -> None:
        """Text held as the possible start of a tag comes before whatever follows it."""
        if self._tags is not None:
            for inside, piece in self._tags.finish(self._fields_seen):
                self._write("reasoning" if inside else "text", piece)

    def _write(self, kind: str, text: str) -> None:
        if self._kind != kind:
            self._open(kind)
        self._has_text = True
        self._writer.out.append(_DELTAS[kind](self._index, text))

    def _open(self, kind: str) -> None:
        self._close_prose()
        self._leave_calls()
        self._index = self._writer.open(_STARTS[kind](self._writer.next_index, self.number))
        self._kind = kind
        self._has_text = False
        if kind == "text":
            self._text = self._index
            if self._sources is not None:
                self._sources.text_opened(self._index)

    def _leave_calls(self) -> None:
        """A block that is no call opens."""
        if self._calls is not None:
            self._calls.settle()
            self._call_is_last = False

    def _close_prose(self) -> None:
        if self._kind:
            self._writer.close(self._prose_end())

    def _prose_end(self) -> BlockEnd:
        kind, self._kind = self._kind, ""
        if kind == "reasoning":
            return self._reasoning_end()
        return TextEnd(self._index) if kind == "text" else RefusalEnd(self._index)

    def _reasoning_end(self, complete: bool = True) -> ReasoningEnd:
        details, self._details = self._details, None
        return details.end(self._index, self._has_text, complete) if details else ReasoningEnd(self._index, complete)

    def _reasoning_details(self, details: list[Json]) -> None:
        """Details belong to the open reasoning block. Without one they wait for it, or make one without text at the end."""
        if self._details is None:
            self._details = ReasoningDetails()
        self._notes.progress += self._details.feed(details)
        if self._kind == "" and not self._pieces:
            self._open("reasoning")

    def finish(self, raw: str, broken: bool = False) -> None:
        """The reason behind the last content counts; it closes the blocks at once, the choice's own end waits for the terminal."""
        if is_absent(raw):
            return
        if self.raw_finish is None or self._pieces != self._pieces_at_finish:
            self.raw_finish = raw
        self._pieces_at_finish = self._pieces
        if not broken:
            self.close(last=False)


def _holds_content(delta: Delta) -> bool:
    return bool(delta.content or delta.tool_calls or delta.refusal or delta.function_call or reasoning_text(delta))
