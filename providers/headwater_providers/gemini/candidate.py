"""One candidate of a Gemini answer being read: its parts become blocks.

A block of text or thought goes on while parts of its kind come, and ends with one that brings another signature. A call comes whole, as a name whose
arguments follow in a nameless part, or progressively, value by value; then its arguments are sent once, at its end.
"""

from __future__ import annotations

from typing import Protocol

from headwater_codecs.gemini.wire import part_kind
from headwater_codecs.neutral import ChoiceEnd
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.blocks import Blocks, OpenBlock, Prose
from headwater_providers.event_translator import Json, list_of, object_of, text_of, word_of
from headwater_providers.gemini.finish_reasons import FINISH
from headwater_providers.gemini.json_paths import joined, put
from headwater_providers.gemini.sources import Sources
from headwater_providers.writer import EventWriter

_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


class Notes(Protocol):
    """Where oddities are noted."""

    progress: int

    def note(self, code: str, message: str, detail: str | None = None) -> None: ...


class Candidate:
    """Reads the parts of one candidate."""

    def __init__(self, number: int, blocks: Blocks, writer: EventWriter, notes: Notes) -> None:
        self.raw_finish: str | None = None
        self.detail: str | None = None
        self._number = number
        self._blocks = blocks
        self._notes = notes
        self._prose = (number, "prose")
        self._call = (number, "call")
        self._args: Json | None = None  # of the progressive call that is open
        self._text_index: int | None = None  # the newest block of text: what sources are for
        self._sources = Sources(number, writer)

    @property
    def open_text(self) -> int | None:
        """The index of the open block of text, if a plain piece would just be one delta more in it."""
        block = self._blocks.get(self._prose)
        plain = block is not None and block.kind == "text" and block.signature is None and not block.held and self._call not in self._blocks
        return block.index if plain and block is not None else None

    def part(self, part: Json, raw: bytes) -> None:
        """One part."""
        signature = word_of(part.get("thoughtSignature")) or word_of(part.get("thought_signature"))
        text = part.get("text")
        call = part.get("functionCall")
        if isinstance(call, dict):
            if text:
                self._write(part, text_of(text), None)
            self._function(call, signature)
        elif isinstance(text, str):
            self._write(part, text, signature)
        elif kind := part_kind(part):
            self._close_call()
            self._close_prose()
            block = self._blocks.open_opaque((self._number, "opaque"), str(clean(kind)), self._number)
            block.raw = raw
            self._blocks.close((self._number, "opaque"))
        elif signature is not None:
            self._write(part, "", signature)

    def _write(self, part: Json, text: str, signature: str | None) -> None:
        if not text and signature is None:
            return  # ADK-AGG-05
        self._close_call()
        kind: Prose = "reasoning" if part.get("thought") is True else "text"
        block = self._blocks.get(self._prose)
        if block is not None and not text:
            pass  # a signature alone is the open block's (B199)
        elif block is None or block.kind != kind or (block.signature is not None and text):
            block = self._open_text() if kind == "text" else self._blocks.open(self._prose, kind, self._number)
        self._blocks.write(self._prose, block.kind, text, self._number)  # type: ignore[arg-type]  # a block of prose
        if signature is not None:
            self._notes.progress += 1
            block.signature = signature

    def _function(self, call: Json, signature: str | None) -> None:
        name = word_of(call.get("name"))
        args = call.get("args")
        going_on = call.get("willContinue") is True
        progressive = going_on or "partialArgs" in call
        if name is not None:
            if not (progressive and self._args is not None and self._is_same(name, call)):
                self._close_call()
                self._close_prose()
                self._blocks.open_call(self._call, name, word_of(call.get("id")), choice=self._number)
                self._args = {} if progressive else None
        elif self._call not in self._blocks:
            if args or progressive:
                self._notes.note("nameless_call", "arguments came for no function call; they were left out")
            return
        block = self._blocks.get(self._call)
        assert block is not None
        if signature is not None and block.signature is None:
            block.signature = signature
        self._notes.progress += 1
        if progressive:
            if self._args is None:
                self._args = {}
            for piece in list_of(call.get("partialArgs")):
                self._put(self._args, object_of(piece))
        if isinstance(args, dict) and args:
            if self._args is not None:
                self._args.update(args)
            else:
                self._blocks.add_arguments(self._call, encode_json(clean(args)).decode())
        if not going_on and (name is None or args or progressive):
            self._close_call()

    def _is_same(self, name: str, call: Json) -> bool:
        """Whether a progressive piece with a name belongs to the call that is open."""
        block = self._blocks.get(self._call)
        id = word_of(call.get("id"))
        return block is not None and block.name == name and (id is None or id == block.id)

    def _put(self, args: Json, piece: Json) -> None:
        path = text_of(piece.get("jsonPath"))
        name = next((name for name in _VALUES if name in piece and piece[name] is not None), None)
        if not path or (name is None and "nullValue" not in piece):
            return
        value = None if name in (None, "nullValue") else piece[name or ""]
        if not put(args, path, value):
            self._notes.note("odd_path", "a piece of arguments has a path that fits nowhere; it was left out", word_of(path[:200]))

    def _close_call(self, complete: bool = True) -> None:
        if self._call in self._blocks:
            if self._args is not None:
                if self._args:
                    self._blocks.add_arguments(
                        self._call, encode_json(clean(joined(self._args))).decode()
                    )  # cleaned when whole: pieces may part a character
                self._args = None
            self._blocks.close(self._call, complete)

    def _close_prose(self) -> None:
        if self._prose in self._blocks:
            self._blocks.close(self._prose)

    def sources(self, candidate: Json) -> None:
        """Where the text comes from: grounding and citations, each once."""
        self._sources.read(candidate, self._cited_index)
        block = self._blocks.get(self._prose)
        if block is not None and block.kind == "text":
            self._lay_beside(block)
        elif self.raw_finish is not None:
            self._keep_beside()

    def _cited_index(self) -> int:
        """The newest block of text, open or not: what sources are for."""
        return self._open_text().index if self._text_index is None else self._text_index

    def _open_text(self) -> OpenBlock:
        block = self._blocks.open(self._prose, "text", self._number)
        self._text_index = block.index
        self._lay_beside(block)
        return block

    def _lay_beside(self, block: OpenBlock) -> None:
        """What is known beside the text goes into its block, until that ends."""
        block.meta, self._sources.meta = self._sources.meta or block.meta, None

    def _keep_beside(self) -> None:
        """What came when no text was open, and none follows: a block without text has it."""
        if self._sources.meta is not None:
            self._open_text()
            self._close_prose()

    def finish(self, raw: str, detail: str | None) -> None:
        """The finish reason came: everything is closed. A progressive call that never ended is cut."""
        self.raw_finish = raw
        self.detail = detail or self.detail
        self._close_call(complete=self._args is None)
        self._close_prose()
        self._keep_beside()

    def cut(self) -> None:
        """The stream failed: a progressive call has what was received, and is incomplete."""
        self._close_call(complete=False)

    def end(self) -> ChoiceEnd:
        """The candidate's end; a `STOP` behind calls means the calls."""
        reason = FINISH.get(self.raw_finish or "", "unknown")
        if reason == "stop" and self._blocks.calls.get(self._number):
            reason = "tool_calls"
        return ChoiceEnd(self._number, reason, self.raw_finish)
