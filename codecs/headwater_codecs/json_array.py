"""A JSON array that arrives piece by piece: one frame for each element, as soon as it is whole.

Brackets are counted outside of strings, each byte once, so cost stays linear. An object in place of the array is one element. What follows the
array is ignored.
"""

from __future__ import annotations

import re

from headwater_codecs.neutral.errors import FrameTooLarge, HeadwaterError
from headwater_codecs.sse import MAX_FRAME, Frame

_MARKS = re.compile(rb'[\\"{}\[\],]')
_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


class JsonArrayParser:
    """Elements of a top-level array as frames. Elements that are no objects are handed over too: their reader refuses them.

    `max_frame` bounds an element, in bytes. The good elements before a fault are returned; the next call raises it, `fault` holds it until then.
    An element that the end of the bytes cut is handed over as not terminated.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.fault: HeadwaterError | None = None
        self._max = max_frame
        self._pieces: list[bytes] = []  # of the element that is not whole yet
        self._size = 0
        self._depth = 0  # of brackets; the array itself counts, unless an object stands alone
        self._in_string = False
        self._escaped = False
        self._is_array = True
        self._begun = False
        self._over = False

    def feed(self, data: bytes, /) -> list[Frame]:
        """The elements that these bytes complete."""
        if self.fault is not None:
            raise self.fault
        frames: list[Frame] = []
        if not self._begun:
            data = data.lstrip(_SPACE + _BOM)
            if not data:
                return frames
            self._begun = True
            self._is_array = data.startswith(b"[")
            if self._is_array:
                data = data[1:]
        if not self._over:
            self._scan(data, frames)
        return frames

    def finish(self) -> list[Frame]:
        """The bytes have ended: what is left of an element, as not terminated."""
        if self.fault is not None:
            raise self.fault
        rest = b"".join(self._pieces).strip(_SPACE)
        self._pieces = []
        return [Frame(rest, terminated=False)] if rest else []

    def _scan(self, data: bytes, frames: list[Frame]) -> None:
        start = position = 0
        if self._escaped and data:
            self._escaped = False
            position = 1
        while (match := _MARKS.search(data, position)) is not None:
            mark, position = match[0], match.end()
            if mark == b"\\":
                if self._in_string:
                    self._escaped = position == len(data)
                    position += 1
            elif mark == b'"':
                self._in_string = not self._in_string
            elif self._in_string:
                continue
            elif mark in b"{[":
                self._depth += 1
            elif mark == b",":
                if self._depth == 0:
                    start = self._element(data, start, match.start(), position, frames)
            elif self._depth == 0:  # the array's own end
                self._element(data, start, match.start(), position, frames)
                self._over = True
                return
            else:
                self._depth -= 1
                if self._depth == 0:
                    start = self._element(data, start, position, position, frames)
                    if not self._is_array:
                        self._over = True
                        return
            if self.fault is not None:
                return
        self._keep(data[start:])

    def _element(self, data: bytes, start: int, end: int, following: int, frames: list[Frame]) -> int:
        self._keep(data[start:end])
        element = b"".join(self._pieces).strip(_SPACE)
        self._pieces, self._size = [], 0
        if element and self.fault is None:
            frames.append(Frame(element))
        return following

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self._size += len(piece)
            if self._size > self._max:
                self.fault = FrameTooLarge(f"an element passed the limit of {self._max} bytes: raise max_frame if this is expected")
                self._pieces = []
