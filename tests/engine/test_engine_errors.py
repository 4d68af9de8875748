"""What is wrong without the network: typed, readable, raised where it is asked for, before a byte is sent; and the life of an engine."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

import headwater
from engine.upstream import KEY, Answer, Reader, Upstream, collect, delta, failure, good, model, request, run, settle, text_of
from headwater.stream import Topology
from headwater_codecs.neutral import ConfigurationError, Finish, Model, Request, user

pytestmark = pytest.mark.anyio


def asking(model: Model | str) -> Request:
    """A request for this model."""
    return Request(model=model, messages=[user("hi")])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("quux-9", "unknown model 'quux-9'"),
        ("nobody/", "unknown model 'nobody/': no provider is called 'nobody'"),
        ("nobody/gpt", "the model name 'nobody/gpt' is ambiguous, several providers serve such names: write huggingface/nobody/gpt or "),
        ("", "the model's name is empty"),
        (Model("m", provider="nobody"), "unknown provider 'nobody'"),
        (Model("m", base_url="ftp://host/v1"), "ftp://host/v1"),
        (Model("m", base_url="http://host/v1", protocol="telepathy"), "telepathy"),
        (Model("m", base_url="http://host/v1", api_key="a key with blanks"), "holds characters that a header cannot carry"),
        (Model("m", base_url="http://host/v1", dialect={"no_such_flag": True}), "no_such_flag"),
    ],
)
async def test_a_wrong_model(monkeypatch: pytest.MonkeyPatch, model: Model | str, message: str) -> None:
    """A missing key, an unknown name, a bad address: said by `engine.stream` itself, in words that name it."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with run() as (engine, upstream):
        with pytest.raises(ConfigurationError) as caught:
            engine.stream(asking(model))
        with pytest.raises(ConfigurationError):
            await engine.generate(asking(model), raise_on_error=False)
    assert message in str(caught.value)
    assert (caught.value.info.kind, upstream.requests) == ("configuration", [])
    assert "a key with blanks" not in str(caught.value)


async def test_a_field_that_the_protocol_cannot_say() -> None:
    """It is named."""
    async with run() as (engine, upstream):
        with pytest.raises(ConfigurationError, match="temperature"):
            engine.stream(request(temperature="hot"))
        assert upstream.requests == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topology": "tangled"}, "unknown topology 'tangled': use one of fused, fan-out, staged"),
        ({"replay": -1}, "replay is -1: give the bytes"),
        ({"when_unwatched": "panic"}, "when_unwatched is 'panic': use 'continue', 'cancel', or the seconds"),
        ({"when_unwatched": -1.0}, "when_unwatched is -1.0"),
        ({"stages": [1]}, "stage 0 is 1: give an object"),
    ],
)
async def test_a_wrong_option_of_a_stream(options: dict[str, object], message: str) -> None:
    """It is named."""
    async with run() as (engine, _):
        with pytest.raises(ConfigurationError, match=message):
            engine.stream(request(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topology": "tangled"}, "unknown topology 'tangled'"),
        ({"transport": "pigeons"}, "transport 'pigeons' is unknown"),
        ({"transport": 7}, "transport is a int"),
        ({"transport": "socket", "proxy": "http://proxy:1"}, "speaks to no proxy"),
        ({"proxy": "pro xy"}, "the proxy's address cannot be read"),
    ],
)
async def test_a_wrong_option_of_an_engine(options: dict[str, object], message: str) -> None:
    """It is named, before the engine is entered."""
    with pytest.raises(ConfigurationError, match=message):
        headwater.Engine(**options)  # type: ignore[arg-type]


async def test_an_engine_that_is_not_running() -> None:
    """Before and after its block: the error says how to use it."""
    upstream = Upstream(Answer(good("a")), Answer(good("b")))
    engine = headwater.Engine(transport=upstream)
    async with engine:
        assert (await engine.generate(request())).text == "a"
        made = engine.stream(request())
    for stopped in (engine, headwater.Engine()):
        with pytest.raises(ConfigurationError, match="the engine is not running: use it inside `async with Engine"):
            stopped.stream(request())
    with pytest.raises(ConfigurationError, match="the engine is not running"):
        async with made:
            pass
    with pytest.raises(ConfigurationError, match="the engine is not running"):
        await engine.generate(request())
    async with engine:  # once more is fine
        assert (await engine.generate(request())).text == "b"


async def test_an_engine_entered_twice() -> None:
    """The second time is refused, the first one goes on."""
    async with run(Answer(good("a"))) as (engine, _):
        with pytest.raises(ConfigurationError, match="this engine is already running"):
            await engine.__aenter__()
        assert (await engine.generate(request())).text == "a"


async def test_a_stream_entered_twice(topology: Topology) -> None:
    """The second time is refused, inside as after the block; the first one goes on."""
    async with run(Answer(good("a")), topology=topology) as (engine, _):
        stream = engine.stream(request())
        async with stream:
            with pytest.raises(ConfigurationError, match="a stream can be entered once: ask the engine for another one"):
                await stream.__aenter__()
            assert text_of(await collect(stream)) == "a"
        with pytest.raises(ConfigurationError, match="a stream can be entered once"):
            async with stream:
                pass


READS: list[Callable[[headwater.Stream], object]] = [
    lambda stream: anext(stream),
    lambda stream: stream.next_batch(),
    lambda stream: stream.result(),
    lambda stream: anext(stream.text_deltas()),
]


@pytest.mark.parametrize("read", READS, ids=["anext", "next_batch", "result", "text_deltas"])
async def test_reading_outside_of_the_block(topology: Topology, read: Callable[[headwater.Stream], object]) -> None:
    """Before it and after it: the error says how, and nothing is sent."""
    answer = Answer(delta("a"), open=True)
    async with run(answer, topology=topology) as (engine, upstream):
        stream = engine.stream(request())
        with pytest.raises(ConfigurationError, match=r"read a stream inside its block: async with engine\.stream"):
            await read(stream)  # type: ignore[misc]
        assert upstream.requests == []
        async with stream:
            await anext(stream)
        with pytest.raises(ConfigurationError, match="read a stream inside its block"):
            await read(stream)  # type: ignore[misc]
        await settle()
        assert len(upstream.requests) == 1


async def test_reading_on_after_the_block_of_a_stream_that_was_over(topology: Topology) -> None:
    """There is nothing more, and that is no error."""
    async with run(Answer(good("a")), topology=topology) as (engine, _):
        async with engine.stream(request()) as stream:
            await collect(stream)
        assert await collect(stream) == []
        assert (await stream.result()).text == "a"


async def test_two_tasks_on_one_stream(topology: Topology) -> None:
    """The second one is told to subscribe; the first one gets everything, from one request."""
    answers = anyio.Event()
    async with run(Answer(good("a"), answers=answers), topology=topology) as (engine, upstream), engine.stream(request()) as stream:
        first, second = Reader(stream), Reader(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(first)
            await settle()
            group.start_soon(second)
            await second.done.wait()
            answers.set()
    assert (first.text, type(second.error), len(upstream.requests)) == ("a", ConfigurationError, 1)
    assert "two tasks read the same iterator" in str(second.error)


async def test_an_exception_in_the_block_of_a_stream(topology: Topology) -> None:
    """It arrives as itself, and everything is closed."""
    answer = Answer(delta("a"), open=True)
    with pytest.raises(ZeroDivisionError):  # noqa: PT012  # what is raised comes out of the block
        async with run(answer, topology=topology) as (engine, _), engine.stream(request()) as stream:
            async for _ in stream:
                raise ZeroDivisionError
    assert len(answer.closed) == 1


async def test_an_exception_in_the_block_of_an_engine(topology: Topology) -> None:
    """It arrives as itself, also with streams open that somebody else reads."""
    answer = Answer(delta("a"), open=True)
    upstream = Upstream(answer)
    readers: list[Reader] = []
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            with pytest.raises(ZeroDivisionError):  # noqa: PT012  # what is raised comes out of the block
                async with headwater.Engine(transport=upstream, topology=topology) as engine:
                    stream = await engine.stream(request()).__aenter__()
                    readers.append(Reader(stream))
                    group.start_soon(readers[0])
                    await settle()
                    raise ZeroDivisionError
    assert (failure(readers[0].events).kind, readers[0].text, len(answer.closed)) == ("aborted", "a", 1)


async def test_an_engine_exits_with_streams_open(topology: Topology) -> None:
    """Their readers get StreamFailed of kind aborted, whatever they wait for; later pulls too; every response is closed once."""
    answers = [Answer(delta("a"), open=True), Answer(answers=anyio.Event()), Answer(connects=anyio.Event())]
    upstream = Upstream(*answers)
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group, headwater.Engine(transport=upstream, topology=topology) as engine:
            streams = [await engine.stream(request()).__aenter__() for _ in range(4)]
            readers = [Reader(stream) for stream in streams[:3]]
            for reader in readers:
                group.start_soon(reader)
                await settle()
            await settle()
        for reader in readers:
            assert failure(reader.events).kind == "aborted"
        assert failure(await collect(streams[3])).kind == "aborted"
    assert (len(upstream.requests), upstream.left_open, upstream.connecting) == (3, [], 0)
    assert [stream.response.error.kind for stream in streams] == ["aborted"] * 4  # type: ignore[union-attr]


async def test_no_stream_opens_while_an_engine_closes() -> None:
    """Not from another task either."""
    closes = anyio.Event()
    answer = Answer(delta("a"), open=True, closes=closes)
    upstream = Upstream(answer, Answer(good("late")))
    caught: list[Exception] = []

    async def late(engine: headwater.Engine) -> None:
        while not answer.closed:
            await anyio.lowlevel.checkpoint()
        try:
            await engine.generate(request())
        except ConfigurationError as error:
            caught.append(error)
        closes.set()

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group, headwater.Engine(transport=upstream) as engine:
            stream = await engine.stream(request()).__aenter__()
            await anext(stream)
            group.start_soon(late, engine)
    assert (len(caught), len(upstream.requests)) == (1, 1)


async def test_a_given_transport_stays_its_owners() -> None:
    """The engine closes what it opened itself, and not a transport that was passed in."""
    async with run(Answer(good("a"))) as (engine, upstream):
        await engine.generate(request())
    assert not upstream.closed


async def test_nothing_is_left_of_a_request_that_was_refused_here() -> None:
    """After a typed error the engine works as before."""
    async with run(Answer(good("a"))) as (engine, _):
        with pytest.raises(ConfigurationError):
            engine.stream(asking("nobody/x"))
        assert (await engine.generate(request())).text == "a"


async def test_a_token_provider_that_fails(topology: Topology) -> None:
    """That happens once the stream runs: its terminal tells, and a conversion to an exception gives ConfigurationError."""

    def token() -> str:
        raise OSError(f"cannot read {KEY}")

    async with run(topology=topology, retry=headwater.Retry(base=0)) as (engine, upstream):
        response = await engine.generate(asking(model(api_key=token)), raise_on_error=False)
        with pytest.raises(ConfigurationError, match="the token provider given as api_key failed: OSError"):
            await engine.generate(asking(model(api_key=token)))
    assert (response.error.kind, response.attempts, upstream.requests) == ("configuration", 1, [])  # type: ignore[union-attr]


async def test_the_default_engine_needs_nothing() -> None:
    """Entering and leaving it opens nothing."""
    async with headwater.Engine() as engine:
        assert engine.stream(asking(model())) is not None
    assert Finish is headwater.Finish
