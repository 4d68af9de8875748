"""What `HttpxTransport` needs of an httpx or httpx2 client: its shape, making one, watching a request, a body that leaves nothing behind.

The two libraries have one API and are told apart by the module of the client's class; neither is imported unless a client has to be made.
"""

from __future__ import annotations

import importlib
import importlib.util
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Literal, Protocol, cast

import anyio

from headwater.transport.base import Trace
from headwater_codecs.neutral.errors import ConfigurationError

CLOSE_TIME = 2.0  # seconds that closing takes at most
IDLE = 15.0  # seconds an idle connection of our own client is kept

Family = Literal["httpx", "httpx2"]


class _Closable(Protocol):
    async def aclose(self) -> None: ...


class ClientRequest(Protocol):
    """What we use of an httpx request."""

    stream: object


class _Headers(Protocol):
    @property
    def raw(self) -> Sequence[tuple[bytes, bytes]]: ...


class ClientResponse(Protocol):
    """What we use of an httpx response."""

    status_code: int
    headers: _Headers
    is_stream_consumed: bool

    @property
    def content(self) -> bytes: ...

    def aiter_raw(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class AsyncClient(Protocol):
    """What we use of an httpx or httpx2 async client."""

    def build_request(
        self, method: str, url: str, *, content: bytes | None, headers: Sequence[tuple[str, str]], timeout: None, extensions: Mapping[str, object]
    ) -> ClientRequest: ...

    async def send(self, request: ClientRequest, *, stream: bool, follow_redirects: bool) -> ClientResponse: ...

    async def aclose(self) -> None: ...


def client_family(client: object) -> Family | None:
    """Which library an async client is of, subclasses included; None for anything else."""
    for base in type(client).__mro__:
        root = base.__module__.partition(".")[0]
        if root in ("httpx", "httpx2") and base.__name__ == "AsyncClient":
            return cast(Family, root)
    return None


def installed_family() -> Family:
    if importlib.util.find_spec("httpx") is not None:
        return "httpx"
    if importlib.util.find_spec("httpx2") is not None:
        return "httpx2"
    raise ConfigurationError("neither httpx nor httpx2 is installed: pip install httpx")


class ClientSettings:
    """How a client of our own is made: no limit on connections (httpx's is 100), no cookies, certificates of the system."""

    def __init__(self, family: Family, proxy: str | None, http2: bool, ssl_context: ssl.SSLContext | None) -> None:
        self._family = family
        self._proxy = proxy
        self._http2 = http2
        self._context = ssl_context

    def client(self, *, keep: bool) -> AsyncClient:
        """A new client; one that does not `keep` opens a connection for every request."""
        httpx = importlib.import_module(self._family)
        if self._context is None:
            self._context = ssl.create_default_context()
        return cast(
            AsyncClient,
            httpx.AsyncClient(
                verify=self._context,
                http2=self._http2,
                proxy=self._proxy,
                timeout=None,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=None if keep else 0, keepalive_expiry=IDLE),
            ),
        )


class Watch:
    """Follows one request through its `trace` extension: whether the connection is new, and how far the request got.

    Through a proxy the same steps are seen twice, first for CONNECT: the second pass sets everything anew. A connection that is being
    made is remembered, because httpcore drops it open when it is cancelled during the TLS handshake or right after it.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._new = False
        self._unfinished: list[object] = []

    async def step(self, name: str, info: Mapping[str, object]) -> None:
        """The extension's callback."""
        trace, step = self._trace, name.partition(".")[2]
        if trace.pool is None:  # the first step: until here the client's pool let it wait
            trace.pool = trace.clock()
        if step in ("connect_tcp.started", "start_tls.started"):
            self._new = True
            trace.phase = "connect"
        elif step in ("connect_tcp.complete", "start_tls.complete"):
            self._unfinished.append(info.get("return_value"))
        elif step == "send_request_headers.started":
            self._unfinished.clear()  # from here on httpcore closes it itself
            trace.first_byte = False
            trace.got_connection(reused=not self._new)
        elif step == "send_request_body.complete":
            trace.sent = trace.clock()

    async def close_unfinished(self) -> None:
        """Close what was connected and never used."""
        for stream in reversed(self._unfinished):
            with anyio.move_on_after(CLOSE_TIME, shield=True):
                await cast(_Closable, stream).aclose()


class Once:
    """Gives one piece. A generator would do, if httpx closed the generators that it leaves half-way: trio complains about each."""

    def __init__(self, piece: bytes) -> None:
        self._piece: bytes | None = piece

    def __aiter__(self) -> Once:
        return self

    async def __anext__(self) -> bytes:
        if self._piece is None:
            raise StopAsyncIteration
        piece, self._piece = self._piece, None
        return piece


class _Body:
    """The request's body, readable again and again."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __aiter__(self) -> Once:
        return Once(self._data)


@cache
def body_class(family: str) -> Callable[[bytes], object]:
    """`_Body` as a class that this library accepts: it asks for a subclass of its own."""
    base: type = importlib.import_module(family).AsyncByteStream
    return type("_Body", (_Body, base), {})
