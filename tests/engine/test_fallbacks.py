"""Fallbacks: which failures lead to the next model, what the response says, and that nothing is sent to a model that is wrong."""

from __future__ import annotations

import anyio
import pytest

import headwater
from engine.upstream import (
    KEY,
    Answer,
    Clock,
    Reader,
    collect,
    delta,
    error_body,
    failure,
    good,
    in_band,
    model,
    request,
    run,
    settle,
    text_of,
)
from headwater.budget import RetryBudget
from headwater.retry import Retry
from headwater.stream import Topology
from headwater_codecs.neutral import ErrorInfo, FailedAttempt, Finish, NetworkError, StreamStart, TruncatedError, error_info

SECOND = headwater.Model("second-2", provider="custom", base_url="http://second.test/v1", api_key=KEY + "-2")
THIRD = headwater.Model("third-3", provider="anthropic", protocol="anthropic-messages", base_url="http://third.test", api_key=KEY + "-3")


@pytest.mark.parametrize(
    ("kind", "falls_back"),
    [
        ("configuration", False), ("auth", True), ("permission", True), ("not_found", True), ("invalid_request", True), ("context_overflow", True),
        ("rate_limit", True), ("quota", True), ("overloaded", True), ("server", True), ("network", True), ("malformed", True), ("truncated", True),
        ("aborted", False), ("internal", False),
    ],
)  # fmt: skip
def test_which_kinds(kind: str, falls_back: bool) -> None:
    """All but what is our own side's."""
    assert Retry().falls_back(error_info(kind, "x")) == falls_back  # type: ignore[arg-type]


@pytest.mark.parametrize(("deadline", "falls_back"), [("connect", True), ("first_content", True), ("idle", True), ("total", False)])
def test_which_deadlines(deadline: str, falls_back: bool) -> None:
    """`total` is the whole stream's."""
    assert Retry().falls_back(error_info("timeout", "x", deadline=deadline)) == falls_back


@pytest.mark.anyio
@pytest.mark.parametrize(
    "first",
    [
        lambda: Answer(refuses=NetworkError("refused")),
        lambda: Answer(error_body("who"), status=401),
        lambda: Answer(error_body("slower"), status=429, headers={"retry-after": "3600"}),
        lambda: Answer(error_body("too long", code="context_length_exceeded"), status=400),
        lambda: Answer(in_band("overloaded", code=503)),
        lambda: Answer(delta(""), TruncatedError("reset")),
        lambda: Answer(b"<html>hello</html>"),
    ],
    ids=["refused", "401", "long-hint", "too-long", "in-band", "role-then-reset", "page"],
)  # fmt: skip
async def test_a_failure_before_content_leads_on(topology: Topology, first: object) -> None:
    """One start, one answer; the response says who gave it."""
    answer = first()  # type: ignore[operator]
    async with (
        run(answer, Answer(good("a", "b")), topology=topology) as (engine, upstream),
        engine.stream(request(), fallbacks=[SECOND]) as stream,
    ):
        events = await collect(stream)
    assert (text_of(events), type(events[-1]), [type(event) for event in events].count(StreamStart)) == ("ab", Finish, 1)
    assert [sent.url for sent in upstream.requests] == ["http://upstream.test/v1/chat/completions", "http://second.test/v1/chat/completions"]
    assert b'"model":"second-2"' in upstream.requests[1].body
    response = stream.response
    assert (response.requested_model, response.attempts, response.error) == ("second-2", 2, None)
    assert [(failed.provider, failed.model) for failed in response.failed_attempts] == [("custom", "scripted-1")]
    assert answer.closed in ([], ["closed"])


@pytest.mark.anyio
async def test_each_model_has_its_retries(topology: Topology) -> None:
    """One retry each, then the next; the last failure is told, the others are in the response, in order and without keys."""
    answers = [Answer(error_body(f"down {number} {KEY}"), status=503, headers={"x-request-id": f"r{number}"}) for number in range(4)]
    async with run(*answers, retry=Retry(attempts=1, base=0), topology=topology) as (engine, _):
        response = await engine.generate(request(), fallbacks=[SECOND], raise_on_error=False)

    def told(number: int) -> ErrorInfo:
        return ErrorInfo("overloaded", f"down {number} ***", status=503, phase="headers", retryable=True, request_id=f"r{number}")

    assert response.failed_attempts == (
        FailedAttempt("custom", "scripted-1", told(0)),
        FailedAttempt("custom", "scripted-1", told(1)),
        FailedAttempt("custom", "second-2", told(2)),
    )
    assert (response.attempts, response.request_id, response.error) == (4, "r3", told(3).with_(events=2))


@pytest.mark.anyio
async def test_another_protocol_answers(topology: Topology) -> None:
    """The next model may speak another protocol: the request is written anew, the answer read by its own rules."""
    body = (
        b'event: message_start\ndata: {"type":"message_start","message":{"id":"m1","model":"third-3-real","usage":{"input_tokens":1}}}\n\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n'
        b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
        b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}\n\n'
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    async with run(Answer(error_body("down"), status=503), Answer(body), topology=topology) as (engine, upstream):
        response = await engine.generate(request(max_tokens=5), fallbacks=[THIRD])
    assert upstream.requests[1].url == "http://third.test/v1/messages"
    assert (response.text, response.model, response.requested_model, response.provider, response.protocol) == (
        "hi", "third-3-real", "third-3", "anthropic", "anthropic-messages",
    )  # fmt: skip


@pytest.mark.anyio
async def test_never_after_content(topology: Topology) -> None:
    """What was handed out cannot be taken back."""
    async with run(Answer(delta("Hel"), TruncatedError("reset")), topology=topology) as (engine, upstream):
        response = await engine.generate(request(), fallbacks=[SECOND], raise_on_error=False)
    assert (response.text, response.failed_attempts, len(upstream.requests)) == ("Hel", (), 1)
    assert response.error is not None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (headwater.Model("m", provider="openai", base_url="ftp://nowhere", api_key=KEY), "ftp://nowhere"),
        ("no-such-vendor/m", "no-such-vendor"),
        (headwater.Model("m", provider="custom", protocol="no-such-protocol", base_url="http://h", api_key=KEY), "no-such-protocol"),
    ],
    ids=["address", "vendor", "protocol"],
)  # fmt: skip
async def test_what_is_wrong_is_said_at_the_call(wrong: headwater.Model | str, said: str) -> None:
    """A fallback with a fault is found when it is named, not when it is needed."""
    async with run() as (engine, upstream):
        with pytest.raises(headwater.ConfigurationError, match=said):
            engine.stream(request(), fallbacks=[SECOND, wrong])
    assert upstream.requests == []


@pytest.mark.anyio
async def test_a_silent_model_is_given_up_for_the_next(topology: Topology) -> None:
    """The deadline for the first content leads on, and counts anew; `total` does not."""
    clock = Clock()
    silent, slow = Answer(open=True), Answer(open=True)
    timeouts = headwater.Timeouts(first_content=2, total=10)
    async with (
        run(silent, slow, clock=clock, topology=topology, timeouts=timeouts) as (engine, upstream),
        engine.stream(request(), fallbacks=[SECOND, SECOND]) as stream,
    ):
        reader = Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(reader)
            await settle()
            clock.now += 2
            engine.look(clock())
            while not slow.waiting:
                await settle()
            clock.now += 1.9
            engine.look(clock())
            await settle()
            assert not reader.done.is_set()
            clock.now += 6.1
            slow.send(delta(""))
            await settle()
            engine.look(clock())
            await reader.done.wait()
    assert (failure(reader.events).deadline, len(upstream.requests), silent.closed) == ("total", 2, ["aborted"])
    assert [failed.error.deadline for failed in stream.response.failed_attempts] == ["first_content"]


@pytest.mark.anyio
async def test_an_empty_budget_leaves_the_fallbacks(topology: Topology) -> None:
    """No retry any more, but the next model is asked at once."""
    down = Answer(error_body("down"), status=503)
    async with run(down, Answer(good("a")), retry=Retry(), retry_budget=RetryBudget(0), topology=topology) as (engine, _):
        response = await engine.generate(request(), fallbacks=[SECOND])
    assert (response.text, response.attempts) == ("a", 2)


@pytest.mark.anyio
async def test_leaving_while_the_fallback_is_opened(topology: Topology) -> None:
    """The attempt before it is closed once, the opening is cancelled, the rest is not asked."""
    first, second = Answer(error_body("down"), status=503), Answer(answers=anyio.Event())
    async with run(first, second, topology=topology) as (engine, upstream):
        with anyio.move_on_after(0.02) as scope:
            await engine.generate(request(), fallbacks=[SECOND, model()])
        assert scope.cancelled_caught
        assert (first.closed, len(upstream.requests), upstream.connecting) == (["closed"], 2, 0)
