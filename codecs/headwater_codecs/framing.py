"""From the bytes of a response body to frames, whatever the provider or a proxy made of them.

`Framing` is the first stage of a stream: it undoes a content encoding, looks at the first bytes to see what the body really is (the header
lies often enough), and hands the bytes to the parser of that format. A body that is one JSON document becomes one frame at its end, unless
the protocol streams documents (lines, or the elements of an array); a web page becomes a fault. Faults travel as items behind the good
frames, so that nothing before them is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, final

from msgspec import Struct

from headwater_codecs.neutral.errors import AnswerTooLarge, ErrorInfo, FrameTooLarge, HeadwaterError, MalformedError
from headwater_codecs.sse import MAX_FRAME, Frame, SSEParser

if TYPE_CHECKING:
    from headwater_codecs.content_coding import ContentDecoder

Format = Literal["sse", "sse-or-array", "ndjson", "aws-event-stream", "json"]  # json: one document, whatever it looks like
SNIPPET = 200  # characters of a body quoted in an error
_DECIDE = 512  # bytes after which a body that is no known format is given up
_SSE_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_DOCUMENT_STARTS = (b"{", b"[")
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n" + _BOM


@final
class Fault(Struct, frozen=True):
    """The bytes broke off or broke the rules; nothing follows it."""

    error: ErrorInfo


class Parser(Protocol):
    """A frame parser: good frames before a fault are returned, `fault` holds it, the next call raises it."""

    @property
    def fault(self) -> HeadwaterError | None: ...

    def feed(self, data: bytes, /) -> list[Frame]: ...

    def finish(self) -> list[Frame]: ...


def _array_parser(max_frame: int) -> Parser:
    from headwater_codecs.json_array import JsonArrayParser  # one protocol's alone

    return JsonArrayParser(max_frame)


def _line_parser(max_frame: int) -> Parser:
    from headwater_codecs.ndjson import LineParser

    return LineParser(max_frame)


def _message_parser(max_frame: int) -> Parser:
    from headwater_codecs.aws_event_stream import MessageFrames

    return MessageFrames(max_frame)


class DocumentParser:
    """One JSON document: a frame at its end. It is not terminated, since only its reader can tell whether it is whole."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.fault: HeadwaterError | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._max = max_frame

    def feed(self, data: bytes, /) -> list[Frame]:
        """Nothing until the end."""
        self._size += len(data)
        if self._size > self._max:
            self.fault = FrameTooLarge(f"the body passed the limit of {self._max} bytes: raise max_frame if this is expected")
            self._pieces.clear()
        else:
            self._pieces.append(data)
        return []

    def finish(self) -> list[Frame]:
        """The document, if there was anything."""
        data = b"".join(self._pieces).strip(_SPACE)
        return [Frame(data, terminated=False)] if data else []


class PageParser:
    """What is neither frames nor JSON: a web page, a plain error. It is quoted in the fault and never looked at otherwise."""

    def __init__(self, content_type: str) -> None:
        self.fault: HeadwaterError | None = None
        self._content_type = content_type
        self._start = b""

    def feed(self, data: bytes, /) -> list[Frame]:
        """Nothing; the fault stands once enough has come to quote."""
        if not self._start:
            data = data.lstrip(_SPACE)  # says nothing, and how much of it is left depends on how the bytes were cut
        self._start += data[: _DECIDE - len(self._start)]
        if len(self._start) >= _DECIDE:
            self._give_up()
        return []

    def finish(self) -> list[Frame]:
        """Nothing; the fault stands."""
        self._give_up()
        return []

    def _give_up(self) -> None:
        text = self._start.decode("utf-8", "replace")[:SNIPPET]
        said = f"the body is no event stream (content type {self._content_type or 'not given'}): {text!r}"
        self.fault = MalformedError(said)


_DOCUMENTS: dict[Format, Callable[[int], Parser]] = {
    "sse": DocumentParser,
    "sse-or-array": _array_parser,
    "ndjson": _line_parser,
    "aws-event-stream": DocumentParser,
    "json": DocumentParser,
}


class Framing:
    """The stage from bytes to frames. `content_type` and `content_encoding` are the response's headers, "" where absent.

    Never raises for what a body holds: a fault is the last item, and nothing is read after it.
    """

    def __init__(self, format: Format = "sse", content_type: str = "", content_encoding: str = "", max_frame: int = MAX_FRAME) -> None:
        self.format = format
        self._content_type = content_type
        self._max = max_frame
        self._parser: Parser | None = DocumentParser(max_frame) if format == "json" else None
        self._start = b""  # what came before the parser could be chosen
        self._ended = False
        self._decoder: ContentDecoder | None = None
        self._fault: HeadwaterError | None = None  # of the headers: told in the stream like any other
        if content_encoding and content_encoding.strip().lower() not in ("", "identity"):
            from headwater_codecs.content_coding import ContentDecoder  # few bodies need it

            try:
                self._decoder = ContentDecoder(content_encoding)
            except HeadwaterError as error:
                self._fault = error

    def feed(self, batch: Sequence[bytes | Fault], /) -> list[Frame | Fault]:
        """The frames that these pieces complete, and last a fault if they hold one. After a fault nothing more is read."""
        frames: list[Frame | Fault] = []
        for data in batch:
            if self._ended:
                break
            if type(data) is Fault:
                self._ended = True
                frames.append(data)
            elif self._fault is not None:
                self._fail(self._fault, frames)
            elif self._decoder is None:
                self._parse(data, frames)
            else:
                self._parse(self._decoder.feed(data), frames)
                if self._decoder.fault is not None:
                    self._fail(self._decoder.fault, frames)
        return frames

    def finish(self) -> list[Frame | Fault]:
        """The bytes have ended. What compressed data that broke off still gave is handed over before the fault."""
        frames: list[Frame | Fault] = []
        if self._ended:
            return frames
        fault = self._fault
        if fault is None and self._decoder is not None:
            try:
                self._decoder.finish()
            except HeadwaterError as error:
                fault = error
        if self._parser is None:
            self._parse(b"", frames, ended=True)
        if self._parser is not None and not self._ended:
            frames += self._parser.finish()
            fault = self._parser.fault or fault
        if fault is not None:
            self._fail(fault, frames)
        self._ended = True
        return frames

    def _parse(self, data: bytes, frames: list[Frame | Fault], ended: bool = False) -> None:
        parser = self._parser
        if parser is None:
            if data.startswith(b"data:") and not self._start:  # nearly always
                parser = self._parser = SSEParser(self._max)
            else:
                data = self._choose(data, ended)
                parser = self._parser
        if parser is not None:
            frames += parser.feed(data)
            if parser.fault is not None:
                self._fail(parser.fault, frames)

    def _fail(self, error: HeadwaterError, frames: list[Frame | Fault]) -> None:
        if not self._ended:
            self._ended = True
            frames.append(Fault(error.info.with_(phase="stream")))  # where a body is read, whoever reads it

    def _choose(self, data: bytes, ended: bool) -> bytes:
        """Choose the parser by the first bytes that are not white space. What it is to be fed is given back, b"" while they do not tell."""
        data = self._start + data
        seen = data.lstrip(_SPACE)
        content_type = self._content_type.partition(";")[0].strip().lower()
        if self.format == "aws-event-stream" and seen.startswith(b"\0"):  # the length of a message, always below 16 MiB
            self._parser = _message_parser(self._max)
            return seen
        if seen.startswith(_DOCUMENT_STARTS):
            self._parser = _DOCUMENTS[self.format](self._max)
        elif seen.startswith(_SSE_STARTS) or (content_type == "text/event-stream" and seen and not seen.startswith(b"<")):
            self._parser = SSEParser(self._max)
        elif seen and (ended or not any(start.startswith(seen) for start in _SSE_STARTS)):
            self._parser = PageParser(content_type)
        if self._parser is not None:
            self._start = b""
            return data
        if not seen:  # blank lines say nothing, however many a server sends to keep us waiting
            data = data[max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 :][-len(_BOM) :]
        self._start = data
        return b""


class BoundedFraming(Framing):
    """The same for a body that may have so many bytes, its content encoding undone. What came until then is read."""

    def __init__(
        self, max_answer: int, format: Format = "sse", content_type: str = "", content_encoding: str = "", max_frame: int = MAX_FRAME
    ) -> None:
        super().__init__(format, content_type, content_encoding, max_frame)
        self._bound = self._left = max_answer

    def _parse(self, data: bytes, frames: list[Frame | Fault], ended: bool = False) -> None:
        if len(data) <= self._left:
            self._left -= len(data)
            super()._parse(data, frames, ended)
        else:
            super()._parse(data[: self._left], frames, ended)
            self._fail(AnswerTooLarge(f"the answer passed the limit of {self._bound} bytes: raise max_answer if this is expected"), frames)


def snippet(data: bytes) -> str:
    """The start of some bytes, fit for an error message."""
    text = data.decode("utf-8", "replace")
    return text if len(text) <= SNIPPET else text[:SNIPPET] + "..."
