"""Which transport takes a request: sockets, unless a proxy applies to its address or the caller said otherwise."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from headwater.transport.socket_transport import SocketTransport
from headwater.transport.wire import split_url
from headwater_codecs.neutral.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Coroutine

    from headwater.transport.base import Clock, Trace, Transport, TransportResponse
    from headwater.transport.httpx_transport import HttpxTransport
    from headwater_providers.adapter import HttpRequest

_CHOICES = "give 'auto', 'socket', 'httpx', an async client of httpx or httpx2, or an object with open() and aclose()"


def choose_transport(
    transport: object = "auto", *, ssl_context: ssl.SSLContext | None = None, proxy: str | None = None, clock: Clock = time.monotonic
) -> Transport:
    """The transport for an engine's `transport=`. Raises ConfigurationError for what is none, or what cannot go together.

    A `Transport` comes back as it is and stays the caller's to close; any other is the engine's.
    """
    if proxy is not None:
        _check_proxy(proxy)
    if transport == "auto":
        return AutoTransport(ssl_context=ssl_context, proxy=proxy, clock=clock)
    if transport == "socket":
        if proxy is not None:
            raise ConfigurationError("transport='socket' speaks to no proxy: use 'auto' or 'httpx'")
        return SocketTransport(ssl_context=ssl_context, clock=clock)
    if isinstance(transport, str) and transport != "httpx":
        raise ConfigurationError(f"transport {transport!r} is unknown: {_CHOICES}")
    if not isinstance(transport, str) and callable(getattr(transport, "open", None)) and callable(getattr(transport, "aclose", None)):
        if proxy is not None or ssl_context is not None:
            raise ConfigurationError("a given transport brings its own proxy and TLS settings: set them there")
        return cast("Transport", transport)
    # Only now: httpx is slow to import, and most never need it.
    from headwater.transport.httpx_client import client_family
    from headwater.transport.httpx_transport import HttpxTransport

    if transport == "httpx":
        return HttpxTransport(proxy=proxy, ssl_context=ssl_context)
    if client_family(transport) is None:
        raise ConfigurationError(f"transport is a {type(transport).__name__}: {_CHOICES}")
    return HttpxTransport(transport, proxy=proxy, ssl_context=ssl_context)


class AutoTransport:
    """Sockets for addresses that are reached directly, httpx for those behind a proxy; httpx is imported when first needed."""

    def __init__(self, *, ssl_context: ssl.SSLContext | None = None, proxy: str | None = None, clock: Clock = time.monotonic) -> None:
        self._ssl_context = ssl_context
        self._proxy = proxy
        self._sockets = SocketTransport(ssl_context=ssl_context, clock=clock)
        self._httpx: HttpxTransport | None = None
        self._proxied: dict[str, bool] = {}  # by origin: the environment is looked at once for each

    async def open(self, request: HttpRequest, trace: Trace) -> TransportResponse:
        """Open the request with the transport that its address needs."""
        return await self.choose(request.url).open(request, trace)

    def reuse(self, request: HttpRequest, trace: Trace) -> Coroutine[object, object, TransportResponse] | None:
        """Send the request on an idle socket, if the address is reached by one."""
        transport = self.choose(request.url)
        return transport.reuse(request, trace) if isinstance(transport, SocketTransport) else None

    def choose(self, url: str) -> Transport:
        """The transport for this address."""
        address = split_url(url)
        proxied = self._proxied.get(address.origin)
        if proxied is None:
            scheme = "https" if address.secure else "http"
            proxied = self._proxied[address.origin] = self._proxy is not None or proxy_applies(scheme, address.host, address.port)
        if not proxied:
            return self._sockets
        if self._httpx is None:
            from headwater.transport.httpx_transport import HttpxTransport

            self._httpx = HttpxTransport(proxy=self._proxy, ssl_context=self._ssl_context)
        return self._httpx

    async def aclose(self) -> None:
        """Close both."""
        try:
            await self._sockets.aclose()
        finally:
            if self._httpx is not None:
                await self._httpx.aclose()


def proxy_applies(scheme: str, host: str, port: int) -> bool:
    """Whether the environment (or the system) names a proxy for this address: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, but for NO_PROXY.

    Never for this machine itself: the embedded model and test servers are behind no proxy, and none could reach them.
    """
    if host in ("localhost", "::1") or host.startswith("127."):
        return False
    from urllib.request import getproxies, proxy_bypass  # slow to import

    proxies = getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not proxy_bypass(f"{host}:{port}")


def _check_proxy(proxy: str) -> None:
    try:
        parts = urlsplit(proxy)
        good = parts.scheme in ("http", "https", "socks5", "socks5h") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:  # the address is not quoted: it may carry a password
        raise ConfigurationError("the proxy's address cannot be read: give one like http://host:port")
