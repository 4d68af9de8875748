"""The messages view over an engine: streaming, completing, failing, leaving; what a caller sees of it on both event loops."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

import headwater as hw
from engine.upstream import KEY, Answer, Upstream, delta, error_body, finish_only, good, model, run, settle
from headwater.views import messages as m
from headwater_codecs.neutral import NetworkError
from helpers import count_calls
from loopback import Asked, Loopback, Reply, loopback
from told import sse
from views.messages.seen import lawful, shown, writer

pytestmark = pytest.mark.anyio
HI = m.prompt("hi", system="Be brief.")
HELLO = ["start", ("text_start", 0), ("text_delta", 0, "Hel"), ("text_delta", 0, "lo"), ("text_end", 0, "Hello"), ("done", "stop")]


async def collect(answer: m.MessageStream) -> list[m.MessageEvent]:
    """All events that are left."""
    return [event async for event in answer]


async def read_all(stream: hw.Stream) -> list[m.MessageEvent]:
    """All events of an engine's stream."""
    async with m.MessageStream(stream) as answer:
        return await collect(answer)


@pytest.mark.rows("OR-CL-01", "OR-CL-04", "OR-EV-20", "OR-SW-01", "AMB-68")
@pytest.mark.parametrize("topology", ["fused", "fan-out", "staged"])
async def test_streaming(topology: str) -> None:
    """The events, one terminal, then the iteration is over for good; the message is there after the block."""
    async with run(Answer(good("Hel", "lo")), topology=topology) as (engine, upstream), m.stream(engine, model(), HI, temperature=0.0) as answer:
        events = await collect(answer)
        assert shown(events) == HELLO
        lawful(events)
        assert await collect(answer) == []
    message = answer.message
    assert (message.text(), message.stop_reason, message.usage) == ("Hello", "stop", m.Usage(3, False, 2, None, None, 5))
    assert (message.model, message.response_model, message.provider, message.protocol) == ("scripted-1", None, "custom", "openai-completions")
    assert b'"temperature":0.0' in upstream.requests[0].body
    assert b"Be brief." in upstream.requests[0].body


@pytest.mark.rows("OR-CL-03", "OR-CL-04")
async def test_completing() -> None:
    """The whole message, with its price."""
    async with run(Answer(good("Hel", "lo"))) as (engine, _):
        message = await m.complete(engine, model(), HI, cost=lambda usage: m.Cost(1, 2, 0, 0, 3))
    assert (message.text(), message.usage and message.usage.cost) == ("Hello", m.Cost(1, 2, 0, 0, 3))


@pytest.mark.rows("OR-CL-01", "OR-CL-02", "OR-AR-03", "OR-KEY-04")
@pytest.mark.parametrize(
    ("asked", "fields", "said"),
    [
        (hw.Model("m-1", provider="nobody"), {}, "nobody"),
        (hw.Model("m-1", provider="openai", protocol="smoke-signals", api_key="sk-12345678"), {}, "unknown protocol 'smoke-signals'"),
        (hw.Model("", provider="openai"), {}, "the model's name is empty"),
        (hw.Model("m-1", provider="openai", base_url="http://127.0.0.1:1/v1"), {}, "no API key for provider openai: set OPENAI_API_KEY"),
        (hw.Model("m-1", provider="openai", api_key="sk-12345678"), {"tool_choice": "f"}, "tool_choice"),
    ],
)
async def test_what_is_wrong_without_the_network(monkeypatch: pytest.MonkeyPatch, asked: hw.Model, fields: dict[str, str], said: str) -> None:
    """It is raised from the call, and nothing is sent."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with run() as (engine, upstream):
        with pytest.raises(hw.ConfigurationError, match=said):
            m.stream(engine, asked, HI, **fields)  # type: ignore[arg-type]
        with pytest.raises(hw.ConfigurationError, match=said):
            await m.complete(engine, asked, HI, raise_on_error=False, **fields)  # type: ignore[arg-type]
        assert upstream.requests == []
    with pytest.raises(hw.ConfigurationError, match="the engine is not running"):
        m.stream(engine, model(), HI)


@pytest.mark.rows("OR-CL-02", "OR-CL-03", "OR-SW-10", "OR-SW-02", "AMB-39", "AMB-73", "AMB-75", "ISS-39", "ISS-53", "ISS-56", "OR-CCS-13", "G-24")
@pytest.mark.parametrize(
    ("answer", "error", "text", "said"),
    [
        (lambda: Answer(refuses=NetworkError("refused")), hw.NetworkError, "", "refused"),
        (lambda: Answer(error_body("bad key"), status=401), hw.AuthenticationError, "", "bad key"),
        (lambda: Answer(error_body("slow down"), status=429), hw.RateLimitError, "", "slow down"),
        (lambda: Answer(delta("Hel")), hw.TruncatedError, "Hel", ""),
        (lambda: Answer(delta("Hel"), NetworkError("reset")), hw.NetworkError, "Hel", "reset"),
        (lambda: Answer(), hw.TruncatedError, "", ""),
    ],
)
async def test_what_goes_wrong_later(answer: object, error: type[hw.HeadwaterError], text: str, said: str) -> None:
    """It is the terminal event, behind a start; `complete` raises it, or hands over the message with what came."""
    async with run(answer(), answer(), answer()) as (engine, _):  # type: ignore[operator]
        async with m.stream(engine, model(), HI) as stream:
            events = await collect(stream)
        lawful(events)
        assert isinstance(last := events[-1], m.Error)
        assert type(last.error) is error
        assert last.message == stream.message
        assert (stream.message.stop_reason, stream.message.text(), stream.message.error_message) == ("error", text, str(last.error))
        assert said in str(last.error)
        with pytest.raises(error) as caught:
            await m.complete(engine, model(), HI)
        assert caught.value.response is not None
        assert caught.value.response.text == text
        message = await m.complete(engine, model(), HI, raise_on_error=False)
        assert (message.stop_reason, message.text()) == ("error", text)


@pytest.mark.rows("OR-CL-03", "OR-CCS-09")
async def test_an_answer_that_was_blocked() -> None:
    """A stream that ends by the rules, and still is no answer: the same error from the event and from `complete`."""
    body = delta("Hel") + finish_only().replace(b'"stop"', b'"content_filter"') + b"data: [DONE]\n\n"
    async with run(Answer(body), Answer(body)) as (engine, _):
        async with m.stream(engine, model(), HI) as stream:
            events = await collect(stream)
        assert shown(events)[-1] == ("error", "error", "the answer was blocked by the content filter")
        with pytest.raises(hw.ProviderError, match="blocked by the content filter"):
            await m.complete(engine, model(), HI)


@pytest.mark.rows("OR-SW-04", "OR-SW-05", "AMB-66", "AMB-38", "OR-EV-23")
async def test_given_up_by_somebody_else() -> None:
    """The reader in the other task sees `aborted`, once, with what came; it never looks like success."""
    upstream = Answer(delta("Hel"), open=True)
    events: list[m.MessageEvent] = []

    async def reader(stream: m.MessageStream) -> None:
        events.extend(await collect(stream))

    async with run(upstream) as (engine, _):
        inner = engine.stream(m.to_request(model(), HI))
        async with m.MessageStream(inner) as stream, anyio.create_task_group() as group:
            group.start_soon(reader, stream)
            await settle()
            await inner.aclose()
        lawful(events)
        assert shown(events)[-2:] == [("text_end", 0, "Hel"), ("error", "aborted", "the stream was closed before its end")]
    assert (stream.message.stop_reason, stream.message.text(), upstream.closed) == ("aborted", "Hel", ["closed"])


@pytest.mark.rows("OR-SW-04", "OR-SW-07", "AMB-22", "AMB-65", "AMB-66", "G-41", "G-09")
@pytest.mark.parametrize("after", range(5))
async def test_leaving_early(after: int) -> None:
    """At any event: the connection is closed once, the message is `aborted` and keeps what came, and nobody waits for a reader."""
    upstream = Answer(delta("a"), delta("b"), delta("c"), open=True)
    async with run(upstream) as (engine, _):
        async with m.stream(engine, model(), HI) as stream:
            for _ in range(after):
                await anext(stream)
        assert len(upstream.closed) == (1 if after else 0)
    assert stream.message.stop_reason == "aborted"
    assert stream.message.failed


@pytest.mark.rows("OR-SW-04")
@pytest.mark.parametrize("topology", ["fan-out", "staged"])
async def test_leaving_an_answer_that_is_there(topology: str) -> None:
    """What the actors read ahead was not told: the message says so, although the response is whole."""
    async with run(Answer(delta("a"), good("b")), topology=topology) as (engine, _):
        async with m.stream(engine, model(), HI) as stream:
            assert isinstance(await anext(stream), m.Start)
            await settle()
        assert (stream.message.stop_reason, stream.message.text()) == ("aborted", "a")
        assert stream.message.error_message == "the answer was left before its end"


@pytest.mark.rows("OR-SW-04", "AMB-66", "G-41")
async def test_cancelled_while_it_waits() -> None:
    """Cancellation passes through as itself; the message says `aborted`."""
    upstream = Answer(delta("a"), open=True)
    async with run(upstream) as (engine, _):
        with anyio.CancelScope() as scope:
            async with m.stream(engine, model(), HI) as stream:
                async for event in stream:
                    if event.type == "text_delta":
                        scope.cancel()
        assert scope.cancelled_caught
    assert (stream.message.stop_reason, stream.message.text()) == ("aborted", "a")


async def test_a_cancelled_pull_loses_nothing() -> None:
    """The next one goes on where it stopped."""
    upstream = Answer(delta("a"), open=True)
    async with run(upstream) as (engine, _), m.stream(engine, model(), HI) as stream:
        seen = [await anext(stream) for _ in range(3)]
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anext(stream)
        upstream.send(good("b"))
        upstream.end()
        assert shown([*seen, *await collect(stream)])[2:5] == [("text_delta", 0, "a"), ("text_delta", 0, "b"), ("text_end", 0, "ab")]


class Swallow:
    """A stage that keeps the terminal event for itself, or breaks at it."""

    def __init__(self, *, breaks: bool) -> None:
        self._breaks = breaks

    def feed(self, batch: Sequence[hw.Event], /) -> Sequence[hw.Event]:
        """All but the last."""
        if self._breaks and any(isinstance(event, hw.Finish) for event in batch):
            raise ZeroDivisionError("out of order")
        return [event for event in batch if not isinstance(event, hw.Finish)]

    def finish(self) -> Sequence[hw.Event]:
        """Nothing is held back."""
        return []


ENDS = {
    "openai-responses": sse(
        {"type": "response.output_text.delta", "item_id": "i1", "output_index": 0, "content_index": 0, "delta": "Hi"},
        {"type": "response.completed", "response": {"id": "r1", "model": "m", "status": "completed", "output": []}},
    ),
    "anthropic-messages": sse(
        {"type": "message_start", "message": {"id": "r1", "model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ),
    "openai-chat": sse({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}, "[DONE]"),
}


@pytest.mark.rows("OR-RSS-12", "OR-ANS-07", "WIRE-14", "ISS-31", "AMB-64")
@pytest.mark.parametrize("protocol", ENDS)
async def test_the_end_is_told_at_once(protocol: str) -> None:
    """`done` comes with the protocol's own end, although the provider holds the connection open."""
    upstream = Answer(ENDS[protocol], open=True)
    async with run(upstream) as (engine, _), m.stream(engine, model(protocol=protocol), HI) as stream:
        assert shown(await collect(stream))[-1] == ("done", "stop")
        assert stream.message.text() == "Hi"
        assert upstream.closed == []


@pytest.mark.rows("OR-SW-08", "OR-CL-03", "OR-EV-20", "ISS-27")
@pytest.mark.parametrize(("breaks", "said"), [(True, "a stage failed: ZeroDivisionError: out of order"), (False, "a stage ended the stream")])
async def test_a_crash_is_a_terminal_error(breaks: bool, said: str) -> None:
    """So is a stream that somebody robbed of its terminal: whoever reads to the end always sees one."""
    async with run(Answer(good("a"))) as (engine, _):
        inner = engine.stream(m.to_request(model(), HI), stages=[Swallow(breaks=breaks)])
        events = await read_all(inner)
    lawful(events)
    assert isinstance(last := events[-1], m.Error)
    assert last.error.info.kind == "internal"
    assert said in str(last.error)


@pytest.mark.rows("AMB-22", "OR-SW-07", "OR-SW-11", "ISS-18")
async def test_a_reader_that_stops_holds_the_source_back() -> None:
    """Nothing is read ahead of it: what was not asked for stays with the provider."""
    upstream = Answer(*[delta("x")] * 50, finish_only(), b"data: [DONE]\n\n")
    async with run(upstream) as (engine, _), m.stream(engine, model(), HI) as stream:
        await anext(stream)
        await settle()
        assert upstream.reads == 1
        events = await collect(stream)
        assert len(events) == 1 + 50 + 1 + 1  # text_start, the deltas, text_end, done


@pytest.mark.rows("AMB-22", "AMB-68")
async def test_a_further_listener() -> None:
    """One that is slow gets merged deltas, and the same message; the terminal reaches both."""
    async with run(Answer(delta("a"), delta("b"), good("c"))) as (engine, _):
        inner = engine.stream(m.to_request(model(), HI))
        async with m.MessageStream(inner) as stream:
            slow = inner.subscribe("coalesce", 1)
            events = await collect(stream)
            view = m.MessageWriter(inner.response)
            seen = [event async for batch in batches(slow) for event in view.feed(batch)]
    assert shown(events)[-2:] == shown(seen)[-2:] == [("text_end", 0, "abc"), ("done", "stop")]
    assert [event for event in shown(seen) if "text_delta" in str(event)] == [("text_delta", 0, "abc")]
    lawful(seen)
    assert view.message.content == stream.message.content


async def batches(subscription: hw.Subscription) -> AsyncIterator[Sequence[hw.Event]]:
    """What a listener gets, batch by batch."""
    while (batch := await subscription.next_batch()) is not None:
        yield batch


@pytest.mark.rows("AMB-76", "OR-EV-22", "OR-SW-09")
async def test_a_hundred_thousand_deltas() -> None:
    """Each costs the same, held or not; the message at any of them is what it was."""
    assert work(20_000) <= 10 * work(2_000) + 100
    pieces = 100_000
    view = writer()
    events = view.feed([hw.StreamStart(), hw.TextStart(0), *[hw.TextDelta(0, "ab")] * pieces, hw.TextEnd(0), hw.Finish("stop")])
    for number in (1, 777, 50_000, pieces):
        event = events[1 + number]
        assert isinstance(event, m.TextDelta)
        assert event.partial.text() == "ab" * number
    assert view.message.text() == "ab" * pieces


def work(deltas: int) -> int:
    """How many functions run while so many pieces of text and of arguments are fed one by one, the arguments looked at each time."""
    view = writer()
    view.feed([hw.StreamStart(), hw.TextStart(0), hw.ToolCallStart(1, "c", "f"), hw.ToolCallDelta(1, '{"a":"')])

    def feed() -> None:
        for _ in range(deltas):
            view.feed([hw.TextDelta(0, "ab")])
            (event,) = view.feed([hw.ToolCallDelta(1, "x")])
            assert isinstance(event, m.ToolCallDelta)
            assert event.parsed_so_far

    return count_calls(feed)


PAGE = (Path(__file__).parents[3] / "docs" / "messages.md").read_text("utf-8")
FIRST, WITH_A_TOOL = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


async def run_example(code: str, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What an example of the page prints, run as it stands, in a thread with an event loop of its own."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    printed: list[str] = []
    names = {"__name__": "example", "print": lambda *words, **_: printed.append(" ".join(map(str, words)))}
    with anyio.fail_after(5):
        await anyio.to_thread.run_sync(lambda: exec(compile(code, "docs/messages.md", "exec"), names))
    return printed


async def test_the_first_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is short, and does what it says."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.chat("Ray", "leigh.")

    assert len([line for line in FIRST.splitlines() if line]) < 15
    async with loopback(script) as server:
        printed = await run_example(FIRST, server, monkeypatch)
    assert printed == ["Ray", "leigh.", f"stop {m.Usage(3, False, 2, None, None, 5)}"]
    assert server.asked[0].body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is the sky blue?"}]


async def test_the_example_with_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is run, its result goes back with it, and the answer ends the loop."""
    function = {"index": 0, "id": "call_1", "function": {"name": "weather", "arguments": '{"city":'}}
    rest = {"index": 0, "function": {"arguments": '"Rome"}'}}
    call = sse(
        {"choices": [{"index": 0, "delta": {"content": "Let me see. "}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [function]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [rest]}, "finish_reason": "tool_calls"}]},
        "[DONE]",
    )

    async def script(asked: Asked, reply: Reply) -> None:
        if len(server.asked) == 1:
            await reply.begin()
            await reply.send(call)
        else:
            await reply.chat("Sunny", "!")

    async with loopback(script) as server:
        assert await run_example(WITH_A_TOOL, server, monkeypatch) == ["Sunny!"]
    messages = server.asked[1].body["messages"]
    assert isinstance(messages, list)
    assert messages[1:] == [
        {
            "role": "assistant",
            "content": "Let me see. ",
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "Sunny in Rome."},
    ]


def test_it_is_imported_only_by_who_uses_it() -> None:
    """The facade does not bring a view along, nor the view what only the check of arguments needs."""
    code = "import sys, headwater; a = 'headwater.views' in sys.modules; import headwater.views.messages; print(a, 'jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "False False\n"


async def test_retries_show_the_answer_that_came() -> None:
    """Before the first content a failed attempt shows nothing."""
    upstream = Upstream(Answer(error_body("busy"), status=503), Answer(good("Hel", "lo")))
    with anyio.fail_after(5):
        async with hw.Engine(transport=upstream, retry=hw.Retry(attempts=1, base=0.0)) as engine, m.stream(engine, model(), HI) as stream:
            assert shown(await collect(stream)) == HELLO
