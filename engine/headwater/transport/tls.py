"""TLS over a byte stream: a synchronous session (records in, text out) and the stream that feeds it.

anyio's own TLS stream reads one record of 16 KiB at a time and is unusable for reading once sending has failed. A streaming client wants
all records of one read as one piece, and the answer of a server that refused a request half-way. Certificates, versions and ciphers are
the business of the `ssl.SSLContext`.
"""

from __future__ import annotations

import contextlib
import ssl

import anyio
from anyio.abc import ByteStream

from headwater_codecs.neutral.errors import ConfigurationError

_RECORD = 16 << 10  # bytes: the most that one TLS record holds (RFC 8446, 5.1)


def default_context() -> ssl.SSLContext:
    """Verified TLS, HTTP/1.1 by ALPN; SSL_CERT_FILE and SSL_CERT_DIR count. Costs some 20 ms: keep it."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class TLSSession:
    """The client's side of one TLS connection, without a socket. What is to be sent is fetched with `outgoing()`."""

    def __init__(self, engine: ssl.SSLObject, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, offered: ssl.SSLSession | None = None) -> None:
        self.closed = False  # the peer said that nothing more comes
        self.offered = offered  # the ticket that the handshake began with
        self._engine = engine
        self._incoming = incoming
        self._outgoing = outgoing
        self._fault: ssl.SSLError | None = None

    def handshake(self, data: bytes) -> bool:
        """Take the peer's bytes; True once the handshake is done. Raises ssl.SSLError."""
        self._incoming.write(data)
        try:
            self._engine.do_handshake()
        except ssl.SSLWantReadError:
            return False
        if self._engine.selected_alpn_protocol() == "h2":
            raise ConfigurationError(
                "the ssl_context offers HTTP/2, which this transport does not speak: set_alpn_protocols(['http/1.1']), or use transport='httpx'"
            )
        return True

    def decrypt(self, data: bytes) -> bytes:
        """The text of all records that these bytes complete. A fault behind good records is raised by the next call."""
        if self._fault is not None:
            raise self._fault
        incoming, read = self._incoming, self._engine.read
        incoming.write(data)
        pieces: list[bytes] = []
        try:
            while True:
                piece = read(_RECORD)
                if not piece:
                    self.closed = True
                    break
                pieces.append(piece)
                if not incoming.pending:
                    break
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            if not pieces:
                raise
            self._fault = error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def encrypt(self, data: bytes) -> bytes:
        """The records that carry this text."""
        self._engine.write(data)
        return self._outgoing.read()

    @property
    def resumed(self) -> bool:
        """Whether the handshake was a short one, with an earlier connection's ticket."""
        return bool(self._engine.session_reused)

    def ticket(self) -> ssl.SSLSession | None:
        """What lets later connections to the same server resume this session (RFC 8446, 4.6.1). Servers send it with or after their first bytes.

        Costs half a handshake, since `ssl` makes a copy.
        """
        return self._engine.session

    def outgoing(self) -> bytes:
        """What the session itself has to say (handshake, key update), b"" if nothing."""
        return self._outgoing.read() if self._outgoing.pending else b""


class TLSStream:
    """Sending and receiving over TLS. Closed is the stream below: the peer's goodbye is not waited for, HTTP says itself where a body ends."""

    def __init__(self, stream: ByteStream, session: TLSSession) -> None:
        self.session = session
        self._stream = stream

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """All text of one read below, never empty."""
        session = self.session
        while True:
            if session.closed:
                raise anyio.EndOfStream
            text = session.decrypt(await self._stream.receive(max_bytes))
            if out := session.outgoing():
                await self._stream.send(out)
            if text:
                return text

    async def send(self, item: bytes) -> None:
        """Send it all."""
        await self._stream.send(self.session.encrypt(item))


async def start_tls(stream: ByteStream, context: ssl.SSLContext, host: str, ticket: ssl.SSLSession | None = None) -> TLSStream:
    """The handshake. Raises ssl.SSLError and what the stream raises; closing the stream is the caller's.

    `ticket`: of an earlier connection to this host with this context. A server that knows it leaves out its certificate and signature; one that
    does not makes a full handshake.
    """
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    if type(context) is ssl.SSLContext:
        engine = context.wrap_bio(incoming, outgoing, server_hostname=host, session=ticket)
    else:  # one that asks the system's store may block
        engine = await anyio.to_thread.run_sync(lambda: context.wrap_bio(incoming, outgoing, server_hostname=host))
    session = TLSSession(engine, incoming, outgoing, ticket)
    data = b""
    while True:
        try:
            done = session.handshake(data)
        except ssl.SSLError:
            if out := session.outgoing():  # the alert that tells the peer why
                await _try_send(stream, out)
            raise
        if out := session.outgoing():
            await stream.send(out)
        if done:
            return TLSStream(stream, session)
        data = await stream.receive()


async def _try_send(stream: ByteStream, data: bytes) -> None:
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.send(data)
