"""The openai-text adapter: request builder, translator and support table of one protocol, put together."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support, Target, Translator
from headwater_providers.body import Json
from headwater_providers.flags import Dialect
from headwater_providers.json_adapter import JsonAdapter
from headwater_providers.openai_text.dialect import TextDialect, text_dialect
from headwater_providers.openai_text.request import build_fields
from headwater_providers.openai_text.support import SUPPORTS
from headwater_providers.openai_text.translate import TextTranslator


class OpenAITextAdapter(JsonAdapter):
    """Speaks `POST .../completions` with `stream: true`."""

    protocol = "openai-text"
    format: Format = "sse"
    supports: Mapping[str, Support] = SUPPORTS

    def fields(self, request: Request, target: Target, dialect: Dialect) -> Json:
        """The body's fields."""
        assert isinstance(dialect, TextDialect)
        return build_fields(request, target, dialect)

    def flags(self, dialect: object) -> TextDialect:
        """The dialect, the default one for None."""
        return text_dialect({}, dialect)

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return TextTranslator(text_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> TextDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return text_dialect(overrides, base)
