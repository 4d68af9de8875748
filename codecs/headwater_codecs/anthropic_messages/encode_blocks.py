"""Content blocks as the anthropic-messages encoder writes them, whole."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from headwater_codecs.neutral.events import Citation
from headwater_codecs.neutral.response import Block

_encode = msgspec.json.Encoder().encode


def content_block(block: Block) -> Raw | None:
    """The block of a whole answer; None for what the wire cannot carry: a cut call, a cut item."""
    if block.kind in ("text", "refusal"):
        text: dict[str, object] = {"type": "text", "text": block.text}
        if block.citations:
            text["citations"] = [citation_of(citation) for citation in block.citations]
        return Raw(_encode(text))
    if block.kind == "reasoning":
        if block.redacted and block.data is not None:
            return redacted_block(block.data)
        return Raw(_encode({"type": "thinking", "thinking": block.text, "signature": block.signature or ""}))
    if block.kind == "opaque":
        return on_one_line(block.raw) if block.complete and is_object(block.raw, block.opaque_kind) else None
    if not block.complete:
        return None
    call = block.call
    given = Raw(custom_input(call.arguments) if call.kind == "custom" else call.arguments.encode())
    return Raw(_encode({"type": "tool_use", "id": call.id, "name": call.name, "input": given}))


def call_start(id: str, name: str) -> Raw:
    """How a call begins."""
    return Raw(_encode({"type": "tool_use", "id": id, "name": name, "input": {}}))


def redacted_block(data: str) -> Raw:
    """A block of redacted thinking."""
    return Raw(_encode({"type": "redacted_thinking", "data": data}))


def custom_input(text: str) -> bytes:
    """The free text of a custom tool, as the object that this wire demands."""
    return _encode({"input": text})


def citation_of(event: Citation) -> Raw:
    """The source as this wire's own providers wrote it; else what is known of it."""
    if event.raw is not None and is_object(event.raw):
        return on_one_line(bytes(event.raw))
    return Raw(_encode({"type": "web_search_result_location", "url": event.url, "title": event.title, "cited_text": event.cited_text or ""}))


def on_one_line(raw: bytes) -> Raw:
    """The object as it came, unless its line ends would end the line of the frame."""
    return Raw(_encode(msgspec.json.decode(raw)) if b"\n" in raw or b"\r" in raw else raw)


def is_object(raw: bytes | Raw, kind: str | None = None) -> bool:
    """Whether these bytes are one JSON object, of this `kind` where one is asked for: another one would be read as what it is not."""
    try:
        fields = msgspec.json.decode(raw, type=dict[str, Raw])
    except (ValueError, RecursionError):
        return False
    return kind is None or bytes(fields.get("type", b"")) == _encode(kind)
