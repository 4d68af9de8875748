"""HTTP/1.1 as bytes, without a socket: the request as one piece, the response through llhttp (`httptools`).

`ResponseParser.feed` is the hot path: llhttp calls `list.append` itself for every HTTP chunk, so no Python code runs between two chunks of
one read; the pieces are joined once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import httptools

from headwater.transport.errors import broken, malformed
from headwater_codecs.neutral.errors import ConfigurationError, HeadwaterError, Phase
from headwater_providers.adapter import HttpRequest

MAX_HEAD = 64 << 10  # bytes of status line and headers, interim responses and trailers included
MAX_LINES = 256  # header lines, likewise
MAX_BARREN = 1 << 20  # bytes in a row of which none belongs to the body: chunk extensions or trailers without end

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PORTS = {"http": 80, "https": 443}
_OWN = frozenset({"content-length", "transfer-encoding"})  # the transport's to say
_BODILESS = frozenset({"GET", "DELETE", "OPTIONS"})  # no content-length is sent for them when the body is empty


class Address(NamedTuple):
    """A URL taken apart. `origin` is the pool's key, `host` goes into DNS and TLS, `authority` into the Host header."""

    origin: str
    secure: bool
    host: str
    port: int
    authority: str
    target: str

    @property
    def peer(self) -> str:
        """host:port, for messages."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@lru_cache(maxsize=512)
def split_url(url: str) -> Address:
    """Take an http(s) URL apart. Raises ConfigurationError for one that cannot be sent; the message leaves path and query out."""
    if any(character <= " " or character == "\x7f" for character in url):
        raise ConfigurationError("the address holds a blank or a control character: percent-encode it")
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
    except ValueError:  # UnicodeError included
        raise ConfigurationError("the address cannot be read: give one like https://host:port/path") from None
    if scheme not in _PORTS:
        raise ConfigurationError(f"the address begins with {scheme or 'no scheme'!r}: only http:// and https:// are spoken")
    if not host:
        raise ConfigurationError("the address has no host: give one like https://host:port/path")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(f"the address of {host} carries a user name or password: send them as a header")
    bare = f"[{host}]" if ":" in host else host
    authority = bare if port in (None, _PORTS[scheme]) else f"{bare}:{port}"
    # What is percent-encoded already stays as it is: signatures are made over it.
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._") + (f"?{quote(parts.query, safe=_QUERY)}" if parts.query else "")
    number = port if port is not None else _PORTS[scheme]
    return Address(f"{scheme}://{bare}:{number}", scheme == "https", host, number, authority, target)


_QUERY = "/%:@!$&'()*+,;=~-._?"


def check_headers(headers: Iterable[tuple[str, str]]) -> None:
    """Refuse what would not stay one header: CR, LF and NUL, names that are no tokens, text that is not Latin-1. Raises ConfigurationError."""
    for name, value in headers:
        if not _TOKEN.fullmatch(name):
            raise ConfigurationError(f"{name[:40]!r} cannot be the name of a header")
        if "\r" in value or "\n" in value or "\0" in value:
            raise ConfigurationError(f"the value of header {name!r} holds a line break or NUL: take it out (is there one at the end of a key?)")
        if not _is_latin(value):
            raise ConfigurationError(f"the value of header {name!r} holds a character that HTTP cannot carry")
        if name.lower() == "transfer-encoding":
            raise ConfigurationError("header 'transfer-encoding' is the transport's: leave it out")


def request_bytes(request: HttpRequest, address: Address) -> bytes:
    """Head and body as one piece. Raises ConfigurationError for headers that cannot be sent."""
    head = _head(request.method, address, tuple(request.headers))
    if request.body or request.method not in _BODILESS:
        return b"%scontent-length: %d\r\n\r\n%s" % (head, len(request.body), request.body)
    return head + b"\r\n"


@lru_cache(maxsize=64)
def _head(method: str, address: Address, headers: tuple[tuple[str, str], ...]) -> bytes:
    """Request line and headers but for the length of the body, which is all that differs between the requests of most programs."""
    if not _TOKEN.fullmatch(method):
        raise ConfigurationError("the request's method is not one word")
    check_headers(headers)
    lines = [f"{method} {address.target} HTTP/1.1"]
    names = {name.lower() for name, _ in headers}
    if "host" not in names:
        lines.append(f"host: {address.authority}")
    lines += [f"{name}: {value}" for name, value in headers if name.lower() not in _OWN]
    if "accept-encoding" not in names:
        lines.append("accept-encoding: identity")
    try:
        return "\r\n".join([*lines, ""]).encode("latin-1")
    except UnicodeEncodeError:
        raise ConfigurationError("the request's address holds a character that HTTP cannot carry") from None


def _is_latin(value: str) -> bool:
    return value.isascii() or all(character <= "\xff" for character in value)


class _AfterTheEnd(Exception):
    """Another message begins where ours has ended."""


class ResponseParser:
    """One response. Feed what was read; `headers` are there once `head_done`, the body has ended once `complete`.

    Bytes after the end clear `keep_alive`. A fault is held in `fault`; what came before it is returned first.
    """

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.status = 0
        self.headers: dict[str, str] = {}
        self.head_done = False
        self.complete = False
        self.keep_alive = False
        self.fault: HeadwaterError | None = None
        self._until_close = False
        self._interim = False
        self._head_size = 0
        self._lines = 0
        self._barren = 0
        self._body: list[bytes] = []
        self.on_body = self._body.append  # looked up once, by the parser below
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        # Both lengths at once is wrong, and common enough: the chunks count, and the connection is not used again.
        self._parser.set_dangerous_leniencies(lenient_chunked_length=True)

    def feed(self, data: bytes, /) -> bytes:
        """The bytes of the body in this read, b"" if there are none."""
        parser = self._parser
        if parser is None:
            self.keep_alive = False
            return b""
        try:
            parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(error)
        body = self._body
        if not body:
            self._count(data)
            return b""
        self._barren = 0
        piece = body[0] if len(body) == 1 else b"".join(body)
        body.clear()
        return piece

    def finish(self) -> None:
        """The connection was closed. Raises unless that is how this body ends."""
        if self.complete:
            return
        if self.head_done and self._until_close and self.fault is None:
            self.complete = True
            self.keep_alive = False
            return
        if self.fault is not None:
            raise self.fault
        if self.head_done:
            raise broken(f"{self.peer}: connection closed before the end of the body", "stream", first_byte=True)
        raise broken(f"{self.peer}: connection closed before the end of the headers", "headers", first_byte=self._barren > 0)

    def release(self) -> None:
        """Let go of the parser below, which refers back to this object."""
        self._parser = None

    # --- called by llhttp

    def on_message_begin(self) -> None:
        if self.complete:
            raise _AfterTheEnd

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines += 1
        self._head_size += len(name) + len(value) + 4
        if self._lines > MAX_LINES or self._head_size > MAX_HEAD:
            self._too_much()
            raise self.fault or _AfterTheEnd
        if self.head_done:
            return  # a trailer
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1").strip(" \t")
        headers = self.headers
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        parser = self._parser
        assert parser is not None
        self.status = parser.get_status_code()
        if self.status < 200:
            if self.status == 101:
                self.fault = malformed(f"{self.peer}: the server switched protocols, which nobody asked for", "headers")
                raise self.fault
            self._interim = True
            self.headers = {}
            return
        coding = self.headers.get("transfer-encoding", "").lower()
        chunked = coding.rpartition(",")[2].strip() == "chunked"
        self._until_close = not chunked and (bool(coding) or "content-length" not in self.headers) and self.status not in (204, 304)
        self.keep_alive = parser.should_keep_alive() and not (coding and "content-length" in self.headers)
        self.head_done = True

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
        else:
            self.complete = True

    # --- limits and faults

    def _count(self, data: bytes) -> None:
        self._barren += len(data)
        if not self.head_done and self._barren > MAX_HEAD and self.fault is None:
            self._too_much()
        elif self._barren > MAX_BARREN and self.fault is None and not self.complete:
            self.fault = malformed(f"{self.peer}: {MAX_BARREN} bytes in a row without any of the body", self._phase())

    def _phase(self) -> Phase:
        return "stream" if self.head_done else "headers"

    def _too_much(self) -> None:
        self.fault = malformed(f"{self.peer}: the headers passed the limit of {MAX_HEAD} bytes or {MAX_LINES} lines", self._phase())

    def _fail(self, error: httptools.HttpParserError) -> None:
        if self.complete:
            self.keep_alive = False
        elif self.fault is None:
            self.fault = malformed(f"{self.peer}: the answer is not HTTP/1.1 ({error or type(error).__name__})", self._phase())
            self.fault.__cause__ = error
