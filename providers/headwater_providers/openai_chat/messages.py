"""Messages as openai-chat writes them. Rows OR-CC-02 to 06, OR-CMP-02, OR-CMP-06, OR-CMP-07, PI-CMP-11; B271, B273, B274.

History is not repaired here, with three exceptions that cost nothing and save a refusal: calls that were cut are left out (and their results
with them), a turn that has nothing left is left out, reasoning of another model stays at home. A turn that was blank to begin with is an error
that names it. What a provider sent to be sent back (`meta`) goes out byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from headwater_providers.adapter import Target
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.parts import text_only, user_content
from headwater_providers.origin import same_origin
from headwater_providers.turns import ATTACHED, SEE_ATTACHED

Json = dict[str, object]
PROCESSED = "I have processed the tool results."  # PI-CMP-11
_decode_meta = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


class MessageWriter:
    """Writes the messages of one request; `thinks` says whether this is a turn of a model that reasons."""

    def __init__(self, target: Target, dialect: ChatDialect, thinks: bool) -> None:
        self._target = target
        self._dialect = dialect
        self._thinks = thinks
        self._out: list[Json] = []
        self._names: dict[str, str] = {}  # call id -> the tool's name
        self._cut: set[str] = set()  # ids of calls that were left out
        self._attached: list[Json] = []  # what the current run of tool results shows beside its text

    def write(self, messages: Sequence[Message]) -> list[Json]:
        """The wire messages. Raises ConfigurationError, naming the message, for what cannot be said."""
        for index, message in enumerate(messages):
            where = f"messages[{index}]"
            writer = _WRITERS.get(message.role)
            if writer is None:
                raise ConfigurationError(f"{where}: unknown role {message.role!r}")
            writer(self, message, where)
        self._flush_attached()
        if not self._out:
            raise ConfigurationError("Request.messages: there is nothing to send, every message is empty")
        return self._out

    def _system(self, message: Message, where: str) -> None:
        developer = self._dialect.supports_developer_role and (message.role == "developer" or self._thinks)
        content = text_only(message.content, where)
        if content:
            self._add({"role": "developer" if developer else "system", "content": content}, message)

    def _user(self, message: Message, where: str) -> None:
        content = message.content
        if not isinstance(content, str):
            results = tuple(part for part in content if isinstance(part, ToolResultPart))
            if results:
                self._results(results, where)
                content = tuple(part for part in content if not isinstance(part, ToolResultPart))
        written = user_content(content, where, self._target.provider, self._dialect)
        if written:  # OR-CC-02: an empty turn is left out
            self._flush_attached()
            self._turn_to_user()
            self._add({"role": "user", "content": written}, message)

    def _tool(self, message: Message, where: str) -> None:
        if isinstance(message.content, str):
            raise ConfigurationError(f"{where}: a tool message holds ToolResultPart, not plain text: use tool_result(id, text)")
        for part in message.content:
            if not isinstance(part, ToolResultPart):
                raise ConfigurationError(f"{where}: a tool message holds ToolResultPart only, not {type(part).__name__}")
        self._results(tuple(part for part in message.content if isinstance(part, ToolResultPart)), where)

    def _results(self, results: tuple[ToolResultPart, ...], where: str) -> None:
        for part in results:
            if not part.id.strip():
                raise ConfigurationError(f"{where}: a tool result has an empty id")
            if part.id in self._cut:
                continue
            if isinstance(part.content, str):
                text, shown = part.content, False
            else:
                texts = [piece for piece in part.content if isinstance(piece, TextPart)]
                rest = tuple(piece for piece in part.content if not isinstance(piece, TextPart))
                text, shown = "\n".join([piece.text for piece in texts]), bool(rest)
                if rest:
                    written = user_content(rest, where, self._target.provider, self._dialect)
                    assert isinstance(written, list)
                    self._attached += written
            wire: Json = {"role": "tool", "tool_call_id": part.id, "content": text or (SEE_ATTACHED if shown else "")}
            if self._dialect.tool_result_name and (name := part.name or self._names.get(part.id)):
                wire["name"] = name
            self._out.append(wire)

    def _assistant(self, message: Message, where: str) -> None:
        self._flush_attached()
        texts: list[str] = []
        metas: list[Raw] = []
        reasoning: list[ReasoningPart] = []
        calls: list[Json] = []
        own = same_origin(message.origin, self._target)
        for part in message.parts:
            if isinstance(part, TextPart):
                texts.append(part.text)
                if part.meta is not None and own:
                    metas.append(part.meta)
            elif isinstance(part, ReasoningPart):
                if own:
                    reasoning.append(part)
            elif isinstance(part, ToolCallPart):
                if part.complete:
                    calls.append(self._call(part, where))
                    if own and part.signature is not None:  # Gemini's, whose place is beside the function
                        calls[-1]["extra_content"] = {"google": {"thought_signature": part.signature}}
                    if own and part.meta is not None:
                        _merge(calls[-1], part.meta, where)
                else:
                    self._cut.add(part.id)
            elif isinstance(part, ToolResultPart):
                raise ConfigurationError(f"{where}: a tool result does not belong into an assistant message")
            elif type(part).__name__ in ("ImagePart", "FilePart"):
                raise ConfigurationError(f"{where}: openai-chat takes no {type(part).__name__} in an assistant message")
            # an opaque item has no place in a chat history, and its provider does not ask for it back
        text = "".join(texts)
        if not text.strip() and not calls and not metas:
            if any(not isinstance(part, TextPart) for part in message.parts):
                return  # only what is left out: OR-CC-04, B271
            raise ConfigurationError(f"{where} is a blank assistant message: providers refuse it, leave it out")
        wire: Json = {"role": "assistant", "content": text if text.strip() else "" if self._dialect.assistant_after_tool_result else None}
        self._add_reasoning(wire, reasoning, text, metas)
        if calls:
            wire["tool_calls"] = calls
        for meta in metas:
            _merge(wire, meta, where)
        self._add(wire, message)

    def _add_reasoning(self, wire: Json, reasoning: list[ReasoningPart], text: str, metas: list[Raw]) -> None:
        """Reasoning of this model's own earlier turn: its wire fields as they came, else its text where the dialect says."""
        own = [part.meta for part in reasoning if part.meta is not None]
        if own:
            metas[:0] = own
        thought = [part.text for part in reasoning if part.meta is None and part.text.strip()]
        field = self._dialect.reasoning_field
        if thought and self._dialect.thinking_as_text:
            pieces = ["\n\n".join(thought), *([text] if text.strip() else [])]
            wire["content"] = [{"type": "text", "text": piece} for piece in pieces]
        elif thought and field:
            wire[field] = "\n".join(thought)
        if field and self._dialect.requires_reasoning_content and (self._thinks or reasoning):
            wire.setdefault(field, "")

    def _call(self, part: ToolCallPart, where: str) -> Json:
        if not part.id.strip():
            raise ConfigurationError(f"{where}: the call of tool {part.name!r} has an empty id")
        if not part.name.strip():
            raise ConfigurationError(f"{where}: the tool call {part.id} has no name")
        self._names[part.id] = part.name
        self._cut.discard(part.id)
        if part.kind == "custom":
            return {"id": part.id, "type": "custom", "custom": {"name": part.name, "input": part.arguments}}
        return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.arguments if part.arguments.strip() else "{}"}}

    def _add(self, wire: Json, message: Message) -> None:
        if message.name and self._dialect.supports_message_name:
            wire["name"] = message.name
        self._out.append(wire)

    def _flush_attached(self) -> None:
        """The images of a run of results, as one user message behind it (OR-CC-06)."""
        if self._attached:
            self._turn_to_user()
            self._out.append({"role": "user", "content": [{"type": "text", "text": ATTACHED}, *self._attached]})
            self._attached = []

    def _turn_to_user(self) -> None:
        if self._dialect.assistant_after_tool_result and self._out and self._out[-1]["role"] == "tool":
            self._out.append({"role": "assistant", "content": PROCESSED})


_WRITERS = {
    "system": MessageWriter._system,
    "developer": MessageWriter._system,
    "user": MessageWriter._user,
    "tool": MessageWriter._tool,
    "assistant": MessageWriter._assistant,
}


def _merge(wire: Json, meta: Raw, where: str) -> None:
    """Put the provider's own fields into a message. Lists of the same name are joined, since each block brought its part; bytes stay as they are."""
    try:
        fields = _decode_meta(meta)
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"{where}: the meta of a part is not a JSON object: {error}") from error
    for name, value in fields.items():
        earlier = wire.get(name)
        if isinstance(earlier, Raw) and bytes(earlier)[:1] == b"[" == bytes(value)[:1]:
            wire[name] = Raw(msgspec.json.encode([*_decode_list(earlier), *_decode_list(value)]))
        elif bytes(value) == b"null" and earlier is not None:
            continue
        else:
            wire[name] = value
