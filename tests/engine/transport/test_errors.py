"""The table of foreign exceptions."""

from __future__ import annotations

import socket
import ssl

import anyio
import httptools
import httpx
import httpx2
import pytest

from headwater.transport.errors import foreign_error
from headwater_codecs.neutral import ConfigurationError, DeadlineExceeded, ErrorInfo, HeadwaterError, MalformedError, NetworkError, TruncatedError
from headwater_codecs.neutral.errors import Phase


def caused(error: Exception, cause: Exception) -> Exception:
    """`error`, raised from `cause`."""
    error.__cause__ = cause
    return error


def untrusted() -> ssl.SSLError:
    """What ssl raises for a certificate that nobody has signed."""
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)")
    error.verify_message = "self-signed certificate"
    return error


REFUSED = ConnectionRefusedError(111, "Connection refused")
RESET = ConnectionResetError(104, "Connection reset by peer")


@pytest.mark.parametrize(
    ("error", "phase", "kind", "message", "retryable"),
    [
        (REFUSED, "connect", "network", "cannot connect to h:1: connection refused", True),
        (caused(OSError("All connection attempts failed"), REFUSED), "connect", "network", "cannot connect to h:1: connection refused", True),
        (
            caused(OSError("All connection attempts failed"), ExceptionGroup("x", [REFUSED, RESET])),
            "connect",
            "network",
            "cannot connect to h:1: connection refused",
            True,
        ),
        (OSError(101, "Network is unreachable"), "connect", "network", "cannot connect to h:1: Network is unreachable", True),
        (
            socket.gaierror(-2, "Name or service not known"),
            "connect",
            "network",
            "cannot connect to h:1: the host name cannot be resolved (Name or service not known)",
            True,
        ),
        (caused(httpx.ConnectError("x"), REFUSED), "connect", "network", "cannot connect to h:1: connection refused", True),
        (caused(httpx2.ConnectError("x"), REFUSED), "connect", "network", "cannot connect to h:1: connection refused", True),
        (anyio.EndOfStream(), "headers", "network", "h:1: connection closed by peer, before it answered", True),
        (caused(anyio.BrokenResourceError(), RESET), "headers", "network", "h:1: connection reset by peer, before it answered", True),
        (caused(anyio.BrokenResourceError(), RESET), "stream", "truncated", "h:1: connection reset by peer, before the end of the body", True),
        (httpx.ReadError("x"), "stream", "truncated", "h:1: connection broken, before the end of the body", True),
        (httptools.HttpParserError("bad"), "headers", "malformed", "h:1: the answer is not HTTP (bad)", False),
        (httpx.PoolTimeout("x"), "connect", "timeout", "h:1: no connection became free within the client's own pool timeout", True),
        (httpx2.ReadTimeout("x"), "stream", "timeout", "h:1: the client's own timeout passed", True),
        (httpx.UnsupportedProtocol("x"), "connect", "configuration", "h:1: the address is neither http:// nor https://", False),
        (ValueError("Bearer secret"), "connect", "internal", "h:1: the client raised ValueError", False),
    ],
)
def test_table(error: Exception, phase: Phase, kind: str, message: str, retryable: bool) -> None:
    """Kind, message and whether to try again; the most telling cause in the chain decides."""
    info = foreign_error(error, "h:1", phase, first_byte=phase == "stream").info
    assert (info.kind, info.message, info.retryable) == (kind, message, retryable)


@pytest.mark.parametrize(
    ("error", "made"),
    [
        (RESET, NetworkError),
        (httpx.PoolTimeout("x"), DeadlineExceeded),
        (httptools.HttpParserError("x"), MalformedError),
        (httpx.LocalProtocolError("x"), ConfigurationError),
        (KeyError("x"), HeadwaterError),
    ],
)
def test_classes(error: Exception, made: type[HeadwaterError]) -> None:
    """The exception's class follows from the kind."""
    assert type(foreign_error(error, "h:1", "headers")) is made
    assert type(foreign_error(RESET, "h:1", "stream", first_byte=True)) is TruncatedError


def test_trust() -> None:
    """A certificate that is not trusted is no passing failure, and the message says what to do."""
    assert foreign_error(caused(httpx.ConnectError("x"), untrusted()), "h:1", "connect").info == ErrorInfo(
        "network",
        "cannot connect to h:1: its certificate is not trusted (self-signed certificate): pass ssl_context=, or name the authority in SSL_CERT_FILE",
        phase="connect",
    )


def test_our_own_pass() -> None:
    """An exception of ours stays itself."""
    error = ConfigurationError("x")
    assert foreign_error(error, "h:1", "connect") is error


def test_circular_causes() -> None:
    """A chain that bites its tail ends."""
    error, other = OSError("a"), OSError("b")
    error.__cause__, other.__cause__ = other, error
    assert foreign_error(error, "h:1", "stream", first_byte=True).info.message == "h:1: a, before the end of the body"
