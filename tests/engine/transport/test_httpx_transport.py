"""What only the httpx transport promises: clients of both libraries, proxies, HTTP/2."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import ModuleType

import anyio
import h2.config
import h2.connection
import h2.events
import httpx
import httpx2
import pytest

from engine.transport.scripted_server import CHUNKED, HELLO, Peer, chunk, client_context, fetch, no_leak, post, read_all, serve, settle, trace
from headwater.transport import open_with_fresh_retry
from headwater.transport.httpx_client import client_family
from headwater.transport.httpx_transport import HttpxTransport
from headwater_codecs.neutral import ConfigurationError, DeadlineExceeded, HeadwaterError, NetworkError, TruncatedError

both = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


@both
def test_client_family(library: ModuleType) -> None:
    """Clients are told apart by their module, subclasses included; others are none."""

    class Mine(library.AsyncClient):  # type: ignore[misc, name-defined]  # a module given as a value
        pass

    assert client_family(Mine()) == library.__name__
    assert client_family(library.Client()) is None
    assert client_family(object()) is None


@both
def test_sync_client_is_refused(library: ModuleType) -> None:
    """A synchronous client is named and refused."""
    with pytest.raises(ConfigurationError, match="Client is no async client"):
        HttpxTransport(library.Client())


def test_settings_of_a_given_client() -> None:
    """A given client takes no settings from us, and HTTP/2 needs its package."""
    with pytest.raises(ConfigurationError, match="set them there"):
        HttpxTransport(httpx.AsyncClient(), proxy="http://x:1")


def test_http2_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without h2 the message names the command that gets it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'headwater\[http2\]'"):
        HttpxTransport(http2=True)


@both
@pytest.mark.anyio
async def test_given_client(library: ModuleType) -> None:
    """The caller's client is used as it is, headers, timeouts and hooks included, and never closed by us."""
    hooks: list[object] = []

    async def hook(request: object) -> None:
        hooks.append(request)

    async def script(peer: Peer) -> None:
        while True:
            await peer.answer(HELLO)

    with anyio.fail_after(5):
        async with (
            no_leak(),
            serve(script) as server,
            library.AsyncClient(headers={"x-team": "a"}, timeout=0.001, event_hooks={"request": [hook]}) as client,
        ):
            transport = HttpxTransport(client)
            assert (await fetch(transport, post(server.url)))[1] == b"hello world"
            await transport.aclose()
            assert not client.is_closed
            assert (await fetch(transport, post(server.url)))[2].reused
            assert b"x-team: a" in server.peers[0].requests[0]
            assert len(hooks) == 2


@both
@pytest.mark.anyio
async def test_client_without_sockets(library: ModuleType) -> None:
    """A client over a transport of one's own, which tells nothing of connections, works; its failures are mapped."""

    def answer(request: object) -> object:
        path = request.url.path  # type: ignore[attr-defined]  # a request of either library
        if path == "/refuse":
            raise library.ConnectError("no")
        if path == "/slow":
            raise library.PoolTimeout("no")
        if path == "/odd":
            raise KeyError("secret")
        return library.Response(200, content=b"hello world")

    async with library.AsyncClient(transport=library.MockTransport(answer)) as client:
        transport = HttpxTransport(client)
        status, body, seen = await fetch(transport, post("http://x/"))
        assert (status, body, seen.reused, seen.connected is not None) == (200, b"hello world", False, True)
        for path, error, kind in (("refuse", NetworkError, "network"), ("slow", DeadlineExceeded, "timeout"), ("odd", HeadwaterError, "internal")):
            with pytest.raises(error) as caught:
                await transport.open(post(f"http://x/{path}"), trace())
            assert caught.value.info.kind == kind
            assert "secret" not in str(caught.value)
            assert caught.value.__cause__ is not None


@both
@pytest.mark.anyio
async def test_proxy(library: ModuleType) -> None:
    """A proxy gets the request in absolute form; one that needs CONNECT and refuses it is a failure on connecting."""

    async def script(peer: Peer) -> None:
        request = await peer.read_request()
        await peer.stream.send(
            b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n" if request.startswith(b"CONNECT") else HELLO
        )
        await peer.wait_hang_up()

    with anyio.fail_after(5):
        async with no_leak(), serve(script) as proxy:
            transport = HttpxTransport(family=library.__name__, proxy=f"http://127.0.0.1:{proxy.port}", ssl_context=client_context())  # type: ignore[arg-type]
            assert (await fetch(transport, post("http://model.example/v1")))[:2] == (200, b"hello world")
            assert proxy.peers[0].requests[0].startswith(b"POST http://model.example/v1 HTTP/1.1\r\n")
            with pytest.raises(NetworkError, match="the proxy refused") as caught:
                await transport.open(post("https://model.example/v1"), trace())
            assert (caught.value.info.phase, caught.value.info.retryable) == ("connect", False)
            await transport.aclose()


@both
@pytest.mark.anyio
async def test_environment_proxy(library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument the environment's proxies count."""

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO)
        await peer.wait_hang_up()

    with anyio.fail_after(5):
        async with no_leak(), serve(script) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
            monkeypatch.delenv("NO_PROXY", raising=False)
            monkeypatch.delenv("no_proxy", raising=False)
            transport = HttpxTransport(family=library.__name__, ssl_context=client_context())  # type: ignore[arg-type]
            assert (await fetch(transport, post("http://model.example/v1")))[1] == b"hello world"
            await transport.aclose()


@both
@pytest.mark.anyio
async def test_body_is_raw(library: ModuleType) -> None:
    """Content encodings are not undone here."""

    async def script(peer: Peer) -> None:
        await peer.answer(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope")
        await peer.wait_hang_up()

    with anyio.fail_after(5):
        async with serve(script) as server, library.AsyncClient() as client:
            assert (await fetch(HttpxTransport(client), post(server.url)))[1] == b"nope"


async def http2_server(peer: Peer) -> None:
    """HTTP/2 with prior knowledge: answers `/whole` whole, breaks `/cut` off, and stalls after one piece of anything else."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    await peer.stream.send(connection.data_to_send())
    paths: dict[int, str] = {}
    try:
        while True:
            for event in connection.receive_data(await peer.stream.receive()):
                if isinstance(event, h2.events.RequestReceived) and event.stream_id and event.headers:
                    paths[event.stream_id] = bytes(dict(event.headers)[b":path"]).decode()
                if isinstance(event, h2.events.StreamEnded) and event.stream_id:
                    path = paths[event.stream_id]
                    connection.send_headers(event.stream_id, [(":status", "200"), ("X-A", "1")])
                    connection.send_data(event.stream_id, b"hello", end_stream=path == "/whole")
                    if path == "/cut":
                        connection.reset_stream(event.stream_id)
            await peer.stream.send(connection.data_to_send())
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        peer.hung_up.set()


@both
@pytest.mark.anyio
async def test_http2(library: ModuleType) -> None:
    """Over HTTP/2: streams share a connection, a reset is truncated, `abort` wakes a pending read and leaves the others alone."""
    with anyio.fail_after(10):
        async with no_leak(), serve(http2_server) as server, library.AsyncClient(http1=False, http2=True) as client:
            transport, base = HttpxTransport(client), server.url.removesuffix("/v1")
            assert (await fetch(transport, post(f"{base}/whole")))[1] == b"hello"
            cut = await transport.open(post(f"{base}/cut"), seen := trace())
            assert seen.reused
            with pytest.raises(TruncatedError):
                await read_all(cut)
            await cut.aclose(drain=True)

            stalled = await transport.open(post(f"{base}/stall"), trace())
            assert await stalled.receive() == b"hello"
            woken = anyio.Event()

            async def wait() -> None:
                with pytest.raises(anyio.ClosedResourceError):
                    await stalled.receive()
                woken.set()

            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await settle()
                await stalled.abort()
                await woken.wait()
            assert (await fetch(transport, post(f"{base}/whole")))[1] == b"hello"


@both
@pytest.mark.anyio
async def test_fresh_connection_of_our_own_client(library: ModuleType) -> None:
    """The second try uses a new connection although another idle one is there."""

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO)
        await peer.read_request()  # every second request finds the connection dying

    with anyio.fail_after(5):
        async with no_leak(), serve(script) as server:
            transport = HttpxTransport(family=library.__name__, ssl_context=client_context())  # type: ignore[arg-type]
            first, second = [await transport.open(post(server.url), trace()) for _ in range(2)]
            for response in (first, second):
                await read_all(response)
                await response.aclose()
            response = await open_with_fresh_retry(transport, post(server.url), seen := trace())
            assert (await read_all(response), seen.reused, len(server.peers)) == (b"hello world", False, 3)
            await response.aclose()
            await transport.aclose()


@pytest.mark.anyio
async def test_unstarted_body_is_unwound() -> None:
    """A response that is closed before anything was read leaves no generator behind."""

    async def script(peer: Peer) -> None:
        await peer.answer(CHUNKED + chunk(b"hello"))
        await peer.wait_hang_up()

    with anyio.fail_after(5):
        async with no_leak(), serve(script) as server:
            transport = HttpxTransport(family="httpx", ssl_context=client_context())
            response = await transport.open(post(server.url), trace())
            await response.aclose()
            await server.peers[0].hung_up.wait()
            await transport.aclose()


@pytest.mark.parametrize("ends", ["piece", "end", "error"])
@pytest.mark.anyio
async def test_given_up_in_the_moment_of_a_read(ends: str) -> None:
    """Closed by force in the very moment in which a read comes back, the body is closed by that read, whatever it brought."""
    let_go: list[str] = []

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"first"
            await response.abort()  # from here on nothing waits: the read comes back as if nothing had happened
            if ends == "error":
                raise httpx.ReadError("reset")
            if ends == "piece":
                yield b"second"

        async def aclose(self) -> None:
            let_go.append("closed")

    class Wire(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, stream=Body())

    async with httpx.AsyncClient(transport=Wire()) as client:
        response = await HttpxTransport(client).open(post("http://x/"), trace())
        assert await response.receive() == b"first"
        with pytest.raises(anyio.ClosedResourceError):
            await response.receive()
        assert let_go == ["closed"]
