"""`AdapterRegistry`: which adapter speaks a protocol. Rows OR-AR-01, OR-AR-02, AMB-23.

A copy of the table is made on every write, so that readers on other threads never see half of one.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_providers.adapter import Adapter
from headwater_providers.plugins import suggestion

Loader = Callable[[], Adapter]


class AdapterRegistry:
    """Protocol -> adapter. Safe to use from several threads."""

    def __init__(self) -> None:
        self._adapters: dict[str, Adapter] = {}
        self._loaders: dict[str, Loader] = {}
        self._lock = Lock()

    def register(self, adapter: Adapter, *, replace: bool = False) -> None:
        """Add an adapter under its `protocol`. Raises ConfigurationError if that is taken and `replace` is not set."""
        if adapter is None:
            raise ConfigurationError("the protocol adapter is None")
        protocol = adapter.protocol
        with self._lock:
            self._claim(protocol, replace)
            self._adapters = {**self._adapters, protocol: adapter}
            self._loaders = {name: loader for name, loader in self._loaders.items() if name != protocol}

    def register_loader(self, protocol: str, loader: Loader, *, replace: bool = False) -> None:
        """Add an adapter that is made when its protocol is first asked for."""
        with self._lock:
            self._claim(protocol, replace)
            self._loaders = {**self._loaders, protocol: loader}
            self._adapters = {name: adapter for name, adapter in self._adapters.items() if name != protocol}

    def _claim(self, protocol: str, replace: bool) -> None:
        if not protocol or not protocol.strip():
            raise ConfigurationError("the protocol of an adapter is empty")
        if not replace and (protocol in self._adapters or protocol in self._loaders):
            raise ConfigurationError(f"an adapter for protocol {protocol!r} is already registered: pass replace=True to take its place")

    def get(self, protocol: str) -> Adapter:
        """The adapter of a protocol. Raises ConfigurationError, naming those that exist."""
        adapter = self._adapters.get(protocol)
        if adapter is not None:
            return adapter
        loader = self._loaders.get(protocol)
        if loader is None:
            known = self.protocols
            raise ConfigurationError(f"unknown protocol {protocol!r}{suggestion(protocol, known)}; known: {', '.join(known) or 'none'}")
        adapter = loader()
        with self._lock:
            if self._loaders.get(protocol) is loader:
                self._adapters = {**self._adapters, protocol: adapter}
                self._loaders = {name: other for name, other in self._loaders.items() if name != protocol}
        return adapter

    @property
    def protocols(self) -> list[str]:
        """The protocols, sorted."""
        return sorted({*self._adapters, *self._loaders})
