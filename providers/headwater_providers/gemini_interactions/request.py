"""The body of a request to Google's Interactions API: the conversation as steps."""

from __future__ import annotations

from msgspec import Raw

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import (
    FilePart,
    ImagePart,
    JsonSchema,
    Message,
    OpaquePart,
    Part,
    Reasoning,
    ReasoningPart,
    Request,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from headwater_providers.adapter import Target
from headwater_providers.body import Json
from headwater_providers.checks import check_json, check_tool_choice, check_tools
from headwater_providers.gemini_interactions.dialect import InteractionsDialect
from headwater_providers.origin import same_origin
from headwater_providers.turns import (
    arguments_object,
    check_call,
    check_result,
    media_type,
    no_such_part,
    only_text,
    refuse_nothing,
    result_parts,
    split_system,
)

PROTOCOL = "gemini-interactions"
_CONFIG = (("max_tokens", "max_output_tokens"), ("temperature", "temperature"), ("top_p", "top_p"), ("seed", "seed"))
_LEVELS = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_MEDIA = frozenset({"image", "audio", "video", "document"})  # parts of an output; other items are steps themselves
_KINDS = {"image": "image", "audio": "audio", "video": "video"}


def build_fields(request: Request, target: Target, dialect: InteractionsDialect) -> Json:
    """The body as a dict."""
    instructions, messages = split_system(request.messages)
    steps = _Writer(target).write(messages)
    refuse_nothing(steps)
    body: Json = {"model": target.model, "input": steps, "stream": True}
    if instructions:
        body["system_instruction"] = instructions
    known = check_tools(request.tools)
    if known:
        body["tools"] = [_tool(tool, index) for index, tool in enumerate(request.tools)]
    config: Json = {wire: value for name, wire in _CONFIG if (value := getattr(request, name)) is not None}
    if request.stop:
        config["stop_sequences"] = [request.stop] if isinstance(request.stop, str) else list(request.stop)
    if request.tool_choice is not None:
        tool = check_tool_choice(request.tool_choice, known)
        allowed: Json = {"mode": "any", "tools": [tool.name]} if tool is not None else {}
        config["tool_choice"] = {"allowed_tools": allowed} if tool is not None else _CHOICES[request.tool_choice]
    config.update(_thinking(request.reasoning))
    if config:
        body["generation_config"] = config
    if isinstance(wanted := request.response_format, JsonSchema):
        check_json(wanted.schema, "Request.response_format.schema")
        body["response_format"] = {"type": "text", "mime_type": "application/json", "schema": wanted.schema}
    elif wanted == "json":
        body["response_format"] = {"type": "text", "mime_type": "application/json"}
    elif wanted not in (None, "text"):
        raise ConfigurationError(f"Request.response_format is {wanted!r}: give 'text', 'json' or a JsonSchema")
    if request.store is not None:
        body["store"] = request.store
    if request.service_tier is not None:
        body["service_tier"] = request.service_tier
    if request.metadata is not None:
        body["labels"] = dict(request.metadata)
    return body


def _thinking(reasoning: str | Reasoning | None) -> Json:
    if reasoning is None:
        return {}
    asked = Reasoning(effort=reasoning) if isinstance(reasoning, str) else reasoning  # type: ignore[arg-type]  # looked at below
    if asked.budget_tokens is not None:
        raise ConfigurationError(f"Request.reasoning: {PROTOCOL} has no field for `budget_tokens`: give an effort")
    if asked.effort is not None and asked.effort != "off" and asked.effort not in _LEVELS:
        raise ConfigurationError(f"Request.reasoning: the effort {asked.effort!r} is none of off, {', '.join(_LEVELS)}")
    fields: Json = {"thinking_level": "minimal" if asked.effort == "off" else _LEVELS[asked.effort]} if asked.effort is not None else {}
    if asked.effort != "off":
        fields["thinking_summaries"] = "none" if asked.summary == "off" else "auto"
    return fields


def _tool(tool: Tool, index: int) -> Json:
    if tool.kind == "custom":
        raise ConfigurationError(f"Request.tools[{index}] ({tool.name}): {PROTOCOL} has no custom tools")
    described: Json = {"type": "function", "name": tool.name}
    if tool.description:
        described["description"] = tool.description
    if tool.parameters is not None:
        described["parameters"] = tool.parameters
    return described


class _Writer:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._out: list[object] = []
        self._names: dict[str, str] = {}
        self._cut: set[str] = set()

    def write(self, messages: list[tuple[int, Message]]) -> list[object]:
        for index, message in messages:
            where = f"messages[{index}]"
            if message.role == "assistant":
                self._assistant(message, where)
            elif message.role in ("system", "developer"):
                if text := only_text(message, where):
                    self._out.append({"type": "user_input", "content": [{"type": "text", "text": text}]})
            else:
                self._user(message, where)
        return self._out

    def _user(self, message: Message, where: str) -> None:
        content: list[Json] = []
        for number, part in enumerate(message.parts):
            place = f"{where}.content[{number}]"
            if message.role == "tool" or isinstance(part, ToolResultPart):
                self._result(check_result(part, where), place)
            elif written := _content(part, place):
                content.append(written)
        if content:
            self._out.append({"type": "user_input", "content": content})

    def _assistant(self, message: Message, where: str) -> None:
        own = same_origin(message.origin, self._target)
        for number, part in enumerate(message.parts):
            place = f"{where}.content[{number}]"
            if isinstance(part, TextPart):
                if part.text:
                    self._out.append({"type": "model_output", "content": [{"type": "text", "text": part.text}]})
            elif isinstance(part, ReasoningPart):
                if own and part.signature:
                    summary = [{"type": "text", "text": part.text}] if part.text else []
                    self._out.append({"type": "thought", "signature": part.signature, **({"summary": summary} if summary else {})})
            elif isinstance(part, ToolCallPart):
                if not part.complete:
                    self._cut.add(part.id)
                    continue
                check_call(part, place)
                self._names[part.id] = part.name
                call: Json = {"type": "function_call", "id": part.id, "name": part.name, "arguments": arguments_object(part, place)}
                self._out.append({**call, "signature": part.signature} if own and part.signature else call)
            elif isinstance(part, OpaquePart):
                if own:
                    item: object = Raw(part.raw)
                    self._out.append({"type": "model_output", "content": [item]} if part.kind in _MEDIA else item)
            else:
                raise no_such_part(part, place, PROTOCOL)

    def _result(self, part: ToolResultPart, where: str) -> None:
        if part.id in self._cut:
            return
        pieces = result_parts(part)
        result: object = "\n".join([piece.text for piece in pieces if isinstance(piece, TextPart)])
        if not all(isinstance(piece, TextPart) for piece in pieces):
            result = [written for piece in pieces if (written := _content(piece, where))]
        answer: Json = {"type": "function_result", "call_id": part.id, "result": result}
        if name := part.name or self._names.get(part.id):
            answer["name"] = name
        if part.is_error:
            answer["is_error"] = True
        self._out.append(answer)


def _content(part: Part, where: str) -> Json | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text} if part.text else None
    if isinstance(part, ImagePart | FilePart):
        default = "image" if isinstance(part, ImagePart) else "document"
        kind = _KINDS.get((part.media_type or default).partition("/")[0], default)
        if part.data is not None:
            return {"type": kind, "data": part.data, "mime_type": media_type(part, where)}
        uri = part.file_id if isinstance(part, FilePart) and part.file_id is not None else part.url
        if uri is None:
            raise ConfigurationError(f"{where}: {type(part).__name__} has neither url nor data")
        return {"type": kind, "uri": uri, "mime_type": part.media_type} if part.media_type else {"type": kind, "uri": uri}
    raise no_such_part(part, where, PROTOCOL)
