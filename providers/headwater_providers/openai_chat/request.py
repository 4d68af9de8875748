"""The body of a chat completion request, from `Request`. Rows OR-CC-01, OR-CC-07, OR-OPT-12, OR-OPT-14, AMB-46, AMB-70.

None is not sent; zero and False are. What the vendor's dialect or the caller adds is merged key by key, never in place of what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import JsonSchema, Reasoning, Request, Tool
from headwater_providers.adapter import Target
from headwater_providers.body import Json, encode_body, merged, with_extra_body
from headwater_providers.checks import check_json, check_tool_choice, check_tools, is_number
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.messages import MessageWriter
from headwater_providers.openai_chat.support import check_fields
from headwater_providers.openai_chat.thinking import reasoning_fields

# Fields that go out as they are, with their names on the wire.
_PLAIN = (
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("n", "n"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("logprobs", "logprobs"),
    ("top_logprobs", "top_logprobs"),
    ("parallel_tool_calls", "parallel_tool_calls"),
    ("service_tier", "service_tier"),
    ("verbosity", "verbosity"),
    ("user", "user"),
    ("cache_key", "prompt_cache_key"),
)
_plain = attrgetter(*(name for name, _ in _PLAIN))
_NOTHING = (None,) * len(_PLAIN)


def build_body(request: Request, target: Target, dialect: ChatDialect) -> bytes:
    """The body as JSON. Raises ConfigurationError, naming the field or the message, for what cannot be sent."""
    return encode_body(build_fields(request, target, dialect))


def build_fields(request: Request, target: Target, dialect: ChatDialect) -> Json:
    """The body as a dict."""
    check_fields(request, target.provider, dialect)
    body: Json = {
        "model": target.model,
        "messages": MessageWriter(target, dialect, _thinks(request, dialect)).write(request.messages),
        "stream": True,
    }
    if dialect.usage_in_stream:
        body["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        body[dialect.max_tokens_field] = request.max_tokens
    values = _plain(request)
    if values != _NOTHING:
        body.update([(wire, value) for (_, wire), value in zip(_PLAIN, values, strict=True) if value is not None])
    if "n" in dialect.unsupported:
        body.pop("n", None)  # one answer is what comes anyway
    if request.store is not None and dialect.supports_store:
        body["store"] = request.store
    if request.stop:
        body["stop"] = request.stop if isinstance(request.stop, str) else list(request.stop)
    if request.logit_bias is not None:
        body["logit_bias"] = _logit_bias(request.logit_bias)
    if request.metadata is not None:
        body["metadata"] = dict(request.metadata)
    if request.tools:
        check_tools(request.tools)
        body["tools"] = [_tool(tool, index, target.provider, dialect) for index, tool in enumerate(request.tools)]
        if dialect.tool_stream:
            body["tool_stream"] = True
    if request.tool_choice is not None:
        body["tool_choice"] = _tool_choice(request.tool_choice, request.tools)
    if request.response_format is not None:
        body["response_format"] = _response_format(request.response_format, target.provider, dialect)
    body.update(reasoning_fields(request.reasoning, target.provider, dialect))
    for name, wire in dialect.rename.items():
        if name in body:
            body[wire] = body.pop(name)
    if dialect.extra_body:
        body = merged(dialect.extra_body, body)
    return with_extra_body(body, request)


def _thinks(request: Request, dialect: ChatDialect) -> bool:
    """Whether the model will reason: it always does, or it is asked to."""
    asked = request.reasoning
    effort = asked.effort if isinstance(asked, Reasoning) else asked
    return effort != "off" and (dialect.reasoning_model or effort is not None or (isinstance(asked, Reasoning) and asked.budget_tokens is not None))


def _tool(tool: Tool, index: int, provider: str, dialect: ChatDialect) -> Json:
    described: Json = {"name": tool.name}
    if tool.description:
        described["description"] = tool.description
    if tool.kind == "custom":
        if not dialect.supports_custom_tools:
            raise ConfigurationError(
                f"Request.tools[{index}] ({tool.name}): provider {provider} takes no custom tools (dialect flag supports_custom_tools)"
            )
        if tool.parameters is not None:
            described["format"] = tool.parameters
        return {"type": "custom", "custom": described}
    described["parameters"] = tool.parameters if tool.parameters is not None else {"type": "object", "properties": {}}
    if tool.strict is not None and dialect.supports_strict:
        described["strict"] = tool.strict
    return {"type": "function", "function": described}


def _tool_choice(choice: str, tools: Sequence[Tool]) -> object:
    tool = check_tool_choice(choice, {tool.name: tool for tool in tools})
    return choice if tool is None else {"type": tool.kind, tool.kind: {"name": tool.name}}


def _response_format(wanted: object, provider: str, dialect: ChatDialect) -> Json:
    if wanted == "text":
        return {"type": "text"}
    if wanted == "json":
        return {"type": "json_object"}
    if not isinstance(wanted, JsonSchema):
        raise ConfigurationError(f"Request.response_format is {wanted!r}: give 'text', 'json' or a JsonSchema")
    if not dialect.supports_json_schema:
        raise ConfigurationError(f"Request.response_format: provider {provider} takes 'json' but no JsonSchema: put the schema into the prompt")
    check_json(wanted.schema, "Request.response_format.schema")
    schema: Json = {"name": wanted.name, "schema": wanted.schema}
    if wanted.description:
        schema["description"] = wanted.description
    if wanted.strict is not None and dialect.supports_strict:
        schema["strict"] = wanted.strict
    return {"type": "json_schema", "json_schema": schema}


def _logit_bias(biases: Mapping[str, float]) -> Json:
    for token, bias in biases.items():
        if not is_number(bias):
            raise ConfigurationError(f"Request.logit_bias[{token!r}] is {bias!r}: give a finite number")
    return {str(token): bias for token, bias in biases.items()}
