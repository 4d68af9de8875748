"""JSON lines: bytes in, one frame for each line that is not blank, at any cutting of the bytes.

Servers and gateways answer with one document instead, and some print it over many lines. The first line tells: JSON does not end with an open
bracket or a comma. Such a body is one frame at its end.
"""

from __future__ import annotations

from headwater_codecs.neutral.errors import FrameTooLarge
from headwater_codecs.sse import MAX_FRAME, Frame

_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_GOES_ON = (b"{", b"[", b",")  # ends of a line that is no JSON by itself


class LineParser:
    """Split bytes into lines. A last line without its LF is handed over as not terminated. `max_frame` bounds a line, or the document, in bytes.

    The good lines before one that is too large are returned; the next call raises FrameTooLarge, and `fault` holds it until then.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.fault: FrameTooLarge | None = None
        self._max = max_frame
        self._line = bytearray()  # an unfinished line
        self._first = True  # nothing was handed over yet: a byte order mark may come
        self._document = False  # the body is one document: `_line` holds all of it

    def feed(self, data: bytes, /) -> list[Frame]:
        """The lines that these bytes complete."""
        if self.fault is not None:
            raise self.fault
        head, newline, rest = data.rpartition(b"\n")
        if self._document or not newline:
            self._hold(data)
            return []
        if self._line:
            head = bytes(self._line) + head
            self._line.clear()
        frames: list[Frame] = []
        lines = head.split(b"\n")
        for number, line in enumerate(lines):
            if len(line) > self._max:
                self._give_up()
                return frames
            if self._first and line.rstrip(_BLANK).endswith(_GOES_ON):
                self._document = True
                rest = b"\n".join([*lines[number:], rest])
                break
            self._add(line, frames, True)
        self._hold(rest)
        return frames

    def finish(self) -> list[Frame]:
        """The bytes have ended: what is left, as not terminated."""
        if self.fault is not None:
            raise self.fault
        frames: list[Frame] = []
        self._add(bytes(self._line), frames, False)
        self._line.clear()
        return frames

    def _add(self, line: bytes, frames: list[Frame], terminated: bool) -> None:
        if self._first:
            line = line.removeprefix(_BOM)
        line = line.strip(_BLANK)
        if line:
            self._first = False
            frames.append(Frame(line, terminated=terminated))

    def _hold(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > self._max:
            self._give_up()

    def _give_up(self) -> None:
        self.fault = FrameTooLarge(f"a line passed the limit of {self._max} bytes: raise max_frame if this is expected")
        self._line.clear()
