"""Server-sent events: bytes in, frames out, at any cutting of the bytes (WHATWG HTML, section 9.2.6).

Strategy: the common cases, one `data:` line or an `event:` and a `data:` line, LF only, are cut out of the whole read with one `split`.
Everything else (several data lines, comments, ids) goes line by line through the same state. An unfinished line grows in one buffer and is
copied out once, so cost stays linear. Beyond the standard: a frame over the size limit is a fault, and a bare JSON error in the middle of a
stream (no `data:`, as some gateways send) becomes a frame of type `error`.
"""

from __future__ import annotations

import re
from itertools import repeat
from operator import contains

import msgspec
from msgspec import Struct

from headwater_codecs.neutral.errors import FrameTooLarge

MAX_FRAME = 32 << 20  # bytes; images and large tool arguments come as one line (WIRE-09)
MAX_UNFRAMED = 64 << 10  # bytes of lines that are no fields, kept to find an error among them

_DATA = b"data: "
_EVENT = b"event: "
_TYPED = re.compile(rb"^event: ([^\n]*)\ndata: ([^\n]+)\n\n", re.MULTILINE)
_NEXT = b"\n\ndata: "  # from one frame of a single data line to the next
_LF, _CR = 10, 13  # as numbers, which are found faster than bytes of length one
_LINE_FEEDS = repeat(_LF)
_BOM = b"\xef\xbb\xbf"
_RETRY_DIGITS = 15  # more is no number of milliseconds, and int() refuses thousands of digits


class Frame(Struct, frozen=True, gc=False):
    """One event, of this format or of another one. `id` is the last id seen so far.

    Not `terminated`: the bytes ended before its blank line, so it may be cut. `exception`: the frame says by its form that it is a failure
    (AWS event stream); `event` is its type.
    """

    data: bytes
    event: str = ""
    id: str = ""
    retry: int | None = None
    terminated: bool = True
    exception: bool = False


class SSEParser:
    """Split bytes into frames. Frames without data are left out (they are keep-alives).

    `max_frame` bounds, in bytes, the data of one frame together with its unfinished line. The good frames before one that is too large
    are returned; the next call raises FrameTooLarge, and `fault` holds it until then.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.fault: FrameTooLarge | None = None
        self._max = max_frame
        self._start: bytes | None = b""  # the first bytes, while they may be a byte order mark; None afterwards
        self._after_cr = False  # the last byte was CR: an LF right after it belongs to it
        self._line = bytearray()  # an unfinished line
        self._in_frame = False  # a line of the current frame was read
        self._data: list[bytes] = []
        self._size = 0  # bytes in `_data`
        self._event = ""
        self._id = ""
        self._retry: int | None = None
        self._opened = False  # a field or a comment was seen: this is an event stream
        self._unframed: list[bytes] = []
        self._unframed_size = 0

    def feed(self, data: bytes, /) -> list[Frame]:
        """The frames that these bytes complete. Raises FrameTooLarge on the call after the fault."""
        if self.fault is not None:
            raise self.fault
        if self._start is not None:
            if self._start or not data.startswith(_DATA):
                data = self._without_bom(data)
            else:  # nearly always
                self._start = None
        if self._after_cr and data:
            self._after_cr = False
            if data[0] == _LF:
                data = data[1:]
        if _CR in data:
            self._after_cr = data.endswith(b"\r")  # it ends its line at once: waiting for an LF would hold the frame back
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if _LF not in data:
            if data:
                self._hold(data)
            return []
        if self._line:
            self._line += data
            data = bytes(self._line)
            self._line.clear()
        frames: list[Frame] = []
        if self._in_frame:
            data = self._finish_frame(data, frames)
        self._blocks(data, frames)
        return frames

    def finish(self) -> list[Frame]:
        """The bytes have ended. A frame that no blank line closed is handed over as not terminated (the standard drops it)."""
        if self.fault is not None:
            raise self.fault
        frames: list[Frame] = []
        line = (self._start or b"") + bytes(self._line)
        self._start = None
        self._line.clear()
        if line:
            self._lines(line, frames)
        if self._unframed:
            self._recover_error(frames)
        self._dispatch(frames, terminated=False)
        return frames

    def _without_bom(self, data: bytes) -> bytes:
        """Drop a leading byte order mark, which may come in pieces; nothing is passed on before that is decided."""
        start = (self._start or b"") + data
        if len(start) < 3 and _BOM.startswith(start):
            self._start = start
            return b""
        self._start = None
        return start.removeprefix(_BOM)

    def _finish_frame(self, data: bytes, frames: list[Frame]) -> bytes:
        """Read on in a frame whose first lines came earlier; what follows its blank line is given back."""
        if data[0] == _LF:
            self._dispatch(frames)
            return data[1:]
        lines, blank, rest = data.partition(b"\n\n")
        if not blank:
            return data
        self._lines(lines, frames)
        self._dispatch(frames)
        return rest

    def _blocks(self, data: bytes, frames: list[Frame]) -> None:
        """Frames that stand whole in `data`, and the beginning of the next one. `data` begins a frame, or holds no blank line."""
        fits = len(data) <= self._max  # then no frame in it can be too large
        if fits and data.startswith(_DATA) and data.endswith(b"\n\n"):
            payloads = data[len(_DATA) : -2].split(_NEXT)
            if b"" not in payloads and not any(map(contains, payloads, _LINE_FEEDS)):  # nothing but one data line per frame
                last_id = self._id
                frames += [Frame(payload, "", last_id) for payload in payloads] if last_id else map(Frame, payloads)
                self._opened = True
                return
        end = data.rfind(b"\n\n")
        rest = data[end + 2 :] if end >= 0 else data
        if end >= 0 and not (fits and data.startswith(_EVENT) and self._typed(data[: end + 2], frames)):
            self._mixed(data[:end], fits, frames)
            if self.fault is not None:
                return
        if frames:
            self._opened = True
        if rest:
            lines, newline, rest = rest.rpartition(b"\n")
            if newline:
                self._lines(lines, frames)
                self._in_frame = True
            if rest and self.fault is None:
                self._hold(rest)

    def _typed(self, data: bytes, frames: list[Frame]) -> bool:
        """Frames of an `event:` and a `data:` line each, the form of several protocols; False, and none read, where one is different."""
        found = _TYPED.findall(data)
        if data.count(b"\n") != 3 * len(found):  # a match begins a line and holds three of its ends: then nothing is between them
            return False
        last_id = self._id
        frames += [Frame(payload, event.decode("utf-8", "replace"), last_id) for event, payload in found]
        return True

    def _mixed(self, data: bytes, fits: bool, frames: list[Frame]) -> None:
        """Whole frames of any kind, the blank line of the last one left out."""
        last_id = self._id
        for block in data.split(b"\n\n"):
            if fits and block.startswith(_DATA) and _LF not in block and len(block) > len(_DATA):
                frames.append(Frame(block[len(_DATA) :], "", last_id))
            elif fits and (frame := _typed_frame(block, last_id)) is not None:
                frames.append(frame)
            elif block:
                self._lines(block, frames)
                self._dispatch(frames)
                last_id = self._id
                if self.fault is not None:
                    return

    def _lines(self, block: bytes, frames: list[Frame]) -> None:
        for line in block.split(b"\n"):
            if self._size + len(line) > self._max:
                self._give_up()
            if self.fault is not None:
                return
            name, _, value = line.partition(b":")
            if value[:1] == b" ":
                value = value[1:]
            if name == b"data":
                self._data.append(value)
                self._size += len(value) + 1  # and the LF that joins it
            elif name == b"event":
                self._event = value.decode("utf-8", "replace")
            elif name == b"id":
                if b"\0" not in value:
                    self._id = value.decode("utf-8", "replace")
            elif name == b"retry":
                if value.isdigit() and len(value) <= _RETRY_DIGITS:
                    self._retry = int(value)
            elif name:
                self._unknown_line(line, frames)
                continue
            elif not line:
                self._dispatch(frames)
                continue
            self._opened = True  # an empty name is a comment, and that too shows what the stream is

    def _unknown_line(self, line: bytes, frames: list[Frame]) -> None:
        """Lines that are no fields are ignored, unless they are together one JSON object with an `error` (B030, B033).

        Such an object is looked for where it may end: on one line, or at a brace in the first column. Before the first field or
        comment it is kept until the bytes end, since that body is no event stream.
        """
        if line.startswith(b"error:") and not self._unframed:  # older llama.cpp servers: `error: {...}` in place of a data line
            line = b'{"error":' + line.removeprefix(b"error:") + b"}"
        if not self._unframed and not line.startswith(b"{"):
            return
        if self._unframed_size + len(line) > MAX_UNFRAMED:
            return
        self._unframed.append(line)
        self._unframed_size += len(line)
        line = line.rstrip()
        if (self._opened or frames) and (line == b"}" or (len(self._unframed) == 1 and line.endswith(b"}"))):
            self._recover_error(frames)

    def _recover_error(self, frames: list[Frame]) -> None:
        text = b"\n".join(self._unframed)
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            if len(self._unframed) == 1:
                return  # more lines may complete it
            value = None
        self._unframed.clear()
        self._unframed_size = 0
        if isinstance(value, dict) and value.get("error"):
            self._dispatch(frames)  # what the error interrupted comes before it
            frames.append(Frame(text, "error", self._id))

    def _dispatch(self, frames: list[Frame], terminated: bool = True) -> None:
        if self.fault is not None:
            return
        data = b"\n".join(self._data) if len(self._data) != 1 else self._data[0]
        if data:
            frames.append(Frame(data, self._event, self._id, self._retry, terminated))
        self._data.clear()
        self._size = 0
        self._event = ""
        self._retry = None
        self._in_frame = False

    def _hold(self, piece: bytes) -> None:
        self._line += piece
        if self._size + len(self._line) > self._max:
            self._give_up()

    def _give_up(self) -> None:
        self.fault = FrameTooLarge(f"a frame passed the limit of {self._max} bytes: raise max_frame if this is expected")
        self._line.clear()
        self._data.clear()


def _typed_frame(block: bytes, last_id: str) -> Frame | None:
    """A frame of an `event:` and a `data:` line, the form of every frame in several protocols; None for any other."""
    kind, _, data = block.partition(b"\ndata: ")
    if data and kind.startswith(b"event: ") and _LF not in kind and _LF not in data:
        return Frame(data, kind[7:].decode("utf-8", "replace"), last_id)
    return None
