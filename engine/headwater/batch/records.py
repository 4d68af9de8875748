"""The output line of a row: Headwater's own record, or, for an OpenAI batch line, a line of OpenAI's output file.

Failures are records too, with their typed error and with the text that had come. What OpenAI's form has no place for (partial text, timing,
attempts) is under `headwater`, which its readers ignore.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Raw

from headwater.plain import PlainDict, call_as_dict, error_as_dict, json_line, timing_as_dict, usage_as_dict
from headwater_codecs.neutral import Choice, Response
from headwater_codecs.openai_chat.encode import encode_error, encode_response

if TYPE_CHECKING:
    from headwater.batch.run import Result


def record_line(result: Result) -> bytes:
    """The record of one row as one line of JSON with its newline."""
    return json_line(openai_record(result) if result.row.form == "openai" else record(result))


def record(result: Result) -> PlainDict:
    """Headwater's own record."""
    row, response = result.row, result.response or Response()
    plain: PlainDict = {"id": row.id, "index": row.index, "line": row.line, "text": response.text}
    if response.reasoning:
        plain["reasoning"] = response.reasoning
    if response.refusal is not None:
        plain["refusal"] = response.refusal
    if response.tool_calls:
        plain["tool_calls"] = [call_as_dict(call) for call in response.tool_calls]
    if len(response.choices) > 1:
        plain["choices"] = [_choice(choice) for choice in response.choices]
    plain |= {
        "finish_reason": response.finish_reason,
        "raw_finish_reason": response.raw_finish_reason,
        "usage": None if response.usage is None else usage_as_dict(response.usage),
        "model": response.model or _asked_for(result),
        "timing": timing_as_dict(response.timing),
        "attempts": response.attempts if result.response is not None else 0,
    }
    if result.error is not None:
        plain["error"] = error_as_dict(result.error)
    return plain


def openai_record(result: Result) -> PlainDict:
    """A line of OpenAI's batch output. An answer of the provider, good or bad, is under `response`; any other failure under `error`."""
    row, response, error = result.row, result.response, result.error
    extra = record(result)
    ours: PlainDict = {name: extra[name] for name in ("index", "line", "finish_reason", "raw_finish_reason", "timing", "attempts")}
    answer: PlainDict | None = None
    failure: PlainDict | None = None
    if error is None and response is not None:
        answer = {"status_code": 200, "request_id": response.request_id, "body": _completion(result, response)}
    elif error is not None:
        ours |= {"text": extra["text"], "error": extra["error"]}
        if error.status is not None:
            answer = {"status_code": error.status, "request_id": error.request_id, "body": Raw(encode_error(error))}
        else:
            failure = {"code": error.code or error.kind, "message": error.message}
    return {"id": _line_id(row.line, row.id), "custom_id": row.id, "response": answer, "error": failure, "headwater": ours}


def _completion(result: Result, response: Response) -> Raw:
    id = _line_id(result.row.line, result.row.id).replace("batch_req", "chatcmpl")
    return Raw(encode_response(response, model=response.model or _asked_for(result) or "", id=response.response_id or id, created=result.started))


def _choice(choice: Choice) -> PlainDict:
    plain: PlainDict = {
        "index": choice.index,
        "text": choice.text,
        "finish_reason": choice.finish_reason,
        "raw_finish_reason": choice.raw_finish_reason,
    }
    if choice.reasoning:
        plain["reasoning"] = choice.reasoning
    if choice.tool_calls:
        plain["tool_calls"] = [call_as_dict(call) for call in choice.tool_calls]
    return plain


def _asked_for(result: Result) -> str | None:
    if result.row.request is None:
        return None
    model = result.row.request.model
    return model if isinstance(model, str) else model.id


def _line_id(line: int, id: object) -> str:
    """An id that is the same when the same row is run again."""
    return "batch_req_" + hashlib.sha256(f"{line}:{id}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
