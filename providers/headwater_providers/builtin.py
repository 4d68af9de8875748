"""What is there without anybody registering anything: the built-in adapters and vendors, and the default registries, made when first asked for."""

from __future__ import annotations

from threading import Lock

from headwater_providers.adapter import Adapter
from headwater_providers.adapters import AdapterRegistry
from headwater_providers.models import ModelRegistry
from headwater_providers.plugins import load_plugins
from headwater_providers.resolve import Registries
from headwater_providers.vendors import ProviderRegistry

_lock = Lock()
_default: Registries | None = None


def register_builtin(adapters: AdapterRegistry | None = None, providers: ProviderRegistry | None = None) -> None:
    """Register the built-in adapters and vendors. Raises ConfigurationError where a name is taken."""
    if adapters is not None:
        adapters.register_loader("openai-chat", _openai_chat)
    if providers is not None:
        from headwater_providers.openai_chat.vendors import VENDORS

        for spec in VENDORS:
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


def _openai_chat() -> Adapter:
    from headwater_providers.openai_chat.adapter import OpenAIChatAdapter

    return OpenAIChatAdapter()
