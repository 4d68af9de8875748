"""The vendors' own types as judges of request bodies: what they refuse, the vendor refuses too.

The SDKs describe bodies as typed dicts. Taken as they are they would let unknown fields pass, and fields that are `Iterable` would not be looked
into before somebody iterates: here unknown fields are refused, and every iterator of the result is exhausted.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import is_typeddict

Json = dict[str, Any]
# Protocol -> where the SDK keeps the type of a streamed request's body.
TYPED_DICTS = {
    "openai-chat": "openai.types.chat.completion_create_params:CompletionCreateParamsStreaming",
    "openai-responses": "openai.types.responses.response_create_params:ResponseCreateParamsStreaming",
    "openai-text": "openai.types.completion_create_params:CompletionCreateParamsStreaming",
    "openai-assistants": "openai.types.beta.threads.run_create_params:RunCreateParamsStreaming",
    "openai-assistants, a new thread": "openai.types.beta.thread_create_and_run_params:ThreadCreateAndRunParamsStreaming",
    "openai-assistants, tool outputs": "openai.types.beta.threads.run_submit_tool_outputs_params:RunSubmitToolOutputsParamsStreaming",
    "anthropic-messages": "anthropic.types.message_create_params:MessageCreateParamsStreaming",
}


@cache
def typed_dict_judge(kind: str) -> TypeAdapter[Any]:
    """What accepts the bodies of this type, and nothing else."""
    module, _, name = TYPED_DICTS[kind].partition(":")
    accepted = getattr(import_module(module), name)
    _refuse_unknown_fields(accepted, set())
    return TypeAdapter(accepted)


def check_typed_dict(kind: str, body: Json) -> None:
    """Raise pydantic's ValidationError for a body that the SDK's type does not allow."""
    _exhaust(typed_dict_judge(kind).validate_python(body))


def check_gemini(body: Json) -> None:
    """Raise pydantic's ValidationError for a body that google-genai's types do not allow."""
    from google.genai import types

    parts: dict[str, Callable[[Any], object]] = {
        "contents": lambda contents: [types.Content.model_validate(content) for content in contents],
        "systemInstruction": types.Content.model_validate,
        "generationConfig": lambda config: types.GenerationConfig.model_validate(config),
        "tools": lambda tools: [types.Tool.model_validate(tool) for tool in tools],
        "toolConfig": types.ToolConfig.model_validate,
        "safetySettings": lambda settings: [types.SafetySetting.model_validate(setting) for setting in settings],
        "cachedContent": lambda name: TypeAdapter(str).validate_python(name, strict=True),
        "labels": TypeAdapter(dict[str, str]).validate_python,
    }
    TypeAdapter(dict).validate_python(body)
    unknown = set(body) - set(parts)
    if unknown:
        raise ValueError(f"no field of the wire: {', '.join(sorted(unknown))}")
    for name, value in body.items():
        parts[name](value)


def check_converse(body: Json) -> None:
    """Raise botocore's ParamValidationError for a body that the service's model does not allow."""
    import botocore.session
    from botocore.exceptions import ParamValidationError
    from botocore.validate import ParamValidator

    model = botocore.session.Session().get_service_model("bedrock-runtime").operation_model("ConverseStream")
    shape = model.input_shape
    assert shape is not None
    report = ParamValidator().validate({"modelId": "m", **_with_bytes(body)}, shape)
    if report.has_errors():
        raise ParamValidationError(report=report.generate_report())


def _with_bytes(value: Any, name: str = "") -> Any:
    """The body as boto3 takes it: `bytes` fields are bytes there, base64 on the wire."""
    if isinstance(value, Mapping):
        return {key: _with_bytes(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_bytes(item, name) for item in value]
    if isinstance(value, str) and name in ("bytes", "redactedContent"):
        return base64.b64decode(value, validate=True)
    return value


def _refuse_unknown_fields(kind: object, seen: set[object]) -> None:
    if is_typeddict(kind):  # type: ignore[arg-type]  # any object may be asked about
        if kind in seen:
            return
        seen.add(kind)
        kind.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)  # type: ignore[attr-defined]
        for hint in get_type_hints(kind).values():
            _refuse_unknown_fields(hint, seen)
    for argument in get_args(kind):
        _refuse_unknown_fields(argument, seen)


def _exhaust(value: Any) -> None:
    if isinstance(value, Mapping):
        for item in value.values():
            _exhaust(item)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            _exhaust(item)
