"""Stages of one's own: synchronous ones fused, asynchronous ones as actors; good ones, and every way to be bad."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
import anyio.lowlevel
import pytest

import headwater
from engine.upstream import Answer, collect, delta, failure, good, request, run, settle, text_of
from headwater.stream import AnyStage, Topology
from headwater_codecs.neutral import Event, Finish, StreamFailed, StreamStart, TextDelta, TextEnd, TextStart, error_info

pytestmark = pytest.mark.anyio


class Pass:
    """Everything passes."""

    def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        return batch

    def finish(self) -> Sequence[Event]:
        return []


class Upper(Pass):
    """Text in capitals."""

    def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        return [TextDelta(event.index, event.text.upper()) if isinstance(event, TextDelta) else event for event in batch]


class Moderation:
    """An asynchronous stage: looks at every text."""

    def __init__(self) -> None:
        self.seen = ""

    async def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        await anyio.lowlevel.checkpoint()
        self.seen += text_of(batch)
        return batch

    async def finish(self) -> Sequence[Event]:
        await anyio.lowlevel.checkpoint()
        return []


class Does(Pass):
    """Does something with the batches."""

    def __init__(self, what: Callable[[Sequence[Event]], Sequence[Event]]) -> None:
        self._what = what

    def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        return self._what(batch)


class SlowlyDoes:
    """The same, asynchronously."""

    def __init__(self, what: Callable[[Sequence[Event]], Sequence[Event]]) -> None:
        self._what = what

    async def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
        await anyio.lowlevel.checkpoint()
        return self._what(batch)

    async def finish(self) -> Sequence[Event]:
        return []


KINDS = [Does, SlowlyDoes]


async def test_stages_run_in_their_order(topology: Topology) -> None:
    """Between translator and aggregator: the response has what they made of the events."""
    moderation = Moderation()
    stages: list[AnyStage] = [
        Upper(),
        moderation,
        Does(lambda batch: [TextDelta(0, f"<{event.text}>") if isinstance(event, TextDelta) else event for event in batch]),
    ]
    async with run(Answer(delta("a"), good("b")), topology=topology) as (engine, _), engine.stream(request(), stages=stages) as stream:
        events = await collect(stream)
    assert (text_of(events), stream.response.text, moderation.seen, type(events[-1])) == ("<A><B>", "<A><B>", "AB", Finish)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stage_may_hold_back(topology: Topology, kind: type[Does]) -> None:
    """Batches that give nothing are waited out."""
    held: list[Event] = []

    def hold(batch: Sequence[Event]) -> Sequence[Event]:
        held.extend(batch)
        return held if isinstance(batch[-1], Finish) else []

    async with run(*[Answer(delta("a"), delta("b"), good("c"))], topology=topology) as (engine, _):
        assert (await engine.generate(request(), stages=[kind(hold)])).text == "abc"


async def test_what_finish_gives_is_sent(topology: Topology) -> None:
    """A stage that keeps the terminal until `finish`."""

    class Last(Pass):
        def __init__(self) -> None:
            self.kept: list[Event] = []

        def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
            self.kept += [event for event in batch if isinstance(event, Finish)]
            return [event for event in batch if not isinstance(event, Finish)]

        def finish(self) -> Sequence[Event]:
            return self.kept

    async with run(Answer(good("a")), topology=topology) as (engine, _), engine.stream(request(), stages=[Last()]) as stream:
        events = await collect(stream)
    assert (type(events[-1]), text_of(events), stream.response.ok) == (Finish, "a", True)


def fails_at(text: str) -> Callable[[Sequence[Event]], Sequence[Event]]:
    """A stage's feed that raises when it sees the text."""

    def feed(batch: Sequence[Event]) -> Sequence[Event]:
        if text in text_of(batch):
            raise ValueError(f"no {text}")
        return batch

    return feed


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stage_that_raises(topology: Topology, kind: type[Does]) -> None:
    """What came before is kept and lawful; then StreamFailed of kind internal, with how far it got; the exception is the cause."""
    answer = Answer(delta("a"), delta("b"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request(), stages=[kind(fails_at("b"))]) as stream:
        events = await collect(stream)
        with pytest.raises(headwater.HeadwaterError) as caught:
            stream.raise_for_error()
    error = failure(events)
    assert events == [
        StreamStart("scripted-1", "chatcmpl-1", "custom"),
        TextStart(0),
        TextDelta(0, "a"),
        TextEnd(0, complete=False),
        StreamFailed(error),
    ]
    assert (error.kind, error.message, error.phase, error.retryable) == ("internal", "a stage failed: ValueError: no b", "stream", False)
    assert error.bytes_received == len(delta("a") + delta("b"))
    assert type(caught.value.__cause__) is ValueError
    assert len(answer.closed) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stage_that_raises_at_once(topology: Topology, kind: type[Does]) -> None:
    """Even then the stream has its start, and nothing is sent again."""
    options = {"topology": topology, "retry": headwater.Retry(base=0)}
    async with run(Answer(good("a")), **options) as (engine, upstream), engine.stream(request(), stages=[kind(fails_at("a"))]) as stream:
        events = await collect(stream)
    assert ([type(event) for event in events], len(upstream.requests)) == ([StreamStart, StreamFailed], 1)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stage_that_swallows_the_terminal(topology: Topology, kind: type[Does]) -> None:
    """The stream does not hang, and does not look whole."""

    def swallow(batch: Sequence[Event]) -> Sequence[Event]:
        return [event for event in batch if not isinstance(event, Finish)]

    async with run(Answer(good("a")), topology=topology) as (engine, _), engine.stream(request(), stages=[kind(swallow)]) as stream:
        events = await collect(stream)
    assert (failure(events).kind, failure(events).message) == ("internal", "a stage ended the stream without its terminal event")
    assert (text_of(events), stream.response.ok) == ("a", False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (TextDelta(7, "x"), "TextDelta for block 7, which was never opened"),
        (TextStart(7), "TextStart has index 7, the next one is 1"),
        (TextEnd(1), "TextEnd for block 1, which was never opened"),
        (StreamStart(), "StreamStart in a stream that is running"),
        (Finish("stop"), "Finish while a block is open: 0"),
        ("nonsense", "str in a stream that is running"),
        (TextDelta([], "x"), "unhashable type: 'list'"),  # type: ignore[arg-type]
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
async def test_a_stage_that_sends_illegal_events(topology: Topology, kind: type[Does], bad: Event, message: str) -> None:
    """The good ones before it are kept, it is not seen, and the failure says what was wrong."""

    def spoil(batch: Sequence[Event]) -> Sequence[Event]:
        return [*batch, bad, TextDelta(0, "never seen")] if "b" in text_of(batch) else batch

    answer = Answer(delta("a"), delta("b"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request(), stages=[kind(spoil)]) as stream:
        events = await collect(stream)
    error = failure(events)
    assert events[1:] == [TextStart(0), TextDelta(0, "a"), TextDelta(0, "b"), TextEnd(0, complete=False), StreamFailed(error)]
    assert (error.kind, message in error.message, stream.response.text) == ("internal", True, "ab")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_same_event_twice(topology: Topology, kind: type[Does]) -> None:
    """A doubled end is illegal the second time only: the first one is handed over."""

    def double(batch: Sequence[Event]) -> Sequence[Event]:
        return [event for event in batch for _ in range(2 if isinstance(event, TextEnd) else 1)]

    async with run(Answer(good("a")), topology=topology) as (engine, _), engine.stream(request(), stages=[kind(double)]) as stream:
        events = await collect(stream)
    assert [type(event) for event in events] == [StreamStart, TextStart, TextDelta, TextEnd, StreamFailed]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stage_may_end_the_stream(topology: Topology, kind: type[Does]) -> None:
    """Its terminal counts; nothing after it is read or seen."""
    error = error_info("invalid_request", "not here")

    def stop(batch: Sequence[Event]) -> Sequence[Event]:
        return [TextEnd(0, complete=False), StreamFailed(error), TextDelta(0, "x")] if "b" in text_of(batch) else batch

    answer = Answer(delta("a"), delta("b"), delta("c"), open=True)
    async with run(answer, topology=topology) as (engine, _), engine.stream(request(), stages=[kind(stop)]) as stream:
        events = await collect(stream)
        await settle()
    assert events[2:] == [TextDelta(0, "a"), TextEnd(0, complete=False), StreamFailed(error)]
    assert stream.response.error == error


async def test_an_async_stage_that_never_returns(topology: Topology) -> None:
    """Leaving the block cancels it and waits for its end."""
    ended = []

    class Hangs(Moderation):
        async def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
            try:
                await anyio.sleep_forever()
            finally:
                ended.append(True)
            return batch

    async with run(Answer(good("a")), topology=topology) as (engine, _):
        async with engine.stream(request(), stages=[Hangs()]) as stream:
            with anyio.move_on_after(0.05):
                await anext(stream)
        assert ended == [True]
    assert (stream.response.error.kind, stream.response.text) == ("aborted", "")  # type: ignore[union-attr]


async def test_an_async_stage_that_will_not_stop(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    """The upstream is closed all the same, and leaving does not wait for ever."""
    monkeypatch.setattr("headwater.stream.CLOSE_TIME", 0.1)
    release = anyio.Event()

    class Stubborn(Moderation):
        async def feed(self, batch: Sequence[Event], /) -> Sequence[Event]:
            with anyio.CancelScope(shield=True):
                await release.wait()
            return batch

    answer = Answer(good("a"), open=True)
    async with run(answer, topology=topology) as (engine, _):
        async with engine.stream(request(), stages=[Stubborn()]) as stream:
            with anyio.move_on_after(0.02):
                await anext(stream)
        assert len(answer.closed) == 1
        release.set()


@pytest.mark.parametrize("stage", [object(), Pass, lambda batch: batch, None])
async def test_what_is_no_stage(stage: object) -> None:
    """It is named when the stream is asked for."""
    async with run() as (engine, _):
        with pytest.raises(headwater.ConfigurationError, match=r"stage 1 is .*: give an object with feed\(batch\) and finish\(\)"):
            engine.stream(request(), stages=[Pass(), stage])  # type: ignore[list-item]
