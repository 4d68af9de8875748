"""The openai-chat adapter: request builder, translator, error reader and support table of one protocol, put together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from headwater_codecs.framing import Format
from headwater_codecs.neutral import ConfigurationError, ErrorInfo, Request, Secret
from headwater_providers.adapter import HttpRequest, Support, Target, Translator
from headwater_providers.openai_chat.dialect import ChatDialect, chat_dialect
from headwater_providers.openai_chat.errors import read_error
from headwater_providers.openai_chat.request import build_body
from headwater_providers.openai_chat.support import SUPPORTS
from headwater_providers.openai_chat.translate import ChatTranslator

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_KEY = re.compile(r"[\x21-\x7e]+")


class OpenAIChatAdapter:
    """Speaks `POST .../chat/completions` with `stream: true`."""

    protocol = "openai-chat"
    format: Format = "sse"
    supports: Mapping[str, Support] = SUPPORTS

    def build(self, request: Request, target: Target, api_key: Secret | None) -> HttpRequest:
        """The request as HTTP. Raises ConfigurationError, naming the field, for what the protocol or the vendor cannot say."""
        dialect = chat_dialect({}, target.dialect)
        headers: dict[str, str] = {"content-type": "application/json", "accept": "text/event-stream"}
        if api_key is not None:
            headers.update(_authorization(api_key, dialect, callable(target.api_key)))
        _add_headers(headers, target.headers)
        _add_headers(headers, request.extra_headers)
        url = _url(target.base_url, dialect.path, target.model if "{model}" in dialect.path else "", tuple(dialect.query.items()))
        return HttpRequest("POST", url, tuple(headers.items()), build_body(request, target, dialect))

    def translator(self, dialect: object = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> Translator:
        """A fresh translator for one response."""
        return ChatTranslator(chat_dialect({}, dialect), provider=provider, choices=choices, raw=raw)

    def dialect(self, overrides: Mapping[str, object], base: object = None) -> ChatDialect:
        """`base` with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
        return chat_dialect(overrides, base)

    def read_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ErrorInfo:
        """What an answer other than 2xx says, as the provider means it; `body` may be cut."""
        return read_error(status, headers, body)


def _authorization(api_key: Secret, dialect: ChatDialect, is_token: bool) -> dict[str, str]:
    """The header that carries the key. `is_token`: it came from a callable, as access tokens do."""
    if dialect.auth == "none":
        return {}
    key = api_key.reveal().strip()
    if not _KEY.fullmatch(key):
        raise ConfigurationError("the API key is empty or holds characters that a header cannot carry: white space, control or non-ASCII characters")
    if dialect.auth == "api-key" or (dialect.auth == "api-key-or-token" and not is_token):
        return {"api-key": key}
    return {"authorization": f"Bearer {key}"}


def _add_headers(headers: dict[str, str], more: Mapping[str, str]) -> None:
    """Put headers over those that are there. Raises ConfigurationError for what no header can be; its value is not shown, it may be a key."""
    for name, value in more.items():
        if not _NAME.fullmatch(name):
            raise ConfigurationError(f"{name!r} is no name for a header")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise ConfigurationError(
                f"the value of the header {name!r} is no text that a header can carry (line breaks and control characters are not allowed)"
            )
        headers[name.lower()] = value


@lru_cache(maxsize=512)
def _url(base_url: str, path: str, model: str, query: tuple[tuple[str, str], ...]) -> str:
    """The address of the call. A query in the base URL stays behind the path; a base URL that already ends with the path is not doubled."""
    from urllib.parse import quote, urlencode

    base, _, own_query = base_url.partition("?")
    base = base.rstrip("/")
    if "{model}" in path:
        path = path.replace("{model}", quote(model, safe=""))
    if not base.endswith(path):
        base += path
    own = {pair.partition("=")[0] for pair in own_query.split("&")}
    queries = [own_query, urlencode([(name, value) for name, value in query if name not in own])]
    joined = "&".join(piece for piece in queries if piece)
    return f"{base}?{joined}" if joined else base
