"""Events to the bytes of a Responses stream, for services that answer in that protocol.

Every block is an output item of its own: a message with one part (text or refusal), reasoning with one summary, a call, or an opaque item as it is.
What this wire cannot carry: further choices (only choice 0 is written); signatures; `meta`; opaque items that are no JSON object of their own kind;
sources that come after their block; an item's id that another item has; the finish reasons `pause` and `unknown` (completed) and `error` (incomplete,
reason `error`); other words for a reason than its own; `Finish.detail`; counts that are unknown (zero where clients demand one); which error kinds
share a code. A cut call is an item that is incomplete.
Clients append an item when it is announced and find it by `output_index`: items are numbered in the order in which they are announced.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from msgspec import Raw

from headwater_codecs.event_encoder import EventEncoder, Handlers, Json, as_object, encode_json
from headwater_codecs.neutral.errors import ErrorInfo
from headwater_codecs.neutral.events import (
    Citation,
    Finish,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageUpdate,
)
from headwater_codecs.neutral.response import Response
from headwater_codecs.neutral.usage import Usage
from headwater_codecs.openai_responses.written_usage import written_usage

ERROR_CODES = {
    "auth": "invalid_api_key",
    "permission": "permission_denied",
    "not_found": "model_not_found",
    "invalid_request": "invalid_prompt",
    "context_overflow": "context_length_exceeded",
    "rate_limit": "rate_limit_exceeded",
    "quota": "insufficient_quota",
    "overloaded": "overloaded",
}
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter", "error": "error"}
_LINE_ENDS = re.compile(rb"[\r\n]")  # they would end the line of the frame
_STATUS = {"auth": 401, "permission": 403, "not_found": 404, "rate_limit": 429, "quota": 429, "overloaded": 503}


class ResponsesEncoder(EventEncoder):
    """One answer as Responses events, numbered from 0; see the module's text for what is left out."""

    def __init__(self, *, model: str, id: str, created: int) -> None:
        super().__init__(model=model, id=id, created=created)
        self._sequence = 0
        self._begun = False
        self._items: dict[int, Json] = {}  # block -> its item, as far as it is known
        self._positions: dict[int, int] = {}
        self._texts: dict[int, list[str]] = {}  # of the open blocks
        self._others: set[int] = set()  # blocks of further choices
        self._ids: set[str] = set()
        self._output: dict[int, Json | Raw] = {}  # position -> the item as it ended
        self._usage: Usage | None = None

    def _event(self, out: list[bytes], type: str, **fields: Any) -> None:
        out.append(b"event: %b\ndata: %b\n\n" % (type.encode(), encode_json({"type": type, "sequence_number": self._sequence, **fields})))
        self._sequence += 1

    def _response(self, status: str, **more: Any) -> Json:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": self.model,
            "output": [] if status == "in_progress" else [self._output[position] for position in sorted(self._output)],
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": None if self._usage is None else written_usage(self._usage),
            **more,
        }

    def _begin(self, out: list[bytes]) -> None:
        if not self._begun:
            self._begun = True
            self._event(out, "response.created", response=self._response("in_progress"))
            self._event(out, "response.in_progress", response=self._response("in_progress"))

    def _on_start(self, event: StreamStart, out: list[bytes]) -> None:
        self._begin(out)

    def _open(self, event: Any, prefix: str, item: Json, out: list[bytes]) -> None:
        self._begin(out)
        id = event.item_id
        if not id or id in self._ids:
            id = f"{prefix}_{self.id}_{event.index}"
        self._ids.add(id)
        self._items[event.index] = item = {"id": id, **item}
        self._texts[event.index] = []
        self._announce(event.index, item, out)

    def _announce(self, index: int, item: Json | Raw, out: list[bytes]) -> None:
        self._positions[index] = len(self._positions)
        self._event(out, "response.output_item.added", output_index=self._positions[index], item=item)

    def _text(self, index: int) -> list[str] | None:
        """The pieces of an open block; None for a block that is not written. Raises KeyError for one that is not open."""
        return None if index in self._others else self._texts[index]

    def _place(self, index: int) -> Json:
        return {"item_id": self._items[index]["id"], "output_index": self._positions[index]}

    def _close(self, index: int, item: Json | Raw, out: list[bytes]) -> None:
        self._event(out, "response.output_item.done", output_index=self._positions[index], item=item)
        self._output[self._positions[index]] = item
        del self._texts[index]

    def _on_text_start(self, event: TextStart | RefusalStart, out: list[bytes]) -> None:
        if event.choice:
            self._others.add(event.index)
            return
        self._open(event, "msg", {"type": "message", "role": "assistant", "status": "in_progress", "content": []}, out)
        part = _text_part("") if isinstance(event, TextStart) else _refusal_part("")
        self._event(out, "response.content_part.added", **self._place(event.index), content_index=0, part=part)

    def _on_text(self, event: TextDelta, out: list[bytes]) -> None:
        if (pieces := self._text(event.index)) is not None:
            pieces.append(event.text)
            self._event(out, "response.output_text.delta", **self._place(event.index), content_index=0, delta=event.text, logprobs=[])

    def _on_refusal(self, event: RefusalDelta, out: list[bytes]) -> None:
        if (pieces := self._text(event.index)) is not None:
            pieces.append(event.text)
            self._event(out, "response.refusal.delta", **self._place(event.index), content_index=0, delta=event.text)

    def _on_citation(self, event: Citation, out: list[bytes]) -> None:
        item = self._items.get(event.index)
        if item is None or event.index not in self._texts or item["type"] != "message":
            return
        note = as_object(event.raw and bytes(event.raw)) or {"type": event.kind, "url": event.url, "title": event.title or ""}
        notes = item.setdefault("_notes", [])
        self._event(
            out,
            "response.output_text.annotation.added",
            item_id=item["id"],
            output_index=self._positions[event.index],
            content_index=0,
            annotation_index=len(notes),
            annotation=note,
        )
        notes.append(note)

    def _on_text_end(self, event: TextEnd, out: list[bytes]) -> None:
        if (pieces := self._text(event.index)) is None:
            return
        item, text = self._items[event.index], "".join(pieces)
        part = {**_text_part(text), "annotations": item.pop("_notes", [])}
        place = self._place(event.index)
        self._event(out, "response.output_text.done", **place, content_index=0, text=text, logprobs=[])
        self._end_message(event.index, event.complete, part, out)

    def _on_refusal_end(self, event: RefusalEnd, out: list[bytes]) -> None:
        if (pieces := self._text(event.index)) is None:
            return
        text = "".join(pieces)
        self._event(out, "response.refusal.done", **self._place(event.index), content_index=0, refusal=text)
        self._end_message(event.index, event.complete, _refusal_part(text), out)

    def _end_message(self, index: int, complete: bool, part: Json, out: list[bytes]) -> None:
        self._event(out, "response.content_part.done", **self._place(index), content_index=0, part=part)
        status = "completed" if complete else "incomplete"
        self._close(index, {**self._items[index], "status": status, "content": [part]}, out)

    def _on_reasoning_start(self, event: ReasoningStart, out: list[bytes]) -> None:
        if event.choice:
            self._others.add(event.index)
        else:
            self._open(event, "rs", {"type": "reasoning", "summary": []}, out)

    def _on_reasoning(self, event: ReasoningDelta, out: list[bytes]) -> None:
        if (pieces := self._text(event.index)) is None:
            return
        place = self._place(event.index)
        if not pieces:
            part = {"type": "summary_text", "text": ""}
            self._event(out, "response.reasoning_summary_part.added", **place, summary_index=0, part=part)
        pieces.append(event.text)
        self._event(out, "response.reasoning_summary_text.delta", **place, summary_index=0, delta=event.text)

    def _on_reasoning_end(self, event: ReasoningEnd, out: list[bytes]) -> None:
        if (pieces := self._text(event.index)) is None:
            return
        text, place = "".join(pieces), self._place(event.index)
        summary: list[Json] = []
        if text:
            summary = [{"type": "summary_text", "text": text}]
            self._event(out, "response.reasoning_summary_text.done", **place, summary_index=0, text=text)
            self._event(out, "response.reasoning_summary_part.done", **place, summary_index=0, part=summary[0])
        item = {**self._items[event.index], "summary": summary}
        if event.data is not None:
            item["encrypted_content"] = event.data
        self._close(event.index, item, out)

    def _on_call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        if event.choice:
            self._others.add(event.index)
            return
        prefix, kind, field = ("ctc", "custom_tool_call", "input") if event.kind == "custom" else ("fc", "function_call", "arguments")
        self._open(event, prefix, {"type": kind, "status": "in_progress", "call_id": event.id, "name": event.name, field: ""}, out)

    def _on_arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        if (pieces := self._text(event.index)) is not None:
            pieces.append(event.arguments)
            self._event(out, f"{_arguments_of(self._items[event.index])}.delta", **self._place(event.index), delta=event.arguments)

    def _on_call_end(self, event: ToolCallEnd, out: list[bytes]) -> None:
        if (pieces := self._text(event.index)) is None:
            return
        item, text = self._items[event.index], "".join(pieces)
        custom = item["type"] == "custom_tool_call"
        field = "input" if custom else "arguments"
        if not text.strip() and event.complete and not custom:
            text = "{}"
            self._event(out, f"{_arguments_of(item)}.delta", **self._place(event.index), delta=text)
        self._event(out, f"{_arguments_of(item)}.done", **self._place(event.index), name=item["name"], **{field: text})
        self._close(event.index, {**item, "status": "completed" if event.complete else "incomplete", field: text}, out)

    def _on_opaque_start(self, event: OpaqueStart, out: list[bytes]) -> None:
        if event.choice:
            self._others.add(event.index)
            return
        self._begin(out)
        self._texts[event.index] = []
        self._items[event.index] = {"id": event.item_id or f"it_{self.id}_{event.index}", "type": event.kind}

    def _on_opaque_end(self, event: OpaqueEnd, out: list[bytes]) -> None:
        """The item as it came; it is announced only now, since its own fields must not change between the two events."""
        if self._text(event.index) is None:
            return
        item = as_object(event.raw)
        if item is None or item.get("type") != self._items[event.index]["type"]:
            del self._texts[event.index]
            return
        written: Json | Raw = item if isinstance(item.get("id"), str) else {"id": self._items[event.index]["id"], **item}
        if written is item and not _LINE_ENDS.search(event.raw):
            written = Raw(event.raw)
        self._announce(event.index, written, out)
        self._close(event.index, written, out)

    def _on_usage(self, event: UsageUpdate, out: list[bytes]) -> None:
        self._usage = event.usage

    def _on_finish(self, event: Finish, out: list[bytes]) -> None:
        self._begin(out)
        self._usage = event.usage or self._usage
        reason = INCOMPLETE.get(event.finish_reason)
        if reason is None:
            self._event(out, "response.completed", response=self._response("completed"))
        else:
            self._event(out, "response.incomplete", response=self._response("incomplete", incomplete_details={"reason": reason}))

    def _on_failed(self, event: StreamFailed, out: list[bytes]) -> None:
        self._begin(out)
        self._usage = event.usage or self._usage
        self._event(out, "response.failed", response=self._response("failed", error=_error(event.error)))

    handlers: ClassVar[Handlers] = {
        StreamStart: _on_start,
        TextStart: _on_text_start,
        TextDelta: _on_text,
        TextEnd: _on_text_end,
        RefusalStart: _on_text_start,
        RefusalDelta: _on_refusal,
        RefusalEnd: _on_refusal_end,
        ReasoningStart: _on_reasoning_start,
        ReasoningDelta: _on_reasoning,
        ReasoningEnd: _on_reasoning_end,
        ToolCallStart: _on_call_start,
        ToolCallDelta: _on_arguments,
        ToolCallEnd: _on_call_end,
        OpaqueStart: _on_opaque_start,
        OpaqueEnd: _on_opaque_end,
        Citation: _on_citation,
        UsageUpdate: _on_usage,
        Finish: _on_finish,
        StreamFailed: _on_failed,
    }


def _arguments_of(item: Json) -> str:
    return "response.custom_tool_call_input" if item["type"] == "custom_tool_call" else "response.function_call_arguments"


def _text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _refusal_part(text: str) -> Json:
    return {"type": "refusal", "refusal": text}


def _error(error: ErrorInfo) -> Json:
    return {"code": ERROR_CODES.get(error.kind, "server_error"), "message": error.message}


def encode_error(error: ErrorInfo) -> bytes:
    """A failure as the body of a JSON answer."""
    kind = "invalid_request_error" if _STATUS.get(error.kind, 500) < 429 else "server_error"
    return encode_json({"error": {"message": error.message, "type": kind, "param": None, "code": ERROR_CODES.get(error.kind, error.kind)}})


def encode_response(response: Response, *, model: str, id: str, created: int) -> bytes:
    """The whole answer as one `response` body; an error object where it failed."""
    if response.error is not None:
        return encode_error(response.error)
    from headwater_codecs.replay import events_of

    encoder = ResponsesEncoder(model=model, id=id, created=created)
    encoder.feed(events_of(response))
    reason = INCOMPLETE.get(response.finish_reason or "")
    if reason is None:
        return encode_json(encoder._response("completed"))
    return encode_json(encoder._response("incomplete", incomplete_details={"reason": reason}))
