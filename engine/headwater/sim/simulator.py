"""`Simulator`: a scripted provider on loopback, with real bytes on real sockets, and every way to fail."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio
import msgspec
from anyio.abc import ByteStream, SocketAttribute, SocketStream

from headwater.sim.answer import CREATED, Answer, HungUp, Leave
from headwater.sim.http import Connection, HttpRequest
from headwater.sim.limits import Limits, Stats
from headwater.sim.runs import Threads
from headwater.sim.script import Script, read_script
from headwater.sim.speech import BY_PROTOCOL, Asked, Json, place_run, understand
from headwater.sim.strict import objection
from headwater_codecs.neutral import ConfigurationError, ErrorInfo, Model, error_info

if TYPE_CHECKING:
    import ssl

HOST = "127.0.0.1"
KEY = "sim-key"
CHARACTERS = 4  # of a request in one token, about
STATUS = {"rate_limit": 429, "invalid_request": 400, "not_found": 404}


class Simulator:
    """Serves while its block runs: `async with Simulator() as sim`, then `sim.model("openai-chat", "sim/tokens?n=5")`.

    `with Simulator() as sim` serves from a thread with an event loop of its own, for code that is not asynchronous.
    scripts: answers by the model's name, beside those that a name itself can say. strict: refuse what vendors refuse. max_concurrent, rpm, tpm:
    more is answered with 429 and the protocol's own headers. ssl_context: serve TLS. It listens on loopback only; `port` 0 takes a free one.
    """

    def __init__(
        self,
        *,
        scripts: Mapping[str, Script] | None = None,
        strict: bool = False,
        max_concurrent: int | None = None,
        rpm: int | None = None,
        tpm: int | None = None,
        port: int = 0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._scripts = dict(scripts or {})
        self._strict = strict
        self._limits = Limits(max_concurrent, rpm, tpm, time.monotonic)
        self._port = port
        self._context = ssl_context
        self._happened: dict[str, int] = {}  # how often a fault with `times` has happened, by the model's name
        self._threads = Threads(CREATED)
        self._numbers = itertools.count(1)
        self._stack = AsyncExitStack()
        self._thread = ExitStack()
        self.address = ""
        self.refusing = ""  # where connections are refused

    @property
    def stats(self) -> Stats:
        """What happened so far."""
        return self._limits.stats

    def base_url(self, protocol: str) -> str:
        """The base URL for clients of this protocol. Raises ConfigurationError for one that the simulator does not speak."""
        if protocol not in BY_PROTOCOL:
            raise ConfigurationError(f"the simulator does not speak {protocol!r}: use one of {', '.join(BY_PROTOCOL)}")
        return BY_PROTOCOL[protocol].base_url(self.address)

    def model(self, protocol: str, name: str = "sim/tokens", **dialect: object) -> Model:
        """A model that is answered by this script, ready to use. Raises ConfigurationError for a script that cannot be read."""
        url = self.base_url(protocol)
        speech = BY_PROTOCOL[protocol]
        if self._script(name, speech.prefix).kind == "refuse":
            url = speech.base_url(self.refusing)
        if not name.startswith(speech.prefix):
            name = speech.prefix + name
        return Model(name, provider="sim", protocol=protocol, base_url=url, api_key=KEY, dialect={**speech.dialect(name), **dialect})

    async def __aenter__(self) -> Self:
        scheme = "http" if self._context is None else "https"
        async with AsyncExitStack() as stack:
            closed = stack.enter_context(socket.socket())
            closed.bind((HOST, 0))  # nobody listens there, and nobody else gets the port
            self.refusing = f"{scheme}://{HOST}:{closed.getsockname()[1]}"
            listener = await stack.enter_async_context(await anyio.create_tcp_listener(local_host=HOST, local_port=self._port, backlog=4096))
            self.address = f"{scheme}://{HOST}:{listener.extra(SocketAttribute.local_port)}"
            group = await stack.enter_async_context(anyio.create_task_group())
            group.start_soon(listener.serve, self._client)
            stack.callback(group.cancel_scope.cancel)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self._stack.aclose()

    def __enter__(self) -> Self:
        from anyio.from_thread import start_blocking_portal

        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self))
            self._thread = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._thread.close()

    async def _client(self, raw: SocketStream) -> None:
        try:
            stream: ByteStream = raw
            if self._context is not None:
                from anyio.streams.tls import TLSStream

                stream = await TLSStream.wrap(raw, server_side=True, ssl_context=self._context, standard_compatible=False)
            connection = Connection(stream)
            while (request := await connection.request()) is not None:
                await self._request(connection, request)
                if not request.keep_alive:
                    return
        except (Leave, HungUp, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
            return  # the script, or the client, has ended the connection
        finally:
            await anyio.aclose_forcefully(raw)

    async def _request(self, connection: Connection, request: HttpRequest) -> None:
        if request.path == "/_sim/stats":
            await connection.answer(200, msgspec.json.encode(self.stats), {"content-type": "application/json"})
            return
        try:
            body = msgspec.json.decode(request.body or b"{}", type=Json)
        except msgspec.DecodeError:
            await connection.answer(400, b'{"error":{"message":"the body is no JSON object"}}', {"content-type": "application/json"})
            return
        if (reply := self._threads.reply(request.method, request.path, body)) is not None:
            await connection.answer(*reply, {"content-type": "application/json"})
            return
        asked = understand(request.path, request.query, body)
        if asked is None:
            await connection.answer(404, b'{"error":{"message":"the simulator has nothing at this address"}}', {"content-type": "application/json"})
            return
        if request.method != "POST":
            await connection.answer(405, asked.speech.error(error_info("invalid_request", "use POST")), {"content-type": "application/json"})
            return
        wait = self._limits.enter(len(request.body) // CHARACTERS)
        if wait is not None:
            await self._refuse(connection, asked, error_info("rate_limit", "too many requests"), wait)
            return
        completed = False
        try:
            await self._answer(connection, asked)
            completed = True
        except Leave:
            completed = True
            raise
        finally:
            self._limits.leave(completed)

    async def _answer(self, connection: Connection, asked: Asked) -> None:
        if self._strict and (objected := self._objection(asked)) is not None:
            await self._refuse(connection, asked, objected)
            return
        place_run(asked, self._threads)
        try:
            script = self._script(asked.model, asked.speech.prefix)
        except ConfigurationError as error:
            await self._refuse(connection, asked, error_info("not_found", str(error)))
            return
        if script.times is not None and script.kind is not None:
            happened = self._happened.get(asked.model, 0)
            self._happened[asked.model] = happened + 1
            if happened >= script.times:
                script = msgspec.structs.replace(script, kind=None)
        if asked.run is not None:  # the calls are answered
            script = msgspec.structs.replace(script, call=None)
        await Answer(connection, asked, script, f"sim{next(self._numbers)}", self._headers(asked)).run()

    def _objection(self, asked: Asked) -> ErrorInfo | None:
        if (words := objection(asked)) is not None:
            return error_info("invalid_request", words)
        if asked.speech.protocol == "openai-assistants":
            return self._threads.objection(asked.thread, asked.run, asked.body)
        return None

    def _script(self, name: str, prefix: str) -> Script:
        """The script of a model's name, with the protocol's own prefix or without it."""
        name = name.removeprefix(prefix)
        return self._scripts.get(name) or self._scripts.get(prefix + name) or read_script(name)

    def _headers(self, asked: Asked) -> Mapping[str, str]:
        headers: dict[str, str] = {}
        for what, (limit, left, reset) in self._limits.per_minute.items():
            headers |= asked.speech.limits(what, limit, left, reset)
        return headers

    async def _refuse(self, connection: Connection, asked: Asked, error: ErrorInfo, wait: float | None = None) -> None:
        body, headers = asked.speech.error(error), {**asked.speech.error_headers(error), **self._headers(asked)}
        if wait is not None:
            body, more = asked.speech.limited(body, wait)
            headers |= more
        await connection.answer(STATUS.get(error.kind, 500), body, headers)
