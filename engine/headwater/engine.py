"""`Engine`: what all streams share, the transport, the registries, the watchdog and the task group of the actors."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVarTuple

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from headwater.budget import RetryBudget
from headwater.call import Reply, called_model, read_reply
from headwater.deadlines import LOOK, Deadlines
from headwater.delivery import Delivery
from headwater.drain import Drained, Draining
from headwater.groups import open_task_group
from headwater.plan import OnRequest, OnResponse, Plan, RewriteRequest
from headwater.retry import Retry
from headwater.stream import CLOSE_TIME, AnyStage, Delivering, Stream, Topology, Watched, WhenUnwatched
from headwater.telemetry import Logger, StreamLog, find_logger
from headwater.transport import Transport, choose_transport
from headwater_codecs.neutral import ConfigurationError, Model, Request, Response, StreamAborted, Timeouts
from headwater_codecs.sse import MAX_FRAME
from headwater_providers.adapter import Adapter, Target
from headwater_providers.builtin import default_registries
from headwater_providers.history import History
from headwater_providers.resolve import Registries

if TYPE_CHECKING:
    import ssl

Args = TypeVarTuple("Args")
TOPOLOGIES: tuple[Topology, ...] = ("fused", "fan-out", "staged")


class Engine:
    """Opens streams. Use it with `async with`, once per service; it may be shared by any number of tasks of one event loop.

    transport: "auto" (sockets, unless a proxy applies to the address), "socket", "httpx", an httpx or httpx2 async client, or a `Transport`.
    timeouts, retry: the defaults of every stream. retry_budget: what bounds the retries of all of them together (`RetryBudget`). topology: how the
    stages run ("fused", "fan-out", "staged"). log: a structlog logger; without it the engine logs only if the application configured structlog.
    clock: seconds that only grow. registries: models, vendors and adapters, and where keys are looked up; the built-in ones unless given.
    max_frame, max_answer: bytes that one frame, and one whole answer, may have; beyond them the stream fails with kind `malformed`, and what came
    until then is kept. history: how earlier turns are handed on (`History`). on_request(method, url, body) and on_response(status, headers) are
    called for every attempt and must not raise; rewrite_request(method, url, body) may give another body for it (None keeps it), before it is signed.
    """

    def __init__(
        self,
        *,
        transport: object = "auto",
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
        retry_budget: RetryBudget | None = None,
        topology: Topology = "fused",
        log: Logger | None = None,
        clock: Callable[[], float] = time.monotonic,
        ssl_context: ssl.SSLContext | None = None,
        proxy: str | None = None,
        registries: Registries | None = None,
        on_request: OnRequest | None = None,
        on_response: OnResponse | None = None,
        rewrite_request: RewriteRequest | None = None,
        max_frame: int = MAX_FRAME,
        max_answer: int | None = None,
        history: History | None = None,
    ) -> None:
        _check_topology(topology)
        if max_frame < 1 or (max_answer is not None and max_answer < 1):
            raise ConfigurationError("max_frame and max_answer are bytes, at least one; max_answer=None is no limit")
        self.clock = clock
        self._transport: Transport = choose_transport(transport, ssl_context=ssl_context, proxy=proxy, clock=clock)
        self._owns_transport = self._transport is not transport
        self._timeouts = timeouts or Timeouts()
        self._retry = retry or Retry()
        self._budget = retry_budget or RetryBudget()
        self._topology: Topology = topology
        self._log = find_logger(log)
        self._registries = registries or default_registries()
        self._on_request = on_request
        self._on_response = on_response
        self._rewrite_request = rewrite_request
        self._max_frame = max_frame
        self._max_answer = max_answer
        self._history = history or History()
        self._group: TaskGroup | None = None
        self._closing = False
        self._draining: Draining | None = None
        self._streams: set[Stream] = set()
        self._first_stream = anyio.Event()

    async def __aenter__(self) -> Self:
        if self._group is not None:
            raise ConfigurationError("this engine is already running")
        self._group = await anyio.create_task_group().__aenter__()
        self._first_stream = anyio.Event()
        self._closing = False
        self._draining = None
        self._group.start_soon(self._watch, name="headwater.watchdog")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        group = self.group
        self._closing = True
        await self._close_streams()
        group.cancel_scope.cancel()
        try:
            # Not given the body's exception: it must leave as itself, not wrapped in a group.
            await group.__aexit__(None, None, None)
        finally:
            self._group = None
            if self._owns_transport:
                with anyio.move_on_after(CLOSE_TIME, shield=True):
                    await self._transport.aclose()

    def stream(
        self,
        request: Request,
        *,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
        fallbacks: Sequence[Model | str] = (),
        hedge: float | None = None,
        topology: Topology | None = None,
        stages: Sequence[AnyStage] = (),
        raw: bool = False,
        replay: int = 0,
        when_unwatched: WhenUnwatched = "continue",
    ) -> Stream:
        """The stream of one request; nothing is sent before it is entered and read.

        Raises ConfigurationError for what is wrong without the network: key, model, field, option. From connecting on, the terminal event
        tells. `fallbacks` are models to ask, one after the other, where the one before failed for good before its first content; they are checked
        here too. `hedge`: after so many seconds without content the request is sent a second time, and the first content wins; both are paid for.
        `stages` are one's own steps between translator and aggregator; `raw` adds RawFrame events; `replay` keeps that many bytes of
        events for late listeners; `when_unwatched` says what happens when the last listener leaves: "continue", "cancel", or seconds of grace.
        """
        self._check_open()
        topology = topology or self._topology
        _check_topology(topology)
        _check_stages(stages)
        if replay < 0:
            raise ConfigurationError(f"replay is {replay}: give the bytes of events to keep, or 0 for none")
        if when_unwatched not in ("continue", "cancel") and (isinstance(when_unwatched, str) or not when_unwatched >= 0):
            raise ConfigurationError(f"when_unwatched is {when_unwatched!r}: use 'continue', 'cancel', or the seconds to wait for another listener")
        if hedge is not None and not hedge >= 0:
            raise ConfigurationError(f"hedge is {hedge!r}: give the seconds to wait before the second request, zero or more")
        target = self._registries.resolve(request.model)
        return self._open(
            request,
            target,
            self._registries.adapter(target.protocol),
            timeouts=timeouts or request.timeouts,
            retry=retry,
            fallbacks=fallbacks,
            hedge=hedge,
            topology=topology,
            stages=stages,
            raw=raw,
            replay=replay,
            when_unwatched=when_unwatched,
        )

    def _open(
        self,
        request: Request,
        target: Target,
        adapter: Adapter,
        *,
        timeouts: Timeouts | None,
        retry: Retry | None,
        fallbacks: Sequence[Model | str] = (),
        hedge: float | None = None,
        topology: Topology = "fused",
        stages: Sequence[AnyStage] = (),
        raw: bool = False,
        replay: int = 0,
        when_unwatched: WhenUnwatched = "continue",
        what: str = "stream",
    ) -> Stream:
        plan = self._plan(request, target, adapter, raw)
        others = [self._fallback(request, model, raw) for model in fallbacks] if fallbacks else ()
        started = self.clock()
        response = Response()
        response.provider, response.protocol, response.requested_model = target.provider, target.protocol, target.model
        deadlines = Deadlines(timeouts or self._timeouts, started)
        log = StreamLog(self._log, target.provider, target.model, what)
        staged = self.group if topology == "staged" else None
        delivery = Delivery(
            plan, response, deadlines, retry or self._retry, self.clock, started, log, budget=self._budget, fallbacks=others, group=staged
        )
        source: Delivering = delivery
        watched: Watched = deadlines
        if hedge is not None:
            from headwater.hedge import Race  # only who hedges pays for it

            source = watched = Race(self, delivery, deadlines, response, log, self._budget, hedge)
        return Stream(self, source, response, watched, log, topology=topology, stages=stages, replay=replay, when_unwatched=when_unwatched)

    def _plan(self, request: Request, target: Target, adapter: Adapter, raw: bool) -> Plan:
        return Plan(
            request,
            target,
            adapter,
            self._transport,
            raw=raw,
            max_frame=self._max_frame,
            max_answer=self._max_answer,
            history=self._history,
            on_request=self._on_request,
            on_response=self._on_response,
            rewrite_request=self._rewrite_request,
        )

    def _fallback(self, request: Request, model: Model | str, raw: bool) -> Plan:
        asked = replace(request, model=model)
        target = self._registries.resolve(asked.model)
        return self._plan(asked, target, self._registries.adapter(target.protocol), raw)

    async def generate(
        self,
        request: Request,
        *,
        raise_on_error: bool = True,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
        fallbacks: Sequence[Model | str] = (),
        hedge: float | None = None,
        topology: Topology | None = None,
        stages: Sequence[AnyStage] = (),
    ) -> Response:
        """The whole answer. Raises the typed error of a failed stream and of a finish reason `error`, with `.response` attached.

        With `raise_on_error=False` the response is handed over whatever happened: see its `error` and `raise_for_error()`.
        """
        async with self.stream(request, timeouts=timeouts, retry=retry, fallbacks=fallbacks, hedge=hedge, topology=topology, stages=stages) as stream:
            while await stream.next_batch() is not None:
                pass
        if raise_on_error:
            stream.raise_for_error()
        return stream.response

    async def call(
        self,
        method: str,
        path: str,
        json: object = None,
        *,
        model: Model | str | None = None,
        provider: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
    ) -> Reply:
        """One plain JSON call to a provider: what has no stream, as creating a thread, retrieving a run, listing models, counting tokens.

        `path` stands behind the base URL, as the vendor's documentation writes it, with its query; `{model}` in it is the model's name. The model,
        or a provider's name alone, says where the call goes; key, headers, deadlines and retries are those of a stream. `first_content` covers
        the whole answer, which is read to its end. Raises what `generate` raises, and MalformedError for an answer that is no JSON.
        """
        from headwater_providers.plain_call import PlainCall  # only who calls pays for it

        self._check_open()
        asked = called_model(model, provider)
        target = self._registries.resolve(asked)
        adapter = PlainCall(self._registries.adapter(target.protocol), method, path, json, headers)
        return await read_reply(self._open(Request(model=asked, messages=[]), target, adapter, timeouts=timeouts, retry=retry, what="call"))

    @property
    def group(self) -> TaskGroup:
        """The task group of this engine's actors. Raises ConfigurationError when the engine is not running."""
        if self._group is None or self._closing:
            raise ConfigurationError("the engine is not running: use it inside `async with Engine() as engine`")
        return self._group

    def start_soon(self, function: Callable[[*Args], Coroutine[object, object, object]], *args: *Args, name: str | None = None) -> None:
        """Run a coroutine function in the engine's task group, also while it closes. It must not raise."""
        assert self._group is not None
        self._group.start_soon(function, *args, name=name)

    def opened(self, stream: Stream) -> None:
        """A stream was entered: the watchdog looks at it from now on. Raises what `stream` raises when the engine is not running, or drains."""
        self._check_open()
        self._streams.add(stream)
        self._first_stream.set()

    def closed(self, stream: Stream) -> None:
        """A stream was left."""
        self._streams.discard(stream)
        if self._draining is not None:
            self._draining.left(stream)

    async def drain(self, grace: float) -> Drained:
        """Go out of service: from now on no stream is opened; those that are open may go on for `grace` seconds, then they are closed.

        Returns when none is open, with how many ended by themselves and how many were closed; the readers of those see StreamFailed of kind
        `aborted`. Opening a stream raises StreamAborted from now on, also where the drain is cancelled. A second
        call joins the first.
        """
        assert self.group is not None  # raises where the engine is not running
        draining = Draining(grace, self.clock(), list(self._streams))
        self._draining = self._draining or draining
        drained = await self._draining.wait()
        await self._close_streams()
        return drained

    async def _close_streams(self) -> None:
        with anyio.CancelScope(shield=True):  # each is done within `CLOSE_TIME`
            async with open_task_group() as closing:
                for stream in list(self._streams):
                    closing.start_soon(stream.aclose)

    def _check_open(self) -> None:
        assert self.group is not None  # raises where the engine is not running
        if self._draining is not None:
            raise StreamAborted("the engine drains: it opens no stream any more")

    async def _watch(self) -> None:
        """The watchdog: look, for ever, while a stream is open."""
        while True:
            if not self._streams:
                self._first_stream = anyio.Event()
                await self._first_stream.wait()
            await anyio.sleep(LOOK)
            self.look(self.clock())

    def look(self, now: float) -> None:
        """What the watchdog does at every look: end the waits that are too long. `now` is a time of the engine's clock."""
        if self._draining is not None:
            self._draining.look(now)
        for stream in list(self._streams):
            if stream.deadlines.fired is None and stream.deadlines.check(now) is not None:
                stream.expire()
            if stream.unwatched_until is not None and now >= stream.unwatched_until:
                stream.stop()


def _check_stages(stages: Sequence[object]) -> None:
    for number, stage in enumerate(stages):
        if isinstance(stage, type) or not (callable(getattr(stage, "feed", None)) and callable(getattr(stage, "finish", None))):
            raise ConfigurationError(f"stage {number} is {stage!r}: give an object with feed(batch) and finish()")


def _check_topology(topology: str) -> None:
    if topology not in TOPOLOGIES:
        raise ConfigurationError(f"unknown topology {topology!r}: use one of {', '.join(TOPOLOGIES)}")
