"""Reasoning in its many fields, and the structured details that must go back byte-exact (OpenRouter's `reasoning_details`)."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from headwater_codecs.neutral import ReasoningEnd
from headwater_codecs.openai_chat.wire import Delta, Json

_GROWING = ("text", "summary", "data")  # what comes in pieces; the rest is stated once


def reasoning_text(delta: Delta) -> str:
    """The reasoning in a delta: the first field that holds any, since several vendors mirror it in two."""
    for value in (delta.reasoning_content, delta.reasoning, delta.reasoning_text):
        if value:
            return value if isinstance(value, str) else text_of(value)
    if delta.reasoning_details:
        return "".join(str(detail.get("text") or detail.get("summary") or "") for detail in delta.reasoning_details)
    return ""


def text_of(parts: object) -> str:
    """The text in a list of typed parts (`{"type": "text", "text": ...}`, nested ones too)."""
    if isinstance(parts, str):
        return parts
    if isinstance(parts, dict):
        return text_of(parts.get("text") or parts.get("thinking") or parts.get("content") or "")
    if isinstance(parts, list):
        return "".join(map(text_of, parts))
    return ""


class ReasoningDetails:
    """The details of one reasoning block, merged by their index."""

    def __init__(self) -> None:
        self._details: list[Json] = []
        self._pieces: list[dict[str, list[str]]] = []
        self._at: dict[object, int] = {}

    def __bool__(self) -> bool:
        return bool(self._details)

    def feed(self, details: list[Json]) -> bool:
        """Merge pieces; True when one of them shows the model at work without text: a signature, encrypted data."""
        progress = False
        for detail in details:
            key = (detail.get("type"), detail.get("index")) if detail.get("index") is not None else (detail.get("type"), detail.get("id"))
            if key not in self._at:
                self._at[key] = len(self._details)
                self._details.append({})
                self._pieces.append({})
            whole, pieces = self._details[self._at[key]], self._pieces[self._at[key]]
            for name, value in detail.items():
                if name in _GROWING and isinstance(value, str):
                    pieces.setdefault(name, []).append(value)
                    whole.setdefault(name, "")
                elif value is not None or name not in whole:
                    whole[name] = value
            progress = progress or bool(detail.get("signature") or detail.get("data"))
        return progress

    def end(self, index: int, has_text: bool) -> ReasoningEnd:
        """The event that closes the block. `meta` is the wire object to send back with the next request."""
        for whole, pieces in zip(self._details, self._pieces, strict=True):
            whole.update({name: "".join(parts) for name, parts in pieces.items()})
        signature = next((str(detail["signature"]) for detail in self._details if detail.get("signature")), None)
        data = next((str(detail["data"]) for detail in self._details if detail.get("data")), None)
        meta = Raw(msgspec.json.encode({"reasoning_details": self._details})) if self._details else None
        return ReasoningEnd(index, signature=signature, redacted=data is not None and not has_text, data=data, meta=meta)
