"""The events of or's `llm`: each block starts, grows and ends; one terminal. Rows OR-EV-01 to 10, 20 to 25.

Every event but the terminal has `partial`, the message as it was then. It is built when it is asked for, from what only ever grows, so that holding
old events costs nothing and shows nothing newer (AMB-76, OR-EV-22).
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from headwater.views.messages.draft import Snapshot
from headwater.views.messages.types import AssistantMessage, ToolCall
from headwater_codecs.neutral import HeadwaterError


class _Event(Struct, frozen=True):
    """An event at a moment of the message."""

    snapshot: Snapshot

    @property
    def partial(self) -> AssistantMessage:
        """The message so far, built anew at every call: a copy of its own."""
        return self.snapshot.message()


class Start(_Event, frozen=True):
    """First, exactly once."""

    type: ClassVar[Literal["start"]] = "start"


class _BlockEvent(_Event, frozen=True):
    content_index: int  # the position in the message's content (OR-EV-21)


class TextStart(_BlockEvent, frozen=True):
    """A block of text opens."""

    type: ClassVar[Literal["text_start"]] = "text_start"


class TextDelta(_BlockEvent, frozen=True):
    """A piece of text."""

    delta: str
    type: ClassVar[Literal["text_delta"]] = "text_delta"


class TextEnd(_BlockEvent, frozen=True):
    """The block of text is closed; `content` is all of it."""

    content: str
    type: ClassVar[Literal["text_end"]] = "text_end"


class ThinkingStart(_BlockEvent, frozen=True):
    """A block of reasoning opens."""

    type: ClassVar[Literal["thinking_start"]] = "thinking_start"


class ThinkingDelta(_BlockEvent, frozen=True):
    """A piece of reasoning."""

    delta: str
    type: ClassVar[Literal["thinking_delta"]] = "thinking_delta"


class ThinkingEnd(_BlockEvent, frozen=True):
    """The block of reasoning is closed; `content` is all of it."""

    content: str
    type: ClassVar[Literal["thinking_end"]] = "thinking_end"


class _CallEvent(_BlockEvent, frozen=True):
    @property
    def tool_call(self) -> ToolCall:
        """The call at this moment: a copy of its own. Its arguments are empty until its end (OR-EV-24)."""
        return self.snapshot.tool_call(self.content_index)


class ToolCallStart(_CallEvent, frozen=True):
    """A call opens: its id and name are final."""

    type: ClassVar[Literal["toolcall_start"]] = "toolcall_start"


class ToolCallDelta(_CallEvent, frozen=True):
    """A raw fragment of the arguments' JSON."""

    delta: str
    type: ClassVar[Literal["toolcall_delta"]] = "toolcall_delta"

    @property
    def parsed_so_far(self) -> dict[str, object]:
        """The arguments as far as they are certain, for display (AMB-20). Never run a call on them.

        Asked for event by event, each character is read once; what is given is a copy. Older events are read from the beginning.
        """
        return self.snapshot.parsed_so_far(self.content_index)


class ToolCallEnd(_CallEvent, frozen=True):
    """The call is closed. Its arguments are read as well as they can be; `tool_call.complete` says whether they are all there.

    Run calls after `done` only, out of `message.tool_calls()` (OR-EV-23).
    """

    type: ClassVar[Literal["toolcall_end"]] = "toolcall_end"


class Done(Struct, frozen=True):
    """Terminal: the answer ended well. `message` is all of it."""

    message: AssistantMessage
    type: ClassVar[Literal["done"]] = "done"


class Error(Struct, frozen=True):
    """Terminal: the answer failed (`stop_reason` is `error`) or was given up (`aborted`). `message` has what came, `error` is the typed exception."""

    message: AssistantMessage
    error: HeadwaterError
    type: ClassVar[Literal["error"]] = "error"


MessageEvent: TypeAlias = (
    Start | TextStart | TextDelta | TextEnd | ThinkingStart | ThinkingDelta | ThinkingEnd | ToolCallStart | ToolCallDelta | ToolCallEnd | Done | Error
)
