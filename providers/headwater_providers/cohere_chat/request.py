"""The body of a Cohere chat request (version 2)."""

from __future__ import annotations

import msgspec

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import (
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
)
from headwater_providers.adapter import Target
from headwater_providers.body import Json
from headwater_providers.checks import check_json, check_tool_choice, check_tools
from headwater_providers.cohere_chat.dialect import CohereDialect
from headwater_providers.origin import same_origin
from headwater_providers.turns import check_call, check_result, data_url, no_such_part, only_text, refuse_nothing, result_text

PROTOCOL = "cohere-chat"
BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24576, "max": 31000}  # tokens
_PLAIN = (
    ("max_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("top_p", "p"),
    ("top_k", "k"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("logprobs", "logprobs"),
)


def build_fields(request: Request, target: Target, dialect: CohereDialect) -> Json:
    """The body as a dict."""
    messages = _messages(request, target)
    refuse_nothing(messages)
    body: Json = {"model": target.model, "messages": messages, "stream": True}
    body.update({wire: value for name, wire in _PLAIN if (value := getattr(request, name)) is not None})
    if request.stop:
        body["stop_sequences"] = [request.stop] if isinstance(request.stop, str) else list(request.stop)
    known = check_tools(request.tools)
    if known:
        body["tools"] = [_tool(tool, index) for index, tool in enumerate(request.tools)]
        if any(tool.strict for tool in request.tools):
            body["strict_tools"] = True
    if request.tool_choice is not None:
        if check_tool_choice(request.tool_choice, known) is not None:
            raise ConfigurationError(f"Request.tool_choice is {request.tool_choice!r}: {PROTOCOL} cannot name a tool: give auto, none or required")
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice.upper()
    if isinstance(wanted := request.response_format, JsonSchema):
        check_json(wanted.schema, "Request.response_format.schema")
        body["response_format"] = {"type": "json_object", "json_schema": wanted.schema}
    elif wanted is not None:
        if wanted not in ("text", "json"):
            raise ConfigurationError(f"Request.response_format is {wanted!r}: give 'text', 'json' or a JsonSchema")
        body["response_format"] = {"type": "text" if wanted == "text" else "json_object"}
    if thinking := _thinking(request.reasoning):
        body["thinking"] = thinking
    return body


def _thinking(reasoning: str | Reasoning | None) -> Json:
    if reasoning is None:
        return {}
    asked = Reasoning(effort=reasoning) if isinstance(reasoning, str) else reasoning  # type: ignore[arg-type]  # looked at below
    if asked.summary is not None:
        raise ConfigurationError(f"Request.reasoning: {PROTOCOL} has no field for `summary`")
    if asked.effort == "off":
        return {"type": "disabled"}
    if asked.effort is not None and asked.effort not in BUDGETS:
        raise ConfigurationError(f"Request.reasoning: the effort {asked.effort!r} is none of off, {', '.join(BUDGETS)}")
    budget = asked.budget_tokens if asked.budget_tokens is not None else BUDGETS.get(asked.effort or "")
    return {"type": "enabled", "token_budget": budget} if budget is not None else {}


def _tool(tool: Tool, index: int) -> Json:
    if tool.kind == "custom":
        raise ConfigurationError(f"Request.tools[{index}] ({tool.name}): {PROTOCOL} has no custom tools")
    described: Json = {"name": tool.name, "parameters": tool.parameters if tool.parameters is not None else {"type": "object", "properties": {}}}
    if tool.description:
        described["description"] = tool.description
    return {"type": "function", "function": described}


def _messages(request: Request, target: Target) -> list[Json]:
    out: list[Json] = []
    cut: set[str] = set()
    for index, message in enumerate(request.messages):
        where = f"messages[{index}]"
        if message.role == "assistant":
            out += _assistant(message, where, same_origin(message.origin, target), cut)
        elif message.role == "tool":
            for part in message.parts:
                result = check_result(part, where)
                if result.id not in cut:
                    out.append({"role": "tool", "tool_call_id": result.id, "content": result_text(result, where, PROTOCOL)})
        elif message.role == "user":
            if content := _content(message.parts, where):
                out.append({"role": "user", "content": content})
        elif message.role in ("system", "developer"):
            if text := only_text(message, where):
                out.append({"role": "system", "content": text})
        else:
            raise ConfigurationError(f"{where}: unknown role {message.role!r}")
    return out


def _content(parts: tuple[Part, ...], where: str) -> str | list[Json]:
    written: list[Json] = []
    for number, part in enumerate(parts):
        place = f"{where}.content[{number}]"
        if isinstance(part, TextPart):
            if part.text:
                written.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            image: Json = {"url": data_url(part, place)}
            if part.detail:
                image["detail"] = part.detail
            written.append({"type": "image_url", "image_url": image})
        else:
            raise no_such_part(part, place, PROTOCOL)
    only = written[0].get("text") if len(written) == 1 else None
    return only if isinstance(only, str) else written


def _plan(raw: bytes) -> str:
    """The text of a plan; what is none is left out: the calls can be said without it."""
    try:
        return msgspec.json.decode(raw, type=str)
    except msgspec.DecodeError:
        return ""


def _assistant(message: Message, where: str, own: bool, cut: set[str]) -> list[Json]:
    """A turn of the model's. The plan that it made with its calls goes back with them (`tool_plan`)."""
    content: list[Json] = []
    calls: list[Json] = []
    plan = ""
    for number, part in enumerate(message.parts):
        place = f"{where}.content[{number}]"
        if isinstance(part, TextPart):
            if part.text.strip():
                content.append({"type": "text", "text": part.text})
        elif isinstance(part, ReasoningPart):
            if own and part.text:
                content.append({"type": "thinking", "thinking": part.text})
        elif isinstance(part, ToolCallPart):
            if not part.complete:
                cut.add(part.id)
                continue
            check_call(part, place)
            arguments = part.arguments if part.arguments.strip() else "{}"
            calls.append({"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments}})
        elif isinstance(part, OpaquePart):
            if own and part.kind == "tool_plan":
                plan = _plan(part.raw)
        else:
            raise no_such_part(part, place, PROTOCOL)
    wire: Json = {"role": "assistant"}
    if content:
        wire["content"] = content
    if calls:
        wire["tool_calls"] = calls
        if plan:
            wire["tool_plan"] = plan
    return [wire] if content or calls else []
