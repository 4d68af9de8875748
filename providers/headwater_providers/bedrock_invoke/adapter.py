"""The bedrock-invoke adapter."""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.framing import Format
from headwater_codecs.neutral import ErrorInfo, Request, Secret
from headwater_providers.adapter import HttpRequest, Support, Target, Translator
from headwater_providers.bedrock_invoke.dialect import InvokeDialect, invoke_dialect
from headwater_providers.bedrock_invoke.translate import InvokeTranslator
from headwater_providers.errors import read_error


class BedrockInvokeAdapter:
    """Speaks `POST .../model/MODEL/invoke-with-response-stream`."""

    protocol = "bedrock-invoke"
    format: Format = "aws-event-stream"
    supports: Mapping[str, Support] = {}

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The request as HTTP."""
        raise NotImplementedError

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return InvokeTranslator(invoke_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> InvokeDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return invoke_dialect(overrides, base)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
        return read_error(status, headers, body)
