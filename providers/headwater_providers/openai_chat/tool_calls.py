"""Tool calls, put together from the pieces that the vendors send.

No part of a piece can be relied on: the index may be missing, always 0 or counting the pieces; the id empty, null or new in each piece; the
name repeated or cut. The rules (an empty string and null equal absent everywhere):

1. An index is the key. But a new id *with a name* on it opens a new call, unless the call's arguments are begun and not yet whole.
2. An unknown index without id and name continues the newest call whose arguments are not whole.
3. Without an index: a known id continues its call, a new id opens one; a name opens one, unless the last call has the same name and
   arguments that are not whole, or has no name yet; with neither, the last call goes on.
4. A name grows while there are no arguments and the piece differs from it. The call starts (ToolCallStart) when its name is final: with the
   first argument, when something else follows, or at the end.
5. At the end empty arguments are `{}`; only a strict parse makes a call complete. Nothing is repaired.

Where these would glue two calls together or tear one apart, the arguments themselves tell, since they are one JSON object:

6. Whole arguments take nothing more. The same once again is a repetition and left out; a name with other arguments is another call, whatever
   its index and id say.
7. Arguments that are begun and not whole are gone on with: by the call's own id under another index, by a new id without a name, and by the
   same name with a piece that cannot begin an object.
8. `{}` as the first piece may stand in for arguments still to come, and `null` for none: both wait for what follows.
"""

from __future__ import annotations

import uuid
from typing import Literal

from headwater_codecs.neutral import ToolCallDelta, ToolCallEnd, ToolCallStart
from headwater_codecs.openai_chat.wire import CallPiece, FunctionPiece
from headwater_codecs.tolerant_json import encode_json, join_surrogates
from headwater_providers.openai_chat.call import Call
from headwater_providers.writer import EventWriter

Oddity = Literal["late_arguments", "repeated_arguments", "repeated_call_id"]
ODDITIES: dict[Oddity, str] = {
    "late_arguments": "a piece of a tool call came after the call's end and was left out",
    "repeated_arguments": "the whole arguments of a tool call came once more and were left out",
    "repeated_call_id": "two tool calls have the same id: the later one got an id of its own",
}
LEGACY = "function_call"  # the key of the one call that the old field can hold
_NOTHING = FunctionPiece()
_NO_ID = frozenset({"null", "none"})  # Mistral writes the absent id so


class ToolCalls:
    """The calls of one choice, in arrival order. With `cumulative`, names and arguments repeat what they were so far."""

    def __init__(self, writer: EventWriter, choice: int, cumulative: bool = False) -> None:
        self.calls: list[Call] = []
        self._writer = writer
        self._choice = choice
        self._cumulative = cumulative
        self._by_key: dict[int | str, Call] = {}
        self._by_id: dict[str, Call] = {}

    @property
    def is_legacy(self) -> bool:
        """Whether the old field brought the calls."""
        return LEGACY in self._by_key

    def feed(self, piece: CallPiece, legacy: bool = False) -> Oddity | None:
        """Take one piece: open or continue its call, and write what has become sure. Returns what was odd about it, if anything."""
        custom = piece.custom is not None or piece.type == "custom"
        function = piece.function or piece.custom or _NOTHING
        name = _given(function.name or piece.name)
        text = _arguments(function, piece)
        id = _given(piece.id)
        if id is not None and id.lower() in _NO_ID:
            id = None
        key = LEGACY if legacy else piece.index
        call = self._continued(key, id, name, text)
        odd: Oddity | None = None
        if call is None:
            if id is None and name is None and not text.strip():
                return None
            self.settle()
            call = Call("custom" if custom else "function")
            self.calls.append(call)
            odd = self._identify(call, id)
            if id is not None:
                self._by_id[id] = call
        elif call.block is None:
            if custom:
                call.kind = "custom"
            if call.given is None:
                odd = self._identify(call, id)  # an id that comes late, before the call started
        if id is not None:
            self._by_id.setdefault(id, call)
        if key is not None:
            self._by_key[key] = call
        if piece.extra_content is not None:
            call.signature = _signature(piece.extra_content) or call.signature
        if name is not None:
            call.add_name(name, self._cumulative)
        return self._take(call, text) or odd

    def settle(self) -> None:
        """Something else follows: a name is final, and a placeholder was all that there is. Keeps the order in which things came."""
        for call in self.calls:
            if call.block is None and call.name:
                self._start(call)
            if call.waiting:
                waited, call.waiting = call.waiting, ""
                if waited.strip() != "null":
                    self._append(call, waited)

    def finish(self) -> str | None:
        """The choice is over: start what waited for a name. Returns what is wrong with a call that never got one, else None."""
        self.settle()
        wrong = None
        for call in self.calls:
            if call.held:
                call.held = ""
                self._append(call, "\ufffd")
            if call.block is None:
                wrong = wrong or f"tool call {call.id or 'without id'} never got a name"
        return wrong

    def ends(self, *, last: bool, cut: bool) -> list[ToolCallEnd]:
        """The events that close the calls still open, in arrival order; they count as closed from here on.

        Before the `last` time, calls that may still get arguments stay open: some relays put the finish reason on the first chunk. `cut`:
        the choice ended because something broke it off, so its newest call may lack what nobody can see missing.
        """
        ends = []
        for call in self.calls:
            if call.block is None or call.closed or not (last or call.kind == "custom" or call.whole):
                continue
            call.closed = True
            call.complete = call.is_complete(cut and call is self.calls[-1])
            ends.append(ToolCallEnd(call.block, complete=call.complete, signature=call.signature))
        return ends

    def _identify(self, call: Call, id: str | None) -> Oddity | None:
        """Give the call its id. One that another call has is not taken: results are told apart by it."""
        call.given = id
        if id is not None and id in self._by_id:
            return "repeated_call_id"
        call.id = id
        return None

    def _take(self, call: Call, text: str) -> Oddity | None:
        if not text:
            return None
        if self._cumulative and (text := call.new_part(text)) == "":
            return None
        if call.held or not text.isascii():
            text, call.held = join_surrogates(call.held, text)
        if call.kind == "function":
            if call.closed or call.whole:
                if not text.strip() or call.repeats(text):
                    return "repeated_arguments" if text.strip() else None
                if call.closed:
                    return "late_arguments"
            text = call.hold_placeholder(text)
        elif call.closed:
            return "late_arguments"
        if call.block is None and call.name:
            self._start(call)
        if text:
            self._append(call, text)
        return None

    def _append(self, call: Call, text: str) -> None:
        call.fragments.append(text)
        if call.block is not None:
            self._writer.out.append(ToolCallDelta(call.block, text))

    def _start(self, call: Call) -> None:
        call.id = call.id or f"call_{uuid.uuid4().hex[:24]}"
        call.block = self._writer.open(ToolCallStart(self._writer.next_index, call.id, call.name, self._choice, kind=call.kind))
        if call.fragments:
            self._writer.out.append(ToolCallDelta(call.block, "".join(call.fragments)))

    def _continued(self, key: int | str | None, id: str | None, name: str | None, text: str) -> Call | None:
        """The call that a piece continues, or None when it opens one."""
        if key is None:
            return self._without_key(id, name, text)
        call = self._by_key.get(key)
        if call is None:
            return self._under_new_key(id, name, text)
        if name is None:
            return call
        if id is not None and id != call.given and (call.given is not None or call.block is not None):
            again = call.given is None and call.whole and call.repeats(text)
            return call if call.must_go_on or again else None  # rule 1
        return None if not self._cumulative and call.is_other(name, text) else call  # rule 6

    def _under_new_key(self, id: str | None, name: str | None, text: str) -> Call | None:
        known = self._by_id.get(id) if id is not None else None
        if known is not None:
            same = name is None or (not known.whole and (not known.name or known.name == name))
            return known if same else None  # rules 6 and 7
        newest = self.calls[-1] if self.calls else None
        if id is None and name is None:
            return next((call for call in reversed(self.calls) if call.takes_more), None)  # rule 2
        return newest if newest is not None and newest.goes_on_with(name, text, id is not None) else None

    def _without_key(self, id: str | None, name: str | None, text: str) -> Call | None:
        last = self.calls[-1] if self.calls else None
        known = self._by_id.get(id) if id is not None else None
        if known is not None:
            return None if name is not None and known.is_other(name, text) else known
        if last is None:
            return None
        if id is not None:
            return last if last.goes_on_with(name, text, True) else None
        if name is None or not last.name:
            return last
        return last if last.name == name and last.takes_more else None  # rule 3


def says_nothing(piece: CallPiece) -> bool:
    """Whether the piece is a place that nothing stands in: no id, no name, no arguments."""
    function = piece.function or piece.custom or _NOTHING
    said = function.arguments not in (None, "") or function.name or piece.id or function.input or piece.name or piece.extra_content
    return not said and piece.arguments in (None, "")


def _given(value: str | None) -> str | None:
    """The value, or None for nothing but white space."""
    return value if value and value.strip() else None


def _arguments(function: FunctionPiece, piece: CallPiece) -> str:
    for value in (function.arguments, function.input, piece.arguments):
        if value is not None and value != "":
            return value if isinstance(value, str) else encode_json(value).decode()
    return ""


def _signature(extra: dict[str, object]) -> str | None:
    """Gemini's thought signature, which it puts beside the function."""
    google = extra.get("google")
    value = google.get("thought_signature") if isinstance(google, dict) else None
    return value if isinstance(value, str) and value else None


__all__ = ["LEGACY", "ODDITIES", "Oddity", "ToolCalls", "says_nothing"]
