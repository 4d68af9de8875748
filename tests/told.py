"""A translated stream as one short value: blocks, finish, usage, error. For tables of literal bytes and what they must tell."""

from __future__ import annotations

import json
from collections.abc import Iterable

import headwater
from headwater.aggregate import Aggregator
from headwater_codecs.aws_event_stream import encode_message
from headwater_codecs.neutral import Event, Response
from helpers import every_split

LONG = 1500  # bytes; longer bodies are not cut in two at every place


def sse(*objects: object, event: str = "type") -> bytes:
    """Server-sent events, each with an `event:` line where the object has that field."""
    frames = []
    for value in objects:
        name = value.get(event) if isinstance(value, dict) else None
        data = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        frames.append((f"event: {name}\n" if name else "") + f"data: {data}\n\n")
    return "".join(frames).encode()


def lines(*objects: object) -> bytes:
    """JSON lines."""
    return "".join([json.dumps(value, ensure_ascii=False) + "\n" for value in objects]).encode()


def messages(*events: tuple[str, object]) -> bytes:
    """An AWS event stream of these events; a name that ends with Exception is one."""
    encoded = b""
    for name, value in events:
        failed = name.endswith("Exception")
        headers = {":exception-type" if failed else ":event-type": name, ":message-type": "exception" if failed else "event"}
        encoded += encode_message(headers, json.dumps(value).encode())
    return encoded


def told(protocol: str, data: bytes, content_type: str = "text/event-stream", **options: object) -> list[object]:
    """What the bytes tell, the same wherever they are cut: every block, then how it ended, then the counts if there are any."""
    first: list[object] | None = None
    for chunks in every_split(data, two_way=len(data) <= LONG):
        events = headwater.decode_events(protocol, chunks, content_type=content_type, options=options)
        lawful(events)
        answer = headwater.decode(protocol, chunks, content_type=content_type, options=options)
        value = shown(answer)
        if first is None:
            first = value
        assert without_made_up(value) == without_made_up(first)
    assert first is not None
    return first


def lawful(events: list[Event]) -> None:
    """The aggregator takes them, which checks the laws, and they end with a terminal."""
    aggregator = Aggregator()
    aggregator.feed(events)
    assert aggregator.state == "ended"


def shown(answer: Response) -> list[object]:
    """An answer as a list."""
    value: list[object] = []
    for choice in answer.choices:
        for block in choice.blocks:
            value.append((*([choice.index] if choice.index else []), *_block(block)))
            for source in block.citations:
                value.append(("cited", *(part for part in (source.kind, source.url, source.title, source.cited_text) if part)))
    value.append((answer.finish_reason, answer.raw_finish_reason) if answer.error is None else (answer.error.kind, answer.raw_finish_reason))
    if (usage := answer.usage) is not None:
        value.append((usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.cache_write_tokens, usage.reasoning_tokens))
    return value


def _block(block: headwater.Block) -> Iterable[object]:
    if block.kind == "tool_call":
        call = block.call
        marks = [*([] if call.complete else ["cut"]), *(["custom"] if call.kind == "custom" else [])]
        return ("call", call.id, call.name, call.arguments, *marks, *([call.signature] if call.signature else []))
    if block.kind == "opaque":
        return ("opaque", block.opaque_kind, block.raw.decode())
    marks = ["redacted"] if block.redacted else []
    return (block.kind, block.text, *marks, *(part for part in (block.signature, block.data) if part))


def without_made_up(value: list[object]) -> list[object]:
    """The same with the ids that Headwater makes up replaced."""

    def plain(part: object) -> object:
        return "*" if isinstance(part, str) and part.startswith("call_") and len(part) == 29 else part

    return [tuple(map(plain, item)) if isinstance(item, tuple) else item for item in value]
