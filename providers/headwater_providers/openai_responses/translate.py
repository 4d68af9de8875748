"""From the events of a Responses stream to ours. Rows OR-RSS, ADK-OAI-EVT, ADK-OAI-FIN, WIRE-12, WIRE-51, AMB-31 to 33.

An event belongs to an item: by the item's id, else by its output index, else to the newest item of its kind, since local servers leave both out.
The terminal event restates every item; what the stream did not bring is taken from there, matched by id, by call id, then by position. The stream
ends well with `response.completed` or `response.incomplete`, and nowhere else.
"""

from __future__ import annotations

from headwater_codecs.framing import snippet
from headwater_codecs.neutral import Event, FinishReason, TextDelta, error_info
from headwater_codecs.openai_responses.wire import decode_item, decode_output, decode_response, decode_text
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.blocks import Prose
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of
from headwater_providers.finish_reasons import unified
from headwater_providers.openai_responses.dialect import ResponsesDialect
from headwater_providers.openai_responses.items import CALLS, Item, arguments_of, summary_part
from headwater_providers.openai_responses.reconcile import pair
from headwater_providers.openai_responses.usage import read_usage

INCOMPLETE: dict[str, FinishReason] = {"max_tool_calls": "length"}  # beside the words that all protocols share
_DELTAS: dict[str, tuple[Prose, str]] = {
    "response.output_text.delta": ("text", "content_index"),
    "response.refusal.delta": ("refusal", "content_index"),
    "response.reasoning_text.delta": ("reasoning", "content_index"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary_index"),
    "response.reasoning.delta": ("reasoning", "content_index"),
    "response.reasoning_summary.delta": ("reasoning", "summary_index"),
}
_STATED: dict[str, tuple[Prose, str, str]] = {
    "response.output_text.done": ("text", "content_index", "text"),
    "response.refusal.done": ("refusal", "content_index", "refusal"),
    "response.reasoning_text.done": ("reasoning", "content_index", "text"),
    "response.reasoning_summary_text.done": ("reasoning", "summary_index", "text"),
}
_PARTS: dict[str, tuple[Prose, str]] = {
    "output_text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("reasoning", "text"),
    "summary_text": ("reasoning", "text"),
}
_OF_PROSE: dict[Prose, str] = {"text": "message", "refusal": "message", "reasoning": "reasoning"}
_ARGUMENTS = {
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
_LIFE = frozenset({"response.created", "response.in_progress", "response.queued"})
_TERMINALS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done"})


class ResponsesTranslator(EventTranslator):
    """Frames of one response to events; see the module's text for the rules."""

    protocol = "openai-responses"

    def __init__(self, dialect: ResponsesDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or ResponsesDialect(), provider=provider, choices=choices, raw=raw)
        self._items: list[Item] = []
        self._by_id: dict[str, Item] = {}
        self._by_index: dict[int, Item] = {}
        self._announced: Json = {}  # the failure that the first event told, which a later terminal overrules
        self._plain_part: tuple[str | None, int | None, int | None] | None = None  # whose plain pieces of text belong to block `_plain_index`
        self._plain_index = 0
        self._plain_texts: list[str] = []

    def _plain(self, frame: Frame) -> bool:
        if self._plain_part is None:
            return False
        try:
            event = decode_text(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            self._plain_part = None
            return False
        if (event.item_id, event.output_index, event.content_index) != self._plain_part:
            return False
        if event.delta:
            self._plain_texts.append(event.delta)
            self._writer.out.append(TextDelta(self._plain_index, event.delta))
        return True

    def _event(self, value: Json, frame: Frame) -> None:
        kind = value.get("type")
        kind = kind if isinstance(kind, str) else frame.event
        if kind in _DELTAS:
            self._delta(kind, value)
        elif kind in _STATED:
            prose, place, field = _STATED[kind]
            self._item(value, _OF_PROSE[prose]).state(prose, _number(value, place), text_of(value.get(field)))
        elif kind == "response.output_item.added":
            if said := object_of(value.get("item")):
                self._item_event(said, value.get("output_index"), True).announce(said, _item_bytes(value, frame.data))
        elif kind == "response.output_item.done":
            if said := object_of(value.get("item")):
                self._item_event(said, value.get("output_index"), False).conclude(said, _item_bytes(value, frame.data))
        elif kind in ("response.content_part.done", "response.reasoning_summary_part.done"):
            self._part(value)
        elif kind == "response.output_text.annotation.added":
            self._item(value, "message").cite(_number(value, "content_index"), value.get("annotation"))
        elif kind in _LIFE:
            self._life(object_of(value.get("response")))
        elif kind in _TERMINALS:
            self._terminal(kind, value, frame.data)
        elif kind == "error":
            self._in_band(value.get("error") if isinstance(value.get("error"), dict) else value)
        elif kind.startswith("response."):
            self._about_item(kind, value)
        elif value.get("error") and value.get("object") != "response":
            self._in_band(value)
        elif value.get("object") == "response" or (not frame.terminated and isinstance(value.get("output"), list)):
            self._whole(value, frame.data)
        elif not frame.terminated and not self._items:
            self._fail(error_info("malformed", f"the body is no response: {snippet(frame.data)}", phase="stream"))

    def _delta(self, kind: str, value: Json) -> None:
        prose, place = _DELTAS[kind]
        item = self._item(value, _OF_PROSE[prose])
        delta = value.get("delta")
        text = delta if isinstance(delta, str) else text_of(object_of(delta).get("text"))
        part = _number(value, place)
        index = item.add(prose, part, text)
        if prose == "text" and index is not None and "item_id" in value:
            id, output, content = value.get("item_id"), value.get("output_index"), value.get("content_index")
            if (id is None or isinstance(id, str)) and (output is None or type(output) is int) and (content is None or type(content) is int):
                self._plain_part, self._plain_index = (id, output, content), index
                self._plain_texts = item.texts("text", part)

    def _part(self, value: Json) -> None:
        part = object_of(value.get("part"))
        if (known := _PARTS.get(text_of(part.get("type")))) is not None:
            self.progress += 1
            prose, field = known
            place = "summary_index" if part.get("type") == "summary_text" else "content_index"
            self._item(value, _OF_PROSE[prose]).state(prose, _number(value, place), text_of(part.get(field)))

    def _about_item(self, kind: str, value: Json) -> None:
        """Arguments of calls, the life of built-in tools, and what nobody has heard of yet."""
        head, _, tail = kind.rpartition(".")
        if head in _ARGUMENTS:
            type, field = _ARGUMENTS[head]
            item = self._item(value, type)
            if tail == "delta":
                item.add_arguments(arguments_of(value.get("delta")))
            else:
                item.name = item.name or word_of(value.get("name")) or ""
                item.state_arguments(arguments_of(value.get(field)))
        elif "item_id" in value or "output_index" in value:
            self.progress += 1  # a tool of the provider's is at work

    def _item(self, value: Json, type: str) -> Item:
        """The item that an event belongs to."""
        id, index = word_of(value.get("item_id")), value.get("output_index")
        if id is not None and (known := self._by_id.get(id)) is not None and known.type in ("", type):
            return known
        if isinstance(index, int) and (known := self._by_index.get(index)) is not None and known.type in ("", type):
            return known
        if id is None and not isinstance(index, int):
            newest = next((item for item in reversed(self._items) if item.type == type and not item.done), None)
            if newest is not None:
                return newest
        return self._new(id, index, type)

    def _new(self, id: str | None, index: object, type: str) -> Item:
        item = Item(len(self._items), self._blocks, self._writer, self)
        item.type = type
        if id is not None:
            item.id = id
            self._by_id[id] = item
        if isinstance(index, int):
            item.output_index = index
            self._by_index[index] = item
        self._items.append(item)
        return item

    def _item_event(self, said: Json, index: object, begins: bool) -> Item:
        """The item of an event that holds it whole. Deltas may have come before it was announced; servers number items alike, or call them alike."""
        id, type, call_id = word_of(said.get("id")), text_of(said.get("type")), word_of(said.get("call_id"))
        candidates = [item for item in reversed(self._items) if item.type in ("", type)]
        for item in candidates:
            if id is not None and item.id == id and not (begins and item.done):
                return item
        for item in candidates:
            if call_id is not None and item.call_id == call_id and not item.done:
                return item
        for item in candidates:
            if (begins and item.announced) or (item.done and item.id != id) or (call_id and item.call_id and call_id != item.call_id):
                continue
            if (isinstance(index, int) and item.output_index == index) or (not item.done and id is None and index is None):
                if id is not None:
                    self._by_id[id] = item
                return item
        return self._new(id, index, type)

    def _life(self, response: Json) -> None:
        self._identify(response)
        if response.get("status") == "failed" or response.get("error"):
            self._announced = response

    def _identify(self, response: Json) -> None:
        self._writer.response_id = self._writer.response_id or word_of(response.get("id"))
        self._writer.model = self._writer.model or word_of(response.get("model"))

    def _terminal(self, kind: str, value: Json, data: bytes) -> None:
        response = object_of(value.get("response"))
        if kind == "response.failed":
            response = response or value
        elif not response:
            return  # an event that carries no response ends nothing (ADK-OAI-FIN-02)
        self._conclude(_status(response, kind.rpartition(".")[2]), response, _outputs(response, data, wrapped=True))

    def _whole(self, response: Json, data: bytes) -> None:
        """A response that was not streamed."""
        self._conclude(_status(response, ""), response, _outputs(response, data, wrapped=False))

    def _conclude(self, status: str, response: Json, outputs: list[tuple[Json, bytes]]) -> None:
        self._identify(response)
        if usage := object_of(response.get("usage")):
            self._writer.count(read_usage(usage))
        if status in ("failed", "cancelled"):
            self._failed(status, response)
            return
        if status in ("in_progress", "queued"):
            self._fail(error_info("truncated", f"the response is still {status}", phase="stream"))
            return
        incomplete = status == "incomplete"
        self._adopt(outputs, incomplete)
        self._close(incomplete)
        reason = word_of(object_of(response.get("incomplete_details")).get("reason"))
        finish: FinishReason = "stop"
        if incomplete:
            finish = INCOMPLETE.get(reason or "") or unified(reason)
        elif any(item.refused for item in self._items):
            finish = "refusal"
        self._finish_with(finish, (reason or status) if incomplete else status, cut=incomplete)

    def _close(self, cut: bool) -> None:
        """Close what the provider did not: calls are judged by what came of them, an item that is kept as it is never came whole."""
        for item in self._items:
            if item.done:
                continue
            if item.type in CALLS:
                if item.name:
                    item.conclude({"type": item.type}, b"", cut)
                else:
                    self.note("nameless_call", "a tool call never got a name; it was left out")
            elif item.type not in _OF_PROSE.values():
                item.close(complete=False)

    def _failed(self, status: str, response: Json) -> None:
        error = response.get("error")
        if isinstance(error, dict):
            self._in_band(error)
        else:
            self._fail(error_info("server" if status == "failed" else "aborted", f"the response ended as {status}", phase="stream"), status)

    def _adopt(self, outputs: list[tuple[Json, bytes]], cut: bool) -> None:
        """Complete the items from the terminal's list (ADK-OAI-FIN-05 to 09)."""
        for (said, raw), item in zip(outputs, pair(self._items, [said for said, _ in outputs]), strict=True):
            if said:
                (item or self._new(word_of(said.get("id")), None, text_of(said.get("type")))).conclude(said, raw, cut)

    def _ended_well(self) -> bool:
        return False

    def _missing(self) -> str:
        return "response.completed or response.incomplete"

    def finish(self) -> list[Event]:
        """The bytes have ended cleanly: without a terminal event the stream was cut, or failed as its first event said."""
        if not self._writer.done and self._announced:
            self._failed("failed", self._announced)
        return super().finish()

    def _end(self) -> None:
        self._finish_with("unknown", None)


def _number(value: Json, name: str) -> int:
    """The number of a part; the parts of a summary have numbers of their own."""
    number = value.get(name)
    number = number if isinstance(number, int) and not isinstance(number, bool) else 0
    return summary_part(number) if name == "summary_index" else number


def _status(response: Json, told: str) -> str:
    """How the response ended: as the event's name says (`told`), unless the response itself tells a failure or a cut (ADK-OAI-RES-10)."""
    status = text_of(response.get("status"))
    if told in ("failed", "incomplete", "cancelled"):
        return told
    if status == "failed" or (not status and isinstance(response.get("error"), dict)):
        return "failed"
    if status == "incomplete" or (not status and isinstance(response.get("incomplete_details"), dict)):
        return "incomplete"
    return "completed" if told == "completed" else status or "completed"


def _item_bytes(value: Json, data: bytes) -> bytes:
    """The item as it came."""
    try:
        return bytes(decode_item(data).item)
    except (ValueError, RecursionError):
        return encode_json(clean(value.get("item")))


def _outputs(response: Json, data: bytes, wrapped: bool) -> list[tuple[Json, bytes]]:
    """The response's items, each with its bytes as they came."""
    items = [object_of(item) for item in list_of(response.get("output"))]
    try:
        raws = [bytes(raw) for raw in (decode_response(data).response if wrapped else decode_output(data)).output]
    except (ValueError, RecursionError):
        raws = [encode_json(clean(item)) for item in items]
    return list(zip(items, raws, strict=True)) if len(raws) == len(items) else [(item, encode_json(clean(item))) for item in items]
