"""Servers that one runs oneself and that speak openai-chat: where they listen unless told otherwise. They need no key."""

from __future__ import annotations

from headwater_providers.anthropic_messages.endpoints import messages_at
from headwater_providers.vendors import Endpoint, ProviderSpec

_OPENAI = {"openai-responses": Endpoint(dialect={"store": None}), "openai-text": Endpoint()}  # beside chat, at the same address
_SAMPLER = {"supports_top_k": True}  # parameters that OpenAI does not have

OWN_SERVERS: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        id="vllm",
        name="vLLM",
        base_url="http://127.0.0.1:8000/v1",
        base_path="/v1",
        env_keys=("VLLM_API_KEY",),
        needs_key=False,
        dialect={**_SAMPLER, "supports_video": True, "reasoning_field": "reasoning", "effort_map": {"off": "none"}},
        also={**messages_at(), **_OPENAI},
    ),
    ProviderSpec(
        id="sglang",
        name="SGLang",
        base_url="http://127.0.0.1:30000/v1",
        base_path="/v1",
        env_keys=("SGLANG_API_KEY",),
        needs_key=False,
        dialect={**_SAMPLER, "supports_video": True},
    ),
    ProviderSpec(
        id="llamacpp",
        name="llama.cpp server",
        base_url="http://127.0.0.1:8080/v1",
        base_path="/v1",
        env_keys=("LLAMA_API_KEY",),
        needs_key=False,
        aliases=("llama.cpp", "llama-cpp"),
        dialect=_SAMPLER,
        also={**messages_at(), **_OPENAI},
    ),
    ProviderSpec(
        id="lmstudio",
        name="LM Studio",
        base_url="http://127.0.0.1:1234/v1",
        base_path="/v1",
        env_keys=("LM_API_TOKEN",),
        needs_key=False,
        aliases=("lm-studio",),
        dialect=_SAMPLER,
        also={**messages_at(), **_OPENAI},
    ),
    ProviderSpec(
        id="ollama",
        name="Ollama, compatible address",
        base_url="http://127.0.0.1:11434/v1",
        base_path="/v1",
        env_keys=("OLLAMA_API_KEY",),
        needs_key=False,
        dialect={"reasoning_field": "reasoning", "effort_map": {"off": "none"}, "unsupported": ("logit_bias", "n")},
        also={**messages_at(), **_OPENAI, "ollama-chat": Endpoint(base_url="http://127.0.0.1:11434", base_path="")},
    ),
    ProviderSpec(
        id="local",
        name="The embedded model",
        needs_key=False,
        launcher="local",
        dialect=_SAMPLER,
        also={**messages_at(), **_OPENAI},
    ),
)
