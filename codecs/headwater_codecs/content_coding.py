"""Undo a content encoding as the bytes come: gzip, deflate, br, and several of them in a row.

We ask for `identity`, but a proxy may compress anyway. Strategy: one small decoder per coding behind one interface, chained last applied
first undone; each gives everything that its input allows at once, so a stream flushed per event stays a stream. What one `feed` may give is
bounded (a few kilobytes of a bomb unfold to gigabytes). What was good before a fault is returned; the next call raises.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Protocol

from headwater_codecs.neutral.errors import HeadwaterError, MalformedError, TruncatedError

MAX_OUTPUT = 64 << 20  # bytes that one feed may give whatever it was fed: twice the largest frame
MAX_RATIO = 250  # beyond that, bytes out for each byte in; text compresses by 3 to 30, a bomb by 1,000 and more

_SLICE = 16 << 10  # bytes undone at once: what zlib leaves unused at a member's end is copied, so a read of tiny members stays linear
_PIECE = 1 << 20  # bytes of output made at once
_MAX_CODINGS = 4  # in a row; nobody means more, and each is a level of calls
_GZIP = zlib.MAX_WBITS | 16


class _Coding(Protocol):
    """One coding: pieces of output, as far as the input allows. Raises ValueError with the reason for bytes that are not of it."""

    @property
    def complete(self) -> bool:
        """Whether the compressed data have come to their own end."""

    def undo(self, data: bytes, /) -> Iterator[bytes]: ...


class _Zlib:
    """gzip (RFC 1952, several members in a row) and the two forms of deflate (RFC 1950 and 1951), told apart by `window_bits`."""

    def __init__(self, window_bits: int) -> None:
        self.complete = False
        self._window_bits = window_bits
        self._inflate = zlib.decompressobj(window_bits)

    def undo(self, data: bytes, /) -> Iterator[bytes]:
        more = False  # output that found no room in the last piece
        while data or more:
            if self.complete:
                data = self._next_member(data)
                continue
            before = self._inflate.copy()  # an error loses what was inflated before it in the same call
            try:
                piece = self._inflate.decompress(data, _PIECE)
            except zlib.error as error:
                yield from _inflate_good_bytes(before, data)
                raise ValueError(str(error)) from None
            self.complete = self._inflate.eof
            data = self._inflate.unused_data if self.complete else self._inflate.unconsumed_tail
            more = len(piece) == _PIECE and not self.complete
            if piece:
                yield piece

    def _next_member(self, data: bytes) -> bytes:
        """Begin another gzip member; zeros between and after members are padding."""
        if self._window_bits != _GZIP:
            raise ValueError("bytes after the end of the compressed data")
        data = data.lstrip(b"\0")
        if data:
            self._inflate = zlib.decompressobj(_GZIP)
            self.complete = False
        return data


def _inflate_good_bytes(inflate: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What the bytes before the first bad one give: the same wherever the reads were cut."""
    for position in range(len(data)):
        try:
            yield inflate.decompress(data[position : position + 1])
        except zlib.error:
            return


class _Deflate:
    """deflate as servers understand it: with a zlib header, or without one. The first two bytes tell."""

    def __init__(self) -> None:
        self._start = b""
        self._inner: _Zlib | None = None

    @property
    def complete(self) -> bool:
        return self._inner is not None and self._inner.complete

    def undo(self, data: bytes, /) -> Iterator[bytes]:
        if self._inner is None:
            data = self._start = self._start + data
            if len(data) < 2:
                return
            wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._inner = _Zlib(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        yield from self._inner.undo(data)


class _BrotliDecoder(Protocol):
    def process(self, data: bytes, *, output_buffer_limit: int) -> bytes: ...

    def is_finished(self) -> bool: ...


class _Brotli:
    """br (RFC 7932), through whichever of its two packages is installed. Their decoder cannot be copied, so what the same slice gave
    before an error is lost with it.
    """

    def __init__(self, module: ModuleType) -> None:
        self._error: type[Exception] = module.error
        self._decoder: _BrotliDecoder = module.Decompressor()

    @property
    def complete(self) -> bool:
        return self._decoder.is_finished()

    def undo(self, data: bytes, /) -> Iterator[bytes]:
        if self.complete:
            raise ValueError("bytes after the end of the compressed data")
        try:
            while piece := self._decoder.process(data, output_buffer_limit=_PIECE):
                yield piece
                data = b""
        except self._error as error:
            raise ValueError(str(error)) from None


def _brotli() -> _Coding:
    for name in ("brotli", "brotlicffi"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module.Decompressor, "can_accept_more_data"):  # since 1.2; before, nothing bounds what one call gives
            return _Brotli(module)
    raise MalformedError('the body is compressed with br and no decoder for it (1.2 or newer) is installed: pip install "headwater[br]"')


_CODINGS: dict[str, Callable[[], _Coding]] = {
    "gzip": lambda: _Zlib(_GZIP),
    "x-gzip": lambda: _Zlib(_GZIP),
    "deflate": _Deflate,
    "br": _brotli,
}


class ContentDecoder:
    """The bytes of a body without its content encoding.

    `content_encoding` is the header's value: codings in the order in which they were applied; `identity` and "" change nothing. Raises
    MalformedError for an unknown coding and for br without a decoder. `fault` holds what the next call raises: MalformedError for bytes that
    are not of the coding, or that unfold beyond MAX_OUTPUT and MAX_RATIO.
    """

    def __init__(self, content_encoding: str) -> None:
        self.fault: HeadwaterError | None = None
        self._codings: list[tuple[str, _Coding]] = []
        self._empty = True
        for name in reversed(content_encoding.lower().split(",")):
            name = name.strip()
            if name in ("", "identity"):
                continue
            if name not in _CODINGS:
                raise MalformedError(f"the body has the unknown content encoding {name!r}; known are {', '.join(_CODINGS)} and identity")
            self._codings.append((name, _CODINGS[name]()))
        if len(self._codings) > _MAX_CODINGS:
            raise MalformedError(f"the body has {len(self._codings)} content encodings in a row; at most {_MAX_CODINGS} are undone")

    def feed(self, data: bytes, /) -> bytes:
        """Everything that these bytes give. The good bytes before a fault are returned; the next call raises it."""
        if self.fault is not None:
            raise self.fault
        if not self._codings or not data:
            return data
        self._empty = False
        pieces: list[bytes] = []
        room = max(MAX_OUTPUT, MAX_RATIO * len(data))
        try:
            for piece in self._undo(data, len(self._codings)):
                room -= len(piece)
                if room < 0:
                    said = f"{len(data)} compressed bytes unfold to more than {max(MAX_OUTPUT, MAX_RATIO * len(data))}: a decompression bomb"
                    self.fault = MalformedError(said)
                    break
                pieces.append(piece)
        except ValueError as error:
            self.fault = MalformedError(f"the body cannot be decompressed: {error}")
        return b"".join(pieces)

    def finish(self) -> bytes:
        """The bytes have ended. Raises TruncatedError when the compressed data have not; an empty body is whole."""
        if self.fault is not None:
            raise self.fault
        for name, coding in self._codings:
            if not coding.complete and not self._empty:
                self.fault = TruncatedError(f"the {name} data of the body broke off")
                raise self.fault
        return b""

    def _undo(self, data: bytes, depth: int) -> Iterator[bytes]:
        """Pull pieces through the first `depth` codings, so that nothing between two of them piles up."""
        if depth == 0:
            for start in range(0, len(data), _SLICE):
                yield data[start : start + _SLICE]
            return
        name, coding = self._codings[depth - 1]
        for piece in self._undo(data, depth - 1):
            try:
                yield from coding.undo(piece)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
