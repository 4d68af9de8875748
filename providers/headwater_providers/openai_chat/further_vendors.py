"""Vendors of openai-chat that rows OR-KEY-01 and OR-CMP name beside the large ones, and that have a quirk or no address of their own."""

from __future__ import annotations

from headwater_providers.vendors import ProviderSpec

FURTHER_VENDORS: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        id="xiaomi",
        name="Xiaomi MiMo",
        base_url="https://api.xiaomimimo.com/v1",
        env_keys=("XIAOMI_API_KEY", "MIMO_API_KEY"),
        hosts=("api.xiaomimimo.com",),
        models=(r"^mimo-",),
        dialect={
            "max_tokens_field": "max_completion_tokens",
            "thinking_format": "xiaomi",
            "supports_reasoning_effort": False,
            "requires_reasoning_content": True,
        },
    ),
    ProviderSpec(
        id="chutes",
        name="Chutes",
        base_url="https://llm.chutes.ai/v1",
        env_keys=("CHUTES_API_KEY",),
        hosts=("chutes.ai",),
        dialect={"supports_top_k": True},
    ),
    ProviderSpec(
        id="opencode",
        name="OpenCode Zen",
        base_url="https://opencode.ai/zen/v1",
        env_keys=("OPENCODE_API_KEY",),
        hosts=("opencode.ai",),
        dialect={"max_tokens_field": "max_completion_tokens"},
    ),
    ProviderSpec(
        id="cloudflare",
        name="Cloudflare Workers AI and AI Gateway (the address holds the account)",
        env_keys=("CLOUDFLARE_API_KEY",),
        hosts=("api.cloudflare.com", "gateway.ai.cloudflare.com"),
        aliases=("cloudflare-workers-ai", "cloudflare-ai-gateway"),
        dialect={"supports_reasoning_effort": False, "supports_strict": False},
    ),
    ProviderSpec(
        id="ant-ling",
        name="Ant Ling (give its address)",
        env_keys=("ANT_LING_API_KEY",),
        models=(r"^(ling|ring)-\d",),
        dialect={"thinking_format": "ant-ling", "supports_reasoning_effort": False},
    ),
)
