"""Which frames without choices are errors, though none of them says `error`, and what those say that are errors as a whole.

`{"object": "error", "message": ..., "code": ...}` (FastChat), `{"code": ..., "message": ...}` (DashScope), `{"detail": ...}` (FastAPI),
`{"base_resp": {"status_code": 1004, ...}}` (MiniMax), the inner error object alone, `{"message": ...}` from a gateway in front.
"""

from __future__ import annotations

from headwater_codecs import tolerant_json

NO_JSON = object()
_MESSAGES = ("message", "msg", "error_message", "error_msg", "detail")
_CODES = ("code", "error_code", "status", "status_code", "statusCode")
_FINE = frozenset({"", "0", "200", "ok", "success", "succeeded"})
# Where a message stands beside these alone it is the whole answer of something in front of the provider.
_ENVELOPE = frozenset({"message", "msg", "id", "request_id", "requestId", "requestid", "timestamp", "path", "type", "param"})


def says_error(error: object) -> bool:
    """Whether the value under `error` is one: null, nothing, and an object of nothings are none."""
    if isinstance(error, dict):
        return any(value not in (None, "", 0, False) and value != [] and value != {} for value in error.values())
    return bool(error)


def value_of(data: bytes) -> object:
    """A frame as a value that can be written again; `NO_JSON` where it is none."""
    try:
        return tolerant_json.decode(data)
    except ValueError:
        return NO_JSON


def error_in(data: bytes) -> object:
    """What a frame says that is an error as a whole."""
    value = value_of(data)
    if value is NO_JSON:
        return data.decode("utf-8", "replace")
    if isinstance(value, dict) and isinstance(error := value.get("error"), dict | list | str) and error:
        return error
    return value


def is_bare_error(value: dict[str, object]) -> bool:
    """Whether a frame that has no choices and no `error` is an error all the same."""
    base = value.get("base_resp")
    if isinstance(base, dict) and _is_bad(base.get("status_code")):
        return True
    if value.get("errors") or (value.get("detail") and not value.get("choices")):
        return True
    told = any(isinstance(value.get(name), str) and value[name] for name in _MESSAGES)
    if _names_error(value.get("object")) or _names_error(value.get("type")) or value.get("success") is False:
        return True
    return told and (any(_is_bad(value.get(name)) for name in _CODES) or value.keys() <= _ENVELOPE)


def _names_error(kind: object) -> bool:
    return isinstance(kind, str) and kind.lower().endswith(("error", "exception"))


def _is_bad(code: object) -> bool:
    """Whether a code says that something is wrong."""
    if isinstance(code, bool) or not isinstance(code, str | int):
        return False
    return str(code).strip().lower() not in _FINE if isinstance(code, str) else code not in (0, 200)
