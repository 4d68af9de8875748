"""Assistants in the simulator: threads, runs that are streamed or asked for, tool outputs that let a run go on."""

from __future__ import annotations

import json

import httpx
import pytest

import headwater as hw
from headwater.sim import Script, Simulator
from headwater.sim.runs import Threads
from headwater_codecs.neutral import Message, tool_result, user

pytestmark = pytest.mark.anyio
SCRIPTS = {"weather": Script(call="weather", args='{"city":"Oslo"}', n=2)}
WEATHER = hw.Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
HI = [{"role": "user", "content": "hi"}]
CALL = {"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
OUTPUT = {"tool_call_id": "call_0", "output": "Rain."}
Json = dict[str, object]


def plain_client(sim: Simulator) -> httpx.AsyncClient:
    """A client of the plain requests."""
    return httpx.AsyncClient(base_url=sim.base_url("openai-assistants"), trust_env=False)


async def test_a_run_that_is_asked_for() -> None:
    """It is queued, then its calls are wanted; with their outputs it goes on under its own id, and the thread has the message."""
    async with (
        Simulator(scripts=SCRIPTS, strict=True) as sim,
        httpx.AsyncClient(base_url=sim.base_url("openai-assistants"), trust_env=False) as client,
    ):
        thread = (await client.post("/threads", json={"messages": HI})).json()["id"]
        run = (await client.post(f"/threads/{thread}/runs", json={"assistant_id": "asst_weather"})).json()
        assert (run["status"], run["thread_id"], run["assistant_id"]) == ("queued", thread, "asst_weather")
        at = f"/threads/{thread}/runs/{run['id']}"
        asked = (await client.get(at)).json()
        assert asked["status"] == "requires_action"
        assert asked["required_action"]["submit_tool_outputs"]["tool_calls"] == [CALL]
        went_on = (await client.post(f"{at}/submit_tool_outputs", json={"tool_outputs": [OUTPUT]})).json()
        assert (went_on["id"], went_on["status"]) == (run["id"], "queued")
        assert (await client.get(at)).json()["status"] == "completed"
        messages = (await client.get(f"/threads/{thread}/messages")).json()["data"]
        assert [(message["role"], message["content"][0]["text"]["value"]) for message in messages] == [
            ("assistant", "token0 token1 "),
            ("user", "hi"),
        ]
        assert [one["id"] for one in (await client.get(f"/threads/{thread}/runs")).json()["data"]] == [run["id"]]
        assert (await client.get(f"/threads/{thread}")).json()["id"] == thread
        assert (await client.get(f"{at}/steps")).json()["data"] == []


async def test_our_own_loop() -> None:
    """The engine streams the run to its calls, sends their results, and reads the rest."""
    async with Simulator(scripts=SCRIPTS, strict=True) as sim, hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        thread = await _thread(sim)
        model = sim.model("openai-assistants", "weather")
        extra: Json = {"thread_id": thread}
        first = await engine.generate(hw.Request(model=model, messages=[user("Oslo?")], tools=[WEATHER], extra_body=extra))
        assert (first.finish_reason, [(call.id, call.input) for call in first.tool_calls]) == ("tool_calls", [("call_0", {"city": "Oslo"})])
        results: list[Message] = [tool_result("call_0", "Rain.")]
        extra = {"thread_id": thread, "run_id": first.response_id}
        second = await engine.generate(hw.Request(model=model, messages=results, extra_body=extra))
        assert (second.finish_reason, second.text, second.response_id) == ("stop", "token0 token1 ", first.response_id)


async def _thread(sim: Simulator) -> str:
    async with plain_client(sim) as client:
        id: str = (await client.post("/threads", json={})).json()["id"]
        return id


@pytest.mark.parametrize(
    ("script", "status", "detail"),
    [
        ("sim/tokens?n=1&finish=length", "incomplete", {"incomplete_details": {"reason": "max_completion_tokens"}}),
        ("sim/tokens?n=1&finish=content_filter", "incomplete", {"incomplete_details": {"reason": "content_filter"}}),
    ],
)
async def test_how_a_run_ends(script: str, status: str, detail: Json) -> None:
    """What it came to is there to be asked for."""
    async with Simulator() as sim, plain_client(sim) as client:
        run = (await client.post("/threads/runs", json={"assistant_id": f"asst_{script}"})).json()
        ended = (await client.get(f"/threads/{run['thread_id']}/runs/{run['id']}")).json()
    assert ended["status"] == status
    assert detail.items() <= ended.items()


async def test_a_streamed_run_that_fails() -> None:
    """Its failure is in the stream, and is there to be asked for."""
    async with Simulator() as sim, plain_client(sim) as client:
        body = {"assistant_id": "asst_sim/fault?kind=error&after=1&error_kind=rate_limit", "stream": True}
        events = (await client.post("/threads/thread_own/runs", json=body)).text
        assert "event: thread.run.failed\n" in events
        failed = (await client.get("/threads/thread_own/runs/sim1")).json()
    assert (failed["status"], failed["last_error"]["code"]) == ("failed", "rate_limit_exceeded")


def test_what_a_thread_objects_to() -> None:
    """Unknown threads and runs, a second run beside one that waits, outputs that were not asked for, outputs that are missing."""
    threads = Threads(0)
    _, settings = threads.place("t", None, {})
    assert [threads.objection(None, None, {}), threads.objection("t", None, {})] == [None, None]
    action = {"submit_tool_outputs": {"tool_calls": [{"id": "c1"}, {"id": "c2"}]}}
    keep = settings["keep"]
    assert callable(keep)
    keep({"id": "r", "status": "requires_action", "required_action": action, "model": "m"}, None)
    both = [{"tool_call_id": "c1"}, {"tool_call_id": "c2"}]
    told = {
        "thread": threads.objection("x", None, {}),
        "run": threads.objection("t", "x", {}),
        "second": threads.objection("t", None, {}),
        "missing": threads.objection("t", "r", {"tool_outputs": both[:1]}),
        "strange": threads.objection("t", "r", {"tool_outputs": [*both, {"tool_call_id": "c9"}]}),
    }
    assert {name: error and (error.kind, error.message) for name, error in told.items()} == {
        "thread": ("not_found", "no thread found with id 'x'"),
        "run": ("not_found", "no run found with id 'x'"),
        "second": ("invalid_request", "thread t already has an active run r"),
        "missing": ("invalid_request", "expected tool outputs for the call ids c2"),
        "strange": ("invalid_request", "no tool call was asked for with the ids c9"),
    }
    assert threads.objection("t", "r", {"tool_outputs": both}) is None
    assert threads.place("t", "r", {})[0] == "m"
    keep({"id": "r", "status": "completed", "model": "m"}, None)
    again = threads.objection("t", "r", {"tool_outputs": both})
    assert again is not None
    assert again.message == "runs in status 'completed' do not accept tool outputs"


def test_plain_requests() -> None:
    """Messages are added and listed, runs are cancelled; what is unknown is a 404, and what is no plain request is left to others."""
    threads = Threads(0)
    made = threads.reply("POST", "/v1/threads", {"messages": HI})
    assert made is not None
    thread = json.loads(made[1])["id"]
    _, settings = threads.place(thread, None, {"additional_messages": [{"role": "user", "content": [{"type": "text", "text": {"value": "more"}}]}]})
    keep = settings["keep"]
    assert callable(keep)
    keep({"id": "r", "status": "requires_action", "model": "m"}, None)
    added = threads.reply("POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": "last"})
    assert added is not None
    id = json.loads(added[1])["id"]
    listed = threads.reply("GET", f"/v1/threads/{thread}/messages", {})
    assert listed is not None
    values = [message["content"][0]["text"]["value"] for message in json.loads(listed[1])["data"]]
    assert values == ["last", "more", "hi"]
    assert threads.reply("GET", f"/v1/threads/{thread}/messages/{id}", {}) == added
    cancelled = threads.reply("POST", f"/v1/threads/{thread}/runs/r/cancel", {})
    assert cancelled is not None
    assert json.loads(cancelled[1])["status"] == "cancelled"
    for path in ("/v1/threads/x", "/v1/threads/x/messages", f"/v1/threads/{thread}/runs/x", f"/v1/threads/{thread}/messages/x"):
        answer = threads.reply("GET", path, {})
        assert answer is not None
        assert answer[0] == 404
    others = [("POST", "/v1/threads/runs"), ("POST", f"/v1/threads/{thread}/runs"), ("GET", "/v1/threads"), ("POST", "/v1/chat/completions")]
    others.append(("POST", f"/v1/threads/{thread}/runs/r/submit_tool_outputs"))
    assert [threads.reply(method, path, {}) for method, path in others] == [None] * 5
