"""The vendors of this protocol, as data. Sources: rows OR-KEY-01, OR-AN-06; what the vendors' own API pages say.

Which models think adaptively, and which take an effort beside a budget, is what Anthropic's pages on adaptive thinking and effort list. Other
vendors that speak this protocol too have it among their further endpoints.
"""

from __future__ import annotations

from headwater_providers.vendors import ProviderSpec

_ADAPTIVE = r"claude-(opus|sonnet)-4-[6-9]|claude-(opus|sonnet|haiku|fable|mythos)-([5-9]|preview)"
_ONLY_ADAPTIVE = r"claude-opus-4-[7-9]|claude-(opus|sonnet|haiku|fable|mythos)-([5-9]|preview)"

VENDORS: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        id="anthropic",
        name="Anthropic",
        protocol="anthropic-messages",
        base_url="https://api.anthropic.com",
        env_keys=("ANTHROPIC_API_KEY",),
        env_base_url=("ANTHROPIC_BASE_URL",),
        hosts=("api.anthropic.com",),
        models=(r"^claude-",),
        aliases=("claude",),
        model_dialect=(
            (r"claude-opus-4-5", {"effort_beside_budget": True}),
            (_ADAPTIVE, {"adaptive_thinking": True}),
            (_ONLY_ADAPTIVE, {"supports_budget": False}),
        ),
    ),
)
