"""A view of JSON that is still being written, for display: a call's arguments while they stream.

Strategy: one table of states over characters; the Python containers are built in place, and a string at the open end grows in place when
it is looked at. Each character is read once, so n feeds with a look after each cost O(n). Nothing is repaired and nothing is guessed: keys
without a value, numbers, literals and escapes at the open end are withheld until they are certain, so no value ever shows false or
disappears. Never run a call on this view; `ToolCall.input` parses strictly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

_BLANK = re.compile(r"[ \t\n\r]+")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]+')  # what stands for itself in a string
_TOKEN = re.compile(r"[-+.0-9A-Za-z]+")  # numbers and literals, right or wrong
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_HEX = re.compile(r"[0-9A-Fa-f]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: dict[str, object] = {"true": True, "false": False, "null": None}


class PartialJson:
    """Feed fragments, look at `value` whenever you like. Never raises: what breaks the grammar ends the view at the longest good prefix.

    `value` is the value so far, None before anything is certain. Its containers are the live ones that later feeds fill: read them, do not
    keep or change them. `complete` is True while what was fed is exactly one JSON value (a number at the top is certain only after
    `finish`); the value then equals that of a strict parser.
    """

    def __init__(self) -> None:
        self._state = "value"
        self._stack: list[list[object] | dict[str, object]] = [[]]  # the open containers; the first one holds the value itself
        self._keys: list[str] = []  # of the open objects: the key that the next value belongs to
        self._pieces: list[str] = []  # of the open string, number or literal: what is not in the value yet
        self._escape = ""  # an escape that is not whole yet
        self._high = ""  # the first half of a surrogate pair, until what follows it is known
        self._bad_string = False

    @property
    def value(self) -> object:
        """What is certain so far."""
        if self._state == "string":
            self._grow()
        root = cast("list[object]", self._stack[0])
        return root[0] if root else None

    @property
    def complete(self) -> bool:
        """Whether what was fed is exactly one whole JSON value."""
        return self._state == "end"

    @property
    def bad_string(self) -> bool:
        """Whether the view ends inside of a string at what JSON knows no meaning for, or inside of an escape's four digits."""
        return self._bad_string or (self._state == "string" and self._escape.startswith("\\u"))

    def feed(self, fragment: str, /) -> None:
        """Read on. Fragments may be cut anywhere, also inside an escape."""
        position = 0
        while position < len(fragment) and self._state != "broken":
            position = _READ.get(self._state, PartialJson._structure)(self, fragment, position)

    def finish(self) -> None:
        """The text has ended: a number or literal at the top is certain now."""
        if self._state == "token" and len(self._stack) == 1:
            self._close_token()

    def cut(self) -> None:
        """The text was cut off: a number or literal at the open end is taken as it stands, though 12 may be the beginning of 123."""
        if self._state == "token":
            self._close_token()

    # --- reading: from `position` on, as far as one state goes; the position after it is given back

    def _structure(self, text: str, position: int) -> int:
        if (blank := _BLANK.match(text, position)) is not None:
            return blank.end()
        character = text[position]
        if (step := _STEPS.get((self._state, character))) is not None:
            step(self)
            return position + 1
        if self._state in ("value", "first_value") and _TOKEN.match(character):
            self._state = "token"
            return position
        return self._break(position)

    def _token(self, text: str, position: int) -> int:
        match = _TOKEN.match(text, position)
        if match is None:
            self._close_token()
            return position
        self._pieces.append(match.group())
        return match.end()

    def _string(self, text: str, position: int) -> int:
        if self._escape:
            return self._read_escape(text, position)
        character = text[position]
        if character == "\\":
            self._escape = character
        elif character == '"':
            self._close_string()
        elif (match := _PLAIN.match(text, position)) is not None:
            self._write(match.group())
            return match.end()
        else:  # a raw control character
            return self._break(position)
        return position + 1

    def _read_escape(self, text: str, position: int) -> int:
        self._escape += text[position]
        kind, digits = self._escape[1], self._escape[2:]
        if kind != "u":
            if kind not in _ESCAPES:
                return self._break(position)
            self._write(_ESCAPES[kind])
            self._escape = ""
        elif len(digits) == 4:
            if _HEX.fullmatch(digits) is None:
                return self._break(position)
            self._write_unit(chr(int(digits, 16)))
            self._escape = ""
        return position + 1

    # --- steps: what one character of the structure does

    def _open_array(self) -> None:
        array: list[object] = []
        self._put(array)
        self._stack.append(array)
        self._state = "first_value"

    def _open_object(self) -> None:
        members: dict[str, object] = {}
        self._put(members)
        self._stack.append(members)
        self._keys.append("")
        self._state = "first_key"

    def _close(self) -> None:
        if isinstance(self._stack.pop(), dict):
            self._keys.pop()
        self._after_value()

    def _open_string(self) -> None:
        self._put("")
        self._state = "string"

    def _open_key(self) -> None:
        self._state = "key_string"

    def _expect_value(self) -> None:
        self._state = "value"

    def _expect_key(self) -> None:
        self._state = "key"

    # --- values

    def _put(self, value: object) -> None:
        holder = self._stack[-1]
        if isinstance(holder, list):
            holder.append(value)
        else:
            holder[self._keys[-1]] = value

    def _after_value(self) -> None:
        if len(self._stack) == 1:
            self._state = "end"
        else:
            self._state = "after_element" if isinstance(self._stack[-1], list) else "after_member"

    def _write(self, text: str) -> None:
        if self._high:  # it has no partner
            self._pieces.append(self._high)
            self._high = ""
        self._pieces.append(text)

    def _write_unit(self, unit: str) -> None:
        """A UTF-16 code unit written as an escape: two may make one character."""
        if self._high and "\udc00" <= unit <= "\udfff":
            unit = (self._high + unit).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            self._high = ""
        if "\ud800" <= unit <= "\udbff":
            self._write("")
            self._high = unit
        else:
            self._write(unit)

    def _grow(self) -> None:
        """Bring what was read of the open string into the value."""
        if not self._pieces:
            return
        piece = "".join(self._pieces)
        self._pieces.clear()
        holder = self._stack[-1]
        # While the string is taken out, ours is the only reference to it: CPython then appends in place instead of copying all of it.
        if isinstance(holder, list):
            text = cast("str", holder[-1])
            holder[-1] = None
            text += piece
            holder[-1] = text
        else:
            key = self._keys[-1]
            text = cast("str", holder[key])
            holder[key] = None
            text += piece
            holder[key] = text

    def _close_string(self) -> None:
        self._write("")
        if self._state == "key_string":
            self._keys[-1] = "".join(self._pieces)
            self._pieces.clear()
            self._state = "colon"
        else:
            self._grow()
            self._after_value()

    def _close_token(self) -> None:
        token = "".join(self._pieces)
        self._pieces.clear()
        if token in _LITERALS:
            self._put(_LITERALS[token])
        elif (number := _NUMBER.fullmatch(token)) is None:
            self._break(0)
            return
        else:
            try:
                self._put(float(token) if number[1] or number[2] else int(token))
            except ValueError:  # more digits than int() takes
                self._break(0)
                return
        self._after_value()

    def _break(self, position: int) -> int:
        self._bad_string = self._state in ("string", "key_string")
        if self._state == "string":
            self._grow()
        self._state = "broken"
        return position


_VALUE_STEPS: dict[str, Callable[[PartialJson], None]] = {
    "[": PartialJson._open_array,
    "{": PartialJson._open_object,
    '"': PartialJson._open_string,
}
# Every legal character outside of strings, numbers and literals. Anything else breaks the view.
_STEPS: dict[tuple[str, str], Callable[[PartialJson], None]] = {
    **{("value", character): step for character, step in _VALUE_STEPS.items()},
    **{("first_value", character): step for character, step in _VALUE_STEPS.items()},
    ("first_value", "]"): PartialJson._close,
    ("first_key", '"'): PartialJson._open_key,
    ("first_key", "}"): PartialJson._close,
    ("key", '"'): PartialJson._open_key,
    ("colon", ":"): PartialJson._expect_value,
    ("after_element", ","): PartialJson._expect_value,
    ("after_element", "]"): PartialJson._close,
    ("after_member", ","): PartialJson._expect_key,
    ("after_member", "}"): PartialJson._close,
}
_READ: dict[str, Callable[[PartialJson, str, int], int]] = {
    "string": PartialJson._string,
    "key_string": PartialJson._string,
    "token": PartialJson._token,
}
