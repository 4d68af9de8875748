"""Messages as input items of Responses. Rows OR-RS-03 to 08, ADK-OAI-REQ; B273, B275.

What a model of the same origin sent to be sent back goes out byte for byte: reasoning with its encrypted content, opaque items, the ids of messages
and calls.
"""

from __future__ import annotations

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
from headwater_providers.turns import check_call, check_result, data_url, media_type, no_such_part, only_text, result_parts

PROTOCOL = "openai-responses"
_decode_meta = msgspec.json.Decoder(dict[str, Raw]).decode
_MESSAGE_FIELDS = frozenset({"id", "phase"})


class ItemWriter:
    """Writes the input items of one request; `stored`: the provider keeps its items, so their ids alone mean something."""

    def __init__(self, target: Target, stored: bool) -> None:
        self._target = target
        self._stored = stored
        self._out: list[object] = []
        self._custom: set[str] = set()  # ids of calls of custom tools
        self._cut: set[str] = set()  # ids of calls that were left out

    def write(self, messages: list[tuple[int, Message]]) -> list[object]:
        """The items. Raises ConfigurationError, naming the message, for what cannot be said."""
        for index, message in messages:
            where = f"messages[{index}]"
            if message.role == "assistant":
                self._assistant(message, where)
            elif message.role == "tool":
                for part in message.parts:
                    self._result(check_result(part, where), where)
            elif message.role == "user":
                self._user(message, where)
            elif text := only_text(message, where):
                self._out.append({"role": message.role, "content": text})
        return self._out

    def _user(self, message: Message, where: str) -> None:
        content: list[Json] = []
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolResultPart):
                self._result(check_result(part, where), where)
            elif written := _input(part, f"{where}.content[{number}]"):
                content.append(written)
        if content:
            self._out.append({"role": "user", "content": content})

    def _assistant(self, message: Message, where: str) -> None:
        own = same_origin(message.origin, self._target)
        ids = own  # an item that followed reasoning is refused under its id once the reasoning is not there
        for number, part in enumerate(message.parts):
            place = f"{where}.content[{number}]"
            if isinstance(part, TextPart):
                self._text(part, ids, place)
            elif isinstance(part, ToolCallPart):
                self._call(part, ids, place)
            elif isinstance(part, ReasoningPart):
                if own and part.meta is not None and (part.data is not None or self._stored):
                    self._out.append(part.meta)
                else:
                    ids = False
            elif isinstance(part, OpaquePart):
                if own and part.raw:  # one that was announced and never came has none
                    _meta(Raw(part.raw), place)
                    self._out.append(Raw(part.raw))
            else:
                raise no_such_part(part, place, PROTOCOL)

    def _text(self, part: TextPart, own: bool, where: str) -> None:
        if not part.text.strip():
            return
        meta = _meta(part.meta, where) if own and part.meta is not None else {}
        if "id" not in meta:
            self._out.append({"role": "assistant", "content": part.text})
            return
        kept: Json = {name: value for name, value in meta.items() if name in _MESSAGE_FIELDS}
        content = [{"type": "output_text", "text": part.text, "annotations": []}]
        last = self._out[-1] if self._out else None
        if isinstance(last, dict) and last.get("type") == "message" and last.get("id") == meta["id"]:
            last["content"] += content  # one item; a second one of this id would be refused
            return
        self._out.append({"type": "message", "role": "assistant", **kept, "status": "completed", "content": content})

    def _call(self, part: ToolCallPart, own: bool, where: str) -> None:
        if not part.complete:
            self._cut.add(part.id)
            return
        check_call(part, where)
        meta: Json = dict(_meta(part.meta, where)) if own and part.meta is not None else {}
        if part.kind == "custom":
            self._custom.add(part.id)
            self._out.append({**meta, "type": "custom_tool_call", "call_id": part.id, "name": part.name, "input": part.arguments})
        else:
            arguments = part.arguments if part.arguments.strip() else "{}"
            self._out.append({**meta, "type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments})

    def _result(self, part: ToolResultPart, where: str) -> None:
        if part.id in self._cut:
            return
        pieces = result_parts(part)
        output: object
        if all(isinstance(piece, TextPart) for piece in pieces):
            output = "\n".join([piece.text for piece in pieces if isinstance(piece, TextPart)])
        else:
            output = [written for piece in pieces if (written := _input(piece, where))]
        kind = "custom_tool_call_output" if part.id in self._custom else "function_call_output"
        self._out.append({"type": kind, "call_id": part.id, "output": output})


def _input(part: Part, where: str) -> Json | None:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text} if part.text else None
    if isinstance(part, ImagePart):
        return {"type": "input_image", "image_url": data_url(part, where), "detail": part.detail or "auto"}
    if isinstance(part, FilePart):
        return _file(part, where)
    raise no_such_part(part, where, PROTOCOL)


def _file(part: FilePart, where: str) -> Json:
    if part.file_id is not None:
        return {"type": "input_file", "file_id": part.file_id}
    if part.data is None:
        return {"type": "input_file", "file_url": data_url(part, where)}
    if media_type(part, where).startswith("audio/"):
        raise ConfigurationError(f"{where}: {PROTOCOL} takes no recordings: use openai-chat")
    return {"type": "input_file", "filename": part.filename or "file", "file_data": data_url(part, where)}


def _meta(meta: Raw, where: str) -> dict[str, Raw]:
    """What is to be replayed, as an object. Raises ConfigurationError where it is none."""
    try:
        return _decode_meta(meta)
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"{where}: what is kept of a part for replay is not a JSON object: {error}") from error
