"""What is there without anybody registering anything: the built-in adapters and vendors, and the default registries, made when first asked for."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from threading import Lock

from headwater_providers.adapter import Adapter
from headwater_providers.adapters import AdapterRegistry
from headwater_providers.models import ModelRegistry
from headwater_providers.plugins import load_plugins
from headwater_providers.resolve import Registries
from headwater_providers.vendors import ProviderRegistry

_lock = Lock()
_default: Registries | None = None


# The modules are imported when their protocol is first asked for.
_ADAPTERS = {
    "anthropic-messages": "anthropic_messages.adapter:AnthropicMessagesAdapter",
    "bedrock-converse": "bedrock_converse.adapter:BedrockConverseAdapter",
    "bedrock-invoke": "bedrock_invoke.adapter:BedrockInvokeAdapter",
    "cohere-chat": "cohere_chat.adapter:CohereChatAdapter",
    "gemini": "gemini.adapter:GeminiAdapter",
    "gemini-interactions": "gemini_interactions.adapter:GeminiInteractionsAdapter",
    "ollama-chat": "ollama_chat.adapter:OllamaChatAdapter",
    "openai-assistants": "openai_assistants.adapter:OpenAIAssistantsAdapter",
    "openai-chat": "openai_chat.adapter:OpenAIChatAdapter",
    "openai-responses": "openai_responses.adapter:OpenAIResponsesAdapter",
    "openai-text": "openai_text.adapter:OpenAITextAdapter",
}


def register_builtin(adapters: AdapterRegistry | None = None, providers: ProviderRegistry | None = None) -> None:
    """Register the built-in adapters and vendors. Raises ConfigurationError where a name is taken."""
    if adapters is not None:
        for protocol, place in _ADAPTERS.items():
            adapters.register_loader(protocol, partial(_load, place))
    if providers is not None:
        from headwater_providers.anthropic_messages.vendors import VENDORS as ANTHROPIC
        from headwater_providers.bedrock_converse.vendors import VENDORS as BEDROCK
        from headwater_providers.cohere_chat.vendors import VENDORS as COHERE
        from headwater_providers.gemini.vendors import VENDORS as GOOGLE
        from headwater_providers.openai_chat.vendors import VENDORS as OPENAI

        for spec in (*OPENAI, *ANTHROPIC, *GOOGLE, *BEDROCK, *COHERE):
            providers.register(spec)


def new_registries(*, plugins: bool = True) -> Registries:
    """Fresh registries of one's own, with what is built in and, unless told otherwise, what installed packages bring."""
    registries = Registries(ModelRegistry(), ProviderRegistry(), AdapterRegistry())
    register_builtin(registries.adapters, registries.providers)
    if plugins:
        load_plugins("headwater.adapters", registries.adapters)
        load_plugins("headwater.providers", registries.providers)
        load_plugins("headwater.models", registries.models)
    return registries


def default_registries() -> Registries:
    """The registries that are used where none are passed in. Made once; registering in them counts for the whole process."""
    global _default
    with _lock:
        if _default is None:
            _default = new_registries()
        return _default


def _load(place: str) -> Adapter:
    module, _, name = place.partition(":")
    adapter: Adapter = getattr(import_module(f"headwater_providers.{module}"), name)()
    return adapter
