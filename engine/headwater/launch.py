"""Servers that the engine starts itself, on first use: a vendor's `launcher` names one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from headwater_codecs.neutral import ConfigurationError


async def _local(model: str) -> str:
    from headwater.local import ensure_local  # only who uses it pays for its import

    return await ensure_local(model)


LAUNCHERS: dict[str, Callable[[str], Awaitable[str]]] = {"local": _local}


async def launch(name: str, model: str) -> str:
    """The base URL of the server for a model, started if it does not run yet. Raises ConfigurationError for an unknown launcher."""
    if name not in LAUNCHERS:
        raise ConfigurationError(f"unknown launcher {name!r}: give the model a base_url")
    return await LAUNCHERS[name](model)
