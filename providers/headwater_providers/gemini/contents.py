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
from headwater_providers.turns import TurnWriter, arguments_object, media_type, no_such_part, result_parts

PROTOCOL = "gemini"
NO_SIGNATURE = "skip_thought_signature_validator"  # PI-GO-03


class ContentWriter(TurnWriter):
    """Writes the contents of one request."""

    model_role = "model"
    content_key = "parts"

    def __init__(self, target: Target, dialect: GeminiDialect) -> None:
        super().__init__(target)
        self._dialect = dialect
        self._names: dict[str, str] = {}  # call id -> the tool's name

    def _assistant(self, message: Message, where: str) -> list[object]:
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
                if self._is_cut(part, place):
                    continue
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
        return parts

    def _user_part(self, part: Part, where: str) -> list[object]:
        written = _part(part, where)
        return [] if written is None else [written]

    def _result(self, part: ToolResultPart, where: str) -> list[object]:
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
