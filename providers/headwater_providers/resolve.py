"""From a model's name to a `Target`: which vendor, which address, which key, which dialect.

`provider/model` names both. A name alone is looked up: first in the `ModelRegistry`, then in the lists that the vendors bring; it has exactly
one home or it is an error that says which ones there are. An address given with the model (or the request) always wins, for vendors that
are not registered too (AMB-24); whose address it is tells the dialect (OR-CMP-10). What does not depend on the environment is remembered
until a registry changes, since this runs once per request.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache, partial
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Model
from headwater_providers.adapter import Adapter, Target
from headwater_providers.adapters import AdapterRegistry
from headwater_providers.credentials import AuthStatus, auth_status, find_key, first_set, missing_key
from headwater_providers.models import ModelRegistry
from headwater_providers.vendors import ProviderOverride, ProviderRegistry, ProviderSpec

CUSTOM = "custom"  # the provider of a model that is given by nothing but an address
DEFAULT_PROTOCOL = "openai-chat"
_VARIABLE = re.compile(r"\{([^{}]+)\}")
_PART = re.compile(r"[A-Za-z0-9._:-]+")
_REMEMBERED = 1024  # routes and names kept; more of them start anew


class _Route(Struct, frozen=True):
    """What a model's provider, protocol, name and address come to, whatever the environment says."""

    provider: str
    spec: ProviderSpec | None
    override: ProviderOverride
    protocol: str
    model: str
    base_url: str | None
    base_path: str
    headers: Mapping[str, str]
    dialect: object


class Registries:
    """The three registries and the environment, as an engine uses them. `env` is `os.environ` unless given, read when a model is resolved."""

    def __init__(
        self,
        models: ModelRegistry | None = None,
        providers: ProviderRegistry | None = None,
        adapters: AdapterRegistry | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.models = ModelRegistry() if models is None else models
        self.providers = ProviderRegistry() if providers is None else providers
        self.adapters = AdapterRegistry() if adapters is None else adapters
        self.env: Mapping[str, str] = os.environ if env is None else env
        self._version = -1
        self._routes: dict[tuple[str, str | None, str, str | None], _Route] = {}
        self._homes: dict[str, list[str]] = {}

    def resolve(self, model: Model | str) -> Target:
        """Where a request for this model goes. Raises ConfigurationError for an unknown or ambiguous name, a missing key, a bad address."""
        model = self.named(model)
        assert model.provider is not None
        key = (model.provider, model.protocol, model.id, model.base_url)
        route = self._routes.get(key)
        if route is None:
            route = self._routes[key] = self._route(model)
        spec, override = route.spec, route.override
        base_url, dialect = route.base_url, route.dialect
        if model.base_url is None and override.base_url is None and spec is not None and (found := first_set(spec.env_base_url, override, self.env)):
            base_url = _address(found[1], route.base_path)
            dialect = self._dialect(spec, route.protocol, route.model, base_url)
        name = route.model
        if spec is not None and spec.locate is not None:
            located, name = spec.locate(name, base_url, partial(self._variable, override))
            base_url = _address(located, route.base_path)
        if base_url is None and spec is not None and spec.address is not None:
            base_url = self._from_variables(spec.address, override)
        if base_url is None and (spec is None or spec.launcher is None):
            raise self._no_address(route)
        if model.dialect:
            dialect = self.adapters.get(route.protocol).dialect(model.dialect, dialect)
        key_found = find_key(model.api_key, spec, override, self.env)
        credential = spec.credential if spec is not None and key_found is None else None
        if key_found is None and credential is None and spec is not None and spec.needs_key:
            raise missing_key(spec, override)
        return Target(
            model=name,
            provider=route.provider,
            protocol=route.protocol,
            base_url=base_url or "",
            api_key=key_found,
            headers={**route.headers, **_lower(model.headers)} if model.headers else route.headers,
            dialect=dialect,
            launcher=spec.launcher if spec is not None and base_url is None else None,
            credential=credential,
            modalities=model.modalities,
        )

    def named(self, model: Model | str) -> Model:
        """The model with its provider, found by its name where it is not given. Raises ConfigurationError for an unknown or ambiguous name."""
        if isinstance(model, str):
            model = Model(model)
        if self._version != self.providers.version or len(self._routes) > _REMEMBERED or len(self._homes) > _REMEMBERED:
            self._version = self.providers.version
            self._routes, self._homes = {}, {}
        if model.provider is None:
            return self._with_provider(model)
        if not model.id.strip():
            raise ConfigurationError("the model's name is empty")
        return model

    def adapter(self, protocol: str) -> Adapter:
        """The adapter of a protocol. Raises ConfigurationError, naming those that exist."""
        return self.adapters.get(protocol)

    def auth_status(self, provider: str) -> AuthStatus:
        """Whether a key for this provider is at hand. Raises ConfigurationError for an unknown provider."""
        spec = self.providers.get(provider)
        return auth_status(spec, self.providers.override_of(spec.id), self.env)

    def _with_provider(self, model: Model) -> Model:
        """The model with its provider found by the form of its name, its address, or the lists."""
        name = model.id.strip()
        if not name:
            raise ConfigurationError("the model's name is empty")
        at = self.providers.at(model.base_url) if model.base_url else None
        head, slash, rest = name.partition("/")
        prefix = self.providers.lookup(head.strip()) if slash else None
        if prefix is not None and (at is None or at is prefix):
            if not rest.strip():
                raise ConfigurationError(f"the model name {name!r} names a provider only: write {prefix.id}/MODEL")
            return replace(model, id=rest, provider=prefix.id)
        if at is not None:  # a router's names hold slashes of their own
            return replace(model, id=name, provider=at.id)
        if (made := self.models.lookup(name)) is not None:
            return self._registered(name, made, model)
        if model.base_url is not None:
            return replace(model, id=name, provider=CUSTOM)
        return replace(model, id=name, provider=self._home(name))

    def _registered(self, name: str, made: Model, asked: Model) -> Model:
        """What a pattern of the `ModelRegistry` made, under what was said with the name."""
        merged = Model(
            made.id,
            made.provider,
            asked.protocol or made.protocol,
            asked.base_url or made.base_url,
            made.api_key if asked.api_key is None else asked.api_key,
            {**made.headers, **asked.headers},
            {**made.dialect, **asked.dialect},
            asked.modalities or made.modalities,
        )
        if merged.provider is not None:
            return merged
        if made.id == name:
            raise ConfigurationError(f"the pattern registered for {name!r} made a model without a provider: give Model(..., provider=...)")
        return self._with_provider(merged)

    def _home(self, name: str) -> str:
        """The one vendor whose list has this name. Raises ConfigurationError for none and for several, naming what there is."""
        homes = self._homes.get(name)
        if homes is None:
            homes = self._homes[name] = [spec.id for spec in self.providers.serving(name)]
        if len(homes) == 1:
            return homes[0]
        head, slash, _ = name.partition("/")
        close = self.providers.suggestion(head) if slash else ""
        if homes:
            forms = " or ".join(f"{home}/{name}" for home in homes)
            raise ConfigurationError(f"the model name {name!r} is ambiguous, several providers serve such names: write {forms}{close}")
        known = ", ".join(spec.id for spec in self.providers.list()) or "none"
        if slash:
            raise ConfigurationError(f"unknown model {name!r}: no provider is called {head!r}{close}; give base_url=, or use one of {known}")
        close = self.providers.close_names(name)
        raise ConfigurationError(f"unknown model {name!r}{close}: write provider/{name} or give base_url=; the providers are {known}")

    def _route(self, model: Model) -> _Route:
        assert model.provider is not None
        spec = self.providers.lookup(model.provider)
        provider = spec.id if spec is not None else model.provider
        override = self.providers.override_of(provider)
        protocol = model.protocol or (spec.protocol if spec is not None else DEFAULT_PROTOCOL)
        given = model.base_url if model.base_url and model.base_url.strip() else override.base_url
        if spec is None and given is None:
            close = self.providers.suggestion(provider)
            raise ConfigurationError(f"unknown provider {provider!r}{close}: give its address with Model(base_url=...), or register it")
        endpoint = spec.endpoint(protocol) if spec is not None else None
        base_path = endpoint.base_path or "" if endpoint is not None else ""
        base_url = given if given is not None else endpoint.base_url if endpoint is not None else None
        if base_url is not None:
            base_url = _address(base_url, base_path)
        headers = {**_lower(endpoint.headers if endpoint is not None else {}), **_lower(override.headers)}
        dialect = self._dialect(spec, protocol, model.id, base_url if given is not None else None)
        return _Route(provider, spec, override, protocol, model.id, base_url, base_path, headers, dialect)

    def _dialect(self, spec: ProviderSpec | None, protocol: str, model: str, given: str | None) -> object:
        """The flags: those of the vendor whose address was given, else the provider's own."""
        at = self.providers.at(given) if given else None
        if spec is not None and not spec.hosts:
            at = None  # a variant of a vendor, or a server of one's own: its flags are meant
        teller = at if at is not None and at.protocol == protocol else spec
        return self.adapters.get(protocol).dialect(teller.flags(protocol, model) if teller is not None else {})

    def _variable(self, override: ProviderOverride, name: str) -> str | None:
        found = first_set((name,), override, self.env)
        return found[1] if found is not None else None

    def _from_variables(self, template: str, override: ProviderOverride) -> str:
        """An address whose parts are variables: `{A|B:default}` is the first of A and B that is set. Raises ConfigurationError for none."""

        def value(match: re.Match[str]) -> str:
            listed, _, default = match[1].partition(":")
            names = listed.replace("|", " or ")
            found = first_set(tuple(listed.split("|")), override, self.env)
            if found is None and not default:
                raise ConfigurationError(f"the address is made of variables that are not set: set {names}, or pass Model(base_url=...)")
            text = found[1] if found is not None else default
            if not _PART.fullmatch(text):
                raise ConfigurationError(f"the variable {names} holds what cannot be a part of an address")
            return text

        return _VARIABLE.sub(value, template)

    def _no_address(self, route: _Route) -> ConfigurationError:
        names = route.spec.env_base_url if route.spec is not None and not route.override.disable_env else ()
        how = f"set {' or '.join(names)}, or pass Model(base_url=...)" if names else "pass Model(base_url=...)"
        return ConfigurationError(f"provider {route.provider} has no address of its own: {how}")


@lru_cache(maxsize=256)
def _address(base_url: str, base_path: str) -> str:
    """The address without a slash at its end, `base_path` added where it has no path. Raises ConfigurationError for what is no address."""
    url = base_url.strip()
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known or any(character.isspace() or character < " " for character in url):
        shown = url.rpartition("@")[2]  # what stands before an @ may be a password
        raise ConfigurationError(f"base_url {shown!r} is no address: it begins with http:// or https:// and names a host")
    if "@" in parts.netloc:
        raise ConfigurationError(f"base_url for {parts.hostname} holds a user name or password: pass api_key= or headers= instead")
    if parts.fragment:
        raise ConfigurationError(f"base_url for {parts.hostname} holds a fragment (#...): leave it out")
    if base_path and not parts.path:
        return parts._replace(path=base_path).geturl()
    return url.rstrip("/")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def resolve(model: Model | str, registries: Registries | None = None) -> Target:
    """Where a request for this model goes, by the default registries unless some are given."""
    if registries is None:
        from headwater_providers.builtin import default_registries

        registries = default_registries()
    return registries.resolve(model)


__all__ = ["CUSTOM", "DEFAULT_PROTOCOL", "Registries", "resolve"]
