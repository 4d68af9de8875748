"""Messages as anthropic-messages writes them. Rows OR-AN-02 to OR-AN-05; B271, B273 to B278, B280, B281.

The wire has two roles, which take turns: consecutive turns of one role become one, with tool results in front, as the API demands. Order and
bytes of what the model made stay: thinking with its signature, redacted thinking, opaque blocks; those of another model stay at home. Calls that
were cut are left out with their results, and so is blank text. A system message goes into `system` as long as no turn came before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Message, OpaquePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from headwater_providers.adapter import Target
from headwater_providers.anthropic_messages.content import meta_of, shown_block, text_block
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.body import Json
from headwater_providers.origin import same_origin

_MARKED = "<system>\n{}\n</system>"  # B278: a system message in the middle


class MessageWriter:
    """Writes the messages of one request; `system` holds the blocks that stand before them."""

    def __init__(self, target: Target, dialect: MessagesDialect) -> None:
        self.system: list[Json] = []
        self._target = target
        self._dialect = dialect
        self._turns: list[tuple[str, list[object]]] = []
        self._cut: set[str] = set()  # ids of calls that were left out

    def write(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages. Raises ConfigurationError, naming the message, for what cannot be said."""
        for index, message in enumerate(messages):
            where = f"messages[{index}]"
            writer = _WRITERS.get(message.role)
            if writer is None:
                raise ConfigurationError(f"{where}: unknown role {message.role!r}")
            writer(self, message, where)
        if not self._turns:
            raise ConfigurationError("Request.messages: there is nothing to send, every message is empty or a system message")
        return [{"role": role, "content": _results_first(blocks) if role == "user" else blocks} for role, blocks in self._turns]

    def _system(self, message: Message, where: str) -> None:
        for index, part in enumerate(message.parts):
            if not isinstance(part, TextPart):
                raise ConfigurationError(f"{where}.content[{index}]: this message holds text only, not {type(part).__name__}")
            block = text_block(part, f"{where}.content[{index}]")
            if block is None:
                continue
            if self._turns:
                self._add("user", [{**block, "text": _MARKED.format(part.text)}])
            else:
                self.system.append(block)

    def _user(self, message: Message, where: str) -> None:
        blocks: list[object] = []
        for index, part in enumerate(message.parts):
            place = f"{where}.content[{index}]"
            if isinstance(part, ToolResultPart):
                self._result(part, place, blocks)
            elif isinstance(part, OpaquePart):
                self._opaque(part, message, place, blocks)
            elif (block := shown_block(part, place, self._target.provider, self._dialect)) is not None:
                blocks.append(block)
        self._add("user", blocks)

    def _tool(self, message: Message, where: str) -> None:
        if isinstance(message.content, str):
            raise ConfigurationError(f"{where}: a tool message holds ToolResultPart, not plain text: use tool_result(id, text)")
        blocks: list[object] = []
        for index, part in enumerate(message.content):
            if not isinstance(part, ToolResultPart):
                raise ConfigurationError(f"{where}: a tool message holds ToolResultPart only, not {type(part).__name__}")
            self._result(part, f"{where}.content[{index}]", blocks)
        self._add("user", blocks)

    def _result(self, part: ToolResultPart, where: str, blocks: list[object]) -> None:
        if not part.id.strip():
            raise ConfigurationError(f"{where}: a tool result has an empty id")
        if part.id in self._cut:
            return
        block: Json = {"type": "tool_result", "tool_use_id": part.id}
        content = (TextPart(part.content),) if isinstance(part.content, str) else part.content
        if plain := isinstance(part.content, str) and part.content.strip():
            block["content"] = part.content
        shown = [shown_block(piece, f"{where}.content[{index}]", self._target.provider, self._dialect) for index, piece in enumerate(content)]
        if not plain and (written := [piece for piece in shown if piece is not None]):
            block["content"] = written
        if part.is_error:
            block["is_error"] = True
        blocks.append(block)

    def _assistant(self, message: Message, where: str) -> None:
        blocks: list[object] = []
        own = same_origin(message.origin, self._target)
        for index, part in enumerate(message.parts):
            self._made(part, message, own, f"{where}.content[{index}]", blocks)
        self._add("assistant", blocks)

    def _made(self, part: Part, message: Message, own: bool, where: str, blocks: list[object]) -> None:
        """One part of what the model made."""
        if isinstance(part, TextPart):
            if (block := text_block(part, where, own)) is not None:
                blocks.append(block)
        elif isinstance(part, ReasoningPart):
            if own and (thought := self._thought(part, where)) is not None:
                blocks.append(thought)
        elif isinstance(part, ToolCallPart):
            self._call(part, own, where, blocks)
        elif isinstance(part, OpaquePart):
            self._opaque(part, message, where, blocks)
        else:
            raise ConfigurationError(f"{where}: {type(part).__name__} does not belong into an assistant message")

    def _thought(self, part: ReasoningPart, where: str) -> Json | None:
        more = meta_of(part.meta, where)
        if part.redacted:
            return {"type": "redacted_thinking", "data": part.data, **more} if part.data else None
        if part.signature:
            return {"type": "thinking", "thinking": part.text, "signature": part.signature, **more}
        if not part.text.strip() or self._dialect.unsigned_thinking == "drop":  # B274: never shown as an answer unless the vendor wants it so
            return None
        if self._dialect.unsigned_thinking == "thinking":
            return {"type": "thinking", "thinking": part.text, "signature": "", **more}
        return {"type": "text", "text": part.text}

    def _call(self, part: ToolCallPart, own: bool, where: str, blocks: list[object]) -> None:
        if not part.complete:
            self._cut.add(part.id)
            return
        if not part.id.strip() or not part.name.strip():
            raise ConfigurationError(f"{where}: a tool call has an empty id or name")
        more = meta_of(part.meta, where) if own else {}
        blocks.append({"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part), **more})

    def _opaque(self, part: OpaquePart, message: Message, where: str, blocks: list[object]) -> None:
        """A block of this provider's own, byte for byte; what another one made means nothing here."""
        if not same_origin(message.origin, self._target):
            return
        try:
            msgspec.json.decode(part.raw, type=dict[str, Raw])
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{where}: the raw bytes of an opaque item ({part.kind}) are no JSON object: {error}") from error
        blocks.append(Raw(part.raw))

    def _add(self, role: str, blocks: list[object]) -> None:
        if not blocks:
            return
        if self._turns and self._turns[-1][0] == role:
            self._turns[-1][1].extend(blocks)
        else:
            self._turns.append((role, blocks))


def _results_first(blocks: list[object]) -> list[object]:
    """Results stand before anything else of their turn."""
    return sorted(blocks, key=lambda block: not (isinstance(block, dict) and block.get("type") == "tool_result"))


def _input(part: ToolCallPart) -> object:
    """The arguments, byte for byte where they are an object, else inside of one (B280)."""
    if part.kind == "function":
        text = part.arguments.strip()
        if not text:
            return {}
        try:
            value = msgspec.json.decode(text.encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return {"input": part.arguments}
        return Raw(text.encode("utf-8", "replace")) if isinstance(value, dict) else {"input": value}
    return {"input": part.arguments}


_WRITERS = {
    "system": MessageWriter._system,
    "developer": MessageWriter._system,
    "user": MessageWriter._user,
    "assistant": MessageWriter._assistant,
    "tool": MessageWriter._tool,
}
