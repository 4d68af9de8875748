"""Messages as contents of Gemini. Rows PI-GO-03, B199, B279; what PI and go-genai send.

Consecutive turns of one role become one content, since results of parallel calls must come back together. Signatures go back on the part that had
them, to the model that made them. Where a signature is demanded, the first call of another model's turn gets the marker that Google documents for it;
calls of the model's own are never given one that it did not send (B200).
"""

from __future__ import annotations

from msgspec import Raw

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import (
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from headwater_providers.adapter import Target
from headwater_providers.body import Json
from headwater_providers.gemini.dialect import GeminiDialect
from headwater_providers.origin import same_origin
from headwater_providers.turns import arguments_object, check_call, check_result, media_type, no_such_part, only_text, result_parts

PROTOCOL = "gemini"
NO_SIGNATURE = "skip_thought_signature_validator"  # PI-GO-03


class ContentWriter:
    """Writes the contents of one request."""

    def __init__(self, target: Target, dialect: GeminiDialect) -> None:
        self._target = target
        self._dialect = dialect
        self._out: list[Json] = []
        self._names: dict[str, str] = {}  # call id -> the tool's name
        self._cut: set[str] = set()

    def write(self, messages: list[tuple[int, Message]]) -> list[Json]:
        """The contents. Raises ConfigurationError, naming the message, for what cannot be said."""
        for index, message in messages:
            where = f"messages[{index}]"
            if message.role == "assistant":
                self._assistant(message, where)
            elif message.role in ("system", "developer"):
                self._add("user", [{"text": text}] if (text := only_text(message, where)) else [])
            else:
                parts: list[object] = []
                for number, part in enumerate(message.parts):
                    place = f"{where}.content[{number}]"
                    if message.role == "tool" or isinstance(part, ToolResultPart):
                        parts += self._result(check_result(part, where), place)
                    elif written := _part(part, place):
                        parts.append(written)
                self._add("user", parts)
        return self._out

    def _add(self, role: str, parts: list[object]) -> None:
        if not parts:
            return
        if self._out and self._out[-1]["role"] == role:
            last = self._out[-1]["parts"]
            assert isinstance(last, list)
            last += parts
        else:
            self._out.append({"role": role, "parts": parts})

    def _assistant(self, message: Message, where: str) -> None:
        own = same_origin(message.origin, self._target)
        marked = not self._dialect.signed_calls or (own and any(isinstance(part, ToolCallPart) and part.signature for part in message.parts))
        parts: list[object] = []
        for number, part in enumerate(message.parts):
            place = f"{where}.content[{number}]"
            if isinstance(part, TextPart):
                if part.text or (own and part.signature):
                    parts.append(_signed({"text": part.text}, part.signature if own else None))
            elif isinstance(part, ReasoningPart):
                if own and (part.text or part.signature):
                    parts.append(_signed({"text": part.text, "thought": True}, part.signature))
            elif isinstance(part, ToolCallPart):
                if not part.complete:
                    self._cut.add(part.id)
                    continue
                check_call(part, place)
                self._names[part.id] = part.name
                call: Json = {"name": part.name, "args": arguments_object(part, place)}
                if self._dialect.call_ids:
                    call["id"] = part.id
                signature = (part.signature if own else None) or (None if marked else NO_SIGNATURE)
                marked = True
                parts.append(_signed({"functionCall": call}, signature))
            elif isinstance(part, OpaquePart):
                if own:
                    parts.append(Raw(part.raw))
            else:
                raise no_such_part(part, place, PROTOCOL)
        self._add("model", parts)

    def _result(self, part: ToolResultPart, where: str) -> list[object]:
        if part.id in self._cut:
            return []
        name = part.name or self._names.get(part.id)
        if name is None:
            raise ConfigurationError(f"{where}: gemini needs the tool's name with a result: tool_result({part.id!r}, ..., name=...)")
        texts = [piece.text for piece in result_parts(part) if isinstance(piece, TextPart)]
        shown = [_part(piece, where) for piece in result_parts(part) if not isinstance(piece, TextPart)]
        response: Json = {"error" if part.is_error else "output": "\n".join(texts)}
        answer: Json = {"name": name, "response": response}
        if self._dialect.call_ids:
            answer["id"] = part.id
        if shown and self._dialect.results_hold_parts:
            answer["parts"] = shown
            shown = []
        return [{"functionResponse": answer}, *shown]


def _signed(part: Json, signature: str | None) -> Json:
    if signature:
        part["thoughtSignature"] = signature
    return part


def _part(part: Part, where: str) -> Json | None:
    if isinstance(part, TextPart):
        return {"text": part.text} if part.text else None
    if isinstance(part, ImagePart | FilePart):
        if isinstance(part, FilePart) and part.file_id is not None:
            file: Json = {"fileUri": part.file_id}
        elif part.data is not None:
            return {"inlineData": {"mimeType": media_type(part, where), "data": part.data}}
        elif part.url is not None:
            file = {"fileUri": part.url}
        else:
            raise ConfigurationError(f"{where}: {type(part).__name__} has neither url nor data")
        return {"fileData": {**file, "mimeType": part.media_type} if part.media_type else file}
    raise no_such_part(part, where, PROTOCOL)
