"""Tool calls, put together from the pieces that the vendors send.

No part of a piece can be relied on: the index may be missing or always 0, the id empty, null or new in each piece, the name repeated or cut.
The rules (an empty string and null equal absent everywhere):

1. An index is the key. But a new id *with a name* on it opens a new call, unless the call's arguments are begun and not yet whole.
2. An unknown index without id and name continues the newest call whose arguments are not whole.
3. Without an index: a known id continues its call, a new id opens one; a name opens one, unless the last call has the same name and
   arguments that are not whole, or has no name yet; with neither, the last call goes on.
4. A name grows while there are no arguments and the piece differs from it. The call starts (ToolCallStart) when its name is final: with the
   first argument, or at the end.
5. At the end empty arguments are `{}`; only a strict parse makes a call complete. Nothing is repaired.
"""

from __future__ import annotations

import uuid

import msgspec

from headwater_codecs.neutral import ToolCallDelta, ToolCallEnd, ToolCallStart
from headwater_codecs.neutral.events import CallKind
from headwater_codecs.openai_chat.wire import CallPiece, FunctionPiece
from headwater_codecs.tolerant_json import join_surrogates
from headwater_providers.writer import EventWriter

_NOTHING = FunctionPiece()


class Call:
    """One call being put together. `block` is its index in the stream once it has started."""

    __slots__ = ("block", "closed", "fragments", "held", "id", "kind", "name")

    def __init__(self, id: str | None, kind: CallKind) -> None:
        self.id = id
        self.kind: CallKind = kind
        self.name = ""
        self.fragments: list[str] = []
        self.held = ""  # a high surrogate whose other half has not come yet
        self.block: int | None = None
        self.closed = False

    @property
    def whole(self) -> bool:
        """Whether the arguments are one JSON value. Only asked where a piece is ambiguous, and cheap while they plainly are not."""
        if not self.fragments or self.fragments[-1].rstrip()[-1:] not in ("}", "]", '"', "l", "e"):
            return False
        self.fragments[:] = ["".join(self.fragments)]
        return is_json(self.fragments[0])


class ToolCalls:
    """The calls of one choice, in arrival order."""

    def __init__(self, writer: EventWriter, choice: int) -> None:
        self.calls: list[Call] = []
        self._writer = writer
        self._choice = choice
        self._by_index: dict[int, Call] = {}
        self._by_id: dict[str, Call] = {}

    def feed(self, piece: CallPiece) -> bool:
        """Take one piece: open or continue its call, and write what has become sure. False when it came after the call's end."""
        function = piece.function or piece.custom or _NOTHING
        name = function.name or None
        call = self._find(piece.index, piece.id or None, name, "custom" if piece.custom is not None or piece.type == "custom" else "function")
        if call.closed:
            return False
        if name and (not call.name or (not call.fragments and name != call.name)):
            call.name += name
        arguments = function.arguments if function.arguments is not None else function.input
        if arguments is None or arguments == "":
            return True
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        if call.held or not text.isascii():
            text, call.held = join_surrogates(call.held, text)
        if text:
            call.fragments.append(text)
            self._write(call, text)
        return True

    def finish(self) -> str | None:
        """The choice is over: start what waited for a name. Returns what is wrong with a call that never got one, else None."""
        for call in self.calls:
            if call.held:
                call.held = ""
                call.fragments.append("\ufffd")
                self._write(call, "\ufffd")
            if not call.name:
                return f"tool call {call.id or 'without id'} never got a name"
            if call.block is None:
                self._start(call)
        return None

    def ends(self) -> list[ToolCallEnd]:
        """The events that close the calls still open, in arrival order; they count as closed from here on."""
        ends = []
        for call in self.calls:
            if call.block is not None and not call.closed:
                call.closed = True
                ends.append(ToolCallEnd(call.block, complete=self.is_complete(call)))
        return ends

    @staticmethod
    def is_complete(call: Call) -> bool:
        """Whether the call may be run, once its stream ended by the rules: its arguments are JSON, or nothing at all (rule 5)."""
        text = "".join(call.fragments)
        return call.kind == "custom" or not text.strip() or is_json(text)

    def _write(self, call: Call, text: str) -> None:
        if call.block is None:
            if not call.name:
                return
            self._start(call)
        else:
            self._writer.out.append(ToolCallDelta(call.block, text))

    def _start(self, call: Call) -> None:
        call.id = call.id or f"call_{uuid.uuid4().hex[:24]}"
        call.block = self._writer.open(ToolCallStart(self._writer.next_index, call.id, call.name, self._choice, kind=call.kind))
        if call.fragments:
            self._writer.out.append(ToolCallDelta(call.block, "".join(call.fragments)))

    def _find(self, index: int | None, id: str | None, name: str | None, kind: CallKind) -> Call:
        call = self._continued(index, id, name)
        if call is None:
            call = Call(id, kind)
            self.calls.append(call)
        elif call.id is None and id and call.block is None:
            call.id = id  # an id that comes late, before the call started
        if index is not None:
            self._by_index[index] = call
        if id:
            self._by_id.setdefault(id, call)
        return call

    def _continued(self, index: int | None, id: str | None, name: str | None) -> Call | None:
        """The call that a piece continues, or None when it opens one (rules 1 to 3)."""
        last = self.calls[-1] if self.calls else None
        if index is None:
            if id:
                return self._by_id.get(id)
            if not name or last is None:
                return last
            return last if not last.name or (last.name == name and not last.whole) else None
        call = self._by_index.get(index)
        if call is None:
            if id or name:
                return self._by_id.get(id) if id else None
            return next((call for call in reversed(self.calls) if not call.whole), None)
        if id and name and call.id is not None and id != call.id:
            return call if call.fragments and not call.whole else None
        return call


def is_json(text: str) -> bool:
    """Whether the text is one JSON value, by a strict parse."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return True
