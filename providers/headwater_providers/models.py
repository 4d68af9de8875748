"""`ModelRegistry`: a model's name alone -> which model that is. Rows ADK-REG-01 to 04.

Patterns are regular expressions that are searched for, not matched whole: write `^` and `$` where you mean them. A name has exactly one
pattern or it is an error: never the first of several. What is registered here comes before the lists that the vendors bring.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Model

ModelFactory = Callable[[str], Model]


class ModelRegistry:
    """Name pattern -> a factory that makes the `Model`. Safe to use from several threads."""

    def __init__(self) -> None:
        self._patterns: dict[str, tuple[re.Pattern[str], ModelFactory]] = {}
        self._lock = Lock()

    def register(self, pattern: str, factory: ModelFactory, *, replace: bool = False) -> None:
        """Add a pattern. Raises ConfigurationError for a bad expression, and for one that is there already unless `replace` is set."""
        compiled = compile_pattern(pattern)
        with self._lock:
            if pattern in self._patterns and not replace:
                raise ConfigurationError(f"the model pattern {pattern!r} is already registered: pass replace=True to take its place")
            self._patterns = {**self._patterns, pattern: (compiled, factory)}

    def unregister(self, pattern: str) -> None:
        """Take a pattern out; one that is not there is no error."""
        with self._lock:
            self._patterns = {name: entry for name, entry in self._patterns.items() if name != pattern}

    @property
    def patterns(self) -> list[str]:
        """The patterns, sorted."""
        return sorted(self._patterns)

    def match(self, name: str) -> list[str]:
        """Every pattern that the name has."""
        return [pattern for pattern, (compiled, _) in self._patterns.items() if compiled.search(name)]

    def lookup(self, name: str) -> Model | None:
        """The model that the one pattern of this name makes; None without a pattern. Raises ConfigurationError for several."""
        if not self._patterns:
            return None
        matches = self.match(name)
        if len(matches) > 1:
            listed = ", ".join(repr(pattern) for pattern in matches)
            raise ConfigurationError(f"the model name {name!r} matches several registered patterns ({listed}): they must not overlap")
        return self._patterns[matches[0]][1](name) if matches else None


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The expression, compiled. Raises ConfigurationError, saying what is wrong with it."""
    if not pattern:
        raise ConfigurationError("a model pattern is empty: it would match every name")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(f"the model pattern {pattern!r} is no regular expression: {error}") from error
