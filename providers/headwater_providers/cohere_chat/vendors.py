"""Where Cohere's chat is spoken."""

from __future__ import annotations

from headwater_providers.vendors import ProviderSpec

VENDORS: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        id="cohere",
        name="Cohere",
        protocol="cohere-chat",
        base_url="https://api.cohere.com",
        env_keys=("COHERE_API_KEY", "CO_API_KEY"),
        env_base_url=("CO_API_URL",),
        models=(r"^command-", r"^c4ai-"),
        hosts=("api.cohere.com", "api.cohere.ai"),
    ),
)
