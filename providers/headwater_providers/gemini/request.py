"""The body of a Gemini request, for the Gemini API and for Vertex. Rows ADK-GEM, PI-GO; AMB-70."""

from __future__ import annotations

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import JsonSchema, Reasoning, Request, Tool
from headwater_providers.adapter import Target
from headwater_providers.body import Json
from headwater_providers.checks import check_json, check_tool_choice, check_tools
from headwater_providers.gemini.contents import ContentWriter
from headwater_providers.gemini.dialect import GeminiDialect
from headwater_providers.levels import EFFORTS
from headwater_providers.turns import refuse_nothing, split_system

_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24576, "max": -1}  # tokens; -1: as many as the model likes
_PLAIN = (
    ("max_tokens", "maxOutputTokens"),
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("n", "candidateCount"),
    ("seed", "seed"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
    ("logprobs", "responseLogprobs"),
    ("top_logprobs", "logprobs"),
)
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def build_fields(request: Request, target: Target, dialect: GeminiDialect) -> Json:
    """The body as a dict."""
    instructions, messages = split_system(request.messages)
    contents = ContentWriter(target, dialect).write(messages)
    refuse_nothing(contents)
    body: Json = {"contents": contents}
    if instructions:
        body["systemInstruction"] = {"parts": [{"text": instructions}]}
    known = check_tools(request.tools)
    if known:
        body["tools"] = [{"functionDeclarations": [_tool(tool, index) for index, tool in enumerate(request.tools)]}]
    if request.tool_choice is not None:
        tool = check_tool_choice(request.tool_choice, known)
        mode: Json = {"mode": _MODES[request.tool_choice]} if tool is None else {"mode": "ANY", "allowedFunctionNames": [tool.name]}
        body["toolConfig"] = {"functionCallingConfig": mode}
    config: Json = {wire: value for name, wire in _PLAIN if (value := getattr(request, name)) is not None}
    if request.stop:
        config["stopSequences"] = [request.stop] if isinstance(request.stop, str) else list(request.stop)
    config.update(_format(request.response_format))
    if thinking := _thinking(request.reasoning, dialect):
        config["thinkingConfig"] = thinking
    if config:
        body["generationConfig"] = config
    if request.metadata is not None:
        body["labels"] = dict(request.metadata)
    return body


def _tool(tool: Tool, index: int) -> Json:
    if tool.kind == "custom":
        raise ConfigurationError(f"Request.tools[{index}] ({tool.name}): gemini has no custom tools")
    described: Json = {"name": tool.name}
    if tool.description:
        described["description"] = tool.description
    if tool.parameters is not None:
        described["parametersJsonSchema"] = tool.parameters
    return described


def _format(wanted: object) -> Json:
    if wanted is None or wanted == "text":
        return {}
    if wanted == "json":
        return {"responseMimeType": "application/json"}
    if not isinstance(wanted, JsonSchema):
        raise ConfigurationError(f"Request.response_format is {wanted!r}: give 'text', 'json' or a JsonSchema")
    check_json(wanted.schema, "Request.response_format.schema")
    return {"responseMimeType": "application/json", "responseJsonSchema": wanted.schema}


def _thinking(reasoning: str | Reasoning | None, dialect: GeminiDialect) -> Json:
    """How much the model should think. Asked to think it shows its thoughts, unless the summary is "off"."""
    if reasoning is None:
        return {}
    asked = Reasoning(effort=reasoning) if isinstance(reasoning, str) else reasoning  # type: ignore[arg-type]  # looked at below
    if asked.effort is not None and asked.effort != "off" and asked.effort not in EFFORTS:
        raise ConfigurationError(f"Request.reasoning: the effort {asked.effort!r} is none of off, {', '.join(EFFORTS)}")
    if asked.effort == "off":
        return {"thinkingLevel": "MINIMAL"} if dialect.thinking_levels else {"thinkingBudget": 0}
    fields: Json = {"includeThoughts": asked.summary != "off"}
    if asked.budget_tokens is not None:
        fields["thinkingBudget"] = asked.budget_tokens
    elif asked.effort is not None:
        if dialect.thinking_levels:
            fields["thinkingLevel"] = "HIGH" if asked.effort in ("xhigh", "max") else asked.effort.upper()
        else:
            fields["thinkingBudget"] = _BUDGETS[asked.effort]
    return fields
