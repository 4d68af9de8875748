"""Assistants: the events of a run, and the threads and runs that a client's loop asks for between two of them.

A run that is not streamed is `queued` when it is made; who asks for it afterwards finds what it came to, and its message in the thread. A run that
requires an action goes on with its tool outputs, and then says what its script says beside the call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

from msgspec import Struct

from headwater.sim.one_choice import OneChoice, sse
from headwater_codecs.event_encoder import Handlers, Json, encode_json
from headwater_codecs.neutral import ErrorInfo, Response, error_info
from headwater_codecs.neutral.events import (
    Finish,
    RefusalDelta,
    RefusalStart,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextStart,
    ToolCallDelta,
    ToolCallStart,
)
from headwater_codecs.openai_chat.encode import encode_error
from headwater_codecs.openai_chat.encode_wire import ERROR_CODES, written_usage
from headwater_codecs.replay import events_of

_INCOMPLETE = {"length": "max_completion_tokens", "content_filter": "content_filter"}
_ACTIVE = frozenset({"queued", "in_progress", "requires_action"})


class AssistantsEncoder(OneChoice):
    """The events of a run: one message, or calls that require an action. `keep` gets the run as it ends, and its message if it has one."""

    def __init__(
        self,
        *,
        model: str,
        id: str,
        created: int,
        thread_id: str = "thread_sim",
        run_id: str | None = None,
        keep: Callable[[Json, Json | None], None] | None = None,
    ) -> None:
        super().__init__(model=model, id=id, created=created)
        self._thread = thread_id
        self._run_id = run_id  # of a run that goes on
        self._keep = keep
        self._texts: dict[int, tuple[int, list[str]]] = {}  # block -> its number in the message, its pieces
        self._calls: dict[int, tuple[int, ToolCallStart, list[str]]] = {}  # block -> its number in the step, the call, its arguments

    def _object(self, kind: str, id: str, **more: object) -> Json:
        return {"id": id, "object": kind, "created_at": self.created, "thread_id": self._thread, **more}

    def run(self, status: str, **more: object) -> Json:
        """The run in this state."""
        return self._object("thread.run", self._run_id or self.id, assistant_id=f"asst_{self.model}", model=self.model, status=status, **more)

    def _message(self, status: str, content: list[Json]) -> Json:
        run = self._run_id or self.id
        return self._object("thread.message", f"msg_{self.id}", role="assistant", status=status, content=content, run_id=run)

    def _step(self, status: str, calls: list[Json]) -> Json:
        details = {"type": "tool_calls", "tool_calls": calls}
        return self._object("thread.run.step", f"step_{self.id}", type="tool_calls", status=status, step_details=details)

    def _start(self, event: StreamStart, out: list[bytes]) -> None:
        for status in ("created", "queued", "in_progress") if self._run_id is None else ("in_progress",):
            out.append(sse(self.run("queued" if status == "created" else status), f"thread.run.{status}"))

    def _text_start(self, event: TextStart | RefusalStart, out: list[bytes]) -> None:
        if not self._texts:
            for status in ("created", "in_progress"):
                out.append(sse(self._message("in_progress", []), f"thread.message.{status}"))
        self._texts[event.index] = (len(self._texts), [])

    def _text(self, event: TextDelta | RefusalDelta, out: list[bytes]) -> None:
        number, pieces = self._texts[event.index]
        pieces.append(event.text)
        content = [{"index": number, "type": "text", "text": {"value": event.text}}]
        out.append(sse({"id": f"msg_{self.id}", "object": "thread.message.delta", "delta": {"content": content}}, "thread.message.delta"))

    def _call(self, index: int, arguments: str, named: bool) -> Json:
        number, start, _ = self._calls[index]
        if not named:
            return {"index": number, "type": "function", "function": {"arguments": arguments}}
        return {"index": number, "id": start.id, "type": "function", "function": {"name": start.name, "arguments": arguments, "output": None}}

    def _step_delta(self, call: Json, out: list[bytes]) -> None:
        details = {"type": "tool_calls", "tool_calls": [call]}
        value = {"id": f"step_{self.id}", "object": "thread.run.step.delta", "delta": {"step_details": details}}
        out.append(sse(value, "thread.run.step.delta"))

    def _call_start(self, event: ToolCallStart, out: list[bytes]) -> None:
        if not self._calls:
            for status in ("created", "in_progress"):
                out.append(sse(self._step("in_progress", []), f"thread.run.step.{status}"))
        self._calls[event.index] = (len(self._calls), event, [])
        self._step_delta(self._call(event.index, "", named=True), out)

    def _arguments(self, event: ToolCallDelta, out: list[bytes]) -> None:
        self._calls[event.index][2].append(event.arguments)
        self._step_delta(self._call(event.index, event.arguments, named=False), out)

    def _end(self, status: str, out: list[bytes], **more: object) -> None:
        """The message is whole, and the run has come to this."""
        message = None
        if self._texts:
            content: list[Json] = [{"type": "text", "text": {"value": "".join(pieces), "annotations": []}} for _, pieces in self._texts.values()]
            message = self._message("completed", content)
            if status != "failed":
                out.append(sse(message, "thread.message.completed"))
        run = self.run(status, **more)
        out.append(sse(run, f"thread.run.{status}"))
        if self._keep is not None:
            self._keep(run, message)

    def _finish(self, event: Finish, out: list[bytes]) -> None:
        usage = None if event.usage is None else written_usage(event.usage)
        if self._calls:
            calls = [
                {"id": start.id, "type": "function", "function": {"name": start.name, "arguments": "".join(pieces) or "{}"}}
                for _, start, pieces in self._calls.values()
            ]
            action = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": calls}}
            self._end("requires_action", out, required_action=action, usage=usage)
        elif (reason := _INCOMPLETE.get(event.finish_reason)) is not None:
            self._end("incomplete", out, incomplete_details={"reason": reason}, usage=usage)
        else:
            self._end("completed", out, usage=usage)
        out.append(b"event: done\ndata: [DONE]\n\n")

    def _fail(self, event: StreamFailed, out: list[bytes]) -> None:
        code = ERROR_CODES.get(event.error.kind, "server_error")
        self._end("failed", out, last_error={"code": code, "message": event.error.message})

    handlers: ClassVar[Handlers] = {
        StreamStart: _start,
        TextStart: _text_start,
        RefusalStart: _text_start,
        TextDelta: _text,
        RefusalDelta: _text,
        ToolCallStart: _call_start,
        ToolCallDelta: _arguments,
        Finish: _finish,
        StreamFailed: _fail,
    }


def encode_run(response: Response, *, model: str, id: str, created: int, **settings: object) -> bytes:
    """A run that is not streamed, as it is when it was made. What it came to is kept."""
    encoder = AssistantsEncoder(model=model, id=id, created=created, **settings)  # type: ignore[arg-type]  # the table knows them
    encoder.feed(events_of(response))
    return encode_json(encoder.run("queued"))


# --- what is asked for between the runs

_PLACE = re.compile(
    r"/threads(?:/(?P<thread>(?!runs$)[^/]+))?(?:/(?P<kind>runs|messages)(?:/(?P<item>[^/]+))?(?:/(?P<verb>cancel|steps))?)?$",
)


class Thread(Struct):
    """What was said, and the runs by their ids, in the order in which they were made."""

    messages: list[Json]
    runs: dict[str, Json]


class Threads:
    """All threads of a simulator. Threads and runs that were not made here are unknown, which only `strict` minds where a run is asked for."""

    def __init__(self, created: int) -> None:
        self._created = created
        self._threads: dict[str, Thread] = {}
        self._made = 0

    def place(self, thread: str | None, run: str | None, body: Json) -> tuple[str, Mapping[str, object]]:
        """For a request that makes a run or goes on with one: the run's model if it is known, and what its encoder needs to know."""
        if thread is None:
            given = body.get("thread")
            thread = str(self._make(given if isinstance(given, dict) else {})["id"])
        known = self._threads.setdefault(thread, Thread([], {}))
        for message in _objects(body.get("additional_messages")):
            self._add(thread, message)
        before = known.runs.get(run or "", {})

        def keep(ended: Json, message: Json | None) -> None:
            known.runs[str(ended["id"])] = ended
            if message is not None:
                known.messages.append(message)

        return str(before.get("model") or ""), {"thread_id": thread, "run_id": run, "keep": keep}

    def objection(self, thread: str | None, run: str | None, body: Json) -> ErrorInfo | None:
        """What the vendor would have against a run here and now: unknown threads and runs, an active one, outputs that nobody asked for."""
        if thread is None:
            return None
        known = self._threads.get(thread)
        if known is None:
            return error_info("not_found", f"no thread found with id {thread!r}")
        if run is None:
            active = next((id for id, value in known.runs.items() if value["status"] in _ACTIVE), None)
            return error_info("invalid_request", f"thread {thread} already has an active run {active}") if active is not None else None
        if run not in known.runs:
            return error_info("not_found", f"no run found with id {run!r}")
        return _outputs_objection(known.runs[run], body)

    def reply(self, method: str, path: str, body: Json) -> tuple[int, bytes] | None:
        """The answer to a plain request: a thread, a message, a run, or lists of these. None for a request that is no such one."""
        match = _PLACE.search(path)
        if match is None or (method == "POST" and match["kind"] == "runs" and match["verb"] is None):
            return None
        thread, item = match["thread"], match["item"]
        if thread is None:
            return (200, encode_json(self._make(body))) if method == "POST" and match["kind"] is None else None
        if (known := self._threads.get(thread)) is None:
            return 404, encode_error(error_info("not_found", f"no thread found with id {thread!r}"))
        if match["kind"] is None:
            return 200, encode_json(_thread(thread, self._created))
        if match["kind"] == "messages" and method == "POST":
            return 200, encode_json(self._add(thread, body))
        if match["verb"] == "steps":
            return 200, _list([])
        items = known.messages[::-1] if match["kind"] == "messages" else list(known.runs.values())[::-1]  # the newest is first
        if item is None:
            return 200, _list(items)
        if (found := next((one for one in items if one["id"] == item), None)) is None:
            return 404, encode_error(error_info("not_found", f"nothing found with id {item!r}"))
        if match["verb"] == "cancel":
            found["status"] = "cancelled" if found["status"] in _ACTIVE else found["status"]
        return 200, encode_json(found)

    def _make(self, given: Json) -> Json:
        self._made += 1
        id = f"thread_sim{self._made}"
        self._threads[id] = Thread([], {})
        for message in _objects(given.get("messages")):
            self._add(id, message)
        return _thread(id, self._created)

    def _add(self, thread: str, given: Json) -> Json:
        messages = self._threads[thread].messages
        content = given.get("content")
        parts = [{"type": "text", "text": {"value": content, "annotations": []}}] if isinstance(content, str) else content or []
        message: Json = {"id": f"msg_{thread}_{len(messages)}", "object": "thread.message", "created_at": self._created, "thread_id": thread}
        messages.append({**message, "role": given.get("role", "user"), "status": "completed", "content": parts})
        return messages[-1]


def _outputs_objection(run: Json, body: Json) -> ErrorInfo | None:
    if run["status"] != "requires_action":
        return error_info("invalid_request", f"runs in status {run['status']!r} do not accept tool outputs")
    wanted = {call["id"] for call in run["required_action"]["submit_tool_outputs"]["tool_calls"]}
    given = {output.get("tool_call_id") for output in _objects(body.get("tool_outputs"))}
    if strange := given - wanted:
        return error_info("invalid_request", f"no tool call was asked for with the ids {', '.join(sorted(map(str, strange)))}")
    if missing := wanted - given:
        return error_info("invalid_request", f"expected tool outputs for the call ids {', '.join(sorted(missing))}")
    return None


def _thread(id: str, created: int) -> Json:
    return {"id": id, "object": "thread", "created_at": created, "metadata": {}, "tool_resources": {}}


def _list(items: list[Json]) -> bytes:
    ids: dict[Literal["first_id", "last_id"], object] = {"first_id": items[0]["id"], "last_id": items[-1]["id"]} if items else {}
    return encode_json({"object": "list", "data": items, **ids, "has_more": False})


def _objects(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
