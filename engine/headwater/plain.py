"""Answers and errors as plain values (dicts, lists, strings, numbers), and plain values as one line of JSON.

Whatever leaves Headwater as JSON is made here: `decode --json`, `generate --json`, the records of `batch`. Absent values stay in the dicts
as None, so that every record has the same keys. Keys and tokens cannot appear: nothing that holds them is read.
"""

from __future__ import annotations

import json

import msgspec
from msgspec import Raw

from headwater_codecs.neutral import Block, Choice, Citation, ErrorInfo, Response, Timing, ToolCall, Usage

PlainDict = dict[str, object]

# Line ends for some readers (str.splitlines, JavaScript's), but not for JSON, which lets them stand: escaped, so that a record is one line for all.
_LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


def json_line(value: object) -> bytes:
    """The value as one line of JSON with its newline. Lone surrogates, which UTF-8 cannot carry, are escaped and so kept."""
    try:
        line = msgspec.json.encode(value)
    except UnicodeEncodeError:
        line = json.dumps(_without_raw(value), ensure_ascii=True, separators=(",", ":")).encode()
    for raw, escaped in _LINE_ENDS:
        if raw in line:
            line = line.replace(raw, escaped)
    return line + b"\n"


def error_as_dict(error: ErrorInfo) -> PlainDict:
    """An error: `kind` and `message` always, the rest where it is known."""
    return {"kind": error.kind, "message": error.message, **_struct(error)}


def usage_as_dict(usage: Usage) -> PlainDict:
    """Token counts; None where the provider reported none. `raw` is the provider's own object."""
    return {name: getattr(usage, name) for name in usage.__struct_fields__}


def timing_as_dict(timing: Timing) -> PlainDict:
    """Seconds from the call, in microsecond steps; None for what did not happen."""
    return {name: None if (value := getattr(timing, name)) is None else round(value, 6) for name in timing.__struct_fields__}


def call_as_dict(call: ToolCall) -> PlainDict:
    """A tool call; `arguments` is the text as received. With `complete: false` it must never be run."""
    plain: PlainDict = {"id": call.id, "name": call.name, "arguments": call.arguments, "complete": call.complete, "kind": call.kind}
    if call.signature is not None:
        plain["signature"] = call.signature
    return plain


def response_as_dict(response: Response) -> PlainDict:
    """Everything a response holds. The per-choice fields are those of choice 0; all choices are under `choices`."""
    choices = [_choice(choice) for choice in response.choices]
    first = {name: value for name, value in choices[0].items() if name != "index"}
    return {
        "ok": response.ok,
        **first,
        "detail": response.detail,
        "usage": None if response.usage is None else usage_as_dict(response.usage),
        "error": None if response.error is None else error_as_dict(response.error),
        "model": response.model,
        "provider": response.provider,
        "protocol": response.protocol,
        "response_id": response.response_id,
        "request_id": response.request_id,
        "attempts": response.attempts,
        "headers": dict(response.headers),
        "diagnostics": [diagnostic._asdict() for diagnostic in response.diagnostics],
        "timing": timing_as_dict(response.timing),
        "choices": choices,
    }


def _choice(choice: Choice) -> PlainDict:
    return {
        "index": choice.index,
        "text": choice.text,
        "reasoning": choice.reasoning,
        "refusal": choice.refusal,
        "tool_calls": [call_as_dict(call) for call in choice.tool_calls],
        "finish_reason": choice.finish_reason,
        "raw_finish_reason": choice.raw_finish_reason,
        "blocks": [_block(block) for block in choice.blocks],
    }


def _block(block: Block) -> PlainDict:
    plain: PlainDict = {"kind": block.kind, "index": block.index, "complete": block.complete}
    if block.item_id is not None:
        plain["item_id"] = block.item_id
    if block.kind == "tool_call":
        plain |= call_as_dict(block.call)
        plain["kind"] = block.kind
        plain["call_kind"] = block.arguments_kind
    elif block.kind == "opaque":
        plain["name"] = block.name
        plain["raw"] = block.raw.decode("utf-8", "replace")
    else:
        plain["text"] = block.text
    if block.kind == "reasoning":
        plain |= {"redacted": block.redacted, "data": block.data}
    if block.signature is not None:
        plain["signature"] = block.signature
    if block.meta is not None:
        plain["meta"] = _plain(block.meta)
    if block.citations:
        plain["citations"] = [_citation(citation) for citation in block.citations]
    return plain


def _citation(citation: Citation) -> PlainDict:
    names = ("kind", "url", "title", "cited_text")
    return {name: getattr(citation, name) for name in names} | {"raw": _plain(citation.raw)}


def _struct(value: msgspec.Struct) -> PlainDict:
    plain = msgspec.to_builtins(value)
    assert isinstance(plain, dict)
    return plain


def _plain(value: object) -> object:
    """A field's value: JSON that was kept as bytes is parsed, or kept as text where it is broken."""
    if isinstance(value, Raw):
        value = bytes(value)
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value.decode("utf-8", "replace")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__ if getattr(value, name) is not None}
    return value


def _without_raw(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_raw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_raw(item) for item in value]
    return _plain(value)
