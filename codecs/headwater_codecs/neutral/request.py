"""What is asked: `Request`, its messages and their parts, tools, the model, and the deadlines.

Everything here is frozen. A request is never mutated; builders read it and write wire bodies of their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Raw, Struct, field
from msgspec.structs import force_setattr

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.events import CallKind

Role = Literal["system", "developer", "user", "assistant", "tool"]
Json: TypeAlias = "dict[str, object]"
KeyProvider: TypeAlias = "Callable[[], str | Awaitable[str]]"


class Secret:
    """A key or token. It shows itself to `reveal()` only: not in a repr, a log, an error, and msgspec refuses to encode it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself; call it where the header is made, nowhere else."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class Model(Struct, frozen=True, omit_defaults=True):
    """Which model, and how to reach it. What is None is looked up in the registries.

    `api_key` takes a string, a `Secret`, or a callable (also an async one) that gives a token. `base_url` is everything before the
    protocol's own path (`.../v1`). `dialect` overrides single flags of the vendor's dialect, by name. `modalities` is what the model reads
    (`text`, `image`, ...); None: not known, so nothing is kept from it.
    """

    id: str
    provider: str | None = None
    protocol: str | None = None
    base_url: str | None = None
    api_key: Secret | str | KeyProvider | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    dialect: Mapping[str, object] = field(default_factory=dict)
    modalities: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.api_key, str):
            force_setattr(self, "api_key", Secret(self.api_key))

    def __repr__(self) -> str:
        # Neither the key nor the headers: a header may carry one.
        where = "".join(f", {name}={value!r}" for name in ("provider", "protocol", "base_url") if (value := getattr(self, name)))
        return f"Model({self.id!r}{where})"


class Timeouts(Struct, frozen=True, omit_defaults=True):
    """Deadlines in seconds; None switches one off.

    connect: name resolution, TCP and TLS, per attempt. first_content: from the request being sent to the first content, per attempt.
    idle: the longest wait between two signs of progress (pings, comments and empty deltas are none; your own time between two pulls
    is not charged). total: everything from the call on, every retry and your own time included.
    """

    connect: float | None = 10.0
    first_content: float | None = 600.0
    idle: float | None = 300.0
    total: float | None = None

    def __post_init__(self) -> None:
        for name in ("connect", "first_content", "idle", "total"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"Timeouts.{name} is {value!r}: give seconds above zero, or None for no limit")


class TextPart(Struct, frozen=True, tag="text", omit_defaults=True):
    """Text. `signature` and `meta` are what the provider sent with it, byte-exact."""

    text: str
    signature: str | None = None
    meta: Raw | None = None


class ImagePart(Struct, frozen=True, tag="image", omit_defaults=True):
    """An image: an address (`url`), or `data` in base64 with its `media_type`."""

    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    detail: str | None = None


class FilePart(Struct, frozen=True, tag="file", omit_defaults=True):
    """A file or a recording: an address, base64 data with its media type, or the provider's file id."""

    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    file_id: str | None = None
    filename: str | None = None


class ReasoningPart(Struct, frozen=True, tag="reasoning", omit_defaults=True):
    """Reasoning of an earlier turn; all but the text is opaque and byte-exact."""

    text: str = ""
    signature: str | None = None
    redacted: bool = False
    data: str | None = None
    meta: Raw | None = None


class ToolCallPart(Struct, frozen=True, tag="tool_call", omit_defaults=True):
    """A call that the model made. `arguments` is JSON text (free text for a custom tool)."""

    id: str
    name: str
    arguments: str = "{}"
    kind: CallKind = "function"
    complete: bool = True
    signature: str | None = None
    meta: Raw | None = None


class ToolResultPart(Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """What a tool answered: text or parts, and whether it failed."""

    id: str
    content: str | tuple[TextPart | ImagePart | FilePart, ...] = ""
    name: str | None = None
    is_error: bool = False


class OpaquePart(Struct, frozen=True, tag="opaque", omit_defaults=True):
    """An item of one provider, replayed byte-exact to the same provider only."""

    kind: str
    raw: bytes


Part: TypeAlias = TextPart | ImagePart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart | OpaquePart


class Origin(Struct, frozen=True, omit_defaults=True):
    """Who produced a message. Signatures and reasoning go back to the same origin only.

    `answered` is the name under which the model answered, where it is another one than was asked for: `gemini-flash-latest` is whoever is newest.
    """

    provider: str | None = None
    protocol: str | None = None
    model: str | None = None
    answered: str | None = None


class Message(Struct, frozen=True, omit_defaults=True):
    """One turn. Plain text content may be given as a string. `failed`: it broke off or ended in an error, and is not sent again unless asked."""

    role: Role
    content: str | tuple[Part, ...] = ""
    name: str | None = None
    origin: Origin | None = None
    failed: bool = False

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; a string is one text part, an empty one none."""
        if isinstance(self.content, str):
            return (TextPart(self.content),) if self.content else ()
        return self.content


class Tool(Struct, frozen=True, omit_defaults=True):
    """A function that the model may call; `parameters` is its JSON schema. A custom tool takes free text instead."""

    name: str
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None
    kind: CallKind = "function"


class JsonSchema(Struct, frozen=True, omit_defaults=True):
    """Structured output: the answer is JSON that this schema describes."""

    schema: Json
    name: str = "answer"
    description: str | None = None
    strict: bool | None = True


Effort = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]


class Reasoning(Struct, frozen=True, omit_defaults=True):
    """How much the model should think. Nothing is sent for what is None."""

    effort: Effort | None = None
    budget_tokens: int | None = None
    summary: str | None = None


class Request(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One call. None means "not sent"; zero and False are sent.

    `tool_choice` is `auto`, `none`, `required` or a tool's name. `response_format` is `"text"`, `"json"` or a `JsonSchema`. `extra_body`
    is merged over the body that the adapter builds (deeply, key by key), `extra_headers` over its headers. `raw` adds `RawFrame` events.
    Every adapter lists for each field whether it sends it, rejects it by name or ignores it, and why.
    """

    model: Model | str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    n: int | None = None
    stop: str | Sequence[str] | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    logit_bias: Mapping[str, float] | None = None
    response_format: Literal["text", "json"] | JsonSchema | None = None
    reasoning: Effort | Reasoning | None = None
    service_tier: str | None = None
    verbosity: str | None = None
    user: str | None = None
    store: bool | None = None
    metadata: Mapping[str, str] | None = None
    cache_key: str | None = None
    extra_body: Mapping[str, object] = field(default_factory=dict)
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    timeouts: Timeouts | None = None


def system(text: str) -> Message:
    """A system message."""
    return Message("system", text)


def user(*content: str | Part) -> Message:
    """A user message from text and parts."""
    return Message("user", _content(content))


def assistant(*content: str | Part) -> Message:
    """An assistant message from text and parts."""
    return Message("assistant", _content(content))


def tool_result(
    id: str, content: str | Sequence[TextPart | ImagePart | FilePart] = "", *, name: str | None = None, is_error: bool = False
) -> Message:
    """The answer to the tool call `id`, as a message of its own."""
    return Message("tool", (ToolResultPart(id, content if isinstance(content, str) else tuple(content), name, is_error),))


def _content(content: tuple[str | Part, ...]) -> str | tuple[Part, ...]:
    if len(content) == 1 and isinstance(content[0], str):
        return content[0]
    return tuple(TextPart(piece) if isinstance(piece, str) else piece for piece in content)
