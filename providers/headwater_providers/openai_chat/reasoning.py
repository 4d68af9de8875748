"""Reasoning in its many fields, and the structured details that must go back byte-exact (OpenRouter's `reasoning_details`)."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from headwater_codecs import tolerant_json
from headwater_codecs.neutral import ReasoningEnd
from headwater_codecs.openai_chat.wire import Delta, Json
from headwater_codecs.tolerant_json import clean, encode_json

_GROWING = ("text", "summary", "data")  # what comes in pieces; the rest is stated once


def reasoning_text(delta: Delta) -> str:
    """The reasoning in a delta: the first field that holds any, since several vendors mirror it in two."""
    for value in (delta.reasoning_content, delta.reasoning, delta.reasoning_text):
        if value and (text := text_of(value)):
            return text
    if delta.reasoning_details:
        return "".join([_string(detail, "text") or _string(detail, "summary") or "" for detail in delta.reasoning_details])
    return ""


def text_of(parts: object) -> str:
    """The text in a list of typed parts (`{"type": "text", "text": ...}`, nested ones too)."""
    if isinstance(parts, str):
        return parts
    if isinstance(parts, dict):
        return next((text for name in ("text", "thinking", "content", "summary") if (text := text_of(parts.get(name)))), "")
    if isinstance(parts, list):
        return "".join(map(text_of, parts))
    return ""


def read_part(raw: Raw) -> tuple[str, str]:
    """What a part of content that is a list says: its kind, and its text where the kind is text, reasoning or refusal."""
    try:
        part = msgspec.json.decode(raw)
    except msgspec.DecodeError:  # bytes that are not UTF-8
        part = clean(tolerant_json.decode(bytes(raw)))
    kind = part.get("type") if isinstance(part, dict) else "text"
    if kind in ("thinking", "reasoning"):
        return "reasoning", text_of(part)
    if kind in ("text", "output_text", None):
        return "text", text_of(part)
    return str(kind), text_of(part.get("refusal")) if kind == "refusal" else ""


class ReasoningDetails:
    """The details of one reasoning block, merged by their index."""

    def __init__(self) -> None:
        self._details: list[Json] = []
        self._pieces: list[dict[str, list[str]]] = []
        self._at: dict[tuple[str, str], int] = {}

    def __bool__(self) -> bool:
        return bool(self._details)

    def feed(self, details: list[Json]) -> bool:
        """Merge pieces; True when one of them shows the model at work without text: a signature, encrypted data."""
        progress = False
        for detail in details:
            key = _key(detail)
            at = self._at.get(key) if key is not None else None
            if at is None:
                at = len(self._details)
                self._details.append({})
                self._pieces.append({})
                if key is not None:
                    self._at[key] = at
            whole, pieces = self._details[at], self._pieces[at]
            for name, value in detail.items():
                if name in _GROWING and isinstance(value, str):
                    pieces.setdefault(name, []).append(value)
                    whole.setdefault(name, "")
                elif value is not None or name not in whole:
                    whole[name] = value
            progress = progress or bool(detail.get("signature") or detail.get("data"))
        return progress

    def end(self, index: int, has_text: bool, complete: bool = True) -> ReasoningEnd:
        """The event that closes the block. `meta` is the wire object to send back with the next request."""
        for whole, pieces in zip(self._details, self._pieces, strict=True):
            whole.update({name: "".join(parts) for name, parts in pieces.items()})
        signature = next((value for detail in self._details if (value := _string(detail, "signature"))), None)
        data = next((value for detail in self._details if (value := _string(detail, "data"))), None)
        meta = Raw(encode_json({"reasoning_details": self._details})) if self._details else None
        return ReasoningEnd(index, complete, signature, data is not None and not has_text, data, meta)


def _key(detail: Json) -> tuple[str, str] | None:
    """What tells the pieces of one detail from another's: its type with its index, else with its id. None: it stands alone."""
    kind = str(detail.get("type"))
    for name in ("index", "id"):
        value = detail.get(name)
        if isinstance(value, int | float | str) and value != "":
            return kind, f"{name} {value}"
    return None if detail.get("data") else (kind, "")


def _string(detail: Json, name: str) -> str | None:
    value = detail.get(name)
    return value if isinstance(value, str) and value else None
