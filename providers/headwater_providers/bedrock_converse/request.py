"""The body of a ConverseStream request. Rows PI-BR-04, CopilotKit's BedrockAdapter; AMB-70."""

from __future__ import annotations

from collections.abc import Sequence

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import JsonSchema, Reasoning, Request, Tool
from headwater_providers.adapter import Target
from headwater_providers.bedrock_converse.dialect import ConverseDialect
from headwater_providers.bedrock_converse.messages import ConverseWriter
from headwater_providers.body import Json
from headwater_providers.checks import check_json, check_tool_choice, check_tools
from headwater_providers.turns import refuse_nothing, split_system

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 16384, "max": 16384}  # tokens
# Where tools were called, a request without `toolConfig` is refused, also if none is offered now: then there is this one, for nobody to call.
_NO_TOOL: Json = {
    "toolSpec": {
        "name": "no_tool",
        "description": "There are no tools in this turn. Never call this: answer in words.",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
    }
}
_PLAIN = (("max_tokens", "maxTokens"), ("temperature", "temperature"), ("top_p", "topP"))


def build_fields(request: Request, target: Target, dialect: ConverseDialect) -> Json:
    """The body as a dict."""
    instructions, messages = split_system(request.messages)
    written = ConverseWriter(target, dialect.signed_reasoning).write(messages)
    refuse_nothing(written)
    body: Json = {"messages": written}
    if instructions:
        body["system"] = [{"text": instructions}]
    config: Json = {wire: value for name, wire in _PLAIN if (value := getattr(request, name)) is not None}
    if request.stop:
        config["stopSequences"] = [request.stop] if isinstance(request.stop, str) else list(request.stop)
    if config:
        body["inferenceConfig"] = config
    known = check_tools(request.tools)
    choice = check_tool_choice(request.tool_choice, known) if request.tool_choice is not None else None
    if known and request.tool_choice != "none":  # there is no way to say `none` (PI-BR-04)
        tools: Json = {"tools": [_tool(tool, index) for index, tool in enumerate(request.tools)]}
        if choice is not None:
            tools["toolChoice"] = {"tool": {"name": choice.name}}
        elif request.tool_choice is not None:
            tools["toolChoice"] = {"any": {}} if request.tool_choice == "required" else {"auto": {}}
        body["toolConfig"] = tools
    elif _speaks_of_tools(written):
        body["toolConfig"] = {"tools": [_NO_TOOL]}
    if isinstance(wanted := request.response_format, JsonSchema):
        check_json(wanted.schema, "Request.response_format.schema")
        schema: Json = {"schema": _text(wanted.schema), "name": wanted.name}
        if wanted.description:
            schema["description"] = wanted.description
        body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}
    elif wanted == "json":
        raise ConfigurationError("Request.response_format: bedrock-converse takes a JsonSchema, but no plain 'json'")
    if request.service_tier is not None:
        body["serviceTier"] = {"type": request.service_tier}
    if request.metadata is not None:
        body["requestMetadata"] = dict(request.metadata)
    more: Json = {"top_k": request.top_k} if request.top_k is not None else {}
    more.update(_reasoning(request.reasoning, request.max_tokens, target.provider, dialect))
    if more:
        body["additionalModelRequestFields"] = more
    return body


def _speaks_of_tools(messages: Sequence[Json]) -> bool:
    blocks = [block for message in messages if isinstance(content := message["content"], list) for block in content]
    return any(isinstance(block, dict) and ("toolUse" in block or "toolResult" in block) for block in blocks)


def _text(schema: object) -> str:
    import msgspec

    return msgspec.json.encode(schema).decode()


def _tool(tool: Tool, index: int) -> Json:
    if tool.kind == "custom":
        raise ConfigurationError(f"Request.tools[{index}] ({tool.name}): bedrock-converse has no custom tools")
    described: Json = {"name": tool.name}
    if tool.description:
        described["description"] = tool.description
    described["inputSchema"] = {"json": tool.parameters if tool.parameters is not None else {"type": "object", "properties": {}}}
    if tool.strict is not None:
        described["strict"] = tool.strict
    return {"toolSpec": described}


def _reasoning(reasoning: str | Reasoning | None, max_tokens: int | None, provider: str, dialect: ConverseDialect) -> Json:
    """A budget for thinking, in the field where the model's own protocol has it; it stays below `max_tokens` (OR-AN-07)."""
    if reasoning is None:
        return {}
    asked = Reasoning(effort=reasoning) if isinstance(reasoning, str) else reasoning  # type: ignore[arg-type]  # looked at below
    if asked.summary is not None:
        raise ConfigurationError("Request.reasoning: bedrock-converse has no field for `summary`")
    if asked.effort is not None and asked.effort != "off" and asked.effort not in BUDGETS:
        raise ConfigurationError(f"Request.reasoning: the effort {asked.effort!r} is none of off, {', '.join(BUDGETS)}")
    field = dialect.reasoning_field
    if field == "none":
        if asked.effort in (None, "off") and asked.budget_tokens is None:
            return {}
        raise ConfigurationError(
            f"Request.reasoning: the model of provider {provider} has no known field for it: put it into extra_body.additionalModelRequestFields"
        )
    if asked.effort == "off":
        return {}
    budget = asked.budget_tokens if asked.budget_tokens is not None else BUDGETS[asked.effort or "medium"]
    if max_tokens is not None and budget >= max_tokens:
        budget = max(1024, max_tokens - 1024)
    return {field: {"type": "enabled", "budget_tokens": budget}}
