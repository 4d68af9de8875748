"""The open blocks of a stream, under the provider's own keys: what a translator says of a block becomes lawful events.

A block of prose opens with its first text (or signature), a call or an opaque item when it is announced. Half surrogate pairs are held until
the other half comes. Arguments are complete when a strict parse says so; none at all are `{}`.
"""

from __future__ import annotations

import uuid
from collections.abc import Hashable
from typing import Literal

from msgspec import Raw

from headwater_codecs.neutral import (
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
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from headwater_codecs.neutral.events import CallKind
from headwater_codecs.tolerant_json import clean, has_surrogates, is_json, join_surrogates
from headwater_providers.writer import BlockEnd, EventWriter

Prose = Literal["text", "reasoning", "refusal"]
_STARTS: dict[Prose, type[TextStart | ReasoningStart | RefusalStart]] = {"text": TextStart, "reasoning": ReasoningStart, "refusal": RefusalStart}
_DELTAS: dict[Prose, type[TextDelta | ReasoningDelta | RefusalDelta]] = {"text": TextDelta, "reasoning": ReasoningDelta, "refusal": RefusalDelta}


class OpenBlock:
    """A block that is open; `signature`, `data`, `meta` and `raw` go into its end."""

    __slots__ = ("call_kind", "choice", "data", "fragments", "held", "id", "index", "kind", "meta", "name", "raw", "redacted", "signature")

    def __init__(self, kind: str, index: int, choice: int) -> None:
        self.kind = kind
        self.index = index
        self.choice = choice
        self.fragments: list[str] = []  # of a call's arguments
        self.held = ""  # a high surrogate whose other half has not come
        self.signature: str | None = None
        self.redacted = False
        self.data: str | None = None
        self.meta: Raw | None = None
        self.raw = b""
        self.id = ""
        self.name = ""
        self.call_kind: CallKind = "function"

    @property
    def arguments(self) -> str:
        """A call's arguments so far."""
        return "".join(self.fragments)


class Blocks:
    """Opens, fills and closes blocks; `calls` counts per choice those that may be run."""

    def __init__(self, writer: EventWriter) -> None:
        self.calls: dict[int, int] = {}
        self.cut_calls = 0  # calls that ended incomplete
        self._writer = writer
        self._open: dict[Hashable, OpenBlock] = {}
        self._ids: set[str] = set()

    def __contains__(self, key: object) -> bool:
        return key in self._open

    def __len__(self) -> int:
        return len(self._open)

    def get(self, key: Hashable) -> OpenBlock | None:
        """The open block of this key."""
        return self._open.get(key)

    def open_keys(self) -> list[Hashable]:
        """The keys of the open blocks, in the order in which they were opened."""
        return list(self._open)

    def write(self, key: Hashable, kind: Prose, text: str, choice: int = 0, item_id: str | None = None) -> None:
        """One more piece of prose; it opens its block. Another kind under the same key closes the block and opens a new one."""
        if not text:
            return
        block = self._open.get(key)
        if block is None or block.kind != kind:
            block = self.open(key, kind, choice, item_id)
        if block.held or has_surrogates(text):
            text, block.held = join_surrogates(block.held, text)
            if not text:
                return
        self._writer.out.append(_DELTAS[kind](block.index, text))

    def more(self, key: Hashable, text: str) -> int | None:
        """One more piece for the open block of text: its index. None, and nothing written, where there is none, or half a character is held."""
        block = self._open.get(key)
        if block is None or block.kind != "text" or block.held:
            return None
        if text:
            self._writer.out.append(TextDelta(block.index, text))
        return block.index

    def open(self, key: Hashable, kind: Prose, choice: int = 0, item_id: str | None = None) -> OpenBlock:
        """Open a block of prose, whether it will have text or not."""
        if key in self._open:
            self.close(key)
        index = self._writer.open(_STARTS[kind](self._writer.next_index, choice, item_id))
        block = self._open[key] = OpenBlock(kind, index, choice)
        return block

    def open_call(
        self, key: Hashable, name: str, id: str | None = None, *, kind: CallKind = "function", choice: int = 0, item_id: str | None = None
    ) -> OpenBlock:
        """Open a tool call. A missing id is made up, and so is one that another call has."""
        if key in self._open:
            self.close(key)
        if not id or id in self._ids:
            id = f"call_{uuid.uuid4().hex[:24]}"
        self._ids.add(id)
        index = self._writer.open(ToolCallStart(self._writer.next_index, id, name, choice, item_id, kind))
        block = self._open[key] = OpenBlock("tool_call", index, choice)
        block.call_kind, block.id, block.name = kind, id, name
        return block

    def add_arguments(self, key: Hashable, fragment: str) -> bool:
        """One more fragment of a call's arguments. False where no call is open under this key: nothing was written."""
        block = self._open.get(key)
        if block is None or block.kind != "tool_call":
            return False
        if not fragment:
            return True
        if block.held or has_surrogates(fragment):
            fragment, block.held = join_surrogates(block.held, fragment)
            if not fragment:
                return True
        block.fragments.append(fragment)
        self._writer.out.append(ToolCallDelta(block.index, fragment))
        return True

    def open_opaque(self, key: Hashable, kind: str, choice: int = 0, item_id: str | None = None) -> OpenBlock:
        """Open an item that is kept as it is."""
        if key in self._open:
            self.close(key)
        index = self._writer.open(OpaqueStart(self._writer.next_index, str(clean(kind)), choice, item_id))
        block = self._open[key] = OpenBlock("opaque", index, choice)
        return block

    def close(self, key: Hashable, complete: bool = True) -> None:
        """Close the block. `complete=False`: something broke it off; a call is complete only if its arguments are too."""
        block = self._open.pop(key)
        if block.held:
            self._release(block)
        self._writer.close(self._end(block, complete))

    def close_all(self, cut: bool = False) -> None:
        """Close every block, in the order of their indexes. `cut`: the answer was broken off, so a call without arguments may lack them."""
        for key in sorted(self._open, key=lambda key: self._open[key].index):
            block = self._open[key]
            self.close(key, complete=not (cut and block.kind == "tool_call" and not block.fragments))

    def give_up(self) -> None:
        """The stream failed: what was held is written, and what only an end can carry; the blocks end incomplete."""
        for key in sorted(self._open, key=lambda key: self._open[key].index):
            self.close(key, complete=False)

    def _release(self, block: OpenBlock) -> None:
        block.held = ""
        if block.kind == "tool_call":
            block.fragments.append("\ufffd")
            self._writer.out.append(ToolCallDelta(block.index, "\ufffd"))
        elif block.kind in ("text", "reasoning", "refusal"):
            self._writer.out.append(_DELTAS[block.kind](block.index, "\ufffd"))  # type: ignore[index]  # just checked

    def _end(self, block: OpenBlock, complete: bool) -> BlockEnd:
        index, signature, meta = block.index, block.signature, block.meta
        if block.kind == "text":
            return TextEnd(index, complete, signature, meta)
        if block.kind == "reasoning":
            return ReasoningEnd(index, complete, signature, block.redacted, block.data, meta)
        if block.kind == "refusal":
            return RefusalEnd(index, complete)
        if block.kind == "opaque":
            return OpaqueEnd(index, complete, block.raw)
        if complete and block.call_kind == "function":
            arguments = block.arguments
            complete = not arguments.strip() or is_json(arguments)
        if complete:
            self.calls[block.choice] = self.calls.get(block.choice, 0) + 1
        else:
            self.cut_calls += 1
        return ToolCallEnd(index, complete, signature, meta)
