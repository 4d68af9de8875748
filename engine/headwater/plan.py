"""What a stream needs to know before it starts: the target, the adapter, how a request is built. Made by `Engine.stream`, checked at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from headwater.credentials import automatic, reveal
from headwater.launch import launch
from headwater.transport import Transport
from headwater_codecs.neutral import ErrorInfo, HeadwaterError, Request, Secret
from headwater_providers.adapter import Adapter, HttpRequest, Signer, Target, Translator
from headwater_providers.history import History, hand_off

OnRequest = Callable[[str, str, bytes], object]
RewriteRequest = Callable[[str, str, bytes], bytes | None]
OnResponse = Callable[[int, Mapping[str, str]], object]
SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "x-amz-security-token", "cookie"})
SHORTEST_SECRET = 8  # characters: what is shorter is no key but a word, and would be cut out of honest messages


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
        max_answer: int | None,
        history: History,
        on_request: OnRequest | None = None,
        on_response: OnResponse | None = None,
        rewrite_request: RewriteRequest | None = None,
    ) -> None:
        if target.api_key is None and target.credential is not None:
            target = replace(target, api_key=automatic(target.credential))
        messages = hand_off(request.messages, target, history, request.extra_body)
        if messages is not request.messages:
            request = replace(request, messages=messages)
        self.adapter = adapter
        self.transport = transport
        self.target = target
        self.max_frame = max_frame
        self.max_answer = max_answer
        self._on_response = on_response
        self._headers: Sequence[tuple[str, str]] = ()
        self._request = request
        self._raw = raw
        self._on_request = on_request
        self._rewrite_request = rewrite_request
        self._built: HttpRequest | None = None
        key = target.api_key
        built = adapter.build(request, target, None if callable(key) else key)
        if not callable(key) and target.launcher is None:  # else it was built for the check alone
            self._built = built

    def twin(self) -> Plan:
        """The same request, to be built and sent once more beside this one."""
        other = copy.copy(self)
        other._built, other._headers = None, ()
        return other

    def translator(self) -> Translator:
        """A fresh translator for one attempt."""
        return self.adapter.translator(self.target.dialect, provider=self.target.provider, choices=self._request.n or 1, raw=self._raw)

    @property
    def waits(self) -> bool:
        """Whether the next request takes its time to be built: a token is fetched, a server started."""
        return self.target.launcher is not None or callable(self.target.api_key)

    async def request(self) -> HttpRequest:
        """The HTTP request of the next attempt: the first one is the one that was checked, later ones are built anew."""
        built, self._built = self._built, None
        if self.target.launcher is not None:
            self.target = replace(self.target, base_url=await launch(self.target.launcher, self.target.model), launcher=None)
        signer: Signer | None = None
        if built is None:
            key = await reveal(self.target.api_key)
            if key is not None and not isinstance(key, Secret):
                signer, key = key, None
            built = self.adapter.build(self._request, self.target, key)
        if self._on_request is not None:
            _call(self._on_request, "on_request", built.method, built.url, built.body)
        if self._rewrite_request is not None:
            built = self._rewritten(built, self._rewrite_request)
        if signer is not None:  # last: it signs what is sent
            built = signer.sign(built, datetime.now(UTC))
        self._headers = built.headers
        return built

    def _rewritten(self, built: HttpRequest, rewrite: RewriteRequest) -> HttpRequest:
        body = _call(rewrite, "rewrite_request", built.method, built.url, built.body)
        if body is None:
            return built
        if not isinstance(body, bytes):
            raise HeadwaterError(f"the hook rewrite_request gave a {type(body).__name__}: give bytes, or None to keep the body")
        return replace(built, body=body)

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """Tell the hook that an attempt was answered. Raises HeadwaterError when the hook fails."""
        if self._on_response is not None:
            _call(self._on_response, "on_response", status, dict(headers))

    def without_secrets(self, error: ErrorInfo) -> ErrorInfo:
        """The error without the key that was sent: some providers and gateways quote it."""
        message, code = error.message, error.code
        for secret in self._secrets():
            message = message.replace(secret, "***")
            code = code.replace(secret, "***") if code is not None else None
        return error if (message, code) == (error.message, error.code) else error.with_(message=message, code=code)

    def shown_cause(self, error: Exception) -> Exception | None:
        """The exception, to be chained; None where it, or what it was caused by, quotes the key: a library may quote a garbled answer."""
        following: BaseException | None = error
        while following is not None:
            text = str(following)
            if any(secret in text for secret in self._secrets()):
                return None
            following = following.__cause__ or following.__context__
        return error

    def _secrets(self) -> Iterator[str]:
        """What was sent and must not be shown, with and without its scheme."""
        for name, value in self._headers:
            if name in SECRET_HEADERS:
                yield from (secret for secret in (value, value.rpartition(" ")[2]) if len(secret) >= SHORTEST_SECRET)


def _call(hook: Callable[..., object], name: str, *args: object) -> object:
    try:
        return hook(*args)
    except Exception as error:
        raise HeadwaterError(f"the hook {name} raised {type(error).__name__}: {error}") from error
