"""One table from the exceptions of the libraries below to ours. What is not in it becomes `internal`; none escapes raw.

Exceptions are looked up by family and class name along their bases, so httpx and httpx2 share their rows and neither is imported here.
A library wraps the exception of the one below it: the first *specific* row in the chain of causes decides, else the outermost row.
Messages name host and port, never a header.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from headwater_codecs.neutral.errors import (
    ConfigurationError,
    DeadlineExceeded,
    ErrorKind,
    HeadwaterError,
    MalformedError,
    NetworkError,
    Phase,
    TruncatedError,
    error_info,
)

What = Literal["broken", "malformed", "timeout", "configuration"]


class _Row(Struct, frozen=True):
    """What one exception means. `broken` is `network` before the first byte of the response and `truncated` after it."""

    what: What
    text: str
    retryable: bool = True
    specific: bool = False
    phase: Phase | None = None  # where it happens, whatever was thought to be going on


_TRUST = "its certificate is not trusted ({0}): pass ssl_context=, or name the authority in SSL_CERT_FILE"
_ROWS: dict[str, _Row] = {
    "builtins.ConnectionRefusedError": _Row("broken", "connection refused", specific=True),
    "builtins.ConnectionResetError": _Row("broken", "connection reset by peer", specific=True),
    "builtins.BrokenPipeError": _Row("broken", "connection closed by peer while the request was being sent", specific=True),
    "builtins.ConnectionAbortedError": _Row("broken", "connection aborted", specific=True),
    "builtins.TimeoutError": _Row("broken", "the network timed out", specific=True),
    "builtins.OSError": _Row("broken", "{0}"),
    "builtins.UnicodeError": _Row("configuration", "the host name cannot be encoded"),
    "socket.gaierror": _Row("broken", "the host name cannot be resolved ({0})", specific=True),
    "ssl.SSLCertVerificationError": _Row("broken", _TRUST, retryable=False, specific=True),
    "ssl.SSLEOFError": _Row("broken", "connection closed by peer during TLS", specific=True),
    "ssl.SSLError": _Row("broken", "TLS failed ({0})", retryable=False, specific=True),
    "anyio.EndOfStream": _Row("broken", "connection closed by peer"),
    "anyio.BrokenResourceError": _Row("broken", "connection broken"),
    "anyio.ClosedResourceError": _Row("broken", "connection closed"),
    "anyio.IncompleteRead": _Row("broken", "connection closed by peer"),
    "httptools.HttpParserError": _Row("malformed", "the answer is not HTTP ({0})"),
    "h11.RemoteProtocolError": _Row("malformed", "the answer is not HTTP ({0})", specific=True),
    "httpx.ConnectTimeout": _Row("timeout", "the client's own connect timeout passed"),
    "httpx.PoolTimeout": _Row("timeout", "no connection became free within the client's own pool timeout"),
    "httpx.TimeoutException": _Row("timeout", "the client's own timeout passed"),
    "httpx.UnsupportedProtocol": _Row("configuration", "the address is neither http:// nor https://"),
    "httpx.InvalidURL": _Row("configuration", "the address cannot be read"),
    "httpx.LocalProtocolError": _Row("configuration", "the request cannot be written as HTTP ({0})"),
    "httpx.ProxyError": _Row("broken", "the proxy refused ({0})", retryable=False, specific=True, phase="connect"),
    "httpx.RemoteProtocolError": _Row("broken", "the server broke off ({0})"),
    "httpx.StreamError": _Row("broken", "connection closed"),
    "httpx.TransportError": _Row("broken", "connection broken"),
    "httpx.RequestError": _Row("broken", "the request failed ({0})"),
}
_FAMILY = {"httpx2": "httpx", "httpcore": "httpx", "httpcore2": "httpx"}  # the two cores use httpx's class names
_WHOLE_CUT = "closed connection"  # h11 has one class for a cut answer and for a garbled one: only its text tells them apart
_WHEN = {"headers": ", before it answered", "stream": ", before the end of the body"}
_TIMEOUT_DEADLINE = {"ConnectTimeout": "connect", "PoolTimeout": "connect"}


def foreign_error(error: BaseException, peer: str, phase: Phase, *, first_byte: bool = False) -> HeadwaterError:
    """Our exception for a foreign one; chain it (`raise ... from error`). `peer` is host:port, for the message."""
    if isinstance(error, HeadwaterError):
        return error
    row, cause = _decide(error)
    if row is None or cause is None:
        return HeadwaterError(error_info("internal", f"{peer}: the client raised {type(error).__name__}", phase=phase))
    phase = row.phase or phase
    said = f"{peer}: {row.text.format(_said(cause))}"
    if row.what == "broken":
        said = f"cannot connect to {said}" if phase == "connect" else said + _WHEN[phase]
    if row.what == "configuration":
        return ConfigurationError(error_info("configuration", said))
    if row.what == "timeout":
        return DeadlineExceeded(error_info("timeout", said, phase=phase, deadline=_TIMEOUT_DEADLINE.get(type(cause).__name__)))
    if row.what == "malformed":
        return malformed(said, phase)
    return broken(said, phase, first_byte=first_byte, retryable=row.retryable)


def broken(message: str, phase: Phase, *, first_byte: bool, retryable: bool = True) -> HeadwaterError:
    """A connection that broke off: NetworkError before the first byte of the response, TruncatedError after it."""
    kind: ErrorKind = "truncated" if first_byte else "network"
    made = TruncatedError if first_byte else NetworkError
    return made(error_info(kind, message, phase=phase, retryable=retryable))


def malformed(message: str, phase: Phase) -> MalformedError:
    """Bytes that break HTTP's rules or our limits."""
    return MalformedError(error_info("malformed", message, phase=phase))


def _decide(error: BaseException) -> tuple[_Row | None, BaseException | None]:
    outermost: tuple[_Row | None, BaseException | None] = (None, None)
    for cause in _chain(error):
        row = _lookup(cause)
        if row is None:
            continue
        if row.specific:
            return row, cause
        if outermost[0] is None:
            outermost = row, cause
    return outermost


def _lookup(error: BaseException) -> _Row | None:
    for base in type(error).__mro__:
        root = base.__module__.partition(".")[0]
        name = f"{_FAMILY.get(root, root)}.{base.__name__}"
        if (row := _ROWS.get(name)) is not None:
            if name == "h11.RemoteProtocolError" and _WHOLE_CUT in str(error):
                return None
            return row
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what caused it, outermost first; of a group of failed attempts the first counts."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        if isinstance(following, BaseExceptionGroup):
            following = following.exceptions[0]
        else:
            following = following.__cause__ or following.__context__


def _said(error: BaseException) -> str:
    """What the library said, in a few words."""
    for name in ("verify_message", "reason", "strerror"):
        value = getattr(error, name, None)
        if isinstance(value, str) and value:
            return value.replace("_", " ").lower() if name == "reason" else value
    return str(error)[:200] or type(error).__name__
