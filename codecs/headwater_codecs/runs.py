"""Blocks on a wire without borders between them: pieces of one kind that follow each other are one block, whatever block they were of."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from headwater_codecs.event_encoder import Json, as_object, encode_json
from headwater_codecs.gemini.wire import part_kind
from headwater_codecs.neutral.events import (
    ChoiceEnd,
    Citation,
    Event,
    OpaqueEnd,
    ReasoningDelta,
    ReasoningEnd,
    RefusalDelta,
    TextDelta,
    TextEnd,
    ToolCallDelta,
    ToolCallEnd,
)
from headwater_codecs.sequential import Sequencer
from headwater_codecs.settle import KINDS, BlockStart, Kind, Told, told_of
from headwater_codecs.tolerant_json import is_json
from headwater_codecs.wires import Wire


class _Run:
    """What is open in one choice."""

    def __init__(self) -> None:
        self.prose: Told | None = None
        self.text: Told | None = None  # the newest one: what sources are for
        self.call: Told | None = None  # that has no arguments yet
        self.call_is_last = False
        self.waiting: list[Citation] = []
        self.cited: set[bytes] = set()


class Runs:
    """Follows the events of a stream and makes the blocks that its reader will see. `wrote`: anything at all was said."""

    def __init__(self, wire: Wire, events: Sequence[Event]) -> None:
        self.wrote = False
        self._wire = wire
        self._blocks: list[Told] = []
        self._runs: dict[int, _Run] = {}
        self._told: dict[int, Told] = {}  # by the number that the events know it by
        self._breaking: dict[int, bool] = {}
        for event in Sequencer().feed(events) if wire.sequential else events:
            self._take(event)

    def end(self, failed: bool) -> list[Told]:
        """The blocks, once the stream is over."""
        wire = self._wire
        for choice, run in self._runs.items():
            if failed and run.prose is not None:
                run.prose.complete = False
            if failed and run.call is not None:
                run.call.complete = False
            calls = [block for block in self._blocks if block.kind == "tool_call" and block.choice == choice]
            if wire.calls == "pieces":
                for call in calls:
                    cut = run.call_is_last and call is calls[-1] and self._breaking.get(choice, False)
                    call.complete = not failed and _looks_complete(call, cut)
            if not failed and run.waiting:
                self._open(choice, "text")
        return self._blocks

    def _take(self, event: Event) -> None:
        if isinstance(event, ChoiceEnd):
            said = any(block.kind == "refusal" and block.pieces for block in self._blocks if block.choice == event.choice)
            stops = event.finish_reason == "refusal" and self._wire.refused == "last" and said  # then the refusal is told by its own field
            self._breaking[event.choice] = not stops and self._wire.reasons[event.finish_reason][0] in self._wire.breaking
        elif isinstance(event, BlockStart):
            if self._wire.choices or not event.choice:
                self._start(event)
        elif isinstance(event, Citation):
            if event.url is not None and self._wire.citations and (self._wire.choices or not event.choice):
                self._cite(event)
        elif (block := self._told.get(getattr(event, "index", -1))) is not None:
            self._inside(event, block)

    def _start(self, event: BlockStart) -> None:
        kind = KINDS[type(event)]
        if kind == "refusal" and not self._wire.refusals:
            kind = "text"
        block = self._told[event.index] = told_of(event, kind)
        if self._wire.calls == "pieces" and kind != "opaque":
            self.wrote = True
            if kind == "tool_call":
                block.item_id = None
                self._call_piece(block)
                self._blocks.append(block)

    def _inside(self, event: Event, block: Told) -> None:
        if isinstance(event, TextDelta | ReasoningDelta | RefusalDelta):
            self._write(block.choice, block.kind, event.text)
        elif isinstance(event, TextEnd | ReasoningEnd):
            if event.signature and block.kind in self._wire.signatures:
                self._sign(block.choice, block.kind, event.signature)
        elif isinstance(event, ToolCallDelta):
            block.pieces.append(event.arguments)
            if self._wire.calls == "pieces":
                self._call_piece(block)
        elif isinstance(event, ToolCallEnd):
            self._end_call(block, event)
        elif isinstance(event, OpaqueEnd):
            item = as_object(event.raw)
            if self._wire.opaque == "part" and event.complete and item is not None and part_kind(item) == block.opaque_kind:
                block.raw, block.item_id, block.complete = one_line(event.raw), None, True
                self._part(block)

    def _run(self, choice: int) -> _Run:
        return self._runs.setdefault(choice, _Run())

    def _open(self, choice: int, kind: Kind) -> Told:
        run = self._run(choice)
        block = run.prose = Told(kind, choice)
        run.call_is_last = False
        if kind == "text":
            run.text = block
            block.citations, run.waiting = run.waiting, []
        self._blocks.append(block)
        return block

    def _write(self, choice: int, kind: Kind, text: str) -> None:
        self.wrote = True
        run = self._run(choice)
        run.call = None
        block = run.prose
        if block is None or block.kind != kind or block.signature is not None:
            block = self._open(choice, kind)
        block.pieces.append(text)

    def _sign(self, choice: int, kind: Kind, signature: str) -> None:
        """A signature without text is for the block that is open, whatever its kind."""
        self.wrote = True
        run = self._run(choice)
        run.call = None
        (run.prose or self._open(choice, kind)).signature = signature

    def _call_piece(self, block: Told) -> None:
        run = self._run(block.choice)
        run.prose = None
        run.call_is_last = True

    def _end_call(self, block: Told, event: ToolCallEnd) -> None:
        wire = self._wire
        if wire.calls == "pieces":
            block.broken = not event.complete
            if not block.pieces and event.complete and block.call_kind == "function":
                block.pieces.append("{}")  # clients parse what they were sent
                self._call_piece(block)
            return
        text = block.text
        args = {"input": text} if block.call_kind == "custom" else as_object((text.strip() or "{}").encode())
        if args is None or not event.complete:
            return
        block.call_kind, block.item_id, block.pieces = "function", None, [encode_json(args).decode()] if args else []
        block.signature = event.signature or None if "tool_call" in wire.signatures else None
        self._part(block)
        if not args and wire.empty_calls_stay_open:
            self._run(block.choice).call = block

    def _part(self, block: Told) -> None:
        """A block that is written whole."""
        self.wrote = True
        run = self._run(block.choice)
        run.prose = run.call = None
        self._blocks.append(block)

    def _cite(self, event: Citation) -> None:
        self.wrote = True
        run = self._run(event.choice)
        source = _note(event) if self._wire.citations == "note" else _web(event)
        raw = bytes(source.raw or b"")
        if raw in run.cited:
            return
        run.cited.add(raw)
        if run.text is not None:
            run.text.citations.append(source)
        elif self._wire.citations == "note":
            run.waiting.append(source)
        else:
            self._open(event.choice, "text").citations.append(source)


def one_line(raw: bytes) -> bytes:
    """A frame ends with its line: JSON that has several is written anew."""
    return encode_json(as_object(raw)) if b"\n" in raw or b"\r" in raw else raw


def _looks_complete(call: Told, cut: bool) -> bool:
    """Whether a call's own arguments say so: those that begin nothing may be missing where the answer was cut behind them."""
    text = call.text
    return not cut if call.call_kind == "custom" or not text.strip() else is_json(text)


def _note(event: Citation) -> Citation:
    body: Json = {"url": event.url}
    if event.title is not None:
        body["title"] = event.title
    return Citation(0, event.choice, "url_citation", event.url, event.title, None, Raw(encode_json({"type": "url_citation", "url_citation": body})))


def _web(event: Citation) -> Citation:
    body: Json = {"uri": event.url}
    if event.title:
        body["title"] = event.title
    return Citation(0, event.choice, "web", event.url or None, event.title or None, None, Raw(encode_json({"web": body})))
