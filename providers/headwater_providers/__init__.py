"""Requests to HTTP bodies, wire structs to events: one adapter per protocol, vendors as data. Pure and synchronous."""

from headwater_providers.adapter import Adapter, HttpRequest, Support, Target, Translator
from headwater_providers.adapters import AdapterRegistry
from headwater_providers.builtin import default_registries, new_registries, register_builtin
from headwater_providers.credentials import AuthStatus
from headwater_providers.models import ModelRegistry
from headwater_providers.resolve import Registries, resolve
from headwater_providers.vendors import Endpoint, ProviderOverride, ProviderRegistry, ProviderSpec

__all__ = [
    "Adapter",
    "AdapterRegistry",
    "AuthStatus",
    "Endpoint",
    "HttpRequest",
    "ModelRegistry",
    "ProviderOverride",
    "ProviderRegistry",
    "ProviderSpec",
    "Registries",
    "Support",
    "Target",
    "Translator",
    "default_registries",
    "new_registries",
    "register_builtin",
    "resolve",
]
