"""The many shapes in which compatible servers put an error: where its message, code, type and status are.

`{"error": {...}}`, `{"error": "text"}`, `{"detail": ...}`, `{"message": ...}`, `{"errors": [...]}`, a list of them, a bare string, MiniMax's
`base_resp`, and each of these inside another.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from headwater_codecs import tolerant_json

_DEPTH = 4
_QUOTED = 300  # characters of an upstream error that a router passes on


class Said(Struct, frozen=True):
    """What an error body says, as far as it was found."""

    message: str = ""
    code: object = None
    type: object = None
    status: int | None = None
    request_id: str | None = None

    def with_message(self, message: str) -> Said:
        """The same with a message."""
        return replace(self, message=message)


def body_of(body: bytes) -> object:
    """The body as JSON, or None when it is empty or something else."""
    if not body.strip():
        return None
    try:
        return tolerant_json.decode(body)
    except ValueError:
        return None


def read_said(body: object, depth: int = _DEPTH) -> Said:
    """What this object says, whatever its shape. Never raises."""
    if isinstance(body, str):
        return Said(body.strip())
    if isinstance(body, list):
        return _read_list(body, depth)
    if not isinstance(body, dict):
        return Said() if body is None or isinstance(body, bool) else Said(code=body)
    own = Said(
        _message(body, depth),
        _first(body, "code", "error_code"),
        _first(body, "type", "status", "error_type") if not isinstance(body.get("type"), str) else body["type"],
        _status(body),
        _text(body, "request_id", "requestId"),
    )
    if depth == 0:
        return own
    for key in ("error", "errors", "base_resp"):
        inner = body.get(key)
        if inner and inner is not True:
            return _over(read_said(inner, depth - 1), own)
    if isinstance(detail := body.get("detail"), dict):
        return _over(read_said(detail, depth - 1), own)
    if isinstance(message := body.get("message"), dict):
        return _over(read_said(message, depth - 1), own)
    return own


def _over(inner: Said, outer: Said) -> Said:
    """The inner error, completed by what stands around it; `{"type": "error"}` around an error says nothing."""
    kind = inner.type if inner.type is not None else None if outer.type == "error" else outer.type
    return Said(
        inner.message or outer.message,
        inner.code if inner.code is not None else outer.code,
        kind,
        inner.status if inner.status is not None else outer.status,
        inner.request_id or outer.request_id,
    )


def _read_list(body: list[object], depth: int) -> Said:
    """The first error of a list; validation errors (`{"loc": [...], "msg": ...}`) are all told."""
    if depth == 0 or not body:
        return Said()
    told = [line for item in body if (line := _validation(item))]
    if told:
        return Said("; ".join(told))
    return read_said(body[0], depth - 1)


def _validation(item: object) -> str:
    if not isinstance(item, dict) or not isinstance(item.get("msg"), str):
        return ""
    loc = item.get("loc")
    where = ".".join(map(str, loc)) if isinstance(loc, list) else ""
    return f"{where}: {item['msg']}" if where else str(item["msg"])


def _message(body: dict[str, object], depth: int) -> str:
    text = _text(body, "message", "Message", "msg", "detail", "error_message", "error_msg", "error_description", "status_msg", "title") or ""
    if not text and depth:
        for key in ("detail", "message"):
            if isinstance(value := body.get(key), list):
                text = read_said(value, depth - 1).message
                break
    return text + _upstream(body)


def _upstream(body: dict[str, object]) -> str:
    """What a router says about the provider behind it (OpenRouter's `metadata`)."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("raw"):
        return ""
    raw = metadata["raw"]
    said = read_said(body_of(raw.encode("utf-8", "replace")) or raw if isinstance(raw, str) else raw, 2)
    name = metadata.get("provider_name")
    return f" ({f'{name}: ' if isinstance(name, str) else ''}{said.message[:_QUOTED]})" if said.message else ""


def _status(body: dict[str, object]) -> int | None:
    for key in ("status_code", "statusCode", "http_status", "status"):
        value = body.get(key)
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value.strip()[:9])
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def _first(body: dict[str, object], *keys: str) -> object:
    return next((value for key in keys if (value := body.get(key)) not in (None, "")), None)


def _text(body: dict[str, object], *keys: str) -> str | None:
    return next((value.strip() for key in keys if isinstance(value := body.get(key), str) and value.strip()), None)
