"""One choice of a chat completion being read: its open block of prose, its tool calls, its finish reason."""

from __future__ import annotations

from typing import Protocol

import msgspec

from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    FinishReason,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from headwater_codecs.openai_chat.wire import CallPiece, ChunkChoice, Delta, Json
from headwater_codecs.tolerant_json import has_surrogates, join_surrogates
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.reasoning import ReasoningDetails, reasoning_text, text_of
from headwater_providers.openai_chat.think_tags import ThinkTags
from headwater_providers.openai_chat.tool_calls import ToolCalls
from headwater_providers.writer import EventWriter

FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "end": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",  # Mistral
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "sensitive": "content_filter",  # Z.ai
    "safety": "content_filter",
    "refusal": "refusal",
    "error": "error",
    "network_error": "error",  # Z.ai
    "insufficient_system_resource": "error",  # DeepSeek
}
_STARTS: dict[str, type[TextStart | ReasoningStart | RefusalStart]] = {"text": TextStart, "reasoning": ReasoningStart, "refusal": RefusalStart}
_DELTAS: dict[str, type[TextDelta | ReasoningDelta | RefusalDelta]] = {"text": TextDelta, "reasoning": ReasoningDelta, "refusal": RefusalDelta}


class Notes(Protocol):
    """Where oddities are noted."""

    progress: int

    def note(self, code: str, message: str, detail: str | None = None) -> None: ...


class ChoiceState:
    """Reads the deltas of one choice and writes its events."""

    def __init__(self, number: int, writer: EventWriter, dialect: ChatDialect, notes: Notes) -> None:
        self.number = number
        self.raw_finish: str | None = None
        self._writer = writer
        self._notes = notes
        self._kind = ""  # of the open block of prose, "" for none
        self._index = 0
        self._has_text = False  # whether the open block has a delta
        self._calls = ToolCalls(writer, number)
        self._tags = ThinkTags(dialect.think_open == "implicit") if dialect.think_tags else None
        self._cumulative: dict[str, str] | None = {} if dialect.cumulative_deltas else None
        self._held: dict[str, str] = {}  # channel -> high surrogate whose other half has not come
        self._details = ReasoningDetails()
        self._fields_seen = False
        self._refused = False
        self._streamed = False  # a delta brought content: a whole `message` is a repetition
        self._sources: list[Citation] = []
        self._cited: set[tuple[str, str | None, bytes]] = set()
        self._text_index: int | None = None
        self._audio: list[bytes] = []
        self._wrong: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the finish reason is known."""
        return self.raw_finish is not None

    @property
    def wrong(self) -> str | None:
        """What makes the answer unreadable, after `close`: a call that never got a name."""
        return self._wrong

    @property
    def plain_index(self) -> int | None:
        """The open text block, if a plain piece of text would just be one delta more in it; else None."""
        return self._index if self._kind == "text" and not self._held and not self.finished else None

    def feed(self, item: ChunkChoice) -> None:
        """One choice of a chunk: reasoning, text and refusal, tool calls, then the finish reason (OR-CCS-05)."""
        delta = item.delta
        if item.message is not None and not self._streamed and (delta is None or not self._holds_content(delta)):
            delta = item.message
        if delta is not None:
            self._delta(delta)
        elif item.text:
            self._prose("text", item.text)
        if item.finish_reason:
            self._finish(item.finish_reason)

    def cite(self, sources: list[object]) -> None:
        """Sources given beside the text (Perplexity): each is sent once, for the text block."""
        for source in sources:
            url = source if isinstance(source, str) else str(source.get("url") or "") if isinstance(source, dict) else ""
            title = source.get("title") if isinstance(source, dict) else None
            self._citation(
                Citation(0, self.number, url=url, title=title if isinstance(title, str) else None, raw=msgspec.Raw(msgspec.json.encode(source)))
            )

    def close(self) -> None:
        """Close every open block, in index order. Done at the finish reason, and once more at the end for what came after it."""
        self.release()
        self._wrong = self._calls.finish()
        if self._audio:
            index = self._writer.open(OpaqueStart(self._writer.next_index, "audio", self.number))
            self._writer.close(OpaqueEnd(index, raw=b"[" + b",".join(self._audio) + b"]"))
            self._audio.clear()
        for end in self._calls.ends():
            if self._kind and end.index > self._index:
                self._close_prose()
            self._writer.close(end)
        self._close_prose()
        if self._details:  # a signature that came after its block was closed
            self._open("reasoning")
            self._close_prose()
        for source in self._sources:
            self._write_citation(source)
        self._sources.clear()

    def release(self) -> None:
        """Write what was held back: the start of what might have been a tag, half a surrogate pair."""
        if self._tags is not None:
            for inside, text in self._tags.finish(self._fields_seen):
                self._write("reasoning" if inside else "text", text)
        for kind in list(self._held):
            del self._held[kind]
            self._write(kind, "\ufffd")

    def end(self) -> ChoiceEnd:
        """The choice's end: the unified reason beside the vendor's word."""
        raw = self.raw_finish
        reason = FINISH.get(raw.lower(), "unknown") if raw is not None else "unknown"
        if reason == "tool_calls" and not self._calls.calls:
            self._notes.note("tool_calls_without_call", f"the finish reason is {raw}, but there is no tool call")
            reason = "stop"
        elif reason == "stop" and any(map(self._calls.is_complete, self._calls.calls)):
            reason = "tool_calls"
        elif reason == "stop" and self._refused:
            reason = "refusal"
        return ChoiceEnd(self.number, reason, raw)

    @staticmethod
    def _holds_content(delta: Delta) -> bool:
        return bool(delta.content or delta.tool_calls or delta.refusal or delta.function_call or reasoning_text(delta))

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
        if delta.function_call is not None:
            self._call(CallPiece(index=-1, function=delta.function_call))
        for note in delta.annotations or ():
            self._annotation(note)
        for image in delta.images or ():
            self._streamed = True
            self._close_prose()
            index = self._writer.open(OpaqueStart(self._writer.next_index, "image", self.number))
            self._writer.close(OpaqueEnd(index, raw=bytes(image)))
        if delta.audio is not None:
            self._audio.append(bytes(delta.audio))
            self._notes.progress += 1

    def _parts(self, parts: list[object]) -> None:
        """Content as a list of typed parts (Mistral): thinking and text; anything else is kept as it is."""
        for part in parts:
            kind = part.get("type") if isinstance(part, dict) else "text"
            if kind in ("thinking", "reasoning"):
                self._fields_seen = True
                self._prose("reasoning", text_of(part))
            elif kind in ("text", "output_text", None):
                self._prose("text", text_of(part))
            elif kind == "refusal" and isinstance(part, dict):
                self._refused = True
                self._prose("refusal", text_of(part.get("refusal")))
            else:
                self._close_prose()
                index = self._writer.open(OpaqueStart(self._writer.next_index, str(kind), self.number))
                self._writer.close(OpaqueEnd(index, raw=msgspec.json.encode(part)))

    def _call(self, piece: CallPiece) -> None:
        self._streamed = True
        self._notes.progress += 1
        self._flush_tags()
        self._close_prose()
        if not self._calls.feed(piece):
            self._notes.note("late_arguments", "a piece of a tool call came after the finish reason and was left out")

    def _prose(self, kind: str, text: str) -> None:
        """A piece of text for a channel: undo repetition, sort out tags, join surrogates, write."""
        if not text:
            return
        self._streamed = True
        if self._cumulative is not None:
            before = self._cumulative.get(kind, "")
            if before and text.startswith(before):
                self._cumulative[kind], text = text, text[len(before) :]
            else:
                self._cumulative[kind] = before + text
        if self._held or has_surrogates(text):
            text, rest = join_surrogates(self._held.pop(kind, ""), text)
            if rest:
                self._held[kind] = rest
        if kind == "text" and self._tags is not None:
            for inside, piece in self._tags.feed(text, self._fields_seen):
                self._write("reasoning" if inside else "text", piece)
        else:
            if kind != "text":
                self._flush_tags()
            self._write(kind, text)

    def _flush_tags(self) -> None:
        """Text held as the possible start of a tag comes before whatever follows it."""
        if self._tags is not None:
            for inside, piece in self._tags.finish(self._fields_seen):
                self._write("reasoning" if inside else "text", piece)

    def _write(self, kind: str, text: str) -> None:
        if not text:
            return
        if self._kind != kind:
            self._open(kind)
        self._has_text = True
        self._writer.out.append(_DELTAS[kind](self._index, text))

    def _open(self, kind: str) -> None:
        self._close_prose()
        self._index = self._writer.open(_STARTS[kind](self._writer.next_index, self.number))
        self._kind = kind
        self._has_text = False
        if kind == "text":
            self._text_index = self._index
            for source in self._sources:
                self._write_citation(source)
            self._sources.clear()

    def _close_prose(self) -> None:
        if self._kind == "text":
            self._writer.close(TextEnd(self._index))
        elif self._kind == "reasoning":
            self._writer.close(self._details.end(self._index, self._has_text))
            self._details = ReasoningDetails()
        elif self._kind == "refusal":
            self._writer.close(RefusalEnd(self._index))
        self._kind = ""

    def _reasoning_details(self, details: list[Json]) -> None:
        """Details belong to the open reasoning block. Without one they wait for it, or make one without text at the end."""
        self._notes.progress += self._details.feed(details)
        self._fields_seen = True
        if self._kind == "" and not self._streamed:
            self._open("reasoning")

    def _annotation(self, note: Json) -> None:
        body = note.get(str(note.get("type")))
        body = body if isinstance(body, dict) else note
        text = {name: value if isinstance(value := body.get(name), str) else None for name in ("url", "title", "content")}
        raw = msgspec.Raw(msgspec.json.encode(note))
        self._citation(Citation(0, self.number, str(note.get("type") or "url_citation"), text["url"], text["title"], text["content"], raw))

    def _citation(self, source: Citation) -> None:
        key = (source.kind, source.url, bytes(source.raw or b"") if source.kind != "url" else b"")
        if key in self._cited:
            return
        self._cited.add(key)
        if self._text_index is None:
            self._sources.append(source)
        else:
            self._write_citation(source)

    def _write_citation(self, source: Citation) -> None:
        self._writer.content(msgspec.structs.replace(source, index=self._text_index or 0))

    def _finish(self, raw: str) -> None:
        """The first finish reason counts; it closes the blocks at once, the choice's own end waits for the terminal."""
        if self.raw_finish is None:
            self.raw_finish = raw
        self.close()
