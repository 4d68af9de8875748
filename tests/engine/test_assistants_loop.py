"""The whole loop of the Assistants API over real sockets: a thread, a run that asks for a call, its result, the answer, and the clean-up."""

from __future__ import annotations

import json

import anyio
import pytest

import headwater as hw
from engine.upstream import KEY, NO_RETRY
from loopback import Asked, Reply, loopback

pytestmark = pytest.mark.anyio

RUN = {"id": "run_1", "object": "thread.run", "thread_id": "thread_1", "model": "gpt-x"}
WEATHER = hw.Tool("weather", "The weather of a town", {"type": "object", "properties": {"town": {"type": "string"}}})


def event(name: str, value: object) -> bytes:
    """One event of a run."""
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


def run(status: str, **more: object) -> bytes:
    """The run, in this state."""
    return event(f"thread.run.{status}", {**RUN, "status": status, **more})


def step(what: str, call: dict[str, object]) -> bytes:
    """The step that calls the function."""
    details = {"type": "tool_calls", "tool_calls": [{"index": 0, "type": "function", **call}]}
    return event(
        f"thread.run.step.{what}", {"id": "step_1", **({"delta": {"step_details": details}} if what == "delta" else {"step_details": details})}
    )


ASKS = (
    run("in_progress")
    + step("delta", {"id": "call_1", "function": {"name": "weather", "arguments": ""}})
    + step("delta", {"function": {"arguments": '{"town": "Bern"}'}})
    + run(
        "requires_action",
        required_action={
            "type": "submit_tool_outputs",
            "submit_tool_outputs": {
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"town": "Bern"}'}}]
            },
        },
    )
    + event("done", "[DONE]")
)
ANSWERS = (
    run("in_progress")
    + step("completed", {"id": "call_1", "function": {"name": "weather", "arguments": '{"town": "Bern"}', "output": "snow"}})
    + event("thread.message.delta", {"id": "msg_1", "delta": {"content": [{"index": 0, "type": "text", "text": {"value": "It snows."}}]}})
    + run("completed", usage={"prompt_tokens": 20, "completion_tokens": 5})
    + event("done", "[DONE]")
)


async def assistants(asked: Asked, reply: Reply) -> None:
    """The provider."""
    assert asked.headers["openai-beta"] == "assistants=v2"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    match asked.line:
        case "POST /v1/threads":
            await reply.whole(200, b'{"id": "thread_1", "object": "thread"}', x_request_id="req_1")
        case "POST /v1/threads/thread_1/runs":
            await reply.begin()
            await reply.send(ASKS)
        case "GET /v1/threads/thread_1/runs/run_1":
            await reply.whole(200, json.dumps({**RUN, "status": "requires_action"}).encode())
        case "POST /v1/threads/thread_1/runs/run_1/submit_tool_outputs":
            await reply.begin()
            await reply.send(ANSWERS)
        case "DELETE /v1/threads/thread_1":
            await reply.whole(200, b'{"id": "thread_1", "object": "thread.deleted", "deleted": true}')
        case _:
            await reply.whole(404, b'{"error": {"message": "no such address"}}')


@pytest.mark.parametrize("transport", ["socket", "httpx"])
async def test_the_whole_loop(transport: str) -> None:
    """Each step is one call or one stream; the results find the run by themselves."""
    with anyio.fail_after(10):
        async with loopback(assistants) as server, hw.Engine(transport=transport, retry=NO_RETRY) as engine:
            model = hw.Model("asst_1", provider="openai", protocol="openai-assistants", base_url=server.base_url, api_key=KEY)
            thread = (await engine.call("POST", "/threads", {}, model=model)).json
            assert isinstance(thread, dict)
            extra = {"thread_id": thread["id"]}
            messages = [hw.user("How is the weather in Bern?")]

            asking = await engine.generate(hw.Request(model=model, messages=messages, tools=[WEATHER], extra_body=extra))
            assert (asking.finish_reason, asking.raw_finish_reason, asking.response_id) == ("tool_calls", "requires_action", "run_1")
            (call,) = asking.tool_calls
            assert (call.id, call.name, call.input, call.complete) == ("call_1", "weather", {"town": "Bern"}, True)
            waiting = await engine.call("GET", f"/threads/{thread['id']}/runs/{asking.response_id}", model=model)
            assert waiting.json == {**RUN, "status": "requires_action"}

            messages += [asking.message(), hw.tool_result(call.id, "snow")]
            answer = await engine.generate(hw.Request(model=model, messages=messages))
            assert (answer.text, answer.finish_reason, answer.raw_finish_reason, answer.tool_calls) == ("It snows.", "stop", "completed", [])
            assert answer.usage is not None
            assert (answer.usage.input_tokens, answer.usage.output_tokens) == (20, 5)

            gone = await engine.call("DELETE", f"/threads/{thread['id']}", model=model)
            assert gone.json == {"id": "thread_1", "object": "thread.deleted", "deleted": True}
            with pytest.raises(hw.NotFoundError):
                await engine.call("GET", "/threads/thread_2", model=model)
    assert [one.line.partition(" ")[2] for one in server.asked] == [
        "/v1/threads",
        "/v1/threads/thread_1/runs",
        "/v1/threads/thread_1/runs/run_1",
        "/v1/threads/thread_1/runs/run_1/submit_tool_outputs",
        "/v1/threads/thread_1",
        "/v1/threads/thread_2",
    ]
    assert server.asked[3].body == {"tool_outputs": [{"tool_call_id": "call_1", "output": "snow"}], "stream": True}
