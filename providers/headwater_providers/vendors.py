"""`ProviderRegistry`: the vendors as data, and what the application overrides of them. Rows OR-PR-01 to 10.

A spec says where a vendor is, which variables hold its key, which protocol it speaks and in which dialect. An override replaces single
things for one registry. Both are copied in, so later changes of the caller's own mappings have no effect; requests under way keep what
they resolved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from threading import Lock
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Secret
from headwater_providers.models import compile_pattern
from headwater_providers.plugins import suggestion


class Endpoint(Struct, frozen=True, kw_only=True):
    """A further protocol of a vendor: what differs from its first one. A base URL or path of None is the vendor's own."""

    base_url: str | None = None
    base_path: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    dialect: Mapping[str, object] = field(default_factory=dict)
    model_dialect: tuple[tuple[str, Mapping[str, object]], ...] = ()


class ProviderSpec(Struct, frozen=True, kw_only=True):
    """One vendor.

    `base_url` is everything before the protocol's own path; None where only the user knows it, or where the engine starts a server itself
    (`launcher` names the part of the engine that does). `base_path` is added to an address that has no path. `env_keys` and
    `env_base_url` are variable names, the first that is set counts. `models` are patterns of the names that this vendor is known to serve,
    `credential` names the engine's part that gets a token where no key is found, `address` makes a base URL out of variables (`{A|B:default}`).
    `locate` finds base URL and model in a name that says more than the model; it is told the name, the address so far, and how to look up a variable.
    `hosts` the host names (or their ends) that tell its address. `model_dialect` adds flags for the models that a pattern finds.
    """

    id: str
    name: str = ""
    protocol: str = "openai-chat"
    base_url: str | None = None
    base_path: str = ""
    env_keys: tuple[str, ...] = ()
    env_base_url: tuple[str, ...] = ()
    needs_key: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    dialect: Mapping[str, object] = field(default_factory=dict)
    model_dialect: tuple[tuple[str, Mapping[str, object]], ...] = ()
    models: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    also: Mapping[str, Endpoint] = field(default_factory=dict)
    launcher: str | None = None
    credential: str | None = None
    address: str | None = None
    locate: Callable[[str, str | None, Callable[[str], str | None]], tuple[str, str]] | None = None

    def __post_init__(self) -> None:
        if not self.id or not self.id.strip():
            raise ConfigurationError("a provider's id is empty")
        if "/" in self.id:
            raise ConfigurationError(f"the provider id {self.id!r} holds a slash, which parts provider and model in `provider/model`")
        for name in ("headers", "dialect", "also"):
            force_setattr(self, name, dict(getattr(self, name)))
        for pattern in (*self.models, *(pattern for pattern, _ in self.model_dialect)):
            compile_pattern(pattern)
        if not self.name:
            force_setattr(self, "name", self.id)

    def __repr__(self) -> str:
        return f"ProviderSpec({self.id!r}, {self.protocol!r}, base_url={self.base_url!r})"  # its headers may carry a key

    def endpoint(self, protocol: str) -> Endpoint:
        """Address, headers and flags for one protocol that this vendor speaks; another one shares its address only."""
        if protocol == self.protocol:
            return Endpoint(base_url=self.base_url, base_path=self.base_path, headers=self.headers, dialect=self.dialect)
        also = self.also.get(protocol) or Endpoint()
        base_url = also.base_url if also.base_url is not None else self.base_url
        return replace(also, base_url=base_url, base_path=also.base_path if also.base_path is not None else self.base_path)

    def flags(self, protocol: str, model: str) -> dict[str, object]:
        """The dialect flags for one model."""
        endpoint = self.endpoint(protocol)
        flags = dict(endpoint.dialect)
        for pattern, more in self.model_dialect if protocol == self.protocol else endpoint.model_dialect:
            if re.search(pattern, model):
                flags.update(more)
        return flags


class ProviderOverride(Struct, frozen=True, kw_only=True):
    """What the application says about a vendor. `env` is looked at before the process's own variables; `disable_env` looks at none."""

    base_url: str | None = None
    api_key: Secret | str | None = None
    disable_env: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.api_key, str):
            force_setattr(self, "api_key", Secret(self.api_key) if self.api_key.strip() else None)
        force_setattr(self, "headers", dict(self.headers))
        force_setattr(self, "env", dict(self.env))

    def __repr__(self) -> str:
        return f"ProviderOverride(base_url={self.base_url!r}, api_key={self.api_key!r}, disable_env={self.disable_env})"


NO_OVERRIDE = ProviderOverride()


class ProviderRegistry:
    """The vendors by id. Safe to use from several threads; `version` changes with every write."""

    def __init__(self) -> None:
        self._specs: dict[str, ProviderSpec] = {}
        self._names: dict[str, str] = {}  # every id and alias, in lower case -> id
        self._overrides: dict[str, ProviderOverride] = {}
        self._lock = Lock()
        self.version = 0

    def register(self, spec: ProviderSpec, *, replace: bool = False) -> None:
        """Add a vendor. Raises ConfigurationError if its id or an alias is taken and `replace` is not set."""
        if spec is None:
            raise ConfigurationError("the provider is None")
        names = {name.lower() for name in (spec.id, *spec.aliases)}
        with self._lock:
            taken = sorted(name for name in names if name in self._names)
            if taken and not replace:
                raise ConfigurationError(f"a provider called {taken[0]!r} is already registered: pass replace=True to take its place")
            kept = {name: id for name, id in self._names.items() if id != spec.id}
            self._specs = {**self._specs, spec.id: spec}
            self._names = {**kept, **dict.fromkeys(names, spec.id)}
            self.version += 1

    def override(self, provider: str, override: ProviderOverride) -> None:
        """Set the override of a vendor; it takes the place of an earlier one. The vendor need not be registered yet."""
        with self._lock:
            self._overrides = {**self._overrides, self._names.get(provider.lower(), provider): override}
            self.version += 1

    def clear_override(self, provider: str) -> None:
        """Forget the override of a vendor."""
        with self._lock:
            id = self._names.get(provider.lower(), provider)
            self._overrides = {name: override for name, override in self._overrides.items() if name != id}
            self.version += 1

    def lookup(self, provider: str) -> ProviderSpec | None:
        """The vendor of this id or alias, whatever its case, or None."""
        spec = self._specs.get(provider)
        if spec is None and (id := self._names.get(provider.lower())) is not None:
            spec = self._specs[id]
        return spec

    def get(self, provider: str) -> ProviderSpec:
        """The vendor of this id or alias. Raises ConfigurationError, naming close ones."""
        spec = self.lookup(provider)
        if spec is None:
            raise ConfigurationError(f"unknown provider {provider!r}{self.suggestion(provider)}")
        return spec

    def suggestion(self, provider: str) -> str:
        """Close names for one that is not known, as the end of a sentence."""
        return suggestion(provider.lower(), self._names)

    def close_names(self, model: str) -> str:
        """How names begin that this one may have been meant for, as the end of a sentence."""
        head = re.split(r"[-_.\d]", model, maxsplit=1)[0].lower()
        words = {word.lower() for spec in self.list() for pattern in spec.models for word in re.findall(r"[A-Za-z]{3,}", pattern)}
        return suggestion(head, sorted(words))

    def override_of(self, provider: str) -> ProviderOverride:
        """The override of a vendor; one that overrides nothing where none was set."""
        return self._overrides.get(provider, NO_OVERRIDE)

    def serving(self, model: str) -> list[ProviderSpec]:
        """The vendors whose lists have this model's name, by id."""
        return [spec for spec in self.list() if any(re.search(pattern, model) for pattern in spec.models)]

    def at(self, base_url: str) -> ProviderSpec | None:
        """The vendor whose address this is, told by its host name (OR-CMP-10); None for any other address."""
        host = urlsplit(base_url).hostname or ""
        for spec in self._specs.values():
            if any(host == known or host.endswith("." + known) for known in spec.hosts):
                return spec
        return None

    def list(self) -> list[ProviderSpec]:
        """Every vendor, by id."""
        return [self._specs[id] for id in sorted(self._specs)]
