"""The JSON body of a request: merged from layers, encoded, with what UTF-8 cannot say replaced."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Request
from headwater_providers.checks import check_json

Json = dict[str, object]
_encode = msgspec.json.Encoder().encode


def encode_body(body: object) -> bytes:
    """The body, mostly an object, as JSON. Raises ConfigurationError for what JSON cannot say; lone surrogates become U+FFFD."""
    try:
        return _encode(body)
    except UnicodeEncodeError:
        return _encode(_without_surrogates(body))
    except (TypeError, OverflowError) as error:
        raise ConfigurationError(f"the request holds something that JSON cannot say: {error}") from error


def with_extra_body(body: Json, request: Request) -> Json:
    """The body with `Request.extra_body` merged over it, key by key. Raises ConfigurationError for a number that JSON cannot say."""
    if not request.extra_body:
        return body
    check_json(dict(request.extra_body), "extra_body")
    return merged(body, request.extra_body)


def merged(under: Mapping[str, object], over: Mapping[str, object]) -> Json:
    """Two objects as one, key by key and deeply; where both have a value that is no object, `over` has the say."""
    result: Json = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result


def _without_surrogates(value: object) -> object:
    """The same with lone surrogates, which UTF-8 cannot say, replaced by U+FFFD (pairs are joined)."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
