"""Messages as Converse writes them. Rows PI-BR-04, CopilotKit's BedrockAdapter; B275, B276.

Consecutive turns of one role are one message, since Converse wants them to alternate and results of parallel calls together. Reasoning goes back
signed, to the model that signed it.
"""

from __future__ import annotations

import re

import msgspec
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
from headwater_providers.origin import same_origin
from headwater_providers.turns import TurnWriter, arguments_object, media_type, no_such_part, result_parts

PROTOCOL = "bedrock-converse"
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
_VIDEOS = {"video/mp4": "mp4", "video/quicktime": "mov", "video/x-matroska": "mkv", "video/webm": "webm", "video/x-flv": "flv", "video/mpeg": "mpeg"}
_NAME = re.compile(r"[^A-Za-z0-9 ()\[\]-]+")


class ConverseWriter(TurnWriter):
    """Writes the messages of one request."""

    model_role = "assistant"
    content_key = "content"

    def __init__(self, target: Target, signed_reasoning: bool) -> None:
        super().__init__(target)
        self._signed = signed_reasoning
        self._files = 0

    def _assistant(self, message: Message, where: str) -> list[object]:
        own = same_origin(message.origin, self._target)
        content: list[object] = []
        for number, part in enumerate(message.parts):
            place = f"{where}.content[{number}]"
            if isinstance(part, TextPart):
                if part.text.strip():
                    content.append({"text": part.text})
            elif isinstance(part, ReasoningPart):
                content += self._reasoning(part) if own else []
            elif isinstance(part, ToolCallPart):
                if self._is_cut(part, place):
                    continue
                content.append({"toolUse": {"toolUseId": part.id, "name": part.name, "input": arguments_object(part, place)}})
            elif isinstance(part, OpaquePart):
                if own:
                    content.append(Raw(part.raw))
            else:
                raise no_such_part(part, place, PROTOCOL)
        return content

    def _reasoning(self, part: ReasoningPart) -> list[object]:
        if part.redacted and part.data:
            return [{"reasoningContent": {"redactedContent": part.data}}]
        if self._signed and part.signature and part.text:
            return [{"reasoningContent": {"reasoningText": {"text": part.text, "signature": part.signature}}}]
        if not self._signed and part.text.strip():
            return [{"reasoningContent": {"reasoningText": {"text": part.text}}}]
        return []

    def _result(self, part: ToolResultPart, where: str) -> list[object]:
        content = [block for piece in result_parts(part) for block in self._user_part(piece, where)] or [{"text": "(no output)"}]
        status = "error" if part.is_error else "success"
        return [{"toolResult": {"toolUseId": part.id, "content": content, "status": status}}]

    def _user_part(self, part: Part, where: str) -> list[object]:
        if isinstance(part, TextPart):
            blocks: list[object] = [{"text": part.text}] if part.text.strip() else []
            return blocks + _cache_point(part, where)
        if isinstance(part, ImagePart):
            kind = _IMAGES.get(media_type(part, where)) if part.data is not None else None
            if kind is None:
                raise ConfigurationError(f"{where}: {PROTOCOL} takes images as data, of type {', '.join(sorted(set(_IMAGES.values())))}")
            return [{"image": {"format": kind, "source": {"bytes": part.data}}}]
        if isinstance(part, FilePart):
            return [self._file(part, where)]
        raise no_such_part(part, where, PROTOCOL)

    def _file(self, part: FilePart, where: str) -> Json:
        type = media_type(part, where)
        if part.url is not None and part.url.startswith("s3://"):
            source: Json = {"s3Location": {"uri": part.url}}
        elif part.data is not None:
            source = {"bytes": part.data}
        else:
            raise ConfigurationError(f"{where}: {PROTOCOL} takes files as data or from an s3:// address")
        if type in _VIDEOS:
            return {"video": {"format": _VIDEOS[type], "source": source}}
        if type not in _DOCUMENTS:
            raise ConfigurationError(f"{where}: {PROTOCOL} takes no files of type {type}")
        self._files += 1
        name = _NAME.sub("-", (part.filename or f"document {self._files}").rpartition(".")[0] or part.filename or f"document {self._files}")
        return {"document": {"format": _DOCUMENTS[type], "name": name[:200], "source": source}}


def _cache_point(part: TextPart, where: str) -> list[object]:
    """A breakpoint of the prompt cache behind this text: `meta` of `{"cachePoint": {"type": "default"}}`."""
    if part.meta is None:
        return []
    try:
        meta = msgspec.json.decode(part.meta, type=dict[str, Raw])
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"{where}: the meta of a part is not a JSON object: {error}") from error
    return [{"cachePoint": meta["cachePoint"]}] if "cachePoint" in meta else []
