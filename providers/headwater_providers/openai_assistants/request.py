"""The body of an Assistants request: which of the three endpoints it goes to is told by what the request holds.

`extra_body` names the assistant (`assistant_id`; a model whose name begins with `asst_` is one), the thread (`thread_id`) and, to answer calls, the
run (`run_id`). With a run the tool results are submitted to it; with a thread the messages are added to it; else a new thread is made of them. A
conversation that ends with the results of calls goes on where it stopped: such calls say in their `meta` which thread and run wait for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import FilePart, ImagePart, JsonSchema, Message, Reasoning, Request, TextPart, Tool, ToolCallPart
from headwater_providers.adapter import Target
from headwater_providers.body import Json
from headwater_providers.checks import check_json, check_tool_choice, check_tools
from headwater_providers.openai_assistants.dialect import AssistantsDialect
from headwater_providers.turns import check_result, no_such_part, refuse_nothing, result_text, split_system

PROTOCOL = "openai-assistants"
_PLAIN = (
    ("max_tokens", "max_completion_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("parallel_tool_calls", "parallel_tool_calls"),
)


def build_fields(request: Request, target: Target, dialect: AssistantsDialect) -> Json:
    """The body as a dict; what names the thread and the run is taken out of it by `path`."""
    if request.extra_body.get("run_id") is not None:
        return {"tool_outputs": _outputs(list(enumerate(request.messages))), "stream": True}
    if (waiting := _waiting(request.messages)) is not None:
        return waiting
    instructions, rest = split_system(request.messages)
    messages = [written for index, message in rest if (written := _message(message, f"messages[{index}]"))]
    body: Json = {"stream": True}
    if request.extra_body.get("thread_id") is not None:
        if messages:
            body["additional_messages"] = messages
    else:
        refuse_nothing(messages)
        body["thread"] = {"messages": messages}
    if target.model.startswith("asst_"):
        body["assistant_id"] = target.model
    elif "assistant_id" not in request.extra_body:
        raise ConfigurationError(f"{PROTOCOL} needs an assistant: use its id as the model's name, or give extra_body={{'assistant_id': ...}}")
    else:
        body["model"] = target.model
    if instructions:
        body["instructions"] = instructions
    body.update({wire: value for name, wire in _PLAIN if (value := getattr(request, name)) is not None})
    known = check_tools(request.tools)
    if known:
        body["tools"] = [_tool(tool, index) for index, tool in enumerate(request.tools)]
    if request.tool_choice is not None:
        tool = check_tool_choice(request.tool_choice, known)
        body["tool_choice"] = request.tool_choice if tool is None else {"type": "function", "function": {"name": tool.name}}
    if (wanted := request.response_format) is not None:
        body["response_format"] = _format(wanted)
    if request.reasoning is not None:
        body["reasoning_effort"] = _effort(request.reasoning)
    if request.metadata is not None:
        body["metadata"] = dict(request.metadata)
    return body


def take_path(body: Json) -> str:
    """The path behind `/threads`; the names that stand in it are taken out of the body."""
    thread, run = body.pop("thread_id", None), body.pop("run_id", None)
    if run is not None:
        if thread is None:
            raise ConfigurationError(f"{PROTOCOL}: tool results need extra_body={{'thread_id': ..., 'run_id': ...}}")
        body.pop("assistant_id", None)
        return f"/{_word(thread)}/runs/{_word(run)}/submit_tool_outputs"
    return f"/{_word(thread)}/runs" if thread is not None else "/runs"


def _word(id: object) -> str:
    if not isinstance(id, str) or not id or not id.replace("_", "").replace("-", "").isalnum():
        raise ConfigurationError(f"{PROTOCOL}: {id!r} is no id of a thread or a run")
    return id


class _Place(Struct, frozen=True):
    """The thread and the run that wait for the result of a call: its `meta`."""

    thread_id: str
    run_id: str


_read_place = msgspec.json.Decoder(_Place).decode


def _waiting(messages: Sequence[Message]) -> Json | None:
    """The results at the end of the conversation, for the run that waits for them; None where there are none, or no run is known."""
    first = next((index + 1 for index in range(len(messages) - 1, -1, -1) if messages[index].role != "tool"), 0)
    if first in (0, len(messages)) or messages[first - 1].role != "assistant":
        return None
    calls = [part for part in messages[first - 1].parts if isinstance(part, ToolCallPart)]
    places = [place for call in calls if (place := _place(call)) is not None]
    if not places:
        return None
    outputs = _outputs(list(enumerate(messages))[first:])
    asked, given = sorted(call.id for call in calls), sorted(str(output["tool_call_id"]) for output in outputs)
    if asked != given:
        raise ConfigurationError(f"{PROTOCOL}: the run asked for the results of {', '.join(asked)}, the messages have those of {', '.join(given)}")
    return {"tool_outputs": outputs, "stream": True, "thread_id": places[0].thread_id, "run_id": places[0].run_id}


def _place(call: ToolCallPart) -> _Place | None:
    try:
        return _read_place(call.meta) if call.meta is not None else None
    except msgspec.DecodeError:  # another protocol's
        return None


def _outputs(messages: Sequence[tuple[int, Message]]) -> list[Json]:
    outputs: list[Json] = []
    for index, message in messages:
        if message.role == "tool":
            for part in message.parts:
                result = check_result(part, f"messages[{index}]")
                outputs.append({"tool_call_id": result.id, "output": result_text(result, f"messages[{index}]", PROTOCOL)})
    if not outputs:
        raise ConfigurationError(f"{PROTOCOL}: there is a run that waits for results, but there are no tool results to submit to it")
    return outputs


def _message(message: Message, where: str) -> Json | None:
    if message.role not in ("user", "assistant"):
        raise ConfigurationError(f"{where}: {PROTOCOL} takes no {message.role} message here; results go to the run that asked for them")
    content: list[Json] = []
    for number, part in enumerate(message.parts):
        place = f"{where}.content[{number}]"
        if isinstance(part, TextPart):
            if part.text.strip():
                content.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart) and part.url is not None:
            image: Json = {"url": part.url}
            if part.detail:
                image["detail"] = part.detail
            content.append({"type": "image_url", "image_url": image})
        elif isinstance(part, FilePart) and part.file_id is not None and (part.media_type or "").startswith("image/"):
            content.append({"type": "image_file", "image_file": {"file_id": part.file_id}})
        elif message.role == "user":
            raise no_such_part(part, place, PROTOCOL)
    return {"role": message.role, "content": content} if content else None


def _tool(tool: Tool, index: int) -> Json:
    if tool.kind == "custom":
        raise ConfigurationError(f"Request.tools[{index}] ({tool.name}): {PROTOCOL} has no custom tools")
    described: Json = {"name": tool.name, "parameters": tool.parameters if tool.parameters is not None else {"type": "object", "properties": {}}}
    if tool.description:
        described["description"] = tool.description
    if tool.strict is not None:
        described["strict"] = tool.strict
    return {"type": "function", "function": described}


def _format(wanted: object) -> Json:
    if wanted in ("text", "json"):
        return {"type": "text" if wanted == "text" else "json_object"}
    if not isinstance(wanted, JsonSchema):
        raise ConfigurationError(f"Request.response_format is {wanted!r}: give 'text', 'json' or a JsonSchema")
    check_json(wanted.schema, "Request.response_format.schema")
    schema: Json = {"name": wanted.name, "schema": wanted.schema}
    if wanted.strict is not None:
        schema["strict"] = wanted.strict
    return {"type": "json_schema", "json_schema": schema}


def _effort(reasoning: str | Reasoning) -> str:
    asked = Reasoning(effort=reasoning) if isinstance(reasoning, str) else reasoning  # type: ignore[arg-type]  # looked at below
    if asked.budget_tokens is not None or asked.summary is not None or asked.effort is None:
        raise ConfigurationError(f"Request.reasoning: {PROTOCOL} has a field for an effort only")
    return "none" if asked.effort == "off" else asked.effort
