"""The message while it is written, as it was at any moment. Row OR-EV-22; AMB-76.

Strategy: nothing is ever changed, everything only grows. The draft counts moments; each block keeps its fragments beside the moments at which they
came, so a message at a moment is a search and a join. An event costs the same whether it is the first or the hundred-thousandth, and old ones
stay true.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from operator import itemgetter
from typing import Literal

from msgspec import Struct

from headwater.views.messages.types import (
    REDACTED,
    AssistantMessage,
    Diagnostic,
    ProviderItem,
    Said,
    TextContent,
    ThinkingContent,
    ToolCall,
)
from headwater.views.messages.usage import CostOf, read_usage
from headwater_codecs.neutral.events import CallKind
from headwater_codecs.neutral.usage import Usage as Counts
from headwater_codecs.partial_json import PartialJson
from headwater_codecs.recovered_json import Mode, Recovered, recover_object
from headwater_codecs.tolerant_json import clean

Kind = Literal["text", "thinking", "toolCall"]


class Head(Struct, frozen=True):
    """Who answers."""

    protocol: str = ""
    provider: str = ""
    model: str = ""
    provider_request_id: str | None = None
    response_model: str | None = None
    response_id: str | None = None


class DraftBlock:
    """One block: `fragments` came at `moments`."""

    __slots__ = (
        "_view",
        "_viewed",
        "call_id",
        "call_kind",
        "closed",
        "complete",
        "fragments",
        "kind",
        "moments",
        "name",
        "opened",
        "read",
        "redacted",
        "signature",
    )

    def __init__(self, kind: Kind, opened: int) -> None:
        self.kind = kind
        self.opened = opened
        self.closed: int | None = None
        self.call_id = ""
        self.name = ""
        self.call_kind: CallKind = "function"
        self.fragments: list[str] = []
        self.moments: list[int] = []
        self.signature: str | None = None
        self.redacted = False
        self.complete = False
        self.read: dict[str, object] = {}  # a call's arguments, from its end on
        self._view = PartialJson()
        self._viewed = 0  # fragments that the view was fed

    def text(self, at: int | None = None) -> str:
        """The fragments until then, joined."""
        return "".join(self.fragments if at is None else self.fragments[: bisect_right(self.moments, at)])

    def content(self, at: int) -> Said:
        """The block as it was then."""
        ended = self.closed is not None and self.closed <= at
        if self.kind == "toolCall":
            return self.call(at)
        signature = self.signature if ended else None
        if self.kind == "text":
            return TextContent(self.text(at), signature)
        return ThinkingContent(self.shown_text(at) if ended else self.text(at), signature, ended and self.redacted)

    def shown_text(self, at: int | None = None) -> str:
        """The text; of redacted reasoning, which has none, words that say so."""
        return self.text(at) or (REDACTED if self.redacted else "")

    def call(self, at: int) -> ToolCall:
        """The call as it was then: without arguments, and not to be run, until its end."""
        if self.closed is None or self.closed > at:
            return ToolCall(self.call_id, self.name, complete=False)
        return ToolCall(self.call_id, self.name, copy.deepcopy(self.read), self.signature, self.complete)

    def close_call(self, whole: bool) -> Mode:
        """Read the arguments as well as they can be (free text is one of them); how is given back. What is guessed is not complete (OR-JX-05)."""
        text = self.text()
        self.read, mode = recover_object(text) if self.call_kind == "function" else Recovered({"input": text}, "strict")
        self.complete = whole and mode in ("strict", "repaired")
        return mode

    def parsed_so_far(self, at: int) -> dict[str, object]:
        """A copy of what is certain of the arguments."""
        count = bisect_right(self.moments, at)
        if count < self._viewed:
            view = PartialJson()
            view.feed(self.text(at))
        else:
            view = self._view
            for fragment in self.fragments[self._viewed : count]:
                view.feed(fragment)
            self._viewed = count
        copied = clean(view.value)
        return copied if isinstance(copied, dict) else {}


class Draft:
    """The message so far. `moment` counts what happened to it."""

    def __init__(self, timestamp: int, cost: CostOf | None) -> None:
        self.head = Head()
        self.timestamp = timestamp
        self.moment = 0
        self.blocks: list[DraftBlock] = []
        self.cost = cost
        self._usages: list[tuple[int, Counts]] = []
        self._diagnostics: list[tuple[int, Diagnostic]] = []
        self._items: list[tuple[int, int, ProviderItem]] = []

    def snapshot(self) -> Snapshot:
        """This moment; the next one begins."""
        snapshot = Snapshot(self, self.moment)
        self.moment += 1
        return snapshot

    def add_usage(self, counts: Counts) -> None:
        """From now on these counts stand."""
        self._usages.append((self.moment, counts))

    def add_diagnostic(self, diagnostic: Diagnostic) -> None:
        """One more oddity."""
        self._diagnostics.append((self.moment, diagnostic))

    def add_item(self, number: int, item: ProviderItem) -> None:
        """One more item without a content type; items of one position stand in the order of their numbers."""
        self._items.append((self.moment, number, item))

    def message(self, at: int, **ending: object) -> AssistantMessage:
        """The message at that moment, with these fields of its end."""
        counts = [counts for moment, counts in self._usages if moment <= at]
        head = self.head
        return AssistantMessage(
            content=tuple([block.content(at) for block in self.blocks if block.opened <= at]),
            protocol=head.protocol,
            provider=head.provider,
            model=head.model,
            provider_request_id=head.provider_request_id,
            response_model=head.response_model,
            response_id=head.response_id,
            usage=read_usage(counts[-1], self.cost) if counts else None,
            diagnostics=tuple([copy.deepcopy(diagnostic) for moment, diagnostic in self._diagnostics if moment <= at]),
            items=tuple([item for moment, _, item in sorted(self._items, key=itemgetter(1)) if moment <= at]),
            timestamp=self.timestamp,
            **ending,  # type: ignore[arg-type]  # the fields of an ending, by name
        )


class Snapshot:
    """A draft at one moment. Two are equal when their messages are."""

    __slots__ = ("_at", "_draft")

    def __init__(self, draft: Draft, at: int) -> None:
        self._draft = draft
        self._at = at

    def message(self) -> AssistantMessage:
        """The message at that moment."""
        return self._draft.message(self._at)

    def tool_call(self, content_index: int) -> ToolCall:
        """The call at this position, at that moment."""
        return self._draft.blocks[content_index].call(self._at)

    def parsed_so_far(self, content_index: int) -> dict[str, object]:
        """What was certain of its arguments at that moment."""
        return self._draft.blocks[content_index].parsed_so_far(self._at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.message() == other.message()

    def __hash__(self) -> int:
        return hash(self._draft.head)  # equal messages may be of different moments

    def __repr__(self) -> str:
        return f"<moment {self._at}>"
