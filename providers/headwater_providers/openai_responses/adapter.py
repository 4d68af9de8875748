"""The openai-responses adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.body import Json
from headwater_providers.flags import Dialect
from headwater_providers.json_adapter import JsonAdapter
from headwater_providers.openai_responses.dialect import ResponsesDialect, responses_dialect
from headwater_providers.openai_responses.request import build_fields
from headwater_providers.openai_responses.support import SUPPORTS
from headwater_providers.openai_responses.translate import ResponsesTranslator


class OpenAIResponsesAdapter(JsonAdapter):
    """Speaks `POST .../responses` with `stream: true`."""

    protocol = "openai-responses"
    format: Format = "sse"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, ResponsesDialect)
        return build_fields(request, target, dialect)

    def flags(self, dialect: object) -> ResponsesDialect:
        """The dialect, the default one for None."""
        return responses_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return ResponsesTranslator(responses_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> ResponsesDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return responses_dialect(overrides, base)
