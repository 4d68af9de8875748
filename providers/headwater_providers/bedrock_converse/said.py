"""What events of Bedrock say beside the answer: counts, sources, failures that hide in an event."""

from __future__ import annotations

from msgspec import Raw

from headwater_codecs.neutral import Citation, Usage
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.counts import read_count
from headwater_providers.event_translator import Json, list_of, object_of, text_of, word_of

_FAILED = "Exception"


def read_usage(raw: Json) -> Usage:
    """The counts of a `metadata` event. What a cache gave or took is counted beside the input, so the total adds them up."""
    fresh = read_count(raw.get("inputTokens"))
    cached = read_count(raw.get("cacheReadInputTokens", raw.get("cacheReadInputTokenCount")))
    written = read_count(raw.get("cacheWriteInputTokens", raw.get("cacheWriteInputTokenCount")))
    kept = clean(raw)
    assert isinstance(kept, dict)
    total = None if fresh is None else fresh + (cached or 0) + (written or 0)
    return Usage(total, read_count(raw.get("outputTokens")), cached, written, None, kept)


def read_citation(index: int, value: Json) -> Citation:
    """A source for the block `index`; its kind is that of its location."""
    cited = object_of(clean(value))
    location = object_of(cited.get("location"))
    url = word_of(object_of(location.get("web")).get("url"))
    text = "".join([text_of(object_of(piece).get("text")) for piece in list_of(cited.get("sourceContent"))])
    kind = next(iter(location), "citation")
    return Citation(index, 0, kind, url, word_of(cited.get("title")), text or None, Raw(encode_json(cited)))


def hidden_failure(value: Json, event: str) -> Json | None:
    """The failure that an ordinary event is by its name, or holds under one: whatever it is called, an exception ends the stream (B215)."""
    for name, told in value.items():
        if name.endswith(_FAILED) and isinstance(told, dict):
            return {"code": name, **told}
    return {"code": event, **value} if event.endswith(_FAILED) else None


def with_inner_message(failure: object) -> object:
    """The failure with the message of the model behind Bedrock, where it is quoted: it says more than Bedrock's own (B215)."""
    if isinstance(failure, dict) and (inner := word_of(failure.get("originalMessage"))) is not None:
        return {**failure, "message": inner}
    return failure


def told_failure(value: Json) -> Json | None:
    """The failure that a body without frames is: a message, and its type behind a `#` where there is one."""
    if not (text_of(value.get("message")) or text_of(value.get("Message"))):
        return None
    kind = text_of(value.get("__type")).rpartition("#")[2]
    return {"code": kind, **value} if kind else value
