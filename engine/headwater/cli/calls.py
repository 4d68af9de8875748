"""From options to requests: the deadlines, the engine and the model that the commands use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headwater import Engine, Retry, RetryBudget
from headwater_codecs.neutral import Message, Model, Request, Timeouts
from headwater_providers.builtin import default_registries

# Somebody waits, and has Ctrl-C: no deadline in total, but a stuck server is found. In seconds.
GENERATE_TIMEOUTS = Timeouts(connect=10, first_content=120, idle=60)


class EngineOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where requests go and how long they may take; None leaves it at the command's default."""

    base_url: str | None = None
    total: float | None = None
    connect: float | None = None
    first_content: float | None = None
    idle: float | None = None
    retries: int | None = None
    backend: str = "asyncio"

    @classmethod
    def of(cls, options: Mapping[str, object]) -> Self:
        """The options as the command line gave them."""
        return msgspec.convert(dict(options), cls)

    def timeouts(self, base: Timeouts) -> Timeouts:
        """The command's deadlines with those that were given."""
        given = {name: value for name in base.__struct_fields__ if (value := getattr(self, name)) is not None}
        return replace(base, **given)

    def engine(self, base: Timeouts) -> Engine:
        """An engine with these deadlines and retries."""
        retry = Retry() if self.retries is None else Retry(attempts=self.retries)
        # Not bounded in all: a job's rows are bounded by its concurrency, and each waits for its own turn.
        return Engine(timeouts=self.timeouts(base), retry=retry, retry_budget=RetryBudget(math.inf))

    def model(self, name: str) -> Model | str:
        """The model of this name, at `base_url` if one was given."""
        return name if self.base_url is None else Model(name, base_url=self.base_url)


class PromptOptions(EngineOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What shapes the answer, beside that."""

    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def request(self, model: str, prompt: str) -> Request:
        """One request with this prompt."""
        messages = [Message("system", self.system)] if self.system is not None else []
        return Request(
            model=self.model(model),
            messages=[*messages, Message("user", prompt)],
            max_tokens=self.max_tokens,
            temperature=self.temperature,
        )


def check_model(model: Model | str) -> None:
    """Raise ConfigurationError when the model cannot be reached for a reason that is known beforehand: its name, its key, its weights."""
    target = default_registries().resolve(model)
    if target.launcher == "local":
        from headwater.local.weights import find_weights

        find_weights(target.model)
