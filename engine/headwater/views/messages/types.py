"""The neutral types of or's `llm`: what is said (messages and their content), the tools, and what an answer cost. Rows OR-TYPE-01 to 11.

Everything is frozen, and sequences become tuples when given. Names in JSON are camel case, content is tagged by `type`, messages by `role`. What may
stand where is one table, `ALLOWED`: the annotations say it to a type checker, construction and decoding hold it. Fields that or's types do not have
are `complete`, `rawStopReason`, `paused` and `items`; in JSON they are left out unless they say something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import force_setattr

from headwater_codecs.neutral import ConfigurationError

StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]
STOP_REASONS: tuple[StopReason, ...] = ("stop", "length", "toolUse", "error", "aborted")
REDACTED = "[Reasoning redacted]"  # stands where the provider shows no text of its reasoning


class _Content(Struct, frozen=True, tag_field="type", rename="camel", omit_defaults=True):
    """Common settings: frozen, tagged with `type`."""


class TextContent(_Content, frozen=True, tag="text"):
    """Text. The signature is opaque: what the provider wants back with it."""

    text: str
    text_signature: str | None = None


class ThinkingContent(_Content, frozen=True, tag="thinking"):
    """The model's reasoning. A `redacted` one has no text of its own; the signature is opaque."""

    thinking: str
    thinking_signature: str | None = None
    redacted: bool = False


class ImageContent(_Content, frozen=True, tag="image"):
    """An image: base64 `data` and its media type."""

    data: str
    mime_type: str


def _no_arguments() -> dict[str, object]:
    return {}  # not `dict` itself: the field is written also where it is empty


class ToolCall(_Content, frozen=True, tag="toolCall"):
    """A call that the model made. It may be run only with `complete=True`, and only out of a message that did not fail: see `tool_calls`."""

    id: str
    name: str
    arguments: dict[str, object] = field(default_factory=_no_arguments)
    thought_signature: str | None = None
    complete: bool = True

    def __post_init__(self) -> None:
        if self.arguments is None:
            force_setattr(self, "arguments", {})


Shown: TypeAlias = TextContent | ImageContent
Said: TypeAlias = TextContent | ThinkingContent | ToolCall
CONTENT: tuple[type[TextContent | ThinkingContent | ImageContent | ToolCall], ...] = (TextContent, ThinkingContent, ImageContent, ToolCall)
# The role -> the content that its messages may hold (OR-TYPE-04).
ALLOWED: dict[str, frozenset[str]] = {
    "user": frozenset({"text", "image"}),
    "assistant": frozenset({"text", "thinking", "toolCall"}),
    "toolResult": frozenset({"text", "image"}),
}


class _Message(Struct, frozen=True, tag_field="role", rename="camel", omit_defaults=True):
    """Common settings: frozen, tagged with `role`, the content checked."""

    def __post_init__(self) -> None:
        role = str(self.__struct_config__.tag)
        given: object = getattr(self, "content", None)
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise ConfigurationError(f"the content of a {role} message is a list, not {type(given).__name__}")
        content = tuple(given)
        for index, item in enumerate(content):
            name = item.__struct_config__.tag if isinstance(item, CONTENT) else type(item).__name__
            if name not in ALLOWED[role]:
                raise ConfigurationError(f"content[{index}]: content type {name!r} is not allowed in a {role} message: use {_listed(role)}")
        force_setattr(self, "content", content)


class UserMessage(_Message, frozen=True, tag="user"):
    """What the user says and shows. `timestamp` in milliseconds since 1970."""

    content: tuple[Shown, ...]
    timestamp: int | None = None


class ToolResultMessage(_Message, frozen=True, tag="toolResult"):
    """What a tool answered to the call `tool_call_id`, and whether it failed."""

    tool_call_id: str
    tool_name: str
    content: tuple[Shown, ...]
    is_error: bool = False
    timestamp: int | None = None


class Cost(Struct, frozen=True, rename="camel"):
    """What an answer cost, in US dollars."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    total: float


class Usage(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Tokens of an answer. None is "not reported" and is not zero (AMB-74).

    `input` is without what a cache gave or took; `input_unknown` says that the provider's numbers do not tell it. `output` has reasoning in it
    (AMB-30).
    """

    input: int | None = None
    input_unknown: bool = False
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    total_tokens: int | None = None
    cost: Cost | None = None


class Diagnostic(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Something odd in an answer that did not stop it. There is one type, `tool_arguments_recovered`, with `toolCallId`, `toolName` and `mode`."""

    type: str
    timestamp: int
    message: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)


class ProviderItem(Struct, frozen=True, rename="camel"):
    """An item of the provider that has no content type here (a search, a code run), kept byte for byte for replay (AMB-31).

    It stood before the content at `position`.
    """

    position: int
    kind: str
    raw: bytes


class AssistantMessage(_Message, frozen=True, tag="assistant"):
    """What a model answered: the blocks in arrival order, who answered, what it cost, why it ended.

    `stop_reason` is None while the answer streams, so that a part never passes for the whole. `raw_stop_reason` is the provider's own word.
    `protocol` has or's names (`openai-completions`). `response_model` is set where it is another one than was asked for.
    `timestamp` in milliseconds since 1970.
    """

    content: tuple[Said, ...]
    protocol: str = ""
    provider: str = ""
    model: str = ""
    provider_request_id: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    usage: Usage | None = None
    stop_reason: StopReason | None = None
    raw_stop_reason: str | None = None
    paused: bool = False
    error_message: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    items: tuple[ProviderItem, ...] = ()
    timestamp: int = 0

    @property
    def failed(self) -> bool:
        """Whether the answer failed, or has not ended."""
        return self.stop_reason in (None, "error", "aborted")

    def text(self) -> str:
        """The text blocks, one after the other, with nothing between them."""
        return "".join([block.text for block in self.content if isinstance(block, TextContent)])

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that may be run: none of an answer that failed or still streams (OR-EV-23), and none whose arguments are cut or guessed (ISS-34).

        The others are in `content`, with `complete=False`.
        """
        return () if self.failed else tuple([block for block in self.content if isinstance(block, ToolCall) and block.complete])


Message: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage


class ToolDefinition(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A function that the model may call; `parameters` is its JSON schema. `strict` is sent only where it is given."""

    name: str
    description: str = ""
    parameters: dict[str, object] | None = None
    strict: bool | None = None


class Context(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a model is given: a conversation, and what stands around it."""

    messages: Sequence[Message] = ()
    system_prompt: str | None = None
    tools: Sequence[ToolDefinition] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "messages", tuple(self.messages))
        force_setattr(self, "tools", tuple(self.tools))
        for index, message in enumerate(self.messages):
            if not isinstance(message, UserMessage | AssistantMessage | ToolResultMessage):
                raise ConfigurationError(
                    f"messages[{index}]: {type(message).__name__} is no message: use user(), an AssistantMessage or tool_result()"
                )

    def with_messages(self, *messages: Message) -> Context:
        """The conversation with these messages behind it."""
        return Context((*self.messages, *messages), self.system_prompt, self.tools)


def user(*content: str | Shown) -> UserMessage:
    """A user message from text and images."""
    return UserMessage(_shown(content))


def assistant(text: str) -> AssistantMessage:
    """What a model might have answered: a text, made up by nobody in particular."""
    return AssistantMessage((TextContent(text),), stop_reason="stop")


def tool_result(call: ToolCall, *content: str | Shown, is_error: bool = False) -> ToolResultMessage:
    """The answer to a call."""
    return ToolResultMessage(tool_call_id=call.id, tool_name=call.name, content=_shown(content), is_error=is_error)


def prompt(text: str, *, system: str | None = None, tools: Sequence[ToolDefinition] = ()) -> Context:
    """A conversation that begins with this text."""
    return Context((user(text),), system, tools)


def _shown(content: Sequence[str | Shown]) -> tuple[Shown, ...]:
    return tuple([TextContent(item) if isinstance(item, str) else item for item in content])


def _listed(role: str) -> str:
    return ", ".join(sorted(ALLOWED[role]))
