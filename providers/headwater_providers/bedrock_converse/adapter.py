"""The bedrock-converse adapter."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import ErrorInfo, Request, Secret
from headwater_providers.adapter import HttpRequest, Support, Target, Translator
from headwater_providers.bedrock_converse.dialect import ConverseDialect, converse_dialect
from headwater_providers.bedrock_converse.translate import ConverseTranslator
from headwater_providers.errors import read_error


class BedrockConverseAdapter:
    """Speaks `POST .../model/MODEL/converse-stream`."""

    protocol = "bedrock-converse"
    format: Format = "aws-event-stream"
    supports: Mapping[str, Support] = {}

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The request as HTTP."""
        raise NotImplementedError

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return ConverseTranslator(converse_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> ConverseDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return converse_dialect(overrides, base)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
        return read_error(status, headers, body)
