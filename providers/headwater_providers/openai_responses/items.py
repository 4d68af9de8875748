"""One output item of a response being read: a message, reasoning, a call, or an item that is kept as it is.

The same text comes up to four times: in deltas, in a `done` of its part, in the item's own `done`, and in the terminal event. Whatever comes later
only adds what is missing (AMB-33); what differs is noted.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Raw

from headwater_codecs.neutral import Citation
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.blocks import Blocks, Prose
from headwater_providers.event_translator import Json, list_of, object_of, text_of, word_of
from headwater_providers.writer import EventWriter

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}  # the types that are tool calls, and the field of their arguments
_CALL_FIELDS = frozenset({"type", "call_id", "name", "arguments", "input", "status"})
_MESSAGE_FIELDS = ("id", "phase")


class Notes(Protocol):
    """Where oddities are noted."""

    progress: int

    def note(self, code: str, message: str, detail: str | None = None) -> None: ...


class Item:
    """An item. `number` tells it from the others, `type` may be known later than its first delta."""

    def __init__(self, number: int, blocks: Blocks, writer: EventWriter, notes: Notes) -> None:
        self.number = number
        self.type = ""
        self.id: str | None = None
        self.call_id: str | None = None
        self.name = ""
        self.output_index: int | None = None
        self.announced = False  # an event said that it begins
        self.done = False
        self.refused = False
        self._blocks = blocks
        self._writer = writer
        self._notes = notes
        self._texts: dict[tuple[Prose, int], list[str]] = {}
        self._arguments: list[str] = []
        self._opened = False  # the call's block, or the opaque one
        self._indexes: dict[int, int] = {}  # part of a message -> its block, for sources that come late
        self._last_part: int | None = None  # of the reasoning
        self._cited: set[bytes] = set()

    @property
    def call_is_open(self) -> bool:
        """Whether a call was announced and has not ended."""
        return self._opened and not self.done

    @property
    def arguments(self) -> str:
        """A call's arguments so far."""
        return "".join(self._arguments)

    @property
    def text(self) -> str:
        """The prose so far, without what sets parts apart."""
        return "".join(["".join(pieces) for pieces in self._texts.values()])

    def add(self, kind: Prose, part: int, text: str) -> int | None:
        """A piece of prose; the index of its block is given back. Parts of reasoning are set apart by a blank line (AMB-32)."""
        if not text:
            return None
        key = self.key(kind, part)
        if kind == "reasoning":
            if self._last_part not in (None, part) and key in self._blocks:
                self._blocks.write(key, kind, "\n\n")
            self._last_part = part
        elif kind == "refusal":
            self.refused = True
        self._texts.setdefault((kind, part), []).append(text)
        self._blocks.write(key, kind, text, item_id=self.id)
        block = self._blocks.get(key)
        if block is None:
            return None
        if kind == "text":
            self._indexes[part] = block.index
        return block.index if not block.held else None

    def texts(self, kind: Prose, part: int) -> list[str]:
        """The pieces of a part so far; whoever writes one past this object adds it here."""
        return self._texts.setdefault((kind, part), [])

    def key(self, kind: Prose, part: int) -> tuple[int, Prose, int]:
        """The key of a block of prose: reasoning is one block, the parts of a message are one each."""
        return (self.number, kind, 0 if kind == "reasoning" else part)

    def state(self, kind: Prose, part: int, text: str) -> None:
        """The whole text of a part: what of it has not come yet is added."""
        seen = "".join(self._texts.get((kind, part), ()))
        if text.startswith(seen):
            self.add(kind, part, text[len(seen) :])
        elif text and not seen.startswith(text):
            self._notes.note("text_differs", "the text of a done event differs from its deltas; the deltas stand")

    def add_arguments(self, piece: str) -> None:
        """A fragment of a call's arguments; it waits until the call's name is known."""
        if not piece:
            return
        self._notes.progress += 1
        if self._opened and not self._blocks.add_arguments(self.number, piece):
            self._notes.note("odd_delta", "arguments came for an item that is no call or has ended; they were left out")
        else:
            self._arguments.append(piece)

    def state_arguments(self, text: str) -> None:
        """A call's whole arguments."""
        seen = "".join(self._arguments)
        if text.startswith(seen):
            self.add_arguments(text[len(seen) :])
        elif text.strip():
            self._notes.note("arguments_differ", "the arguments of a done event differ from their deltas; the deltas stand")

    def announce(self, item: Json, raw: bytes) -> None:
        """What an item says of itself: its type, its ids, its name; a call or an opaque item opens."""
        self.announced = True
        self.type = text_of(item.get("type")) or self.type
        self.id = self.id or word_of(item.get("id"))
        self._notes.progress += 1
        if self.type in CALLS:
            self.call_id = self.call_id or word_of(item.get("call_id"))
            self.name = self.name or word_of(item.get("name")) or ""
            if self.name and self.call_id:
                self._open_call()
            if not self.done:
                self.state_arguments(arguments_of(item.get(CALLS[self.type])))
        elif self.type not in ("message", "reasoning") and not self._opened:
            self._opened = True
            block = self._blocks.open_opaque(self.number, self.type or "unknown", item_id=self.id)
            block.raw = raw  # in case that nothing better comes

    def _open_call(self) -> None:
        if not self._opened:
            self._opened = True
            kind = "custom" if self.type == "custom_tool_call" else "function"
            self._blocks.open_call(self.number, self.name, self.call_id or self.id, kind=kind, item_id=self.id)  # type: ignore[arg-type]
            for piece in self._arguments:
                self._blocks.add_arguments(self.number, piece)

    def conclude(self, item: Json, raw: bytes, cut: bool = False) -> None:
        """The item as it ended: what is missing is added, its blocks are closed. `cut`: the response was broken off."""
        again = self.done
        if not again:
            self.announce(item, raw)
        if self.type == "message":
            self._conclude_message(item)
        elif self.type == "reasoning":
            self._conclude_reasoning(item, raw, again)
        elif self.type in CALLS:
            self._conclude_call(item)
        elif (block := self._blocks.get(self.number)) is not None:
            block.raw = raw
        self.close(self._is_whole(item.get("status"), cut))

    def _is_whole(self, status: object, cut: bool) -> bool:
        if self.type not in CALLS or status == "completed":
            return True
        # Free text never shows that its end is missing, and neither do arguments that have not begun.
        return status != "incomplete" and not (cut and (self.type == "custom_tool_call" or not self._arguments))

    def close(self, complete: bool = True) -> None:
        """Close what is open of this item."""
        self.done = True
        for key in self._blocks.open_keys():
            if key == self.number or (isinstance(key, tuple) and key[0] == self.number):
                self._blocks.close(key, complete)

    def cite(self, part: int, annotation: object) -> None:
        """A source, sent once, for the text of this part."""
        if not isinstance(annotation, dict):
            return
        cited = clean(annotation)
        assert isinstance(cited, dict)
        raw = encode_json(cited)
        if raw in self._cited:
            return
        self._cited.add(raw)
        if part not in self._indexes:
            self._indexes[part] = self._blocks.open(self.key("text", part), "text", item_id=self.id).index
        kind = word_of(cited.get("type")) or "citation"
        title = word_of(cited.get("title")) or word_of(cited.get("filename"))
        self._writer.content(Citation(self._indexes[part], 0, kind, word_of(cited.get("url")), title, None, Raw(raw)))

    def _conclude_call(self, item: Json) -> None:
        if self.done:
            return
        if not self.name:
            self._notes.note("nameless_call", "a tool call never got a name; it was left out")
            return
        self._open_call()
        if more := {name: clean(value) for name, value in item.items() if name not in _CALL_FIELDS and value is not None}:
            self._set_meta(self.number, encode_json(more))

    def _conclude_message(self, item: Json) -> None:
        parts = [object_of(part) for part in list_of(item.get("content"))]
        kinds: list[Prose] = ["refusal" if part.get("type") == "refusal" else "text" for part in parts]
        numbers = {kind: iter(self._numbers(kind, [position for position, of in enumerate(kinds) if of == kind])) for kind in set(kinds)}
        for kind, part in zip(kinds, parts, strict=True):
            number = next(numbers[kind])
            self.state(kind, number, text_of(part.get(kind)))
            for annotation in list_of(part.get("annotations")):
                self.cite(number, annotation)
        if meta := {name: clean(item[name]) for name in _MESSAGE_FIELDS if item.get(name) is not None}:
            for key in self._blocks.open_keys():
                if isinstance(key, tuple) and key[:2] == (self.number, "text"):
                    self._set_meta(key, encode_json(meta))

    def _numbers(self, kind: Prose, positions: list[int]) -> list[int]:
        """The numbers under which parts were streamed: their positions, unless a server counted otherwise."""
        streamed = sorted(number for of, number in self._texts if of == kind)
        if set(streamed) <= set(positions):
            return positions
        beyond = max(*streamed, *positions, 0) + 1
        return [*streamed, *range(beyond, beyond + len(positions))][: len(positions)]

    def _conclude_reasoning(self, item: Json, raw: bytes, again: bool) -> None:
        for field in ("content", "summary"):
            # Some servers state under one name what they streamed under the other.
            elsewhere = "".join(["".join(pieces) for (_, part), pieces in self._texts.items() if (part < 0) is (field == "content")])
            for position, part in enumerate(list_of(item.get(field))):
                number = summary_part(position) if field == "summary" else position
                text = text_of(object_of(part).get("text"))
                if ("reasoning", number) in self._texts or text not in elsewhere:
                    self.state("reasoning", number, text)
        if again:
            return
        encrypted = text_of(clean(item.get("encrypted_content")))
        key = self.key("reasoning", 0)
        if key not in self._blocks and (encrypted or self.id):
            self._blocks.open(key, "reasoning", item_id=self.id)
        if (block := self._blocks.get(key)) is not None:
            block.data = encrypted or None
            block.redacted = bool(encrypted) and not self._texts
            block.meta = Raw(raw)

    def _set_meta(self, key: object, meta: bytes) -> None:
        block = self._blocks.get(key)
        if block is not None:
            block.meta = Raw(meta)


def summary_part(index: int) -> int:
    """The number of a part of a summary: not that of the reasoning's own part at this index."""
    return ~index


def arguments_of(value: object) -> str:
    """A call's arguments as text; some servers write the object itself (ADK-OAI-RES-05)."""
    if value is None:
        return ""
    return value if isinstance(value, str) else encode_json(clean(value)).decode()
