"""The example service on real sockets: uvicorn in a thread, a scripted provider behind it, clients that stay and clients that hang up."""

from __future__ import annotations

import importlib.util
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import anyio
import httpx
import pytest
import uvicorn

import headwater
from loopback import Asked, Reply, delta, ending, loopback

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[2] / "examples" / "asgi_service.py"
CHAT = "/v1/chat/completions"


@pytest.fixture
def service() -> ModuleType:
    """The example, loaded anew."""
    spec = importlib.util.spec_from_file_location("asgi_service", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def address(service: ModuleType) -> Iterator[tuple[str, int]]:
    """Where the service listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(service.app, log_level="critical", lifespan="on", ws="none", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()
        server.should_exit = True
        thread.join(timeout=10)
        assert not thread.is_alive()


async def post(address: tuple[str, int], body: object) -> httpx.Response:
    """The whole answer to one request."""
    async with httpx.AsyncClient() as client:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await client.post(f"http://127.0.0.1:{address[1]}{CHAT}", content=content)


async def call(address: tuple[str, int], body: object) -> anyio.abc.SocketStream:
    """A connection on which the request was sent."""
    content = json.dumps(body).encode()
    connection = await anyio.connect_tcp(*address)
    await connection.send(b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (CHAT.encode(), len(content), content))
    return connection


async def test_prompt_in_events_out(anyio_backend: str, service: ModuleType, address: tuple[str, int]) -> None:
    """The answer is an OpenAI chat stream; the request reached the provider with its fields."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.chat("hel", "lo")

    with anyio.fail_after(5):
        async with loopback(script) as upstream:
            service.BASE_URL = upstream.base_url
            answer = await post(address, {"prompt": "hi", "model": "scripted", "max_tokens": 7, "stream": True})
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
    response = headwater.decode("openai-chat", [answer.content])
    assert (response.text, response.finish_reason, response.ok, response.model) == ("hello", "stop", True, "scripted")
    assert response.usage is not None
    assert (response.usage.output_tokens, answer.content.endswith(b"data: [DONE]\n\n")) == (2, True)
    assert (upstream.asked[0].body["max_tokens"], upstream.prompts) == (7, ["hi"])


async def test_events_are_not_held_back(anyio_backend: str, service: ModuleType, address: tuple[str, int]) -> None:
    """The first text reaches the client while the provider still writes."""
    seen = anyio.Event()

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        await reply.send(delta("first"))
        await seen.wait()
        await reply.send(delta("second") + ending())

    with anyio.fail_after(5):
        async with loopback(script) as upstream:
            service.BASE_URL = upstream.base_url
            async with await call(address, {"prompt": "x", "model": "scripted"}) as connection:
                received = b""
                while b"first" not in received:
                    received += await connection.receive()
                seen.set()
                while b"[DONE]" not in received:
                    received += await connection.receive()


@pytest.mark.parametrize("begun", [False, True], ids=["before the first event", "in the middle"])
async def test_hang_up_closes_the_upstream(anyio_backend: str, service: ModuleType, address: tuple[str, int], begun: bool) -> None:
    """When the client goes away the provider sees it within a second, whether it has answered yet or not."""

    async def script(asked: Asked, reply: Reply) -> None:
        if begun:
            await reply.begin()
            await reply.send(delta("first"))
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with loopback(script) as upstream:
            service.BASE_URL = upstream.base_url
            async with await call(address, {"prompt": "x", "model": "scripted"}) as connection:
                await upstream.busy(1)
                received = b""
                while begun and b"first" not in received:
                    received += await connection.receive()
            with anyio.fail_after(1):
                await upstream.asked[0].hung_up.wait()
            again = await post(address, {"prompt": ""})  # the service is still there
    assert (upstream.active, again.status_code) == (0, 400)


async def test_refused_by_the_provider(anyio_backend: str, service: ModuleType, address: tuple[str, int]) -> None:
    """A failure before the first event is an HTTP status with the protocol's error, and how long to wait."""

    async def refuse(asked: Asked, reply: Reply) -> None:
        await reply.whole(429, b'{"error":{"message":"slow down"}}', retry_after="120")

    with anyio.fail_after(5):
        async with loopback(refuse) as upstream:
            service.BASE_URL = upstream.base_url
            answer = await post(address, {"prompt": "x", "model": "scripted"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "120")
    assert answer.json() == {"error": {"message": "slow down", "type": "rate_limit_error", "param": None, "code": "rate_limit_exceeded"}}


async def test_cut_by_the_provider(anyio_backend: str, service: ModuleType, address: tuple[str, int]) -> None:
    """A failure after the first event is the stream's last event, and there is no [DONE] that would make it look whole."""

    async def cut(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        await reply.send(delta("half"))

    with anyio.fail_after(5):
        async with loopback(cut) as upstream:
            service.BASE_URL = upstream.base_url
            answer = await post(address, {"prompt": "x", "model": "scripted"})
    response = headwater.decode("openai-chat", [answer.content])
    assert (answer.status_code, response.text, response.ok, b"data: [DONE]" in answer.content) == (200, "half", False, False)
    assert response.error is not None
    assert b'"type":"upstream_error"' in answer.content


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "the body is not a JSON object"),
        (b"[]", "the body is not a JSON object"),
        (b'{"messages": [{"role": "user", "content": 5}]}', "messages[0]"),
        (b'{"prompt": "x", "model": "nobody/nothing"}', "nobody"),
    ],
)
async def test_wrong_requests(anyio_backend: str, address: tuple[str, int], body: bytes, said: str) -> None:
    """What is wrong with the request is said before anything is asked of a provider."""
    with anyio.fail_after(5):
        answer = await post(address, body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]
