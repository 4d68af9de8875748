"""A server that quotes the request back, head and body, in its error: no key of any kind comes back out. And no redirect is followed."""

from __future__ import annotations

import json
from collections.abc import Callable

import anyio
import pytest
import structlog

import headwater
from engine.test_secrets import written
from engine.upstream import KEY
from headwater.stream import Topology
from headwater_codecs.neutral import HeadwaterError, Model, Request, user
from loopback import Asked, Reply, loopback

pytestmark = pytest.mark.anyio


def a_token() -> str:
    """What a token provider gives."""
    return KEY


WAYS: dict[str, Callable[[str], Model]] = {
    "bearer": lambda url: Model("m", provider="openai", protocol="openai-chat", base_url=url, api_key=KEY),
    "token provider": lambda url: Model("m", provider="openai", protocol="openai-chat", base_url=url, api_key=a_token),
    "own header": lambda url: Model("m", provider="anthropic", protocol="anthropic-messages", base_url=url, api_key=KEY),
    "gemini": lambda url: Model("m", provider="gemini", protocol="gemini", base_url=url, api_key=KEY),
    "extra header": lambda url: Model("m", provider="openai", protocol="openai-chat", base_url=url, api_key="other", headers={"x-api-key": KEY}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [200, 401, 500])
async def test_what_was_sent_is_quoted(topology: Topology, capfd: pytest.CaptureFixture[str], way: str, status: int) -> None:
    """As a JSON error, as an error in the stream; logged at every level by structlog."""
    heads: list[str] = []

    async def script(asked: Asked, reply: Reply) -> None:
        head = ", ".join(f"{name}: {value}" for name, value in asked.headers.items())
        heads.append(head)
        await reply.whole(status, error_that_quotes(head))

    errors: list[HeadwaterError] = []
    with structlog.testing.capture_logs() as logs, anyio.fail_after(10):
        retry = headwater.Retry(attempts=1, base=0)
        async with (
            headwater.Engine(transport="socket", retry=retry, topology=topology, log=structlog.get_logger()) as engine,
            loopback(script) as server,
        ):
            request = Request(model=WAYS[way](server.base_url), messages=[user("hi")])
            shown = [repr(engine), repr(request)]
            try:
                await engine.generate(request)
            except HeadwaterError as error:
                errors.append(error)
    assert heads
    assert all(KEY in head for head in heads)
    [error] = errors
    assert error.response is not None
    everything = written(error.response, error) + "\n".join(shown) + repr(logs) + "".join(capfd.readouterr())
    assert KEY not in everything
    assert "***" in everything


def error_that_quotes(head: str) -> bytes:
    """An error body in the form that most vendors have."""
    return json.dumps({"error": {"message": f"cannot serve {head}", "type": "x", "code": "x"}}).encode()


@pytest.mark.parametrize("transport", ["socket", "httpx"])
async def test_no_redirect_is_followed(transport: str) -> None:
    """A 307 to the same server is a typed error, and one request is all that went out."""
    paths: list[str] = []

    async def script(asked: Asked, reply: Reply) -> None:
        paths.append(asked.prompt)
        await reply.send(b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n")

    with anyio.fail_after(10):
        async with headwater.Engine(transport=transport, retry=headwater.Retry(attempts=0)) as engine, loopback(script) as server:
            with pytest.raises(HeadwaterError) as caught:
                await engine.generate(Request(model=WAYS["bearer"](server.base_url), messages=[user("hi")]))
    assert caught.value.info.status == 307
    assert "redirects are not followed" in caught.value.info.message
    assert paths == ["hi"]
