"""The vendors as data: addresses, keys, and the exact call that each of them gets."""

from __future__ import annotations

import msgspec
import pytest

from chat_calls import HI, KEY, http
from headwater_codecs.neutral import (
    ConfigurationError,
    Message,
    Model,
    Reasoning,
    ReasoningPart,
    Request,
    Secret,
    TextPart,
    Tool,
    assistant,
    system,
    tool_result,
    user,
)
from headwater_codecs.neutral import ToolCallPart as Call
from headwater_providers import new_registries
from headwater_providers.openai_chat.adapter import OpenAIChatAdapter
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.vendors import VENDORS

BY_ID = {spec.id: spec for spec in VENDORS}
USAGE = {"stream": True, "stream_options": {"include_usage": True}}


@pytest.mark.parametrize(
    ("id", "base_url", "env_keys"),
    [
        ("openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",)),
        ("azure", None, ("AZURE_OPENAI_API_KEY",)),
        ("groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
        ("deepseek", "https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
        ("mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
        ("together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
        ("fireworks", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
        ("openrouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
        ("xai", "https://api.x.ai/v1", ("XAI_API_KEY",)),
        ("cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
        ("perplexity", "https://api.perplexity.ai", ("PERPLEXITY_API_KEY", "PPLX_API_KEY")),
        ("nvidia", "https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",)),
        ("moonshot", "https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)),
        ("zai", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",)),
        ("dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", ("DASHSCOPE_API_KEY",)),
        ("minimax", "https://api.minimax.io/v1", ("MINIMAX_API_KEY",)),
        ("sambanova", "https://api.sambanova.ai/v1", ("SAMBANOVA_API_KEY",)),
        ("huggingface", "https://router.huggingface.co/v1", ("HF_TOKEN",)),
        ("unify", "https://api.unify.ai/v0", ("UNIFY_API_KEY",)),
        ("xiaomi", "https://api.xiaomimimo.com/v1", ("XIAOMI_API_KEY", "MIMO_API_KEY")),
        ("vllm", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",)),
        ("sglang", "http://127.0.0.1:30000/v1", ("SGLANG_API_KEY",)),
        ("llamacpp", "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",)),
        ("lmstudio", "http://127.0.0.1:1234/v1", ("LM_API_TOKEN",)),
        ("ollama", "http://127.0.0.1:11434/v1", ("OLLAMA_API_KEY",)),
        ("local", None, ()),
    ],
)
@pytest.mark.rows("OR-KEY-01", "OR-PR-10")
def test_where_a_vendor_is(id: str, base_url: str | None, env_keys: tuple[str, ...]) -> None:
    """Address and key variables of every vendor."""
    assert (BY_ID[id].base_url, BY_ID[id].env_keys) == (base_url, env_keys)


@pytest.mark.parametrize("id", sorted(BY_ID))
def test_every_vendor_can_be_called(id: str) -> None:
    """Its flags are a dialect, also for the models that differ, and its least call can be built."""
    spec = BY_ID[id]
    adapter = OpenAIChatAdapter()
    for _, flags in spec.model_dialect:
        assert isinstance(adapter.dialect({**spec.dialect, **flags}), ChatDialect)
    registries = new_registries(plugins=False)
    registries.env = {}
    target = registries.resolve(Model("some-model", provider=id, base_url="http://127.0.0.1:1/v1", api_key="k"))
    assert target.provider == id
    assert msgspec.json.decode(adapter.build(Request(model="m", messages=[user("hi")]), target, Secret("k")).body)["messages"] == [HI]


FULL: dict[str, object] = {"max_tokens": 9, "temperature": 0, "seed": 7, "user": "u"}
LIMIT: dict[str, object] = {"max_tokens": 9}


@pytest.mark.rows("OR-CMP-01", "OR-CMP-03", "OR-CMP-04", "OR-CMP-08", "PI-CMP-11", "ISS-22")
@pytest.mark.parametrize(
    ("model", "fields", "url", "body"),
    [
        (
            "openai/gpt-4o-mini",
            {**FULL, "store": False, "cache_key": "c", "service_tier": "flex"},
            "https://api.openai.com/v1/chat/completions",
            {
                "model": "gpt-4o-mini",
                **USAGE,
                "max_completion_tokens": 9,
                "temperature": 0,
                "seed": 7,
                "user": "u",
                "store": False,
                "prompt_cache_key": "c",
                "service_tier": "flex",
            },
        ),
        (
            "openai/o3-mini",
            {"reasoning": "xhigh"},
            "https://api.openai.com/v1/chat/completions",
            {"model": "o3-mini", **USAGE, "reasoning_effort": "high"},
        ),
        (
            "openai/gpt-5.2",
            {"reasoning": "off"},
            "https://api.openai.com/v1/chat/completions",
            {"model": "gpt-5.2", **USAGE, "reasoning_effort": "none"},
        ),
        (
            "groq/openai/gpt-oss-120b",
            {"max_tokens": 9, "reasoning": "low", "n": 1},
            "https://api.groq.com/openai/v1/chat/completions",
            {"model": "openai/gpt-oss-120b", **USAGE, "max_completion_tokens": 9, "reasoning_effort": "low"},
        ),
        (
            "groq/qwen/qwen3-32b",
            {"reasoning": "low"},
            "https://api.groq.com/openai/v1/chat/completions",
            {"model": "qwen/qwen3-32b", **USAGE, "reasoning_effort": "default"},
        ),
        (
            "deepseek/deepseek-chat",
            {**LIMIT, "reasoning": "off"},
            "https://api.deepseek.com/chat/completions",
            {"model": "deepseek-chat", **USAGE, "max_tokens": 9, "thinking": {"type": "disabled"}},
        ),
        (
            "mistral/mistral-small-latest",
            {"max_tokens": 9, "seed": 7},
            "https://api.mistral.ai/v1/chat/completions",
            {"model": "mistral-small-latest", "stream": True, "max_tokens": 9, "random_seed": 7},
        ),
        (
            "together/Qwen/Qwen3-235B",
            {**LIMIT, "reasoning": "high", "top_k": 40},
            "https://api.together.xyz/v1/chat/completions",
            {"model": "Qwen/Qwen3-235B", **USAGE, "max_tokens": 9, "top_k": 40, "reasoning": {"enabled": True}},
        ),
        (
            "fireworks/accounts/fireworks/models/x",
            {**LIMIT, "top_k": 40},
            "https://api.fireworks.ai/inference/v1/chat/completions",
            {"model": "accounts/fireworks/models/x", **USAGE, "max_tokens": 9, "top_k": 40},
        ),
        (
            "openrouter/anthropic/claude-sonnet-4",
            {**LIMIT, "reasoning": Reasoning(budget_tokens=500), "extra_body": {"provider": {"only": ["x"]}}},
            "https://openrouter.ai/api/v1/chat/completions",
            {"model": "anthropic/claude-sonnet-4", **USAGE, "max_tokens": 9, "reasoning": {"max_tokens": 500}, "provider": {"only": ["x"]}},
        ),
        ("xai/grok-4", LIMIT, "https://api.x.ai/v1/chat/completions", {"model": "grok-4", **USAGE, "max_completion_tokens": 9}),
        (
            "cerebras/gpt-oss-120b",
            {**LIMIT, "reasoning": "medium"},
            "https://api.cerebras.ai/v1/chat/completions",
            {"model": "gpt-oss-120b", **USAGE, "max_completion_tokens": 9, "reasoning_effort": "medium"},
        ),
        ("perplexity/sonar", LIMIT, "https://api.perplexity.ai/chat/completions", {"model": "sonar", "stream": True, "max_tokens": 9}),
        (
            "nvidia/meta/llama-3.1-8b-instruct",
            LIMIT,
            "https://integrate.api.nvidia.com/v1/chat/completions",
            {"model": "meta/llama-3.1-8b-instruct", **USAGE, "max_tokens": 9},
        ),
        (
            "moonshot/kimi-k2.5",
            {**LIMIT, "reasoning": "off"},
            "https://api.moonshot.ai/v1/chat/completions",
            {"model": "kimi-k2.5", **USAGE, "max_tokens": 9, "thinking": {"type": "disabled"}},
        ),
        (
            "moonshot/kimi-k3",
            {"reasoning": "medium"},
            "https://api.moonshot.ai/v1/chat/completions",
            {"model": "kimi-k3", **USAGE, "reasoning_effort": "high"},
        ),
        (
            "zai/glm-4.6",
            {**LIMIT, "user": "u", "reasoning": "high"},
            "https://api.z.ai/api/paas/v4/chat/completions",
            {"model": "glm-4.6", **USAGE, "max_tokens": 9, "user_id": "u", "thinking": {"type": "enabled", "clear_thinking": False}},
        ),
        (
            "qwen/qwen-plus",
            {**LIMIT, "reasoning": Reasoning("high", budget_tokens=100)},
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions",
            {"model": "qwen-plus", **USAGE, "max_tokens": 9, "enable_thinking": True, "thinking_budget": 100},
        ),
        ("minimax/MiniMax-M2", LIMIT, "https://api.minimax.io/v1/chat/completions", {"model": "MiniMax-M2", **USAGE, "max_tokens": 9}),
        (
            "sambanova/Meta-Llama-3.1-8B",
            LIMIT,
            "https://api.sambanova.ai/v1/chat/completions",
            {"model": "Meta-Llama-3.1-8B", **USAGE, "max_tokens": 9},
        ),
        (
            "hf/meta-llama/Llama-3.3-70B",
            LIMIT,
            "https://router.huggingface.co/v1/chat/completions",
            {"model": "meta-llama/Llama-3.3-70B", **USAGE, "max_tokens": 9},
        ),
        ("unify/gpt-4o@openai", LIMIT, "https://api.unify.ai/v0/chat/completions", {"model": "gpt-4o@openai", **USAGE, "max_tokens": 9}),
        ("vllm/m", {**LIMIT, "top_k": 1}, "http://127.0.0.1:8000/v1/chat/completions", {"model": "m", **USAGE, "max_tokens": 9, "top_k": 1}),
        ("sglang/m", {**LIMIT, "top_k": 1}, "http://127.0.0.1:30000/v1/chat/completions", {"model": "m", **USAGE, "max_tokens": 9, "top_k": 1}),
        ("llama.cpp/m", {**LIMIT, "top_k": 1}, "http://127.0.0.1:8080/v1/chat/completions", {"model": "m", **USAGE, "max_tokens": 9, "top_k": 1}),
        ("lmstudio/m", LIMIT, "http://127.0.0.1:1234/v1/chat/completions", {"model": "m", **USAGE, "max_tokens": 9}),
        ("ollama/llama3.2", LIMIT, "http://127.0.0.1:11434/v1/chat/completions", {"model": "llama3.2", **USAGE, "max_tokens": 9}),
    ],
)
def test_calls(model: str, fields: dict[str, object], url: str, body: dict[str, object]) -> None:
    """The exact address and body of a representative call of each vendor."""
    built = http(model, **fields)
    assert built.url == url
    assert msgspec.json.decode(built.body) == {"messages": [HI], **body}
    assert ("authorization", f"Bearer {KEY}") in built.headers


def test_azure_in_its_two_forms() -> None:
    """The v1 address with the deployment as model, and the older address by deployment and version; a key has its own header."""
    registries = new_registries(plugins=False)
    registries.env = {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com/", "AZURE_OPENAI_API_KEY": KEY}
    built = []
    for name in (Model("azure/my-gpt", base_url="https://x.openai.azure.com"), "azure-deployment/my-gpt"):
        target = registries.resolve(name)
        assert isinstance(target.api_key, Secret)
        built.append(OpenAIChatAdapter().build(Request(model="m", messages=[user("hi")], max_tokens=9), target, target.api_key))
    assert [call.url for call in built] == [
        "https://x.openai.azure.com/openai/v1/chat/completions",
        "https://x.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21",
    ]
    for call in built:
        assert msgspec.json.decode(call.body) == {"model": "my-gpt", "messages": [HI], **USAGE, "max_completion_tokens": 9}
        assert ("api-key", KEY) in call.headers
        assert "authorization" not in dict(call.headers)


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        ("openai/gpt-4o", "top_k", 1),
        ("openai/gpt-4o", "reasoning", Reasoning(budget_tokens=5)),
        ("groq/m", "logprobs", True),
        ("groq/m", "n", 2),
        ("mistral/m", "logit_bias", {"1": 1}),
        ("perplexity/sonar", "tools", (Tool("t"),)),
        ("cerebras/m", "presence_penalty", 1.0),
        ("xai/grok-4", "reasoning", "high"),
        ("nvidia/m", "reasoning", "high"),
        ("moonshot/moonshot-v1-8k", "reasoning", "high"),
        ("deepseek/m", "n", 2),
        ("zai/glm-4.6", "logprobs", True),
        ("ollama/m", "top_k", 1),
    ],
)
def test_what_a_vendor_does_not_take(model: str, field: str, value: object) -> None:
    """A field that the vendor refuses is an error that names it."""
    with pytest.raises(ConfigurationError, match=field):
        http(model, **{field: value})


def test_a_history_with_a_tool_call_at_deepseek_and_openai() -> None:
    """One history, two vendors: DeepSeek gets its reasoning back, OpenAI never sees it and takes instructions as developer."""
    history: list[Message] = [
        system("Be brief."),
        user("Weather?"),
        assistant(ReasoningPart("I should look."), TextPart("One moment."), Call("c1", "weather", '{"city":"Bern"}')),
        tool_result("c1", "rain"),
    ]
    calls = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Bern"}'}}]
    result = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
    sent = [_sent(model, history) for model in ("deepseek/deepseek-reasoner", "openai/o3-mini")]
    assert sent == [
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "One moment.", "reasoning_content": "I should look.", "tool_calls": calls},
            result,
        ],
        [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "One moment.", "tool_calls": calls},
            result,
        ],
    ]


def _sent(model: str, history: list[Message]) -> object:
    registries = new_registries(plugins=False)
    target = registries.resolve(Model(model, api_key=KEY))
    return msgspec.json.decode(OpenAIChatAdapter().build(Request(model=model, messages=history), target, None).body)["messages"]
