"""Which transport takes a request."""

from __future__ import annotations

import subprocess
import sys

import anyio
import httpx
import httpx2
import pytest

import headwater.transport
from engine.transport.scripted_server import HELLO, Peer, fetch, no_leak, post, serve
from headwater.transport import AutoTransport, SocketTransport, Trace, TransportResponse, choose_transport
from headwater.transport.httpx_transport import HttpxTransport
from headwater.transport.select import proxy_applies
from headwater_codecs.neutral import ConfigurationError
from headwater_providers.adapter import HttpRequest


class Own:
    """A transport of one's own."""

    async def open(self, request: HttpRequest, trace: Trace) -> TransportResponse:
        raise AssertionError("it is chosen here, never opened")

    async def aclose(self) -> None:
        pass


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy but those that a test sets."""
    for scheme in ("http", "https", "all", "no"):
        for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper()):
            monkeypatch.delenv(name, raising=False)


def test_choices() -> None:
    """Each word, client or object gives its transport."""
    own = Own()
    assert type(choose_transport()) is AutoTransport
    assert type(choose_transport("socket")) is SocketTransport
    assert type(choose_transport("httpx")) is HttpxTransport
    assert type(choose_transport(httpx.AsyncClient())) is HttpxTransport
    assert type(choose_transport(httpx2.AsyncClient())) is HttpxTransport
    assert choose_transport(own) is own


@pytest.mark.parametrize("transport", ["sockets", None, 3, httpx.Client()])
def test_no_choice(transport: object) -> None:
    """What is no transport is refused, with the choices named."""
    with pytest.raises(ConfigurationError, match="give 'auto', 'socket', 'httpx'"):
        choose_transport(transport)


def test_what_does_not_go_together() -> None:
    """Settings that the chosen transport would ignore are refused."""
    for transport in ("socket", Own(), httpx.AsyncClient()):
        with pytest.raises(ConfigurationError):
            choose_transport(transport, proxy="http://x:1")


@pytest.mark.parametrize("proxy", ["x:1", "http://", "ftp://x", "http://x:y", "secret"])
def test_bad_proxy(proxy: str) -> None:
    """A proxy's address that cannot be read is refused, and not shown."""
    with pytest.raises(ConfigurationError, match="the proxy's address cannot be read") as caught:
        choose_transport(proxy=proxy)
    assert "secret" not in str(caught.value)


def test_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets, unless the environment names a proxy for the address; each origin is looked up once."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("NO_PROXY", "direct.example,127.0.0.1")
    transport = AutoTransport()
    chosen = [type(transport.choose(url)) for url in ("https://a.example/v1", "https://direct.example/", "http://a.example/", "https://127.0.0.1:9/")]
    assert chosen == [HttpxTransport, SocketTransport, SocketTransport, SocketTransport]
    assert transport.choose("https://b.example/") is transport.choose("https://a.example/v2")


def test_auto_with_a_proxy_given() -> None:
    """A proxy that is an argument takes everything."""
    assert type(AutoTransport(proxy="http://proxy:1").choose("http://127.0.0.1/")) is HttpxTransport


def test_proxy_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """ALL_PROXY counts for both schemes, NO_PROXY=* against it."""
    assert not proxy_applies("http", "x", 80)
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy:1")
    assert proxy_applies("http", "x", 80)
    assert proxy_applies("https", "x", 443)
    monkeypatch.setenv("NO_PROXY", "*")
    assert not proxy_applies("http", "x", 80)


@pytest.mark.anyio
async def test_auto_end_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Direct and through a proxy, in one engine; closing closes both."""

    async def script(peer: Peer) -> None:
        await peer.answer(HELLO)
        await peer.wait_hang_up()

    httpx.AsyncClient()  # its import opens files
    with anyio.fail_after(5):
        async with no_leak(), serve(script) as server, serve(script) as proxy:
            monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            transport = choose_transport()
            for url in (server.url, "http://model.example/"):
                assert (await fetch(transport, post(url)))[1] == b"hello world"
            await transport.aclose()
            for one in (server, proxy):
                await one.peers[0].hung_up.wait()


def test_import_is_light() -> None:
    """Importing the package, and choosing sockets, imports neither httpx nor trio."""
    heavy = "{'httpx', 'httpx2', 'trio', 'urllib.request'}"
    code = f"import sys; import headwater.transport as t; t.choose_transport('socket'); print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_public_names() -> None:
    """`__all__` is sorted and true."""
    assert headwater.transport.__all__ == sorted(headwater.transport.__all__)
    assert all(hasattr(headwater.transport, name) for name in headwater.transport.__all__)
