"""One tool call being put together, and what its arguments say about themselves.

Whether arguments are whole is only asked where a piece is ambiguous. Brackets are counted as far as they have not been counted yet, and a
parse is tried only where they are balanced, so asking after every piece stays linear.
"""

from __future__ import annotations

import re

from headwater_codecs.neutral.events import CallKind
from headwater_codecs.tolerant_json import is_json

_MARKS = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)
_OPENERS = frozenset('{["')
_CLOSERS = frozenset('}]"')
_SCALAR = 40  # characters; longer than any number, true, false or null
_PLACEHOLDERS = frozenset({"{}", "null"})


class Call:
    """A call. `block` is its index in the stream once it has started, `waiting` a placeholder that stands where arguments may follow."""

    __slots__ = (
        "_asked",
        "_counted",
        "_depth",
        "_hopeless",
        "_in_string",
        "_open_escape",
        "block",
        "closed",
        "complete",
        "fragments",
        "given",
        "held",
        "id",
        "kind",
        "name",
        "signature",
        "waiting",
    )

    def __init__(self, kind: CallKind = "function", name: str = "") -> None:
        self.given: str | None = None  # the id in the pieces
        self.id: str | None = None  # made up where none is given, or one that another call has
        self.kind: CallKind = kind
        self.name = name
        self.fragments: list[str] = []
        self.waiting = ""
        self.held = ""  # a high surrogate whose other half has not come yet
        self.signature: str | None = None
        self.block: int | None = None
        self.closed = False
        self.complete = False
        self._counted = 0  # fragments whose brackets are counted
        self._depth = 0
        self._in_string = False
        self._open_escape = False
        self._asked = 0  # fragments at the last parse that found them whole
        self._hopeless = False  # what stands there is no JSON, and more of it will not make it so

    @property
    def begun(self) -> bool:
        """Whether there are arguments, if only a placeholder."""
        return bool(self.fragments or self.waiting)

    @property
    def whole(self) -> bool:
        """Whether the arguments are one JSON value. Free text never is."""
        if self.waiting:
            return True
        if self.kind == "custom" or not self.fragments or self._hopeless:
            return False
        if self.fragments[-1].rstrip()[-1:] not in _CLOSERS and self.fragments[0].lstrip()[:1] in _OPENERS:
            return False
        if not self._balanced():
            return False
        if self._asked != len(self.fragments):
            text = "".join(self.fragments).strip()
            if is_json(text):
                self._asked = len(self.fragments)
            else:
                self._hopeless = text[:1] in _OPENERS or len(text) > _SCALAR
                return False
        return True

    @property
    def takes_more(self) -> bool:
        """Whether a piece that names no call may belong to this one."""
        return not self.closed and not self.whole

    @property
    def must_go_on(self) -> bool:
        """Whether the arguments are begun and not whole, so that what follows is theirs."""
        return bool(self.fragments) and self.kind == "function" and not self.closed and not self.whole

    def is_other(self, name: str, text: str) -> bool:
        """Whether a piece with this name and these arguments must be of another call, since this one's are whole (rule 6)."""
        if not text.strip() or not self.whole or self.repeats(text):
            return False
        return not self.waiting or name != self.name

    def goes_on_with(self, name: str | None, text: str, new_id: bool) -> bool:
        """Whether a piece under a new index or id belongs here after all (rule 7)."""
        if not text or not self.must_go_on:
            return False
        if name is None:
            return new_id
        return name == self.name and text.lstrip()[:1] not in ("{", "[", "")

    def repeats(self, text: str) -> bool:
        """Whether these arguments are all that there are, once more."""
        return text.strip() == ("".join(self.fragments) or self.waiting).strip()

    def add_name(self, piece: str, cumulative: bool) -> None:
        """Take a piece of the name, or its repetition (rule 4). It is final once the call has started."""
        if self.block is not None:
            return
        if cumulative and piece.startswith(self.name):
            self.name = piece
        elif not self.name or (not self.begun and piece != self.name):
            self.name += piece

    def new_part(self, text: str) -> str:
        """What is new in arguments that repeat what they were so far."""
        before = "".join(self.fragments) or self.waiting
        return text[len(before) :] if text.startswith(before) else text

    def hold_placeholder(self, text: str) -> str:
        """What of these arguments can be written: a placeholder waits, and gives way to the arguments that it stood for (rule 8)."""
        if self.fragments:
            return text
        if not self.waiting:
            if text.strip() in _PLACEHOLDERS:
                self.waiting = text
                return ""
            return text
        if not text.strip():
            return ""
        waited, self.waiting = self.waiting, ""
        return text if text.lstrip().startswith("{") else waited + text

    def is_complete(self, cut: bool) -> bool:
        """Whether the call may be run: its arguments are JSON. Where nothing was `cut`, also free text, and none at all (rule 5)."""
        text = "".join(self.fragments)
        if self.kind == "custom" or not text.strip():
            return not cut
        return is_json(text)

    def _balanced(self) -> bool:
        for fragment in self.fragments[self._counted :]:
            start = 1 if self._open_escape else 0
            self._open_escape = False
            for mark in _MARKS.finditer(fragment, start):
                character = mark[0]
                if character[0] == "\\":
                    self._open_escape = len(character) == 1
                elif character == '"':
                    self._in_string = not self._in_string
                elif not self._in_string:
                    self._depth += 1 if character in "{[" else -1
        self._counted = len(self.fragments)
        return self._depth == 0 and not self._in_string
