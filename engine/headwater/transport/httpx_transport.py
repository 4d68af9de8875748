"""Requests through an httpx or httpx2 client: proxies, HTTP/2, and the caller's own client with its auth and mounts.

Bodies are read raw: content encodings are undone by the engine, lines are nobody's business here.

Over HTTP/2 closing a stream wakes no pending read, so every read runs in a cancel scope which `abort` cancels. A stream that is given up
over HTTP/2 may go on at the provider until the connection is closed: httpx sends no reset.
"""

from __future__ import annotations

import importlib.util
import ssl
from collections.abc import AsyncIterator
from typing import cast

import anyio

from headwater.transport.base import Trace
from headwater.transport.errors import broken, foreign_error
from headwater.transport.httpx_client import (
    CLOSE_TIME,
    AsyncClient,
    ClientResponse,
    ClientSettings,
    Family,
    Once,
    Watch,
    body_class,
    client_family,
    installed_family,
)
from headwater.transport.wire import check_headers, split_url
from headwater_codecs.neutral.errors import ConfigurationError
from headwater_providers.adapter import HttpRequest

DRAIN = 64 << 10  # bytes read on for the end of a body, so that its connection can be used again
DRAIN_TIME = 0.1  # seconds for the same


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
        self._make = ClientSettings(family or installed_family(), proxy, http2, ssl_context) if client is None else None

    async def open(self, request: HttpRequest, trace: Trace) -> HttpxResponse:
        """Send the request and wait for the headers. Raises as `SocketTransport.open` does.

        A fresh connection can be promised by a client of our own only; a given client is just asked again.
        """
        address = split_url(request.url)
        check_headers(request.headers)
        headers = [*request.headers, *(_IDENTITY if all(name.lower() != "accept-encoding" for name, _ in request.headers) else ())]
        client = self._client_for(trace.fresh)
        watch = Watch(trace)
        try:
            built = client.build_request(
                request.method, request.url, content=request.body or None, headers=headers, timeout=None, extensions={"trace": watch.step}
            )
            if request.body:
                built.stream = body_class(type(built).__module__.partition(".")[0])(request.body)
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


class HttpxResponse:
    """An open response; see `TransportResponse`."""

    def __init__(self, response: ClientResponse, peer: str) -> None:
        self.status = response.status_code
        self.headers: dict[str, str] = {}
        for raw_name, raw_value in response.headers.raw:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self._response = response
        self._pieces: AsyncIterator[bytes]
        if response.is_stream_consumed:  # by a hook of the caller's client, or made up by a mock: read, and decoded
            self._pieces = Once(response.content)
            self.headers.pop("content-encoding", None)
        else:
            self._pieces = response.aiter_raw()
        self._peer = peer
        self._scope: anyio.CancelScope | None = None  # of the read that is waiting
        self._ended = False
        self._cut = False
        self._closed = False

    async def receive(self) -> bytes | None:
        """The next piece of the body, never empty; None at its end. Raises as `SocketResponse.receive` does."""
        if self._closed:
            raise anyio.ClosedResourceError
        if self._ended:
            return None
        if self._cut:
            raise broken(f"{self._peer}: a read was cancelled, and a body that httpx reads cannot be read on after that", "stream", first_byte=True)
        try:
            with anyio.CancelScope() as scope:
                self._scope = scope
                while not (piece := await anext(self._pieces)):
                    pass
                if not self._closed:
                    return piece
        except StopAsyncIteration:
            self._ended = True
            if not self._closed:
                return None
        except Exception as error:
            if not self._closed:
                raise foreign_error(error, self._peer, "stream", first_byte=True) from error
        except BaseException:
            self._cut = True  # the generators of httpx are dead: asked again, they would say that the body has ended
            if self._closed:
                await self._close()
            raise
        finally:
            self._scope = None
        await self._close()  # `abort` was called meanwhile, and left it to us, whatever else happened
        raise anyio.ClosedResourceError

    def close_nowait(self) -> bool:
        """False: httpx closes with awaits."""
        return False

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
