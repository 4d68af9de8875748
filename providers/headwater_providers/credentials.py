"""Which key goes with a request, and what to tell someone who has none. Rows OR-PR-03, OR-PR-04, OR-PR-08, OR-KEY-02, OR-KEY-04.

A key given with the model comes first, then the override's, then the variables: each name in order, and each in the override's own
mapping before the process's. Nothing here awaits: a callable key is handed on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import KeyProvider, Secret
from headwater_providers.vendors import ProviderOverride, ProviderSpec


class AuthStatus(Struct, frozen=True):
    """Whether a vendor can be used as things are. `source` is `override`, `env:NAME`, or `none needed`; `missing` names the variables to set."""

    configured: bool
    source: str | None = None
    label: str | None = None
    missing: tuple[str, ...] = ()


def first_set(names: tuple[str, ...], override: ProviderOverride, env: Mapping[str, str]) -> tuple[str, str] | None:
    """The first of these variables that is set to more than white space: its name and value. None if there is none."""
    if override.disable_env:
        return None
    for name in names:
        for layer in (override.env, env):
            if (value := layer.get(name)) and (value := value.strip()):
                return name, value
    return None


def configured_names(spec: ProviderSpec, override: ProviderOverride, env: Mapping[str, str]) -> list[str]:
    """Those of a vendor's key variables that are set."""
    return [name for name in spec.env_keys if first_set((name,), override, env)]


def find_key(
    given: Secret | str | KeyProvider | None, spec: ProviderSpec | None, override: ProviderOverride, env: Mapping[str, str]
) -> Secret | KeyProvider | None:
    """The key for a request: given with it, overridden, or from the variables; None if there is none. White space is no key."""
    if isinstance(given, str):
        given = Secret(given)
    if given is not None and not (isinstance(given, Secret) and not given.reveal().strip()):
        return given
    if override.api_key is not None:
        return override.api_key if isinstance(override.api_key, Secret) else Secret(override.api_key)
    found = first_set(spec.env_keys, override, env) if spec is not None and spec.env_keys else None
    return Secret(found[1]) if found else None


def missing_key(spec: ProviderSpec, override: ProviderOverride) -> ConfigurationError:
    """The error for a vendor that needs a key and has none; it says what to do."""
    names = () if override.disable_env else spec.env_keys
    how = f"set {' or '.join(names)}, or pass Model(api_key=...)" if names else "pass Model(api_key=...)"
    return ConfigurationError(f"no API key for provider {spec.id}: {how}")


def auth_status(spec: ProviderSpec, override: ProviderOverride, env: Mapping[str, str]) -> AuthStatus:
    """Whether a key for this vendor is at hand, and from where. Never the key itself."""
    if override.api_key is not None:
        return AuthStatus(True, "override", f"override for {spec.id}")
    if found := first_set(spec.env_keys, override, env):
        return AuthStatus(True, f"env:{found[0]}", found[0])
    if not spec.needs_key:
        return AuthStatus(True, "none needed", "no key needed")
    return AuthStatus(False, missing=() if override.disable_env else spec.env_keys)
