"""Scripted servers by other people stream through every adapter that they speak: text, a tool call, usage, a refusal by status."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import headwater as hw

pytest.importorskip("llmock", reason="the peers are not installed: pip install headwater[peers]")

from peers.servers import AIMOCK, aimock, llmock, node

pytestmark = pytest.mark.anyio
needs_node = pytest.mark.skipif(node() is None or not AIMOCK.exists(), reason="aimock needs Node.js: install it and run make test")
GREETING = "Hello there, how are you? é🚀"
WEATHER = hw.Tool("weather", "The weather of a city.", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
KEY = "sk-test-0123456789"


class Place(NamedTuple):
    """Where a server speaks a protocol."""

    protocol: str
    path: str
    model: str
    provider: str


LLMOCK = [
    Place("openai-chat", "/v1", "gpt-4o-mini", "openai"),
    Place("openai-responses", "/v1", "gpt-4o-mini", "openai"),
    Place("anthropic-messages", "/anthropic", "claude-sonnet-4-5", "anthropic"),
    Place("gemini", "/gemini/v1beta", "gemini-2.0-flash", "google"),
    Place("cohere-chat", "/cohere", "command-a-03-2025", "cohere"),
]
AIMOCK_PLACES = [
    Place("openai-chat", "/v1", "gpt-4o-mini", "openai"),
    Place("openai-responses", "/v1", "gpt-4o-mini", "openai"),
    Place("anthropic-messages", "", "claude-sonnet-4-5", "anthropic"),
    Place("gemini", "/v1beta", "gemini-2.0-flash", "google"),
    Place("gemini-interactions", "/v1beta", "gemini-2.0-flash", "google"),
    Place("bedrock-converse", "", "anthropic.claude-3-5-sonnet-20241022-v2:0", "bedrock"),
    Place("bedrock-invoke", "", "anthropic.claude-3-5-sonnet-20241022-v2:0", "bedrock"),
    Place("cohere-chat", "", "command-a-03-2025", "cohere"),
    Place("ollama-chat", "", "llama3.2", "ollama"),
]


@pytest.fixture(scope="module")
def llmock_url() -> Iterator[str]:
    with llmock() as address:
        yield address


@pytest.fixture(scope="module")
def aimock_url() -> Iterator[str]:
    with aimock(Path(__file__).with_name("aimock.json")) as address:
        yield address


def model(place: Place, address: str) -> hw.Model:
    """The model behind this address."""
    return hw.Model(place.model, provider=place.provider, protocol=place.protocol, base_url=address + place.path, api_key=KEY)


async def ask(to: hw.Model, text: str, **fields: object) -> hw.Response:
    """One answer."""
    async with hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        return await engine.generate(hw.Request(model=to, messages=[hw.user(text)], max_tokens=256, **fields), raise_on_error=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", LLMOCK, ids=lambda place: place.protocol)
async def test_llmock(place: Place, llmock_url: str) -> None:
    """llmock echoes what it was asked, then calls a tool that it is offered."""
    to = model(place, llmock_url)
    answer = await ask(to, "Echo of é🚀")
    assert (answer.error, answer.finish_reason) == (None, "stop")
    assert "é🚀" in answer.text
    assert answer.usage is not None
    assert answer.usage.output_tokens
    called = await ask(to, "What is the weather in Oslo?", tools=[WEATHER])
    assert (called.error, called.finish_reason) == (None, "tool_calls")
    assert [(call.name, type(call.input), call.complete) for call in called.tool_calls] == [("weather", dict, True)]


@needs_node
@pytest.mark.parametrize("place", AIMOCK_PLACES, ids=lambda place: place.protocol)
async def test_aimock(place: Place, aimock_url: str) -> None:
    """aimock answers with what its script says."""
    to = model(place, aimock_url)
    answer = await ask(to, "Please greet me.")
    assert (answer.error, answer.text, answer.finish_reason) == (None, GREETING, "stop")
    called = await ask(to, "What is the weather in Oslo?", tools=[WEATHER])
    assert (called.error, called.finish_reason) == (None, "tool_calls")
    assert [(call.name, call.input, call.complete) for call in called.tool_calls] == [("weather", {"city": "Oslo"}, True)]


@needs_node
@pytest.mark.parametrize("place", AIMOCK_PLACES, ids=lambda place: place.protocol)
async def test_aimock_refuses(place: Place, aimock_url: str) -> None:
    """A refusal by status has its kind and its words."""
    answer = await ask(model(place, aimock_url), "Please fail.")
    assert answer.error is not None
    assert (answer.error.kind, answer.error.status) == ("rate_limit", 429)
    assert "Too much." in answer.error.message
