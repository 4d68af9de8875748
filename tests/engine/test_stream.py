"""A stream as its user sees it: iterating, the conveniences, the response, the causes."""

from __future__ import annotations

import anyio
import pytest

import headwater
from engine.upstream import Answer, Reader, collect, delta, error_body, failure, finish_only, good, in_band, model, request, run, settle, text_of
from headwater.stream import Topology
from headwater_codecs.neutral import Finish, NetworkError, RawFrame, StreamFailed, StreamStart, TextDelta, TextStart, TruncatedError

pytestmark = pytest.mark.anyio


def two_choices() -> bytes:
    """Two answers, interleaved."""
    pieces = [(0, "a"), (1, "x"), (0, "b"), (1, "y")]
    chunks = [b'data: {"choices": [{"index": %d, "delta": {"content": "%s"}}]}\n\n' % (number, text.encode()) for number, text in pieces]
    ends = [b'data: {"choices": [{"index": %d, "delta": {}, "finish_reason": "stop"}]}\n\n' % number for number in (0, 1)]
    return b"".join(chunks + ends) + b"data: [DONE]\n\n"


async def test_iterating(topology: Topology) -> None:
    """Every event, the terminal last and once; then the iteration is over for good."""
    async with run(Answer(good("a", "b")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        assert aiter(stream) is stream
        events = await collect(stream)
        assert (type(events[0]), text_of(events), type(events[-1])) == (StreamStart, "ab", Finish)
        assert await collect(stream) == []
        assert await stream.next_batch() is None
    assert (stream.response.text, stream.response.ok, stream.response.attempts) == ("ab", True, 1)


async def test_a_failed_stream_does_not_raise(topology: Topology) -> None:
    """Its last event tells."""
    async with run(Answer(delta("a")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        events = await collect(stream)
    assert (failure(events).kind, stream.response.text, stream.response.error) == ("truncated", "a", failure(events))


async def test_events_and_batches_may_be_mixed(topology: Topology) -> None:
    """`next_batch` gives the rest of what was begun first."""
    async with run(Answer(good("a", "b")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        first = await anext(stream)
        rest = list(await stream.next_batch() or ())
        assert [type(first), type(rest[0])] == [StreamStart, TextStart]
        assert text_of(rest) == "ab"
        assert await stream.next_batch() is None


@pytest.mark.rows("ISS-29")
async def test_the_response_grows(topology: Topology) -> None:
    """It can be read at any moment."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        while stream.response.text != "a":
            await anext(stream)
        assert (stream.response.finish_reason, stream.response.ok, stream.response.error) == (None, False, None)
        answer.send(good("b"))
        answer.end()
        await collect(stream)
        assert (stream.response.text, stream.response.finish_reason) == ("ab", "stop")


async def test_text_deltas(topology: Topology) -> None:
    """The text of choice 0, piece by piece."""
    async with run(Answer(two_choices()), topology=topology) as (engine, _), engine.stream(request(n=2)) as stream:
        assert [text async for text in stream.text_deltas()] == ["a", "b"]
    assert [choice.text for choice in stream.response.choices] == ["ab", "xy"]


async def test_text_deltas_raise(topology: Topology) -> None:
    """The typed error at the end, with what was received."""
    seen = []
    async with run(Answer(delta("a"), TruncatedError("reset")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        with pytest.raises(headwater.TruncatedError) as caught:  # noqa: PT012  # what is raised comes out of the block
            async for text in stream.text_deltas():
                seen.append(text)
    assert (seen, caught.value.response is stream.response, str(caught.value)) == (["a"], True, "reset")


async def test_result(topology: Topology) -> None:
    """The response, or the typed error."""
    async with run(Answer(good("a")), Answer(in_band("no", code=400)), topology=topology) as (engine, _):
        async with engine.stream(request()) as stream:
            assert (await stream.result()).text == "a"
        async with engine.stream(request()) as stream:
            with pytest.raises(headwater.InvalidRequestError, match="no"):
                await stream.result()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda: Answer(error_body("x"), status=401), headwater.AuthenticationError),
        (lambda: Answer(error_body("x"), status=403), headwater.PermissionDeniedError),
        (lambda: Answer(error_body("x"), status=404), headwater.NotFoundError),
        (lambda: Answer(error_body("x"), status=400), headwater.InvalidRequestError),
        (lambda: Answer(error_body("x", code="context_length_exceeded"), status=400), headwater.ContextOverflowError),
        (lambda: Answer(error_body("x"), status=429), headwater.RateLimitError),
        (lambda: Answer(error_body("x", code="insufficient_quota"), status=429), headwater.QuotaError),
        (lambda: Answer(error_body("x"), status=503), headwater.OverloadedError),
        (lambda: Answer(error_body("x"), status=500), headwater.ServerError),
        (lambda: Answer(refuses=NetworkError("x")), headwater.NetworkError),
        (lambda: Answer(b"<html>x</html>"), headwater.MalformedError),
        (lambda: Answer(delta("x")), headwater.TruncatedError),
    ],
)  # fmt: skip
async def test_generate_raises_the_typed_error(topology: Topology, answer: object, error: type[headwater.HeadwaterError]) -> None:
    """One class per kind; or the response with the same error, when asked for."""
    async with run(answer(), answer(), topology=topology) as (engine, _):  # type: ignore[operator]
        with pytest.raises(error) as caught:
            await engine.generate(request())
        response = await engine.generate(request(), raise_on_error=False)
    assert type(caught.value) is error
    assert caught.value.response is not None
    assert response.error == caught.value.info
    with pytest.raises(error):
        response.raise_for_error()


@pytest.mark.parametrize(("reason", "ok"), [("stop", True), ("length", False), ("content_filter", False)])
async def test_generate_returns_other_finishes(topology: Topology, reason: str, ok: bool) -> None:
    """They are no exceptions; `ok` tells them apart."""
    body = delta("a") + finish_only().replace(b'"stop"', b'"%s"' % reason.encode()) + b"data: [DONE]\n\n"
    async with run(Answer(body), topology=topology) as (engine, _):
        response = await engine.generate(request())
    assert (response.finish_reason, response.ok, response.text) == (reason, ok, "a")


async def test_a_finish_reason_error_raises(topology: Topology) -> None:
    """A stream that ended by the rules, with the provider giving up: a ServerError with the answer so far."""
    body = delta("a") + finish_only().replace(b'"stop"', b'"error"') + b"data: [DONE]\n\n"
    async with run(Answer(body), Answer(body), topology=topology) as (engine, _):
        with pytest.raises(headwater.ServerError, match="the provider ended the answer with an error") as caught:
            await engine.generate(request())
        response = await engine.generate(request(), raise_on_error=False)
    assert (caught.value.response.text, response.finish_reason, response.error) == ("a", "error", None)  # type: ignore[union-attr]


async def test_the_cause_is_chained(topology: Topology) -> None:
    """The exception of the transport stands behind the one that is raised."""
    reset = ConnectionResetError(104, "reset")
    for answer in (Answer(refuses=reset), Answer(delta("a"), reset)):
        async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
            with pytest.raises(headwater.HeadwaterError) as caught:
                await stream.result()
        cause: BaseException | None = caught.value
        while cause is not None and cause is not reset:
            cause = cause.__cause__
        assert cause is reset


async def test_raw_frames(topology: Topology) -> None:
    """With `raw` every frame comes before its events, byte for byte."""
    async with run(Answer(good("a")), topology=topology) as (engine, _), engine.stream(request(), raw=True) as stream:
        events = await collect(stream)
    frames = [event.data for event in events if isinstance(event, RawFrame)]
    assert b"".join(b"data: " + frame + b"\n\n" for frame in frames) == good("a")
    first = next(number for number, event in enumerate(events) if isinstance(event, TextDelta))
    assert b'"content": "a"' in [event for event in events[:first] if isinstance(event, RawFrame)][-1].data


async def test_streams_share_an_engine(topology: Topology) -> None:
    """Many at once, each with its own events."""
    answers = [Answer(delta(f"{number}."), open=True) for number in range(20)]
    texts: dict[int, str] = {}
    async with run(*answers, topology=topology) as (engine, upstream):

        async def one() -> None:
            async with engine.stream(request()) as stream:
                while not stream.response.text:
                    await anext(stream)
                number = int(stream.response.text[:-1])
                answers[number].send(good(f"{number * number}"))
                await collect(stream)
                texts[number] = stream.response.text

        async with anyio.create_task_group() as group:
            for _ in answers:
                group.start_soon(one)
    assert texts == {number: f"{number}.{number * number}" for number in range(20)}
    assert len(upstream.requests) == 20


@pytest.mark.parametrize("early", [0, 1, 3])
async def test_leaving_early(topology: Topology, early: int) -> None:
    """`break` closes the upstream once; what was received stays, and the response does not look like a whole one (B237)."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        events = []
        if early:
            async for event in stream:
                events.append(event)
                if len(events) == early:
                    break
    assert [len(given.closed) for given in upstream.given] == [1] * len(upstream.given)
    assert len(upstream.requests) == bool(early)
    response = stream.response
    assert (response.text, response.ok, response.finish_reason) == ("a" if early else "", False, None)
    assert response.error is not None
    assert (response.error.kind, response.error.bytes_received) == ("aborted", len(delta("a")) if early else 0)
    assert response.timing.end is not None
    with pytest.raises(headwater.StreamAborted, match="the stream was closed before its end"):
        stream.raise_for_error()
    assert [block.complete for block in response.blocks] == [False] * bool(early)


async def test_closing_in_the_block(topology: Topology) -> None:
    """`aclose` may be called at any time and again; the reader then gets the end of what it saw."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
        events = [await anext(stream), await anext(stream), await anext(stream)]
        await stream.aclose()
        await stream.aclose()
        assert len(answer.closed) == 1
        events += await collect(stream)
        assert await stream.next_batch() is None
    assert (failure(events).kind, text_of(events)) == ("aborted", "a")


@pytest.mark.parametrize("when", ["connecting", "answering", "reading", "back-off", "refusal"])
async def test_closing_from_another_task(topology: Topology, when: str) -> None:
    """Whatever the reader waits for: it gets StreamFailed of kind aborted, nothing is tried again, nothing stays open."""
    answer = {
        "connecting": lambda: Answer(connects=anyio.Event()),
        "answering": lambda: Answer(answers=anyio.Event()),
        "reading": lambda: Answer(open=True),
        "back-off": lambda: Answer(error_body("slower"), status=429, headers={"retry-after": "30"}),
        "refusal": lambda: Answer(b"{", status=500, open=True),
    }[when]()
    async with run(answer, topology=topology, retry=headwater.Retry()) as (engine, upstream):
        stream = engine.stream(request())
        reader = Reader(stream)
        async with anyio.create_task_group() as group, stream:
            group.start_soon(reader)
            await settle()
            await stream.aclose()
            await reader.done.wait()
        assert (failure(reader.events).kind, len(upstream.requests)) == ("aborted", 1)
        assert stream.response.error == failure(reader.events)
        assert upstream.left_open == []


async def test_request_timeouts_and_their_order() -> None:
    """Those of the call stand before those of the request, before those of the engine."""
    engine_wide, of_request, of_call = (headwater.Timeouts(total=seconds) for seconds in (30, 20, 10))
    async with run(timeouts=engine_wide) as (engine, _):
        start = engine.clock()
        for stream, expected in (
            (engine.stream(request()), 30),
            (engine.stream(request(timeouts=of_request)), 20),
            (engine.stream(request(timeouts=of_request), timeouts=of_call), 10),
        ):
            assert stream.deadlines.remaining_total(start) == pytest.approx(expected, abs=1)


async def test_the_topology_of_the_call(topology: Topology) -> None:
    """It stands before that of the engine."""
    async with run(Answer(good("a")), topology="staged" if topology == "fused" else "fused") as (engine, _):
        assert (await engine.generate(request(), topology=topology)).text == "a"


async def test_a_model_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """`provider/model` with its key in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    async with run(Answer(good("a"))) as (engine, upstream):
        response = await engine.generate(headwater.Request(model="openai/gpt-4o-mini", messages=[headwater.user("hi")]))
    assert (response.text, response.provider, upstream.requests[0].url) == ("a", "openai", "https://api.openai.com/v1/chat/completions")
    assert dict(upstream.requests[0].headers)["authorization"] == "Bearer sk-from-the-environment"


async def test_a_second_stream_failed_is_the_first(topology: Topology) -> None:
    """What a stage or a closing adds after the terminal is not seen."""
    async with run(Answer(delta("a"), TruncatedError("reset")), topology=topology) as (engine, _), engine.stream(request()) as stream:
        events = await collect(stream)
        await stream.aclose()
    assert [event for event in events if isinstance(event, StreamFailed)] == [StreamFailed(stream.response.error)]  # type: ignore[arg-type]
    assert model().api_key is not None
