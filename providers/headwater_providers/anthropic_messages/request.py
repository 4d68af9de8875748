"""The body of a Messages request, from `Request`. Rows OR-AN-01 to OR-AN-12, AMB-34, AMB-41.

None is not sent; zero and False are. What the vendor's dialect or the caller adds is merged key by key.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import JsonSchema, Request, Tool
from headwater_providers.adapter import Target
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.anthropic_messages.messages import MessageWriter
from headwater_providers.anthropic_messages.support import check_fields
from headwater_providers.anthropic_messages.thinking import add_thinking, thinks
from headwater_providers.body import Json, encode_body, merged, with_extra_body
from headwater_providers.checks import check_json, check_tool_choice, check_tools

_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def build_body(request: Request, target: Target, dialect: MessagesDialect) -> bytes:
    """The body as JSON. Raises ConfigurationError, naming the field or the message, for what cannot be sent."""
    return encode_body(build_fields(request, target, dialect))


def build_fields(request: Request, target: Target, dialect: MessagesDialect) -> Json:
    """The body as a dict."""
    check_fields(request, target.provider, dialect)
    writer = MessageWriter(target, dialect)
    messages = writer.write(request.messages)
    body: Json = {"model": target.model, "max_tokens": request.max_tokens if request.max_tokens is not None else dialect.max_tokens}
    if writer.system:
        body["system"] = writer.system
    body["messages"] = messages
    body["stream"] = True
    add_thinking(body, request, target.provider, dialect)
    _add_sampling(body, request, dialect)
    if request.stop:
        body["stop_sequences"] = [request.stop] if isinstance(request.stop, str) else list(request.stop)
    if request.service_tier is not None:
        body["service_tier"] = request.service_tier
    if metadata := _metadata(request):
        body["metadata"] = metadata
    if request.tools:
        check_tools(request.tools)
        body["tools"] = [_tool(tool, index, dialect) for index, tool in enumerate(request.tools)]
    if (choice := _tool_choice(request)) is not None:
        body["tool_choice"] = choice
    if request.response_format is not None:
        _add_format(body, request.response_format, target.provider, dialect)
    if dialect.cache_breakpoints:
        _mark(body, dialect)
    if dialect.extra_body:
        body = merged(dialect.extra_body, body)
    return with_extra_body(body, request)


def _add_sampling(body: Json, request: Request, dialect: MessagesDialect) -> None:
    """Temperature and top_k are refused beside thinking (OR-AN-10)."""
    free = dialect.temperature_with_thinking or not thinks(request)
    for name, value in (("temperature", request.temperature if free else None), ("top_p", request.top_p), ("top_k", request.top_k if free else None)):
        if value is not None:
            body[name] = value


def _metadata(request: Request) -> Mapping[str, object]:
    metadata: Json = {} if request.user is None else {"user_id": request.user}
    return metadata | dict(request.metadata or {})


def _tool(tool: Tool, index: int, dialect: MessagesDialect) -> Json:
    if tool.kind == "custom":
        raise ConfigurationError(f"Request.tools[{index}] ({tool.name}): anthropic-messages takes no custom tools, which answer with free text")
    described: Json = {"name": tool.name}
    if tool.description:
        described["description"] = tool.description
    described["input_schema"] = {"type": "object", **(tool.parameters or {})}
    if "properties" not in described["input_schema"] and not tool.parameters:  # type: ignore[operator]  # a dict, two lines above
        described["input_schema"] = {"type": "object", "properties": {}}
    if tool.strict is not None and dialect.supports_strict:
        described["strict"] = tool.strict
    return described


def _tool_choice(request: Request) -> Json | None:
    """The choice, which also says whether several calls may come at once."""
    choice, parallel = request.tool_choice, request.parallel_tool_calls
    if choice is None and parallel is None:
        return None
    if not request.tools and choice is None:
        return None  # several calls of no tools: nothing to say
    tool = check_tool_choice(choice or "auto", {tool.name: tool for tool in request.tools})
    wire: Json = {"type": _CHOICES[choice or "auto"]} if tool is None else {"type": "tool", "name": tool.name}
    if parallel is not None and wire["type"] != "none":
        wire["disable_parallel_tool_use"] = not parallel
    return wire


def _add_format(body: Json, wanted: object, provider: str, dialect: MessagesDialect) -> None:
    if wanted == "text":
        return
    if wanted == "json":
        raise ConfigurationError("Request.response_format: anthropic-messages has no plain 'json': give a JsonSchema, or ask for JSON in the prompt")
    if not isinstance(wanted, JsonSchema):
        raise ConfigurationError(f"Request.response_format is {wanted!r}: give 'text' or a JsonSchema")
    if not dialect.supports_json_schema:
        raise ConfigurationError(f"Request.response_format: provider {provider} takes no JsonSchema: put the schema into the prompt, or into a tool")
    check_json(wanted.schema, "Request.response_format.schema")
    body["output_config"] = merged(_object(body.get("output_config")), {"format": {"type": "json_schema", "schema": wanted.schema}})


def _mark(body: Json, dialect: MessagesDialect) -> None:
    """Cache breakpoints on the last system block, the last tool and the last block of the last message."""
    mark: Json = {"type": "ephemeral"} if dialect.cache_ttl is None else {"type": "ephemeral", "ttl": dialect.cache_ttl}
    messages = body["messages"]
    last = messages[-1]["content"] if isinstance(messages, list) else []
    for blocks in (body.get("system"), body.get("tools"), last):
        if isinstance(blocks, list) and blocks and isinstance(blocks[-1], dict) and blocks[-1].get("type") not in ("thinking", "redacted_thinking"):
            blocks[-1] = {**blocks[-1], "cache_control": mark}


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
