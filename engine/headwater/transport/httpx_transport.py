"""Requests through an httpx or httpx2 client: proxies, HTTP/2, and the caller's own client with its auth and mounts.

The two libraries have one API and are told apart by the module of the client's class; neither is imported unless a client of our own has
to be made. Bodies are read raw: content encodings are undone by the engine, lines are nobody's business here.

Over HTTP/2 closing a stream wakes no pending read, so every read runs in a cancel scope which `abort` cancels. A stream that is given up
over HTTP/2 may go on at the provider until the connection is closed: httpx sends no reset.
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
from headwater.transport.errors import foreign_error
from headwater.transport.wire import check_headers, split_url
from headwater_codecs.neutral.errors import ConfigurationError
from headwater_providers.adapter import HttpRequest

DRAIN = 64 << 10  # bytes read on for the end of a body, so that its connection can be used again
DRAIN_TIME = 0.1  # seconds for the same
CLOSE_TIME = 2.0  # seconds that closing takes at most
IDLE = 15.0  # seconds an idle connection of our own client is kept

Family = Literal["httpx", "httpx2"]


class _Closable(Protocol):
    async def aclose(self) -> None: ...


class _Request(Protocol):
    """What we use of an httpx request."""

    stream: object


class _Headers(Protocol):
    @property
    def raw(self) -> Sequence[tuple[bytes, bytes]]: ...


class _Response(Protocol):
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
    ) -> _Request: ...

    async def send(self, request: _Request, *, stream: bool, follow_redirects: bool) -> _Response: ...

    async def aclose(self) -> None: ...


def client_family(client: object) -> Family | None:
    """Which library an async client is of, subclasses included; None for anything else."""
    for base in type(client).__mro__:
        root = base.__module__.partition(".")[0]
        if root in ("httpx", "httpx2") and base.__name__ == "AsyncClient":
            return cast(Family, root)
    return None


class HttpxTransport:
    """Requests through `client`, which stays the caller's to close, or through a client of our own, made when first needed.

    `proxy` is a URL, without one the environment's proxies count; `http2` needs the package h2. Both are for our own client only.
    """

    def __init__(
        self,
        client: object = None,
        *,
        family: Family | None = None,
        proxy: str | None = None,
        http2: bool = False,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        if client is not None and client_family(client) is None:
            raise ConfigurationError(f"{type(client).__name__} is no async client of httpx or httpx2: give an AsyncClient")
        if client is not None and (family or proxy or http2 or ssl_context):
            raise ConfigurationError("a given client brings its own proxy, HTTP/2 and TLS settings: set them there")
        if http2 and importlib.util.find_spec("h2") is None:
            raise ConfigurationError("HTTP/2 needs the package h2: pip install 'headwater[http2]'")
        self._client = cast("AsyncClient | None", client)
        self._owned = client is None
        self._single_use: AsyncClient | None = None
        self._make = _ClientSettings(family or _installed_family(), proxy, http2, ssl_context) if client is None else None

    async def open(self, request: HttpRequest, trace: Trace) -> HttpxResponse:
        """Send the request and wait for the headers. Raises as `SocketTransport.open` does.

        A fresh connection can be promised by a client of our own only; a given client is just asked again.
        """
        address = split_url(request.url)
        check_headers(request)
        headers = [*request.headers, *(_IDENTITY if all(name.lower() != "accept-encoding" for name, _ in request.headers) else ())]
        client = self._client_for(trace.fresh)
        watch = _Watch(trace)
        try:
            built = client.build_request(
                request.method, request.url, content=request.body or None, headers=headers, timeout=None, extensions={"trace": watch.step}
            )
            if request.body:
                built.stream = _body_class(type(built).__module__.partition(".")[0])(request.body)
            response = await client.send(built, stream=True, follow_redirects=False)
        except BaseException as error:
            await watch.close_unfinished()
            if not isinstance(error, Exception):
                raise
            mapped = foreign_error(error, address.peer, trace.phase, first_byte=trace.first_byte)
            raise mapped from (error if mapped is not error else error.__cause__)
        if trace.connected is None:  # a client whose transport tells nothing
            trace.pool = trace.clock()
            trace.got_connection(reused=False)
        trace.got_headers()
        return HttpxResponse(response, address.peer)

    async def aclose(self) -> None:
        """Close our own client, within 2 seconds; a given one is left alone."""
        if not self._owned:
            return
        clients = [client for client in (self._client, self._single_use) if client is not None]
        self._client = self._single_use = None
        for client in clients:
            with anyio.move_on_after(CLOSE_TIME, shield=True):
                await client.aclose()

    def _client_for(self, fresh: bool) -> AsyncClient:
        if self._make is None:
            assert self._client is not None
            return self._client
        if fresh:
            if self._single_use is None:
                self._single_use = self._make.client(keep=False)
            return self._single_use
        if self._client is None:
            self._client = self._make.client(keep=True)
        return self._client


_IDENTITY = (("accept-encoding", "identity"),)


def _installed_family() -> Family:
    if importlib.util.find_spec("httpx") is not None:
        return "httpx"
    if importlib.util.find_spec("httpx2") is not None:
        return "httpx2"
    raise ConfigurationError("neither httpx nor httpx2 is installed: pip install httpx")


class _ClientSettings:
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


class _Watch:
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


class _Once:
    """Gives one piece. A generator would do, if httpx closed the generators that it leaves half-way: trio complains about each."""

    def __init__(self, piece: bytes) -> None:
        self._piece: bytes | None = piece

    def __aiter__(self) -> _Once:
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

    def __aiter__(self) -> _Once:
        return _Once(self._data)


@cache
def _body_class(family: str) -> Callable[[bytes], object]:
    """`_Body` as a class that this library accepts: it asks for a subclass of its own."""
    base: type = importlib.import_module(family).AsyncByteStream
    return type("_Body", (_Body, base), {})


class HttpxResponse:
    """An open response; see `TransportResponse`."""

    def __init__(self, response: _Response, peer: str) -> None:
        self.status = response.status_code
        self.headers: dict[str, str] = {}
        for raw_name, raw_value in response.headers.raw:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self._response = response
        self._pieces: AsyncIterator[bytes]
        if response.is_stream_consumed:  # by a hook of the caller's client, or made up by a mock: read, and decoded
            self._pieces = _Once(response.content)
            self.headers.pop("content-encoding", None)
        else:
            self._pieces = response.aiter_raw()
        self._peer = peer
        self._scope: anyio.CancelScope | None = None  # of the read that is waiting
        self._ended = False
        self._closed = False

    async def receive(self) -> bytes | None:
        """The next piece of the body, never empty; None at its end. Raises as `SocketResponse.receive` does."""
        if self._closed:
            raise anyio.ClosedResourceError
        if self._ended:
            return None
        try:
            with anyio.CancelScope() as scope:
                self._scope = scope
                while not (piece := await anext(self._pieces)):
                    pass
                return piece
        except StopAsyncIteration:
            self._ended = True
            return None
        except Exception as error:
            if self._closed:
                raise anyio.ClosedResourceError from error
            raise foreign_error(error, self._peer, "stream", first_byte=True) from error
        finally:
            self._scope = None
        await self._close()  # our scope was cancelled, so `abort` was called
        raise anyio.ClosedResourceError

    async def aclose(self, *, drain: bool = False) -> None:
        """Give the connection back if the body has ended (with `drain`, reads on for its end a little), else close it."""
        if self._closed:
            return
        if drain and not self._ended:
            await self._drain()
        if self._closed:
            return
        self._closed = True
        await self._close()

    async def abort(self) -> None:
        """Close the connection at once; a `receive` that waits in another task raises ClosedResourceError."""
        if self._closed:
            return
        self._closed = True
        if self._scope is not None:
            self._scope.cancel()  # its own task does the closing: two tasks in one of httpx's generators do not go
            return
        await self._close()

    async def _close(self) -> None:
        """Unwind the generators of httpx where they stand, then close. Left to the garbage collector they would complain, and hold on."""
        with anyio.move_on_after(CLOSE_TIME, shield=True):
            if not self._ended:
                await self._unwind()
            try:
                await self._response.aclose()
            except Exception:  # closing a broken connection tells nothing new
                return

    async def _unwind(self) -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            try:
                while True:
                    await anext(self._pieces)
            except Exception:  # StopAsyncIteration, or the connection's own end
                return

    async def _drain(self) -> None:
        size = 0
        with anyio.move_on_after(DRAIN_TIME, shield=True):
            try:
                while size < DRAIN and (piece := await self.receive()) is not None:
                    size += len(piece)
            except Exception:  # broken: it will be closed
                return
