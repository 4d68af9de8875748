"""Reading the messages of a request: what every builder needs to know of a conversation before it writes its own form of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from msgspec import DecodeError
from msgspec.json import decode
from msgspec.structs import replace

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import FilePart, ImagePart, Message, Part, TextPart, ToolCallPart, ToolResultPart
from headwater_codecs.tolerant_json import encode_json
from headwater_providers.adapter import Target
from headwater_providers.body import Json

ATTACHED = "Attached image(s) from tool result:"  # OR-CC-06
SEE_ATTACHED = "(see attached image)"
ROLES = ("system", "developer", "user", "assistant", "tool")


class TurnWriter(ABC):
    """Messages as turns of two sides: consecutive ones of one side become one, since the protocol wants them to alternate, and results of parallel
    calls together. Cut calls are left out, and so are their results.
    """

    model_role: ClassVar[str]
    content_key: ClassVar[str]

    def __init__(self, target: Target) -> None:
        self._target = target
        self._out: list[Json] = []
        self._cut: set[str] = set()  # ids of cut calls

    def write(self, messages: list[tuple[int, Message]]) -> list[Json]:
        """The wire turns. Raises ConfigurationError, naming the message, for what cannot be said."""
        for index, message in messages:
            where = f"messages[{index}]"
            if message.role == "assistant":
                self._add(self.model_role, self._assistant(message, where))
            elif message.role in ("system", "developer"):
                self._add("user", self._user_part(TextPart(only_text(message, where)), where))
            else:
                self._add(
                    "user", [piece for number, part in enumerate(message.parts) for piece in self._asked(message, part, f"{where}.content[{number}]")]
                )
        return self._out

    def _asked(self, message: Message, part: Part, where: str) -> list[object]:
        if message.role != "tool" and not isinstance(part, ToolResultPart):
            return self._user_part(part, where)
        result = check_result(part, where)
        return [] if result.id in self._cut else self._result(result, where)

    def _add(self, role: str, content: list[object]) -> None:
        if not content:
            return
        if self._out and self._out[-1]["role"] == role:
            last = self._out[-1][self.content_key]
            assert isinstance(last, list)
            last += content
        else:
            self._out.append({"role": role, self.content_key: content})

    def _is_cut(self, call: ToolCallPart, where: str) -> bool:
        """Whether the call was cut, which is remembered for its result. Raises ConfigurationError for one that cannot be sent."""
        if not call.complete:
            self._cut.add(call.id)
            return True
        check_call(call, where)
        return False

    @abstractmethod
    def _assistant(self, message: Message, where: str) -> list[object]:
        """What the model said."""

    @abstractmethod
    def _user_part(self, part: Part, where: str) -> list[object]:
        """A part of the user's; nothing for an empty one."""

    @abstractmethod
    def _result(self, part: ToolResultPart, where: str) -> list[object]:
        """What a tool answered."""


def split_system(messages: Sequence[Message]) -> tuple[str, list[tuple[int, Message]]]:
    """The text of the system messages at the start, and the other messages with their numbers. Raises ConfigurationError for an unknown role."""
    texts: list[str] = []
    rest: list[tuple[int, Message]] = []
    for index, message in enumerate(messages):
        if message.role not in ROLES:
            raise ConfigurationError(f"messages[{index}]: unknown role {message.role!r}")
        if message.role in ("system", "developer") and not rest:
            if text := only_text(message, f"messages[{index}]"):
                texts.append(text)
        else:
            rest.append((index, message))
    return "\n\n".join(texts), rest


def only_text(message: Message, where: str) -> str:
    """The content of a message that may hold text only."""
    for part in message.parts:
        if not isinstance(part, TextPart):
            raise ConfigurationError(f"{where}: a {message.role} message holds text only, not {type(part).__name__}")
    return "".join([part.text for part in message.parts if isinstance(part, TextPart)])


def no_such_part(part: Part, where: str, protocol: str) -> ConfigurationError:
    """The error for a part that has no place where it stands."""
    return ConfigurationError(f"{where}: {protocol} has no place for {type(part).__name__} in this message")


def check_call(part: ToolCallPart, where: str) -> None:
    """Raise ConfigurationError for a call that cannot be sent: an empty id or name."""
    if not part.id.strip():
        raise ConfigurationError(f"{where}: the call of tool {part.name!r} has an empty id")
    if not part.name.strip():
        raise ConfigurationError(f"{where}: the tool call {part.id} has no name")


def check_result(part: Part, where: str) -> ToolResultPart:
    """The part of a tool message. Raises ConfigurationError for any other kind, and for an empty id."""
    if not isinstance(part, ToolResultPart):
        raise ConfigurationError(f"{where}: a tool message holds ToolResultPart only, not {type(part).__name__}: use tool_result(id, text)")
    if not part.id.strip():
        raise ConfigurationError(f"{where}: a tool result has an empty id")
    return part


def result_parts(part: ToolResultPart) -> tuple[TextPart | ImagePart | FilePart, ...]:
    """What a tool answered, as parts."""
    return ((TextPart(part.content),) if part.content else ()) if isinstance(part.content, str) else part.content


def result_text(part: ToolResultPart, where: str, protocol: str) -> str:
    """What a tool answered, where only text can be sent."""
    for piece in result_parts(part):
        if not isinstance(piece, TextPart):
            raise ConfigurationError(f"{where}: {protocol} takes text only in a tool result, not {type(piece).__name__}")
    return "\n".join([piece.text for piece in result_parts(part) if isinstance(piece, TextPart)])


def media_type(part: ImagePart | FilePart, where: str) -> str:
    """The media type of what is sent as data. Raises ConfigurationError where it is not given."""
    if not part.media_type:
        raise ConfigurationError(f"{where}: {type(part).__name__}(data=...) needs its media_type")
    return part.media_type


def data_url(part: ImagePart | FilePart, where: str) -> str:
    """The address of the part, or its data as one."""
    if part.data is not None:
        return f"data:{media_type(part, where)};base64,{part.data}"
    if part.url is None:
        raise ConfigurationError(f"{where}: {type(part).__name__} has neither url nor data")
    return part.url


def arguments_object(part: ToolCallPart, where: str) -> dict[str, object]:
    """A call's arguments as an object. Raises ConfigurationError for what is none."""
    value = _decoded(part)
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where}: the arguments of call {part.id} ({part.name}) are not a JSON object, which this protocol demands")
    return value


def with_object(part: ToolCallPart) -> ToolCallPart:
    """The call with arguments that are an object: its own, or one that holds them as its `input` (B280), text that is no JSON too."""
    value = _decoded(part)
    if isinstance(value, dict):
        return part
    return replace(part, arguments=encode_json({"input": part.arguments if value is None else value}).decode())


def _decoded(part: ToolCallPart) -> object:
    """The arguments as a value; None where they are no JSON."""
    text = part.arguments.strip() or "{}"
    try:
        return decode(text.encode("utf-8", "replace"))
    except (DecodeError, RecursionError):
        return None


def refuse_nothing(written: Sequence[object]) -> None:
    """Raise ConfigurationError where no message is left to be sent."""
    if not written:
        raise ConfigurationError("Request.messages: there is nothing to send, every message is empty")
