"""From the events of an Assistants run to ours. Rows WIRE-11, WIRE-55.

The `event:` line says what an object is. Messages bring text in deltas; steps bring the calls of the provider's own tools, kept as they are. The
run ends well when it is completed or incomplete, or when it requires an action: then its calls are known, whole. Each says in its `meta` which
run waits for its result. After results were submitted the step comes again, completed, with those calls: they are answered, so nobody is asked.
"""

from __future__ import annotations

from msgspec import Raw

from headwater_codecs.framing import snippet
from headwater_codecs.neutral import Citation, ErrorInfo, FinishReason, Usage, error_info
from headwater_codecs.neutral.errors import ErrorKind
from headwater_codecs.openai_assistants.wire import decode_text
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.counts import read_count
from headwater_providers.errors import read_in_band
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of
from headwater_providers.openai_assistants.dialect import AssistantsDialect

INCOMPLETE: dict[str, FinishReason] = {
    "max_tokens": "length",
    "max_completion_tokens": "length",
    "max_prompt_tokens": "length",
    "content_filter": "content_filter",
}
_GROWING = frozenset({"input", "logs", "arguments"})  # texts of a step's call that come in pieces
_FAILED = frozenset({"failed", "expired", "cancelled"})
_ENDS: dict[str, tuple[ErrorKind, str]] = {
    "failed": ("server", "the run failed"),
    "expired": ("timeout", "the run expired"),
    "cancelled": ("aborted", "the run was cancelled"),
}
_OVER = frozenset({"completed", *_FAILED})  # a step that is


class AssistantsTranslator(EventTranslator):
    """Frames of one run to events."""

    protocol = "openai-assistants"

    def __init__(self, dialect: AssistantsDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or AssistantsDialect(), provider=provider, choices=choices, raw=raw)
        self._texts: set[tuple[str, int]] = set()  # parts of messages that had text
        self._cited: dict[tuple[str, int], int] = {}  # annotations of such a part that were told
        self._calls: dict[tuple[str, int], Json] = {}  # calls of steps as far as they came: step and number
        self._announced: set[str] = set()  # ids of function calls that were opened

    def _plain(self, frame: Frame) -> bool:
        if frame.event != "thread.message.delta":
            return False
        try:
            event = decode_text(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        (part,) = event.delta.content
        key = (event.id, part.index)
        return key in self._texts and self._blocks.more(key, part.text.value) is not None

    def _event(self, value: Json, frame: Frame) -> None:
        kind = frame.event or _kind(value)
        if kind == "error":
            self._in_band(value.get("error") or value)
        elif kind.startswith("thread.message."):
            self._message(kind.removeprefix("thread.message."), value)
        elif kind.startswith("thread.run.step."):
            self._step(kind.removeprefix("thread.run.step."), value)
        elif kind.startswith("thread.run."):
            self._run(kind.removeprefix("thread.run."), value)
        elif value.get("error"):
            self._in_band(value["error"])
        elif kind.startswith("thread."):
            self.progress += 1
        elif not frame.terminated and not self._writer.started:
            self._fail(error_info("malformed", f"the body is no stream of a run: {snippet(frame.data)}", phase="stream"))

    def _message(self, what: str, value: Json) -> None:
        id = word_of(value.get("id")) or ""
        if what == "delta":
            parts = list_of(object_of(value.get("delta")).get("content"))
            for position, part in enumerate(parts):
                self._part(id, position, object_of(part))
        elif what in ("completed", "incomplete"):
            for position, part in enumerate(list_of(value.get("content"))):
                if (id, position) not in self._texts:  # the deltas left it out
                    self._part(id, position, object_of(part))
                else:
                    self._cite_rest((id, position), object_of(part))
            for key in self._blocks.open_keys():
                if isinstance(key, tuple) and key[0] == id:
                    self._blocks.close(key)
        else:
            self.progress += 1

    def _part(self, id: str, position: int, part: Json) -> None:
        index = part.get("index")
        number = index if isinstance(index, int) and not isinstance(index, bool) else position
        key = (id, number)
        kind = text_of(part.get("type")) or ("text" if "text" in part else "")
        if kind == "text":
            content = object_of(part.get("text"))
            if text := text_of(content.get("value")):
                self._texts.add(key)
                self._blocks.write(key, "text", text, item_id=id or None)
            for note in list_of(content.get("annotations")):
                self._cite(key, object_of(note))
        elif kind == "refusal":
            self._texts.add(key)
            self._blocks.write(key, "refusal", text_of(part.get("refusal")), item_id=id or None)
        elif kind and key not in self._texts:
            self._texts.add(key)
            self._blocks.open_opaque(key, kind, item_id=id or None).raw = encode_json(clean(part))
            self._blocks.close(key)

    def _cite(self, key: tuple[str, int], note: Json) -> None:
        self._cited[key] = self._cited.get(key, 0) + 1
        block = self._blocks.get(key) or self._blocks.open(key, "text", item_id=key[0] or None)
        kind = word_of(note.get("type")) or "annotation"
        cited = word_of(object_of(note.get("file_citation")).get("quote")) or word_of(note.get("text"))
        self._writer.content(Citation(block.index, 0, kind, None, None, cited, Raw(encode_json(clean(note)))))

    def _cite_rest(self, key: tuple[str, int], part: Json) -> None:
        """The annotations of a part's whole text that no delta brought."""
        if key in self._blocks:
            for note in list_of(object_of(part.get("text")).get("annotations"))[self._cited.get(key, 0) :]:
                self._cite(key, object_of(note))

    def _step(self, what: str, value: Json) -> None:
        id = word_of(value.get("id")) or ""
        details = object_of(object_of(value.get("delta")).get("step_details") if what == "delta" else value.get("step_details"))
        self.progress += 1
        for position, call in enumerate(list_of(details.get("tool_calls"))):
            self._step_call(id, position, object_of(call), what)
        if what in _OVER:
            for key in [key for key in self._calls if key[0] == id]:
                self._close_step_call(key, complete=what == "completed")

    def _step_call(self, id: str, position: int, call: Json, what: str) -> None:
        """A call of a step. Functions are called by the caller; the others are the provider's own and kept as they are."""
        whole = what != "delta"
        index = call.get("index")
        number = index if isinstance(index, int) and not isinstance(index, bool) else position
        key = (f"step {id}", number)
        step_key = (id, number)
        kind = text_of(call.get("type"))
        if kind == "function" or (kind == "" and step_key not in self._calls and key in self._blocks):
            if what not in _OVER or key in self._blocks:  # else it is answered
                self._function(key, call, whole, what == "completed" if what in _OVER else None)
        elif kind or step_key in self._calls:
            if step_key not in self._calls:
                self._calls[step_key] = {}
                self._blocks.open_opaque(("opaque", *step_key), kind, item_id=word_of(call.get("id")))
            known = self._calls[step_key]
            self._calls[step_key] = call if whole else _joined(known, call)

    def _function(self, key: tuple[str, int], call: Json, whole: bool, complete: bool | None, meta: Raw | None = None) -> None:
        """A function's call, or a piece of one; `whole`: all of it so far. `complete` closes it, None leaves it open."""
        function = object_of(call.get("function"))
        id = word_of(call.get("id"))
        if id is not None and id in self._announced and key not in self._blocks:
            return  # it was closed already
        if key not in self._blocks:
            name = word_of(function.get("name"))
            if name is None:
                return
            self._blocks.open_call(key, name, id)
            if id is not None:
                self._announced.add(id)
        block = self._blocks.get(key)
        assert block is not None
        arguments = text_of(function.get("arguments"))
        self._blocks.add_arguments(key, arguments.removeprefix(block.arguments) if whole else arguments)
        if complete is not None:
            block.meta = meta
            self._blocks.close(key, complete)

    def _close_step_call(self, key: tuple[str, int], complete: bool) -> None:
        block = self._blocks.get(("opaque", *key))
        call = self._calls.pop(key)
        if block is not None:
            block.raw = encode_json(clean(call))
            self._blocks.close(("opaque", *key), complete)

    def _run(self, what: str, value: Json) -> None:
        self._writer.response_id = self._writer.response_id or word_of(value.get("id"))
        self._writer.model = self._writer.model or word_of(value.get("model"))
        if usage := object_of(value.get("usage")):
            kept = clean(usage)
            assert isinstance(kept, dict)
            cached = read_count(object_of(usage.get("prompt_token_details")).get("cached_tokens"))
            read, written = read_count(usage.get("prompt_tokens")), read_count(usage.get("completion_tokens"))
            self._writer.count(Usage(read, written, cached, raw=kept))
        if what == "completed" and value.get("status") == "incomplete":
            what = "incomplete"  # an older form of the event
        if what == "completed":
            self._close_steps()
            self._finish_with("stop", what)
        elif what == "incomplete":
            self._close_steps()
            reason = word_of(object_of(value.get("incomplete_details")).get("reason"))
            self._finish_with(INCOMPLETE.get(reason or "", "unknown"), what, detail=reason, cut=True)
        elif what == "requires_action":
            self._required(object_of(value.get("required_action")), _place(value))
        elif what in _FAILED:
            self._ended_badly(what, object_of(value.get("last_error")))
        else:
            self.progress += 1

    def _required(self, action: Json, place: Raw | None) -> None:
        calls = list_of(object_of(action.get("submit_tool_outputs")).get("tool_calls"))
        self._close_steps()
        for key in self._blocks.open_keys():
            block = self._blocks.get(key)
            if block is not None and block.kind == "tool_call":
                stated = next((object_of(call) for call in calls if object_of(call).get("id") == block.id), {})
                arguments = text_of(object_of(stated.get("function")).get("arguments"))
                self._blocks.add_arguments(key, arguments.removeprefix(block.arguments) if arguments.startswith(block.arguments) else "")
                block.meta = place
            self._blocks.close(key)
        for number, item in enumerate(calls):
            call = object_of(item)
            if (id := word_of(call.get("id"))) not in self._announced or id is None:
                self._function(("required", number), call, True, True, place)
        self._finish_with("tool_calls", "requires_action")

    def _ended_badly(self, what: str, error: Json) -> None:
        if error:
            self._fail(read_in_band(clean(error)).with_(phase="stream"), what)
        else:
            kind, said = _ENDS[what]
            self._fail(error_info(kind, said, phase="stream"), what)

    def _close_steps(self) -> None:
        for key in list(self._calls):
            self._close_step_call(key, complete=True)

    def _fail(self, error: ErrorInfo, raw_finish_reason: str | None = None) -> None:
        for key in list(self._calls):
            self._close_step_call(key, complete=False)
        super()._fail(error, raw_finish_reason)

    def _ended_well(self) -> bool:
        return False

    def _missing(self) -> str:
        return "the end of the run"

    def _end(self) -> None:
        self._close_steps()
        self._finish_with("unknown", None)


def _place(run: Json) -> Raw | None:
    """Where the results of a run's calls go: its thread and itself."""
    thread, id = word_of(run.get("thread_id")), word_of(run.get("id"))
    return Raw(encode_json({"thread_id": thread, "run_id": id})) if thread is not None and id is not None else None


def _kind(value: Json) -> str:
    """What an object without an event name is: its own `object` and `status` say so."""
    kind, status = text_of(value.get("object")), text_of(value.get("status"))
    if kind.endswith(".delta"):
        return kind
    return f"{kind}.{status}" if kind and status else ""


def _joined(known: Json, piece: Json) -> Json:
    """A call of the provider's own, put together: texts grow, lists are joined, objects are merged."""
    result = dict(known)
    for name, value in piece.items():
        before = result.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            result[name] = _joined(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            result[name] = _joined_lists(before, value)
        else:
            result[name] = f"{before}{value}" if name in _GROWING and isinstance(before, str) else value
    return result


def _joined_lists(known: list[object], pieces: list[object]) -> list[object]:
    """A list with what is new in it: a piece that carries the number of one that is there belongs to it."""
    result = list(known)
    for piece in pieces:
        number = object_of(piece).get("index")
        place = next((place for place, item in enumerate(result) if number is not None and object_of(item).get("index") == number), None)
        if place is None:
            result.append(piece)
        else:
            result[place] = _joined(object_of(result[place]), object_of(piece))
    return result
