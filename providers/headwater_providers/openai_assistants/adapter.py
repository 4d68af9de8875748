"""The openai-assistants adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.body import Json
from headwater_providers.flags import Dialect
from headwater_providers.json_adapter import JsonAdapter
from headwater_providers.openai_assistants.dialect import AssistantsDialect, assistants_dialect
from headwater_providers.openai_assistants.request import build_fields, take_path
from headwater_providers.openai_assistants.support import SUPPORTS
from headwater_providers.openai_assistants.translate import AssistantsTranslator


class OpenAIAssistantsAdapter(JsonAdapter):
    """Speaks `POST .../threads/runs` and its siblings with `stream: true`."""

    protocol = "openai-assistants"
    format: Format = "sse"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, AssistantsDialect)
        return build_fields(request, target, dialect)

    def path(self, request: Request, target: Target, dialect: Dialect, body: Json) -> str:
        """Which endpoint it is."""
        return dialect.path + take_path(body)

    def headers(self, dialect: Dialect) -> Mapping[str, str]:
        """The API is still a beta version of itself."""
        return {"openai-beta": "assistants=v2"}

    def flags(self, dialect: object) -> AssistantsDialect:
        """The dialect, the default one for None."""
        return assistants_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return AssistantsTranslator(assistants_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> AssistantsDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return assistants_dialect(overrides, base)
