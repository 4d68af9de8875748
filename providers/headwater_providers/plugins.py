"""Third parties in the registries: entry points, loaded when a default registry is first made, and words for a name that was mistyped.

An entry point in `headwater.adapters`, `headwater.providers` or `headwater.models` names a function that takes the registry and registers
what it brings; nothing happens on import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, Protocol

from headwater_codecs.neutral.errors import ConfigurationError, HeadwaterError

Group = Literal["headwater.adapters", "headwater.providers", "headwater.models"]


class EntryPoint(Protocol):
    """What is needed of an installed package's entry point."""

    @property
    def name(self) -> str: ...

    @property
    def value(self) -> str: ...

    def load(self) -> Callable[[object], object]: ...


def installed(group: Group) -> list[EntryPoint]:
    """The entry points of a group, by name, from every installed package."""
    from importlib.metadata import entry_points  # slow to import, and asked for once

    return sorted(entry_points(group=group), key=lambda point: (point.name, point.value))


def load_plugins(group: Group, registry: object, points: Iterable[EntryPoint] | None = None) -> None:
    """Let every entry point of the group register what it brings. Raises ConfigurationError, naming the one that fails."""
    for point in installed(group) if points is None else points:
        try:
            point.load()(registry)
        except HeadwaterError:
            raise
        except Exception as error:
            raise ConfigurationError(f"the plugin {point.name!r} ({point.value}, group {group}) failed: {type(error).__name__}: {error}") from error


def suggestion(name: str, known: Iterable[str]) -> str:
    """` (did you mean a or b?)`, or nothing when no known name is close."""
    from difflib import get_close_matches  # only errors need it

    close = get_close_matches(name, list(known), 3, 0.6)
    return f" (did you mean {' or '.join(close)}?)" if close else ""
