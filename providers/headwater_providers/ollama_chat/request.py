"""The body of an Ollama chat request. What steers the sampling stands in `options`; arguments of calls are objects."""

from __future__ import annotations

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import ImagePart, JsonSchema, Message, Part, Reasoning, ReasoningPart, Request, TextPart, Tool, ToolCallPart
from headwater_providers.adapter import Target
from headwater_providers.body import Json
from headwater_providers.checks import check_json, check_tools
from headwater_providers.ollama_chat.dialect import OllamaDialect
from headwater_providers.origin import same_origin
from headwater_providers.turns import arguments_object, check_call, check_result, no_such_part, only_text, refuse_nothing, result_text

PROTOCOL = "ollama-chat"
_OPTIONS = (
    ("max_tokens", "num_predict"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
)
_LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}


def build_fields(request: Request, target: Target, dialect: OllamaDialect) -> Json:
    """The body as a dict."""
    messages = _Writer(target).write(request)
    refuse_nothing(messages)
    body: Json = {"model": target.model, "messages": messages, "stream": True}
    known = check_tools(request.tools)
    if request.tool_choice not in (None, "auto", "none"):
        raise ConfigurationError(f"Request.tool_choice is {request.tool_choice!r}: {PROTOCOL} knows 'auto' and 'none' only")
    if known and request.tool_choice != "none":
        body["tools"] = [_tool(tool, index) for index, tool in enumerate(request.tools)]
    options: Json = {wire: value for name, wire in _OPTIONS if (value := getattr(request, name)) is not None}
    if request.stop:
        options["stop"] = [request.stop] if isinstance(request.stop, str) else list(request.stop)
    if options:
        body["options"] = options
    if request.logprobs is not None:
        body["logprobs"] = request.logprobs
    if request.top_logprobs is not None:
        body["top_logprobs"] = request.top_logprobs
    if isinstance(wanted := request.response_format, JsonSchema):
        check_json(wanted.schema, "Request.response_format.schema")
        body["format"] = wanted.schema
    elif wanted == "json":
        body["format"] = "json"
    elif wanted not in (None, "text"):
        raise ConfigurationError(f"Request.response_format is {wanted!r}: give 'text', 'json' or a JsonSchema")
    think = _think(request.reasoning, dialect)
    if think is not None:
        body["think"] = think
    return body


def _think(reasoning: str | Reasoning | None, dialect: OllamaDialect) -> bool | str | None:
    """Whether the model thinks; a level where the dialect says that it takes one."""
    if reasoning is None:
        return None
    asked = Reasoning(effort=reasoning) if isinstance(reasoning, str) else reasoning  # type: ignore[arg-type]  # looked at below
    if asked.budget_tokens is not None or asked.summary is not None:
        raise ConfigurationError(f"Request.reasoning: {PROTOCOL} has a field for an effort only")
    if asked.effort is None:
        return None
    if asked.effort != "off" and asked.effort not in _LEVELS:
        raise ConfigurationError(f"Request.reasoning: the effort {asked.effort!r} is none of off, {', '.join(_LEVELS)}")
    return False if asked.effort == "off" else _LEVELS[asked.effort] if dialect.think_levels else True


def _tool(tool: Tool, index: int) -> Json:
    if tool.kind == "custom":
        raise ConfigurationError(f"Request.tools[{index}] ({tool.name}): {PROTOCOL} has no custom tools")
    described: Json = {"name": tool.name, "parameters": tool.parameters if tool.parameters is not None else {"type": "object", "properties": {}}}
    if tool.description:
        described["description"] = tool.description
    return {"type": "function", "function": described}


class _Writer:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._names: dict[str, str] = {}
        self._cut: set[str] = set()

    def write(self, request: Request) -> list[Json]:
        out: list[Json] = []
        for index, message in enumerate(request.messages):
            where = f"messages[{index}]"
            if message.role == "assistant":
                out += self._assistant(message, where)
            elif message.role == "tool":
                for part in message.parts:
                    result = check_result(part, where)
                    if result.id not in self._cut:
                        name = result.name or self._names.get(result.id)
                        answer: Json = {"role": "tool", "content": result_text(result, where, PROTOCOL), "tool_call_id": result.id}
                        out.append({**answer, "tool_name": name} if name else answer)
            elif message.role == "user":
                out += self._user(message.parts, where)
            elif message.role in ("system", "developer"):
                out += [{"role": "system", "content": text}] if (text := only_text(message, where)) else []
            else:
                raise ConfigurationError(f"{where}: unknown role {message.role!r}")
        return out

    def _user(self, parts: tuple[Part, ...], where: str) -> list[Json]:
        texts: list[str] = []
        images: list[str] = []
        for number, part in enumerate(parts):
            if isinstance(part, TextPart):
                texts.append(part.text)
            elif isinstance(part, ImagePart):
                if part.data is None:
                    raise ConfigurationError(f"{where}.content[{number}]: {PROTOCOL} takes images as data, not by their address")
                images.append(part.data)
            else:
                raise no_such_part(part, f"{where}.content[{number}]", PROTOCOL)
        if not any(texts) and not images:
            return []
        message: Json = {"role": "user", "content": "\n".join(texts)}
        return [{**message, "images": images} if images else message]

    def _assistant(self, message: Message, where: str) -> list[Json]:
        own = same_origin(message.origin, self._target)
        wire: Json = {"role": "assistant", "content": ""}
        calls: list[Json] = []
        for number, part in enumerate(message.parts):
            place = f"{where}.content[{number}]"
            if isinstance(part, TextPart):
                wire["content"] = f"{wire['content']}{part.text}"
            elif isinstance(part, ReasoningPart):
                if own and part.text:
                    wire["thinking"] = f"{wire.get('thinking', '')}{part.text}"
            elif isinstance(part, ToolCallPart):
                if not part.complete:
                    self._cut.add(part.id)
                    continue
                check_call(part, place)
                self._names[part.id] = part.name
                calls.append({"id": part.id, "function": {"name": part.name, "arguments": arguments_object(part, place)}})
            elif type(part).__name__ != "OpaquePart":
                raise no_such_part(part, place, PROTOCOL)
        if calls:
            wire["tool_calls"] = calls
        return [wire] if wire["content"] or calls else []
