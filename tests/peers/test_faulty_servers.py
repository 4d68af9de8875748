"""Servers by other people that fail on purpose: llmock's faults and its verdict on us, WireMock's broken connections and its dribble."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import headwater as hw

pytest.importorskip("llmock", reason="the peers are not installed: pip install headwater[peers]")

from peers.servers import WIREMOCK, java, llmock, wiremock

pytestmark = pytest.mark.anyio
needs_java = pytest.mark.skipif(java() is None or not WIREMOCK.exists(), reason="WireMock needs Java and npm: install them and run make test")
LLMOCK = {
    "openai-chat": ("/v1", "gpt-4o-mini"),
    "openai-responses": ("/v1", "gpt-4o-mini"),
    "anthropic-messages": ("/anthropic", "claude-sonnet-4-5"),
    "gemini": ("/gemini/v1beta", "gemini-2.0-flash"),
    "cohere-chat": ("/cohere", "command-a-03-2025"),
}
FAULTS: dict[str, tuple[dict[str, Any], str, list[str]]] = {  # what comes of it where content has come before, and the verdict
    "disconnect": ({"kind": "disconnect"}, "truncated", []),
    "truncate": ({"kind": "truncate"}, "truncated", []),
    # It has written everything before it could see that we hung up, and so warns that we might have read on.
    "malformed": ({"kind": "malformed"}, "malformed", ["malformed_chunk_ignored"]),
    "stall": ({"kind": "stall", "stall_seconds": 30}, "timeout", []),
}


@pytest.fixture(scope="module")
def llmock_url() -> Iterator[str]:
    with llmock() as address:
        yield address


@pytest.fixture(scope="module")
def wiremock_url() -> Iterator[str]:
    with wiremock() as address:
        yield address


def model(protocol: str, address: str) -> hw.Model:
    """The model behind this address of llmock's."""
    path, name = LLMOCK[protocol]
    return hw.Model(name, provider="custom", protocol=protocol, base_url=address + path, api_key="sk-test-0123456789")


async def judged(address: str, behaviors: list[dict[str, Any]], ask: Any) -> tuple[Any, list[str]]:
    """What `ask` gives under these behaviours, and what llmock found wrong with us."""
    async with httpx.AsyncClient(base_url=address, trust_env=False) as admin:
        (await admin.post("/_llmock/reset")).raise_for_status()
        (await admin.post("/_llmock/scenario", json={"behaviors": behaviors})).raise_for_status()
        found = await ask()
        verdict = (await admin.get("/_llmock/verdict")).json()
    return found, [finding["code"] for finding in verdict["findings"]]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("protocol", LLMOCK)
async def test_llmock_breaks_a_stream(protocol: str, fault: str, llmock_url: str) -> None:
    """A stream that breaks after content fails with its kind, and the caller who asks again gets the whole answer."""
    settings, kind, expected = FAULTS[fault]
    request = hw.Request(model=model(protocol, llmock_url), messages=[hw.user("one two three four five six seven eight")], max_tokens=64)

    async def ask() -> list[hw.Response]:
        async with hw.Engine(transport="socket", timeouts=hw.Timeouts(idle=0.3)) as engine:
            return [await engine.generate(request, raise_on_error=False) for _ in range(2)]

    (broken, whole), findings = await judged(llmock_url, [{"type": "stream_fault", "after_chunks": 6, "times": 1, **settings}], ask)
    assert broken.error is not None
    assert broken.error.kind == kind
    assert whole.error is None
    assert whole.text.startswith(broken.text)
    assert findings == expected


@pytest.mark.parametrize("protocol", LLMOCK)
async def test_llmock_asks_for_time(protocol: str, llmock_url: str) -> None:
    """A 429 with a hint is waited for, a 400 is not tried again: llmock has nothing to say."""
    to = model(protocol, llmock_url)

    async def ask() -> hw.Response:
        async with hw.Engine(transport="socket") as engine:
            return await engine.generate(hw.Request(model=to, messages=[hw.user("hi")], max_tokens=64), raise_on_error=False)

    limited, findings = await judged(llmock_url, [{"type": "fail", "status": 429, "retry_after": 0.1, "times": 1}], ask)
    assert (limited.error, limited.attempts, findings) == (None, 2, [])
    refused, findings = await judged(llmock_url, [{"type": "fail", "status": 400, "times": 1}], ask)
    assert (refused.error and refused.error.kind, refused.attempts, findings) == ("invalid_request", 1, [])


CHUNK = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":%b}]}\n\n'
BODY = CHUNK % ("Grüße, 世界 🚀".encode(), b"null") + CHUNK % (b"", b'"stop"') + b"data: [DONE]\n\n"
WIREMOCK_FAULTS = {
    "EMPTY_RESPONSE": ({"network"}, 2),
    "CONNECTION_RESET_BY_PEER": ({"network"}, 2),
    "RANDOM_DATA_THEN_CLOSE": ({"malformed"}, 1),
    "MALFORMED_RESPONSE_CHUNK": ({"malformed", "truncated"}, 1),  # a status line and half of a chunk: which part of it is read first is chance
}


async def from_wiremock(address: str, response: dict[str, object]) -> hw.Response:
    """The answer that comes of WireMock's `response`."""
    mapping = {"request": {"method": "POST", "urlPath": "/v1/chat/completions"}, "response": response}
    async with httpx.AsyncClient(base_url=address, trust_env=False) as admin:
        (await admin.delete("/__admin/mappings")).raise_for_status()
        (await admin.post("/__admin/mappings", json=mapping)).raise_for_status()
    to = hw.Model("m", provider="custom", protocol="openai-chat", base_url=f"{address}/v1", api_key="sk-test-0123456789")
    async with hw.Engine(transport="socket", retry=hw.Retry(attempts=1, base=0)) as engine:
        return await engine.generate(hw.Request(model=to, messages=[hw.user("hi")]), raise_on_error=False)


@needs_java
async def test_wiremock_dribbles(wiremock_url: str) -> None:
    """A body in 60 pieces, cut inside of characters and frames, is read as it was written."""
    answer = await from_wiremock(
        wiremock_url,
        {
            "status": 200,
            "headers": {"content-type": "text/event-stream"},
            "base64Body": base64.b64encode(BODY).decode(),
            "chunkedDribbleDelay": {"numberOfChunks": 60, "totalDuration": 60},
        },
    )
    assert (answer.error, answer.text, answer.finish_reason) == (None, "Grüße, 世界 🚀", "stop")


@needs_java
@pytest.mark.parametrize("fault", WIREMOCK_FAULTS)
async def test_wiremock_breaks_the_connection(fault: str, wiremock_url: str) -> None:
    """Each way to break it has its kind, and is tried again where nothing was answered."""
    kinds, attempts = WIREMOCK_FAULTS[fault]
    answer = await from_wiremock(wiremock_url, {"fault": fault})
    assert answer.error is not None
    assert answer.error.kind in kinds
    assert (answer.attempts, answer.text) == (attempts, "")
