"""or's names of the protocols beside ours. Row OR-TYPE-01."""

from __future__ import annotations

from headwater_providers.builtin import default_registries
from headwater_providers.resolve import Registries

# Ours -> or's, and its ancestor's; what is not here has one name.
_SHOWN = {
    "openai-chat": "openai-completions",
    "gemini": "google-generative-ai",
    "bedrock-converse": "bedrock-converse-stream",
}
_OURS = {shown: ours for ours, shown in _SHOWN.items()}


def shown_protocol(protocol: str) -> str:
    """or's name of our protocol."""
    return _SHOWN.get(protocol, protocol)


def our_protocol(protocol: str) -> str:
    """Our name of or's protocol."""
    return _OURS.get(protocol, protocol)


def supports_protocol(protocol: str, registries: Registries | None = None) -> bool:
    """Whether there is an adapter for this protocol, by either name (OR-CL-04)."""
    return our_protocol(protocol) in (registries or default_registries()).adapters.protocols
