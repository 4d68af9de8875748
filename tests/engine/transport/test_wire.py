"""HTTP/1.1 as bytes: requests written, responses parsed, at every cut."""

from __future__ import annotations

import pytest

from headwater.transport.wire import MAX_BARREN, MAX_LINES, Address, ResponseParser, request_bytes, split_url
from headwater_codecs.neutral import ConfigurationError, HeadwaterError, MalformedError, NetworkError, TruncatedError
from headwater_providers.adapter import HttpRequest
from helpers import every_split

PEER = "host:1"


def parse(pieces: list[bytes], ended: bool = False) -> tuple[int, dict[str, str], bytes, bool, bool]:
    """Status, headers, body, whether it is complete, whether the connection may be used again."""
    parser = ResponseParser(PEER)
    body = b"".join([parser.feed(piece) for piece in pieces])
    if parser.fault is not None:
        raise parser.fault
    if ended:
        parser.finish()
    return parser.status, parser.headers, body, parser.complete, parser.keep_alive


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "headers", "keep"),
    [
        (CHUNKED, {"transfer-encoding": "chunked"}, True),
        (LENGTH, {"content-length": "11"}, True),
        (INTERIM + LENGTH, {"content-length": "11"}, True),
        (CHUNKED[:-2] + b"x-sum: 1\r\n\r\n", {"transfer-encoding": "chunked"}, True),
        (LENGTH.replace(b"1.1", b"1.0"), {"content-length": "11"}, False),
        (LENGTH.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"), {"connection": "close", "content-length": "11"}, False),
        (LENGTH.replace(b"1.1 200 OK\r\n", b"1.0 200 OK\r\nConnection: keep-alive\r\n"), {"connection": "keep-alive", "content-length": "11"}, True),
        (CHUNKED.replace(b"chunked\r\n", b"chunked\r\ncontent-length: 3\r\n"), {"transfer-encoding": "chunked", "content-length": "3"}, False),
    ],
    ids=["chunked", "length", "interim", "trailer", "http-1.0", "close", "keep-alive-1.0", "both-lengths"],
)
def test_response(data: bytes, headers: dict[str, str], keep: bool) -> None:
    """A response is the same however it is cut, and says whether the connection may be used again."""
    for pieces in every_split(data):
        assert parse(pieces) == (200, headers, b"hello world", True, keep)


def test_close_delimited() -> None:
    """Without a length the end of the connection is the end of the body."""
    data = b"HTTP/1.1 200 OK\r\nx: a\r\nX:  b \r\n\r\nhello world"
    for pieces in every_split(data):
        assert parse(pieces) == (200, {"x": "a, b"}, b"hello world", False, False)
        assert parse(pieces, ended=True) == (200, {"x": "a, b"}, b"hello world", True, False)


@pytest.mark.parametrize("extra", [b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad", b"\0", b"5\r\n", b"H"])
@pytest.mark.parametrize("data", [CHUNKED, LENGTH])
def test_bytes_after_the_end(data: bytes, extra: bytes) -> None:
    """What follows the end is not part of the body, and the connection is not used again."""
    for pieces in every_split(data + extra):
        assert parse(pieces) == (200, parse([data])[1], b"hello world", True, False)


@pytest.mark.parametrize("end", range(1, len(CHUNKED)))
def test_cut(end: int) -> None:
    """An early end is a fault wherever it is: in the headers or in the body."""
    parser = ResponseParser(PEER)
    parser.feed(CHUNKED[:end])
    with pytest.raises(TruncatedError) as caught:
        parser.finish()
    assert caught.value.info.phase == ("stream" if end >= CHUNKED.index(b"\r\n\r\n") + 4 else "headers")


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * (MAX_LINES + 1) + b"\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000,
        b"HTTP/1.1 100 Continue\r\nx: y\r\n\r\n" * 300,
        CHUNKED[:-2] + b"x: y\r\n" * MAX_LINES + b"\r\n",
    ],
    ids=["lines", "bytes", "no-end", "interim", "trailers"],
)
@pytest.mark.parametrize("size", [1 << 20, 1000])
def test_header_limits(data: bytes, size: int) -> None:
    """Too many or too long headers are malformed, in one read or in many."""
    with pytest.raises(MalformedError, match="the headers passed the limit of 65536 bytes or 256 lines"):
        parse([data[start : start + size] for start in range(0, len(data), size)])


def test_headers_within_limits() -> None:
    """As many lines as allowed are fine."""
    lines = b"".join(b"x%d: y\r\n" % number for number in range(MAX_LINES - 1))
    assert parse([b"HTTP/1.1 200 OK\r\n" + lines + b"content-length: 0\r\n\r\n"])[3:] == (True, True)


def test_endless_chunk_extension() -> None:
    """A chunk head without end is given up."""
    with pytest.raises(MalformedError, match=f"{MAX_BARREN} bytes in a row"):
        parse([CHUNKED[: CHUNKED.index(b"\r\nhello")] + b";", *[b"x" * 10_000] * (MAX_BARREN // 10_000 + 1)])


@pytest.mark.parametrize(
    "data",
    [
        b"+OK POP3\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    ],
)
def test_malformed(data: bytes) -> None:
    """What breaks HTTP's rules is malformed, and not retryable."""
    with pytest.raises(MalformedError) as caught:
        parse([data])
    assert (caught.value.info.phase, caught.value.info.retryable) == ("headers", False)
    assert PEER in caught.value.info.message


def test_good_bytes_before_a_fault() -> None:
    """The body before a fault in the same read is returned; the fault is held."""
    parser = ResponseParser(PEER)
    assert parser.feed(CHUNKED[: CHUNKED.index(b"6\r\n")] + b"nonsense\r\n") == b"hello"
    assert isinstance(parser.fault, HeadwaterError)
    assert parser.fault.info.phase == "stream"


def test_nothing_came() -> None:
    """An end before the first byte is the network's failure: the request may be sent again."""
    with pytest.raises(NetworkError):
        ResponseParser(PEER).finish()


# --- requests


def test_request() -> None:
    """Head and body as one piece: Host first, what the transport adds last."""
    request = HttpRequest("POST", "https://api.example.com/v1/chat?a=b", [("authorization", "Bearer k"), ("content-length", "99")], b"{}")
    assert request_bytes(request, split_url(request.url)) == (
        b"POST /v1/chat?a=b HTTP/1.1\r\nhost: api.example.com\r\nauthorization: Bearer k\r\naccept-encoding: identity\r\ncontent-length: 2\r\n\r\n{}"
    )


def test_request_with_its_own_host() -> None:
    """A Host and an Accept-Encoding that were given stay; a GET without a body has no length."""
    request = HttpRequest("GET", "http://127.0.0.1:81", [("host", "other"), ("accept-encoding", "gzip"), ("x", "caf\xe9")], b"")
    assert request_bytes(request, split_url(request.url)) == b"GET / HTTP/1.1\r\nhost: other\r\naccept-encoding: gzip\r\nx: caf\xe9\r\n\r\n"


@pytest.mark.parametrize(
    "header",
    [
        ("x", "a\r\nb: c"),
        ("x", "a\n"),
        ("x", "a\r"),
        ("x", "\0"),
        ("x", "\u20ac"),
        ("x y", "a"),
        ("x:", "a"),
        ("", "a"),
        ("x\r\ny", "a"),
        ("transfer-encoding", "chunked"),
    ],
)
def test_refused_header(header: tuple[str, str]) -> None:
    """Whatever would not stay one header is refused."""
    request = HttpRequest("POST", "http://h/", [header], b"")
    with pytest.raises(ConfigurationError):
        request_bytes(request, split_url(request.url))


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://api.x.com/v1", Address("https://api.x.com:443", True, "api.x.com", 443, "api.x.com", "/v1")),
        ("HTTP://Api.X.com:8080", Address("http://api.x.com:8080", False, "api.x.com", 8080, "api.x.com:8080", "/")),
        ("https://x:443/a%2Fb?k=a+b%20c#f", Address("https://x:443", True, "x", 443, "x", "/a%2Fb?k=a+b%20c")),
        ("http://[::1]:9/", Address("http://[::1]:9", False, "::1", 9, "[::1]:9", "/")),
        ("http://b\xfccher.de/\xfc", Address("http://xn--bcher-kva.de:80", False, "xn--bcher-kva.de", 80, "xn--bcher-kva.de", "/%C3%BC")),
        ("http://x/m:invoke", Address("http://x:80", False, "x", 80, "x", "/m:invoke")),
    ],
)
def test_url(url: str, address: Address) -> None:
    """A URL taken apart; what is percent-encoded stays as it is."""
    assert split_url(url) == address


@pytest.mark.parametrize(
    "url", ["ftp://x/", "x/y", "", "http://", "http://x:99999/", "http://x:y/", "http://a b/", "http://x/\r\n", "https://u:secret@x/", "http://[::1"]
)
def test_bad_url(url: str) -> None:
    """An address that cannot be sent is refused in words, without its secrets."""
    with pytest.raises(ConfigurationError) as caught:
        split_url(url)
    assert "secret" not in str(caught.value)


def test_peer_of_ipv6() -> None:
    """Messages name an IPv6 host in brackets."""
    assert [split_url(url).peer for url in ("http://[::1]/", "http://x/")] == ["[::1]:80", "x:80"]
