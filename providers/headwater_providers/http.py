"""What every request builder needs of HTTP: headers that can be sent, keys that fit into one, addresses put together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Secret

JSON_HEADERS: Mapping[str, str] = {"content-type": "application/json", "accept": "text/event-stream"}

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_KEY = re.compile(r"[\x21-\x7e]+")


def key_text(api_key: Secret) -> str:
    """The key, fit for a header. Raises ConfigurationError, without showing it, for what no header can carry."""
    key = api_key.reveal().strip()
    if not _KEY.fullmatch(key):
        raise ConfigurationError("the API key is empty or holds characters that a header cannot carry: white space, control or non-ASCII characters")
    return key


_AUTH_HEADERS = {"api-key": "api-key", "x-api-key": "x-api-key", "x-goog-api-key": "x-goog-api-key"}


def authorization(api_key: Secret, auth: str, is_token: bool) -> dict[str, str]:
    """The header that carries the key: `auth` names it, or is `bearer`, `none`, `sigv4` (signed later), or `...-or-token`.

    `is_token`: the key came from a callable, as access tokens do; where the server takes both, it is a bearer token.
    """
    if auth in ("none", "sigv4"):
        return {}
    if auth.endswith("-or-token"):
        auth = "bearer" if is_token else auth.removesuffix("-or-token")
    name = _AUTH_HEADERS.get(auth)
    return {"authorization": f"Bearer {key_text(api_key)}"} if name is None else {name: key_text(api_key)}


def add_headers(headers: dict[str, str], more: Mapping[str, str]) -> None:
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
def join_url(base_url: str, path: str, model: str = "", query: tuple[tuple[str, str], ...] = ()) -> str:
    """The address of a call; `{model}` in the path is replaced, percent-encoded.

    A query in the base URL stays behind the path and outranks `query`; a base URL that already ends with the path is not doubled.
    """
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
