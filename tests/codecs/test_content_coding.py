"""Undoing content encodings, incrementally and within bounds."""

from __future__ import annotations

import gzip
import sys
import zlib
from types import SimpleNamespace

import brotli
import pytest

from headwater_codecs.content_coding import MAX_OUTPUT, ContentDecoder
from headwater_codecs.neutral import MalformedError, TruncatedError
from helpers import every_split

TEXT = b"".join(b"data: %d\n\n" % number for number in range(60))


def raw_deflate(data: bytes) -> bytes:
    """Deflate without the zlib header."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


GZIP = gzip.compress(TEXT, mtime=0)
CODED: dict[str, tuple[str, bytes]] = {
    "none": ("", TEXT),
    "identity": ("identity", TEXT),
    "gzip": ("gzip", GZIP),
    "x-gzip": ("X-GZip", GZIP),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "deflate without a header": ("deflate", raw_deflate(TEXT)),
    "br": ("br", brotli.compress(TEXT)),
    "several": ("gzip, identity ,br", brotli.compress(GZIP)),
    "gzip in members": ("gzip", gzip.compress(TEXT[:100], mtime=0) + gzip.compress(b"") + gzip.compress(TEXT[100:], mtime=0)),
    "gzip with padding": ("gzip", GZIP + b"\0" * 20),
}


def undo(content_encoding: str, chunks: list[bytes]) -> bytes:
    """Everything the decoder gives."""
    decoder = ContentDecoder(content_encoding)
    return b"".join([decoder.feed(chunk) for chunk in chunks]) + decoder.finish()


@pytest.mark.rows("WIRE-20")
@pytest.mark.parametrize("name", CODED)
def test_coding(name: str) -> None:
    """Each coding is undone, wherever its bytes are cut."""
    content_encoding, data = CODED[name]
    for chunks in every_split(data):
        assert undo(content_encoding, chunks) == TEXT


@pytest.mark.parametrize("content_encoding", ["gzip", "deflate", "br", "gzip, br"])
def test_empty_body(content_encoding: str) -> None:
    """A body without a byte is whole: some servers name a coding and send nothing."""
    assert undo(content_encoding, [b"", b""]) == b""


@pytest.mark.rows("WIRE-20")
@pytest.mark.parametrize("wbits", [31, 15, -15])
def test_flushed_output_comes_at_once(wbits: int) -> None:
    """What a server flushed per event is handed over per event."""
    packer = zlib.compressobj(wbits=wbits)
    decoder = ContentDecoder("gzip" if wbits == 31 else "deflate")
    for number in range(5):
        event = b"data: %d\n\n" % number
        assert decoder.feed(packer.compress(event) + packer.flush(zlib.Z_SYNC_FLUSH)) == event


@pytest.mark.rows("WIRE-20")
def test_flushed_brotli_comes_at_once() -> None:
    """The same for br."""
    packer = brotli.Compressor()
    decoder = ContentDecoder("br")
    for number in range(5):
        event = b"data: %d\n\n" % number
        assert decoder.feed(packer.process(event) + packer.flush()) == event


@pytest.mark.parametrize(
    ("content_encoding", "data"), [("gzip", GZIP), ("deflate", zlib.compress(TEXT)), ("br", brotli.compress(TEXT)), ("deflate", b"x")]
)
def test_broke_off(content_encoding: str, data: bytes) -> None:
    """Compressed data that end too early are truncated, and what they gave stays given."""
    decoder = ContentDecoder(content_encoding)
    assert TEXT.startswith(decoder.feed(data[:-3] or data))
    for _ in range(2):
        with pytest.raises(TruncatedError, match="data of the body broke off"):
            decoder.finish()


@pytest.mark.parametrize("content_encoding", ["gzip", "br"])
def test_not_of_the_coding(content_encoding: str) -> None:
    """Plain text under the name of a coding: nothing is made of it, and every later call raises."""
    decoder = ContentDecoder(content_encoding)
    assert decoder.feed(TEXT) == b""
    said = f"the body cannot be decompressed: {content_encoding}: "
    with pytest.raises(MalformedError, match=said):
        decoder.feed(b"x")
    with pytest.raises(MalformedError, match=said):
        decoder.finish()


@pytest.mark.parametrize("position", [-1, -8, len(GZIP) // 2, 10])
def test_damaged_gzip_gives_the_same_good_bytes_at_any_cutting(position: int) -> None:
    """An error does not swallow what was good before it, and the cutting does not change how much that is."""
    damaged = bytearray(GZIP)
    damaged[position] ^= 0xFF
    given = set()
    for chunks in every_split(bytes(damaged)):
        decoder = ContentDecoder("gzip")
        pieces = []
        for chunk in chunks:
            if decoder.fault is not None:
                break
            pieces.append(decoder.feed(chunk))
        assert isinstance(decoder.fault, MalformedError)
        given.add(b"".join(pieces))
    assert len(given) == 1
    if position < 0:
        assert given == {TEXT}


@pytest.mark.parametrize(("content_encoding", "data"), [("gzip", GZIP), ("deflate", zlib.compress(TEXT)), ("br", brotli.compress(TEXT))])
def test_bytes_after_the_end(content_encoding: str, data: bytes) -> None:
    """What follows the end of the compressed data is not passed on."""
    decoder = ContentDecoder(content_encoding)
    assert decoder.feed(data) == TEXT
    assert decoder.feed(b"more") == b""
    assert isinstance(decoder.fault, MalformedError)


@pytest.mark.parametrize("content_encoding", ["gzip", "deflate", "br", "gzip, gzip"])
def test_bomb(content_encoding: str) -> None:
    """A little that unfolds to very much is a fault, and no more than the limit is ever held."""
    zeros = b"\0" * (1 << 20)
    if content_encoding == "br":
        packer = brotli.Compressor(quality=1)
        data = b"".join([packer.process(zeros) for _ in range(80)]) + packer.finish()
    else:
        squeezer = zlib.compressobj(wbits=15 if content_encoding == "deflate" else 31)
        data = b"".join([squeezer.compress(zeros) for _ in range(80)]) + squeezer.flush()
    if content_encoding == "gzip, gzip":
        data = gzip.compress(data, mtime=0)
    decoder = ContentDecoder(content_encoding)
    assert len(decoder.feed(data)) <= MAX_OUTPUT
    assert isinstance(decoder.fault, MalformedError)
    assert decoder.fault.info.message == f"{len(data)} compressed bytes unfold to more than {MAX_OUTPUT}: a decompression bomb"


def test_much_text_is_no_bomb() -> None:
    """A large body in one piece is fine as long as it unfolds like text."""
    text = b"".join(b"data: %x\n\n" % (number * 2654435761 % 2**32) for number in range(200_000))
    assert undo("gzip", [gzip.compress(text)]) == text


@pytest.mark.parametrize("content_encoding", ["zip", "gzip, compress", "br;q=1"])
def test_unknown_coding(content_encoding: str) -> None:
    """An unknown coding is refused by name."""
    with pytest.raises(MalformedError, match=r"unknown content encoding '(zip|compress|br;q=1)'; known are gzip, x-gzip, deflate, br and identity"):
        ContentDecoder(content_encoding)


def test_too_many_codings() -> None:
    """A header of a thousand codings is refused."""
    with pytest.raises(MalformedError, match="has 1000 content encodings in a row"):
        ContentDecoder(",".join(["gzip"] * 1000))


def test_brotli_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a br decoder, or with one too old to be bounded, the error names the command that gets one."""
    too_old = SimpleNamespace(Decompressor=object)
    for installed in (None, too_old):
        monkeypatch.setitem(sys.modules, "brotli", installed)
        monkeypatch.setitem(sys.modules, "brotlicffi", None)
        with pytest.raises(MalformedError, match=r'pip install "headwater\[br\]"'):
            ContentDecoder("br")
