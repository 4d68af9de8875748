"""The one silent second try, above every transport: a connection from the pool that died while it was idle."""

from __future__ import annotations

from collections.abc import Coroutine

from headwater.transport.base import Trace, Transport, TransportResponse
from headwater_codecs.neutral.errors import NetworkError
from headwater_providers.adapter import HttpRequest


async def reuse_idle(transport: Transport, request: HttpRequest, trace: Trace) -> TransportResponse | None:
    """The response on an idle connection of the transport's; None where there is none, or it was dead: then the request goes out on a new one."""
    reuse = getattr(transport, "reuse", None)  # not every transport tells
    waiting: Coroutine[object, object, TransportResponse] | None = reuse(request, trace) if reuse is not None else None
    if waiting is None:
        return None
    try:
        return await waiting
    except NetworkError:
        if trace.first_byte or trace.given_up:
            raise
    finally:
        trace.abort = None
    trace.restart()
    return None


async def open_with_fresh_retry(transport: Transport, request: HttpRequest, trace: Trace) -> TransportResponse:
    """Open the request; once more on a new connection if a *reused* one broke before the response's first byte.

    A server may close an idle connection just when a request sets out for it. That is no failure of the request, so it costs no retry of
    the engine's and no back-off. Raises what the last try raised.
    """
    try:
        return await transport.open(request, trace)
    except NetworkError:
        if not trace.reused or trace.first_byte or trace.fresh:
            raise
    trace.restart()
    return await transport.open(request, trace)
