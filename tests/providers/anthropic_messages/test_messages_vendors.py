"""Who speaks anthropic-messages: Anthropic with what its models take, and others at addresses of their own."""

from __future__ import annotations

import msgspec
import pytest

from headwater_codecs.neutral import Request, Secret
from headwater_codecs.neutral.request import Effort, Model, user
from headwater_providers.anthropic_messages.adapter import AnthropicMessagesAdapter
from headwater_providers.builtin import new_registries


@pytest.mark.rows("OR-AN-06", "OR-AN-08")
@pytest.mark.parametrize(
    ("model", "effort", "wanted"),
    [
        ("claude-sonnet-4-20250514", "low", ({"type": "enabled", "budget_tokens": 2048}, None)),
        ("claude-haiku-4-5-20251001", "low", ({"type": "enabled", "budget_tokens": 2048}, None)),
        ("claude-opus-4-5", "low", ({"type": "enabled", "budget_tokens": 2048}, {"effort": "low"})),
        ("claude-sonnet-4-6", "max", ({"type": "adaptive"}, {"effort": "max"})),
        ("claude-opus-4-8", "xhigh", ({"type": "adaptive"}, {"effort": "xhigh"})),
        ("claude-fable-5", "high", ({"type": "adaptive"}, {"effort": "high"})),
    ],
)
def test_thinking_by_model(model: str, effort: Effort, wanted: tuple[object, object]) -> None:
    """Each model gets the thinking that it takes; a bare name finds the vendor."""
    asked = Model(model, api_key="k")
    target = new_registries(plugins=False).resolve(asked)
    request = Request(model=asked, messages=[user("hi")], reasoning=effort)
    sent = AnthropicMessagesAdapter().build(request, target, Secret("k"))
    body = msgspec.json.decode(sent.body)
    assert sent.url == "https://api.anthropic.com/v1/messages"
    assert (body["thinking"], body.get("output_config")) == wanted


@pytest.mark.rows("OR-CMP-20")
@pytest.mark.parametrize(
    ("model", "url", "header"),
    [
        ("deepseek/deepseek-chat", "https://api.deepseek.com/anthropic/v1/messages", "x-api-key"),
        ("moonshot/kimi-k2", "https://api.moonshot.ai/anthropic/v1/messages", "authorization"),
        ("zai/glm-5", "https://api.z.ai/api/anthropic/v1/messages", "authorization"),
        ("minimax/MiniMax-M2.7", "https://api.minimax.io/anthropic/v1/messages", "authorization"),
        ("openrouter/anthropic/claude-sonnet-4-6", "https://openrouter.ai/api/v1/messages", "authorization"),
        ("llamacpp/any", "http://127.0.0.1:8080/v1/messages", "authorization"),
        ("ollama/any", "http://127.0.0.1:11434/v1/messages", "authorization"),
        ("vllm/any", "http://127.0.0.1:8000/v1/messages", "authorization"),
        ("lmstudio/any", "http://127.0.0.1:1234/v1/messages", "authorization"),
    ],
)
def test_other_vendors(model: str, url: str, header: str) -> None:
    """A vendor whose first protocol is another one is reached at its own address, with the key where it wants it."""
    asked = Model(model, protocol="anthropic-messages", api_key="k")
    target = new_registries(plugins=False).resolve(asked)
    sent = AnthropicMessagesAdapter().build(Request(model=asked, messages=[user("hi")]), target, Secret("k"))
    assert sent.url == url
    assert header in dict(sent.headers)
