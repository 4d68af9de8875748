"""Every fixture gives the same events in every topology, offline and live, wherever the reads are cut: whole, bytewise, and at random."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

import headwater
from engine.upstream import NO_RETRY, TOPOLOGIES, Answer, Reader, Upstream, model
from headwater.plain import response_as_dict
from headwater.stream import AnyStage
from headwater_codecs.neutral import Request, user
from helpers import Fixture, every_split, fixtures, plain_events

pytestmark = pytest.mark.anyio

FIXTURES = fixtures("openai-chat")
BYTEWISE = 3000  # bytes; longer bodies are cut at random only
LONG = 1000  # bytes; longer bodies go fewer ways
Json = dict[str, object]


class PassSync:
    """A stage that changes nothing: one more link in the chain."""

    def feed(self, batch: Sequence[headwater.Event], /) -> Sequence[headwater.Event]:
        return batch

    def finish(self) -> Sequence[headwater.Event]:
        return []


class PassAsync:
    """The same, with a task and a channel."""

    async def feed(self, batch: Sequence[headwater.Event], /) -> Sequence[headwater.Event]:
        return batch

    async def finish(self) -> Sequence[headwater.Event]:
        return []


def reads(fixture: Fixture) -> list[list[bytes]]:
    """The ways to cut it: whole, bytewise (if it is not long), and at 20 random choices of places, without empty reads."""
    ways = [[piece for piece in way if piece] for way in every_split(fixture.data, two_way=False)]
    return ways if len(fixture.data) <= BYTEWISE else ways[:1] + ways[2:]


def whole(response: headwater.Response) -> Json:
    """All that a response holds, without times, made-up ids and where it came from."""
    plain = response_as_dict(response)
    for name in ("timing", "provider", "protocol", "headers", "request_id", "attempts"):
        plain.pop(name, None)
    return plain


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
async def test_equal(fixture: Fixture) -> None:
    """The events are those written down by hand, for the reader and for a listener, in all topologies, with and without stages."""
    asked = Request(model=model(dialect=fixture.options), messages=[user("hi")])
    ways = reads(fixture)
    none: list[AnyStage] = []
    both: list[AnyStage] = [PassSync(), PassAsync()]
    plans = [(topology, way, stages) for topology in TOPOLOGIES for way in ways for stages in (none, both)]
    plans = plans[:: 12 if len(fixture.data) > LONG else 5]  # the property holds read by read: the fixtures share the ways between them
    answers = [Answer(*way, headers={"content-type": fixture.content_type}) for _, way, _ in plans]
    with anyio.fail_after(60):
        async with headwater.Engine(transport=Upstream(*answers), retry=NO_RETRY) as engine:
            for topology, _, stages in plans:
                async with engine.stream(asked, topology=topology, stages=stages) as stream:
                    listener = Reader(stream.subscribe())
                    main: list[headwater.Event] = []
                    async with anyio.create_task_group() as group:
                        group.start_soon(listener)
                        while (batch := await stream.next_batch()) is not None:
                            main += batch
                expected = [{**event, "provider": "custom"} if event["type"] == "stream_start" else event for event in fixture.events]
                assert plain_events(main, fixture.events) == expected
                assert plain_events(listener.events, fixture.events) == expected
    assert all(len(answer.closed) == 1 for answer in answers)


@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
async def test_equal_to_decode(fixture: Fixture) -> None:
    """What a live stream leaves in its response is what `decode` makes of the same bytes."""
    asked = Request(model=model(dialect=fixture.options), messages=[user("hi")])
    offline = headwater.decode("openai-chat", [fixture.data], content_type=fixture.content_type, options=fixture.options)
    answers = [Answer(fixture.data, headers={"content-type": fixture.content_type}) for _ in TOPOLOGIES]
    with anyio.fail_after(10):
        async with headwater.Engine(transport=Upstream(*answers), retry=NO_RETRY) as engine:
            for topology in TOPOLOGIES:
                response = await engine.generate(asked, raise_on_error=False, topology=topology)
                live, expected = whole(response), whole(offline)
                for made_up in ("tool_calls", "blocks", "choices"):
                    if '"id":"*"' in str(fixture.events).replace("'", '"').replace(" ", ""):
                        live.pop(made_up, None)
                        expected.pop(made_up, None)
                assert live == expected
