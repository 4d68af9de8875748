"""What a stream needs to know before it starts: the target, the adapter, how a request is built. Made by `Engine.stream`, checked at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from headwater.credentials import reveal
from headwater.launch import launch
from headwater.transport import Transport
from headwater_codecs.neutral import Request
from headwater_providers.adapter import Adapter, HttpRequest, Target, Translator

OnRequest = Callable[[str, str, bytes], object]
OnResponse = Callable[[int, Mapping[str, str]], object]


class Plan:
    """One request, resolved. Building it once here raises ConfigurationError before anything is sent."""

    def __init__(
        self,
        request: Request,
        target: Target,
        adapter: Adapter,
        transport: Transport,
        *,
        raw: bool,
        max_frame: int,
        on_request: OnRequest | None = None,
        on_response: OnResponse | None = None,
    ) -> None:
        self.adapter = adapter
        self.transport = transport
        self.target = target
        self.max_frame = max_frame
        self.on_response = on_response
        self._request = request
        self._raw = raw
        self._on_request = on_request
        self._built: HttpRequest | None = None
        key = target.api_key
        built = adapter.build(request, target, None if callable(key) else key)
        if not callable(key) and target.launcher is None:  # else it was built for the check alone
            self._built = built

    def translator(self) -> Translator:
        """A fresh translator for one attempt."""
        return self.adapter.translator(self.target.dialect, provider=self.target.provider, choices=self._request.n or 1, raw=self._raw)

    async def request(self) -> HttpRequest:
        """The HTTP request of the next attempt: the first one is the one that was checked, later ones are built anew."""
        built, self._built = self._built, None
        if self.target.launcher is not None:
            self.target = replace(self.target, base_url=await launch(self.target.launcher, self.target.model), launcher=None)
        if built is None:
            built = self.adapter.build(self._request, self.target, await reveal(self.target.api_key))
        if self._on_request is not None:
            self._on_request(built.method, built.url, built.body)
        return built
