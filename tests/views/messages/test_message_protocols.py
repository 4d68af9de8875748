"""The same events from every protocol: literal bytes in, or's events out, wherever the bytes are cut. Row AMB-68."""

from __future__ import annotations

import base64
import json

import pytest

import headwater as hw
from headwater.views import messages as m
from helpers import every_split
from told import LONG, lines, messages, sse
from views.messages.seen import lawful, shown, writer

AWS = "application/vnd.amazon.eventstream"
HELLO = ["start", ("text_start", 0), ("text_delta", 0, "Hel"), ("text_delta", 0, "lo"), ("text_end", 0, "Hello")]
TEXT = [*HELLO, ("done", "stop")]
CUT = [*HELLO[:3], ("text_end", 0, "Hel")]


def call(*deltas: str, arguments: object = None, id: str = "call_1", stop: str = "toolUse", at: int = 0) -> list[object]:
    """The events of one call of `f`, and the end."""
    steps: list[object] = [("toolcall_start", at, id, "f"), *[("toolcall_delta", at, delta) for delta in deltas]]
    return [*steps, ("toolcall_end", at, id, "f", {"a": 1} if arguments is None else arguments), ("done", stop)]


def chat(delta: dict[str, object], finish: str | None = None, **more: object) -> dict[str, object]:
    """A chunk of openai-chat."""
    return {"id": "r1", "model": "model-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def function(arguments: str, **more: object) -> dict[str, object]:
    """A fragment of a call on openai-chat."""
    return {"tool_calls": [{"index": 0, "function": {"arguments": arguments, **more}, **({"id": "call_1"} if more else {})}]}


def completed(status: str = "completed", **more: object) -> dict[str, object]:
    """The terminal event of openai-responses."""
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5, "total_tokens": 14}
    return {"type": f"response.{status}", "response": {"id": "r1", "model": "model-1", "status": status, "output": [], "usage": usage, **more}}


def item(step: str, **more: object) -> dict[str, object]:
    """An item of openai-responses opens or ends."""
    return {"type": f"response.output_item.{step}", "output_index": 0, "item": more}


def piece(kind: str, delta: str) -> dict[str, object]:
    """A piece of an item of openai-responses."""
    return {"type": f"response.{kind}.delta", "output_index": 0, "item_id": "i1", "content_index": 0, "summary_index": 0, "delta": delta}


def block(index: int, start: dict[str, object], *deltas: dict[str, object]) -> list[object]:
    """A content block of anthropic-messages."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *[{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas],
        {"type": "content_block_stop", "index": index},
    ]


OPEN = {
    "type": "message_start",
    "message": {"id": "r1", "model": "model-1", "usage": {"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": 1}},
}


def closed(reason: str | None) -> list[object]:
    """The end of anthropic-messages."""
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 6}}, {"type": "message_stop"}]


SAID = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hel"}, {"type": "text_delta", "text": "lo"})
INPUT = [{"type": "input_json_delta", "partial_json": part} for part in ('{"a"', ":1}")]
CLAUDE = m.Usage(10, False, 6, 3, None, 19)


def gemini(*parts: object, finish: str | None = None) -> dict[str, object]:
    """A chunk of gemini."""
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 10, "cachedContentTokenCount": 4}
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **({"finishReason": finish} if finish else {})}
    return {"candidates": [candidate], "modelVersion": "model-1", "responseId": "r1", "usageMetadata": usage}


GEMINI = m.Usage(1, False, 5, 4, None, 10)


def converse(index: int, **delta: object) -> tuple[str, object]:
    """A piece of a block of bedrock-converse."""
    return ("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})


BEGIN = ("messageStart", {"role": "assistant"})
METADATA = ("metadata", {"usage": {"inputTokens": 4, "outputTokens": 2, "totalTokens": 16, "cacheReadInputTokens": 10}, "metrics": {"latencyMs": 1}})
BEDROCK = m.Usage(4, False, 2, 10, None, 16)


def invoked(*events: object) -> bytes:
    """Events of anthropic-messages inside of InvokeModel's."""
    return messages(*[("chunk", {"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "abc"}) for event in events])


def run(status: str, **more: object) -> dict[str, object]:
    """A run of openai-assistants."""
    return {"id": "run_1", "object": "thread.run", "thread_id": "t1", "model": "model-1", "status": status, "usage": None, **more}


def named(*events: tuple[str, object]) -> bytes:
    """Server-sent events with names."""
    return b"".join([f"event: {name}\ndata: {json.dumps(value)}\n\n".encode() for name, value in events])


def message_delta(text: str) -> tuple[str, object]:
    """A piece of text of openai-assistants."""
    return ("thread.message.delta", {"id": "m1", "delta": {"content": [{"index": 0, "type": "text", "text": {"value": text}}]}})


def step_delta(**function: object) -> tuple[str, object]:
    """A piece of a call of openai-assistants."""
    calls = [{"index": 0, "type": "function", "id": "call_1", "function": function}]
    return ("thread.run.step.delta", {"id": "s1", "delta": {"step_details": {"type": "tool_calls", "tool_calls": calls}}})


def cohere(kind: str, **more: object) -> dict[str, object]:
    """An event of cohere-chat."""
    return {"type": kind, "index": 0, "delta": {"message": more}}


COHERE = {"type": "message-start", "id": "r1", "delta": {"message": {"role": "assistant"}}}


def cohered(reason: str) -> dict[str, object]:
    """The end of cohere-chat."""
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": {"tokens": {"input_tokens": 9, "output_tokens": 4}}}}


def ollama(done: str | None = None, **message: object) -> dict[str, object]:
    """A line of ollama-chat."""
    end = {"done_reason": done, "prompt_eval_count": 9, "eval_count": 4} if done else {}
    return {"model": "model-1", "message": {"role": "assistant", "content": "", **message}, "done": done is not None, **end}


def interaction(kind: str, **more: object) -> dict[str, object]:
    """An event of gemini-interactions."""
    return {"event_type": kind, **more}


Case = tuple[str, bytes, list[object], m.Usage | None]
CASES: dict[str, Case] = {
    "chat: thinking, text, a call": (
        "openai-chat",
        sse(
            chat({"role": "assistant", "content": ""}),
            chat({"reasoning_content": "Hm"}),
            chat({"content": "Hi"}),
            chat(function("", name="f")),
            chat(function('{"a"')),
            chat(function(":1}")),
            chat({}, "tool_calls"),
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}}},
            "[DONE]",
        ),
        [
            "start",
            ("thinking_start", 0),
            ("thinking_delta", 0, "Hm"),
            ("thinking_end", 0, "Hm"),
            ("text_start", 1),
            ("text_delta", 1, "Hi"),
            ("text_end", 1, "Hi"),
            *call('{"a"', ":1}", at=2),
        ],
        m.Usage(7, False, 4, 2, None, 13),
    ),
    "chat: text": ("openai-chat", sse(chat({"content": "Hel"}), chat({"content": "lo"}), chat({}, "stop"), "[DONE]"), TEXT, None),
    "chat: cut": (
        "openai-chat",
        sse(chat({"content": "Hel"})),
        [*CUT, ("error", "error", "the stream ended without a finish reason and without [DONE]")],
        None,
    ),
    "chat: filtered": (
        "openai-chat",
        sse(chat({"content": "Hel"}), chat({}, "content_filter"), "[DONE]"),
        [*CUT, ("error", "error", "the answer was blocked by the content filter")],
        None,
    ),
    "responses: text": (
        "openai-responses",
        sse(item("added", id="i1", type="message", content=[]), piece("output_text", "Hel"), piece("output_text", "lo"), completed()),
        TEXT,
        m.Usage(5, False, 5, 4, None, 14),
    ),
    "responses: a call": (
        "openai-responses",
        sse(
            item("added", id="i1", type="function_call", call_id="call_1", name="f", arguments=""),
            piece("function_call_arguments", '{"a"'),
            piece("function_call_arguments", ":1}"),
            item("done", id="i1", type="function_call", call_id="call_1", name="f", arguments='{"a":1}', status="completed"),
            completed(),
        ),
        ["start", *call('{"a"', ":1}")],
        m.Usage(5, False, 5, 4, None, 14),
    ),
    "responses: reasoning": (
        "openai-responses",
        sse(
            item("added", id="i1", type="reasoning", summary=[]),
            piece("reasoning_summary_text", "Hm"),
            item("done", id="i1", type="reasoning", summary=[{"type": "summary_text", "text": "Hm"}], encrypted_content="sealed"),
            completed("incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ),
        ["start", ("thinking_start", 0), ("thinking_delta", 0, "Hm"), ("thinking_end", 0, "Hm"), ("done", "length")],
        m.Usage(5, False, 5, 4, None, 14),
    ),
    "responses: a refusal": (
        "openai-responses",
        sse(piece("refusal", "I "), piece("refusal", "won't."), completed()),
        ["start", ("error", "error", "the model refused to complete the request: I won't.")],
        m.Usage(5, False, 5, 4, None, 14),
    ),
    "messages: thinking, redacted thinking, text": (
        "anthropic-messages",
        sse(
            OPEN,
            *block(
                0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "Hm"}, {"type": "signature_delta", "signature": "S"}
            ),
            *block(1, {"type": "redacted_thinking", "data": "sealed"}),
            *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"}),
            *closed("end_turn"),
        ),
        [
            "start",
            ("thinking_start", 0),
            ("thinking_delta", 0, "Hm"),
            ("thinking_end", 0, "Hm"),
            ("thinking_start", 1),
            ("thinking_end", 1, "[Reasoning redacted]"),
            ("text_start", 2),
            ("text_delta", 2, "Hi"),
            ("text_end", 2, "Hi"),
            ("done", "stop"),
        ],
        CLAUDE,
    ),
    "messages: a tool of the server, a call": (
        "anthropic-messages",
        sse(
            OPEN,
            *block(0, {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
            *block(1, {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}, *INPUT),
            *closed("tool_use"),
        ),
        ["start", *call('{"a"', ":1}")],
        CLAUDE,
    ),
    "messages: input at the start": (
        "anthropic-messages",
        sse(OPEN, *block(0, {"type": "tool_use", "id": "call_1", "name": "f", "input": {"a": 1}}), *closed("tool_use")),
        ["start", *call('{"a":1}')],
        CLAUDE,
    ),
    "messages: refused": (
        "anthropic-messages",
        sse(OPEN, *SAID, *closed("refusal")),
        [*HELLO, ("error", "error", "the model refused to complete the request")],
        CLAUDE,
    ),
    "messages: overloaded": (
        "anthropic-messages",
        sse(OPEN, *SAID[:2], {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        [*CUT, ("error", "error", "Overloaded")],
        m.Usage(10, False, 1, 3, None, 14),
    ),
    "gemini: a thought, text": (
        "gemini",
        sse(gemini({"text": "Hm", "thought": True}), gemini({"text": "Hi"}, finish="STOP")),
        [
            "start",
            ("thinking_start", 0),
            ("thinking_delta", 0, "Hm"),
            ("thinking_end", 0, "Hm"),
            ("text_start", 1),
            ("text_delta", 1, "Hi"),
            ("text_end", 1, "Hi"),
            ("done", "stop"),
        ],
        GEMINI,
    ),
    "gemini: a call": (
        "gemini",
        sse(gemini({"functionCall": {"name": "f", "args": {"a": 1}, "id": "call_1"}}, finish="STOP")),
        ["start", *call('{"a":1}')],
        GEMINI,
    ),
    "gemini: blocked": (
        "gemini",
        sse(gemini({"text": "Hel"}, finish="SAFETY")),
        [*CUT, ("error", "error", "the answer was blocked by the content filter")],
        GEMINI,
    ),
    "converse: text": (
        "bedrock-converse",
        messages(BEGIN, converse(0, text="Hel"), converse(0, text="lo"), ("messageStop", {"stopReason": "end_turn"}), METADATA),
        TEXT,
        BEDROCK,
    ),
    "converse: a call": (
        "bedrock-converse",
        messages(
            BEGIN,
            ("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "call_1", "name": "f"}}}),
            converse(0, toolUse={"input": '{"a"'}),
            converse(0, toolUse={"input": ":1}"}),
            ("contentBlockStop", {"contentBlockIndex": 0}),
            ("messageStop", {"stopReason": "tool_use"}),
            METADATA,
        ),
        ["start", *call('{"a"', ":1}")],
        BEDROCK,
    ),
    "converse: throttled": (
        "bedrock-converse",
        messages(BEGIN, converse(0, text="Hel"), ("throttlingException", {"message": "slow down"})),
        [*CUT, ("error", "error", "slow down")],
        None,
    ),
    "invoke: text": ("bedrock-invoke", invoked(OPEN, *SAID, *closed("end_turn")), TEXT, CLAUDE),
    "invoke: a call": (
        "bedrock-invoke",
        invoked(OPEN, *block(0, {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}, *INPUT), *closed("tool_use")),
        ["start", *call('{"a"', ":1}")],
        CLAUDE,
    ),
    "text: text": (
        "openai-text",
        sse(
            *[{"choices": [{"index": 0, "text": text, "finish_reason": finish}]} for text, finish in (("Hel", None), ("lo", None), ("", "stop"))],
            "[DONE]",
        ),
        TEXT,
        None,
    ),
    "assistants: text": (
        "openai-assistants",
        named(("thread.run.created", run("queued")), message_delta("Hel"), message_delta("lo"), ("thread.run.completed", run("completed"))),
        TEXT,
        None,
    ),
    "assistants: a call": (
        "openai-assistants",
        named(
            ("thread.run.created", run("queued")),
            step_delta(name="f", arguments=""),
            step_delta(arguments='{"a"'),
            step_delta(arguments=":1}"),
            ("thread.run.requires_action", run("requires_action")),
        ),
        ["start", *call('{"a"', ":1}")],
        None,
    ),
    "assistants: failed": (
        "openai-assistants",
        named(
            ("thread.run.created", run("queued")),
            message_delta("Hel"),
            ("thread.run.failed", run("failed", last_error={"code": "server_error", "message": "broke"})),
        ),
        [*CUT, ("error", "error", "broke")],
        None,
    ),
    "interactions: text": (
        "gemini-interactions",
        sse(
            interaction("interaction.created", interaction={"id": "i1", "status": "in_progress", "model": "model-1"}),
            interaction("step.start", index=0, step={"type": "model_output"}),
            interaction("step.delta", index=0, delta={"type": "text", "text": "Hel"}),
            interaction("step.delta", index=0, delta={"type": "text", "text": "lo"}),
            interaction("interaction.completed", interaction={"id": "i1", "status": "completed", "model": "model-1"}),
            event="event_type",
        ),
        TEXT,
        None,
    ),
    "interactions: a call": (
        "gemini-interactions",
        sse(
            interaction("step.start", index=0, step={"type": "function_call", "id": "call_1", "name": "f"}),
            interaction("step.delta", index=0, delta={"type": "arguments_delta", "arguments": '{"a"'}),
            interaction("step.delta", index=0, delta={"type": "arguments_delta", "arguments": ":1}"}),
            interaction("interaction.completed", interaction={"id": "i1", "status": "requires_action", "model": "model-1"}),
            event="event_type",
        ),
        ["start", *call('{"a"', ":1}")],
        None,
    ),
    "cohere: text": (
        "cohere-chat",
        sse(COHERE, *[cohere("content-delta", content={"text": text}) for text in ("Hel", "lo")], cohered("COMPLETE")),
        TEXT,
        m.Usage(9, False, 4, None, None, 13),
    ),
    "cohere: a call": (
        "cohere-chat",
        sse(
            COHERE,
            cohere("tool-call-start", tool_calls={"id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}),
            cohere("tool-call-delta", tool_calls={"function": {"arguments": '{"a"'}}),
            cohere("tool-call-delta", tool_calls={"function": {"arguments": ":1}"}}),
            {"type": "tool-call-end", "index": 0},
            cohered("TOOL_CALL"),
        ),
        ["start", *call('{"a"', ":1}")],
        m.Usage(9, False, 4, None, None, 13),
    ),
    "ollama: text": ("ollama-chat", lines(ollama(content="Hel"), ollama(content="lo"), ollama("stop")), TEXT, m.Usage(9, False, 4, None, None, 13)),
    "ollama: a call": (
        "ollama-chat",
        lines(ollama(tool_calls=[{"id": "call_1", "function": {"name": "f", "arguments": {"a": 1}}}]), ollama("stop")),
        ["start", *call('{"a":1}')],
        m.Usage(9, False, 4, None, None, 13),
    ),
    "ollama: cut": (
        "ollama-chat",
        lines(ollama(content="Hel")),
        [*CUT, ("error", "error", "the stream ended without its line that is `done`")],
        None,
    ),
}
CONTENT_TYPES = {"bedrock-converse": AWS, "bedrock-invoke": AWS, "ollama-chat": "application/x-ndjson"}


@pytest.mark.rows("AMB-68", "OR-EV-20", "OR-EV-21", "OR-TYPE-09", "WIRE-01", "PI-BR-01", "PI-BR-03", "PI-GO-01", "PI-GO-02")
@pytest.mark.parametrize("name", CASES)
def test_every_protocol(name: str) -> None:
    """Every cutting gives these events and this usage."""
    protocol, data, expected, usage = CASES[name]
    for chunks in every_split(data, two_way=len(data) <= LONG):
        view = writer(protocol)
        events = view.feed(hw.decode_events(protocol, chunks, content_type=CONTENT_TYPES.get(protocol, "text/event-stream")))
        lawful(events)
        assert shown(events) == expected
        assert view.message.usage == usage


def test_every_protocol_is_here() -> None:
    """One that is added gets its cases."""
    from headwater_providers.builtin import default_registries

    assert {protocol for protocol, *_ in CASES.values()} == set(default_registries().adapters.protocols)
