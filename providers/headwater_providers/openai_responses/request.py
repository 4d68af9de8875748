"""The body of a Responses request. Rows OR-RS-01, OR-RS-02, ADK-OAI-CFG; AMB-70."""

from __future__ import annotations

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import JsonSchema, Reasoning, Request, Tool
from headwater_providers.adapter import Target
from headwater_providers.body import Json
from headwater_providers.checks import check_json, check_tool_choice, check_tools
from headwater_providers.levels import EFFORTS
from headwater_providers.openai_responses.dialect import ResponsesDialect
from headwater_providers.openai_responses.messages import ItemWriter
from headwater_providers.turns import refuse_nothing, split_system

SUMMARIES = ("auto", "concise", "detailed")
ENCRYPTED = "reasoning.encrypted_content"
LOGPROBS = "message.output_text.logprobs"
_PLAIN = (
    ("max_tokens", "max_output_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("parallel_tool_calls", "parallel_tool_calls"),
    ("service_tier", "service_tier"),
    ("user", "user"),
    ("cache_key", "prompt_cache_key"),
    ("top_logprobs", "top_logprobs"),
)


def build_fields(request: Request, target: Target, dialect: ResponsesDialect) -> Json:
    """The body as a dict."""
    store = request.store if request.store is not None else dialect.store
    instructions, messages = split_system(request.messages)
    items = ItemWriter(target, stored=store is True).write(messages)
    refuse_nothing(items or instructions)
    body: Json = {"model": target.model, "input": items, "stream": True}
    if instructions:
        body["instructions"] = instructions
    body.update({wire: value for name, wire in _PLAIN if (value := getattr(request, name)) is not None})
    if store is not None:
        body["store"] = store
    if request.metadata is not None:
        body["metadata"] = dict(request.metadata)
    known = check_tools(request.tools)
    if known:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice is not None:
        tool = check_tool_choice(request.tool_choice, known)
        body["tool_choice"] = request.tool_choice if tool is None else {"type": tool.kind, "name": tool.name}
    if text := _text(request):
        body["text"] = text
    reasoning, encrypted = _reasoning(request.reasoning, dialect)
    if reasoning:
        body["reasoning"] = reasoning
    include = [*([ENCRYPTED] if encrypted and store is not True else []), *([LOGPROBS] if request.logprobs else [])]
    if include:
        body["include"] = include
    return body


def _tool(tool: Tool) -> Json:
    described: Json = {"type": tool.kind, "name": tool.name}
    if tool.description:
        described["description"] = tool.description
    if tool.kind == "custom":
        if tool.parameters is not None:
            described["format"] = tool.parameters
        return described
    described["parameters"] = tool.parameters if tool.parameters is not None else {"type": "object", "properties": {}}
    described["strict"] = bool(tool.strict)  # left out it would be true
    return described


def _text(request: Request) -> Json:
    text: Json = {}
    wanted = request.response_format
    if wanted == "text":
        text["format"] = {"type": "text"}
    elif wanted == "json":
        text["format"] = {"type": "json_object"}
    elif isinstance(wanted, JsonSchema):
        check_json(wanted.schema, "Request.response_format.schema")
        schema: Json = {"type": "json_schema", "name": wanted.name, "schema": wanted.schema}
        if wanted.description:
            schema["description"] = wanted.description
        if wanted.strict is not None:
            schema["strict"] = wanted.strict
        text["format"] = schema
    elif wanted is not None:
        raise ConfigurationError(f"Request.response_format is {wanted!r}: give 'text', 'json' or a JsonSchema")
    if request.verbosity is not None:
        text["verbosity"] = request.verbosity
    return text


def _reasoning(reasoning: str | Reasoning | None, dialect: ResponsesDialect) -> tuple[Json, bool]:
    """The field `reasoning`, and whether the model will reason so that its encrypted content is wanted."""
    asked = Reasoning(effort=reasoning) if isinstance(reasoning, str) else reasoning or Reasoning()  # type: ignore[arg-type]  # looked at below
    if asked.budget_tokens is not None:
        raise ConfigurationError("Request.reasoning: openai-responses has no field for `budget_tokens`: give an effort")
    if asked.summary is not None and asked.summary not in SUMMARIES:
        raise ConfigurationError(f"Request.reasoning: the summary {asked.summary!r} is none of {', '.join(SUMMARIES)}")
    fields: Json = {}
    if asked.effort == "off":
        word = dialect.effort_map.get("off", "none")
        return ({"effort": word} if word is not None else {}), False
    if asked.effort is not None:
        if asked.effort not in EFFORTS:
            raise ConfigurationError(f"Request.reasoning: the effort {asked.effort!r} is none of off, {', '.join(EFFORTS)}")
        word = dialect.effort_map.get(asked.effort, asked.effort if asked.effort != "max" else "xhigh")
        if word is not None:
            fields["effort"] = word
    if asked.summary is not None or asked.effort is not None or dialect.reasoning_model:
        fields["summary"] = asked.summary or "auto"
    return fields, bool(fields)
