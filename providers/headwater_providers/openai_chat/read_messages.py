"""The other way round: the body of a chat completion call, as datasets and batch files hold it, to a neutral `Request`.

What the neutral request has no word for goes into `extra_body` as it is, so that building the request gives the same call again. `stream` and
`stream_options` are dropped: the engine always streams. Errors name the place (`messages[2].content[0]`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import (
    FilePart,
    ImagePart,
    JsonSchema,
    Message,
    Model,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from headwater_providers.checks import TOOL_CHOICES
from headwater_providers.levels import EFFORTS
from headwater_providers.openai_chat.parts import AUDIO_TYPES

Json = Mapping[str, object]
_INT = (int,)
_FLOAT = (int, float)
_BOOL = (bool,)
_STR = (str,)
# The body's field -> the request's field, and the types that it may have.
_PLAIN: dict[str, tuple[str, tuple[type, ...]]] = {
    "max_tokens": ("max_tokens", _INT),
    "max_completion_tokens": ("max_tokens", _INT),
    "temperature": ("temperature", _FLOAT),
    "top_p": ("top_p", _FLOAT),
    "top_k": ("top_k", _INT),
    "n": ("n", _INT),
    "seed": ("seed", _INT),
    "presence_penalty": ("presence_penalty", _FLOAT),
    "frequency_penalty": ("frequency_penalty", _FLOAT),
    "logprobs": ("logprobs", _BOOL),
    "top_logprobs": ("top_logprobs", _INT),
    "parallel_tool_calls": ("parallel_tool_calls", _BOOL),
    "service_tier": ("service_tier", _STR),
    "verbosity": ("verbosity", _STR),
    "user": ("user", _STR),
    "store": ("store", _BOOL),
    "prompt_cache_key": ("cache_key", _STR),
    "logit_bias": ("logit_bias", (dict,)),
    "metadata": ("metadata", (dict,)),
    "stop": ("stop", (str, list)),
}
_DROPPED = frozenset({"stream", "stream_options"})
_DATA_URL = re.compile(r"data:([^;,]+)(?:;[^;,]+)*;base64,(.*)", re.DOTALL)


def request_from_chat_body(body: Mapping[str, object], model: Model | str | None = None) -> Request:
    """The request that this body makes. `model` takes the place of the body's own. Raises ConfigurationError, naming the place."""
    if not isinstance(body, Mapping):
        raise ConfigurationError(f"the body is a JSON object, not {_kind(body)}")
    chosen = model if model is not None else body.get("model")
    if not isinstance(chosen, Model | str) or not chosen:
        raise ConfigurationError("model: the body names none, and none was given")
    listed = body.get("messages")
    if not isinstance(listed, list) or not listed:
        raise ConfigurationError("messages: a list with at least one message is needed")
    fields: dict[str, object] = {}
    extra: dict[str, object] = {}
    for key, value in body.items():
        if key in ("model", "messages") or key in _DROPPED or value is None:
            continue
        if (plain := _PLAIN.get(key)) is not None:
            name, types = plain
            if not isinstance(value, types) or (isinstance(value, bool) and types is not _BOOL):
                raise ConfigurationError(f"{key}: {_kind(value)} is no value for it")
            fields[name] = tuple(_string(piece, f"{key}[{at}]") for at, piece in enumerate(value)) if isinstance(value, list) else value
        elif (reader := _READERS.get(key)) is None or not reader(value, fields):
            extra[key] = value
    if "tools" in extra and "tool_choice" in fields:  # what cannot be told apart goes as one
        fields.pop("tool_choice")
        extra["tool_choice"] = body["tool_choice"]
    messages = tuple(_message(message, f"messages[{index}]") for index, message in enumerate(listed))
    return Request(model=chosen, messages=messages, extra_body=extra, **fields)  # type: ignore[arg-type]  # checked one by one above


def _read_reasoning_effort(value: object, fields: dict[str, object]) -> bool:
    if value in EFFORTS:
        fields["reasoning"] = value
    return value in EFFORTS


def _read_response_format(value: object, fields: dict[str, object]) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind in ("text", "json_object") and isinstance(value, dict) and len(value) == 1:
        fields["response_format"] = "text" if kind == "text" else "json"
        return True
    schema = value.get("json_schema") if isinstance(value, dict) and kind == "json_schema" and len(value) == 2 else None
    if not isinstance(schema, dict) or not isinstance(schema.get("schema"), dict) or not isinstance(schema.get("name"), str):
        return False
    if not schema.keys() <= {"name", "schema", "strict", "description"}:
        return False
    fields["response_format"] = JsonSchema(schema["schema"], schema["name"], schema.get("description"), schema.get("strict"))
    return True


def _read_tool_choice(value: object, fields: dict[str, object]) -> bool:
    if value in TOOL_CHOICES:
        fields["tool_choice"] = value
        return True
    if isinstance(value, dict) and (kind := value.get("type")) in ("function", "custom") and isinstance(named := value.get(kind), dict):
        fields["tool_choice"] = _string(named.get("name"), f"tool_choice.{kind}.name")
        return True
    return False


def _read_tools(value: object, fields: dict[str, object]) -> bool:
    """Functions and custom tools; a list that holds anything else (a server's own tools) is left as it is."""
    if not isinstance(value, list):
        raise ConfigurationError(f"tools: a list is needed, not {_kind(value)}")
    tools: list[Tool] = []
    for index, entry in enumerate(value):
        place = f"tools[{index}]"
        if not isinstance(entry, dict):
            raise ConfigurationError(f"{place}: a tool is an object, not {_kind(entry)}")
        kind = entry.get("type")
        described = entry.get(kind) if kind in ("function", "custom") else None
        known = {"name", "description", "parameters", "strict"} if kind == "function" else {"name", "description", "format"}
        if not isinstance(described, dict) or not described.keys() <= known or len(entry) != 2:
            return False
        name = _string(described.get("name"), f"{place}.{kind}.name")
        schema = described.get("parameters", described.get("format"))
        if schema is not None and not isinstance(schema, dict):
            raise ConfigurationError(f"{place}: a schema is an object, not {_kind(schema)}")
        tools.append(Tool(name, described.get("description"), schema, described.get("strict"), "custom" if kind == "custom" else "function"))
    fields["tools"] = tuple(tools)
    return True


_READERS: dict[str, Callable[[object, dict[str, object]], bool]] = {
    "reasoning_effort": _read_reasoning_effort,
    "response_format": _read_response_format,
    "tool_choice": _read_tool_choice,
    "tools": _read_tools,
}


def _message(message: object, place: str) -> Message:
    if not isinstance(message, Mapping):
        raise ConfigurationError(f"{place}: a message is an object, not {_kind(message)}")
    role = message.get("role")
    reader = _ROLES.get(role) if isinstance(role, str) else None
    if reader is None:
        raise ConfigurationError(f"{place}.role: {role!r} is none of {', '.join(_ROLES)}")
    return reader({key: value for key, value in message.items() if value is not None}, place)


def _read_plain(message: Json, place: str) -> Message:
    """A system, developer or user message."""
    _refuse_others(message, {"role", "content", "name"}, place)
    content = message.get("content", "")
    name = _string(message["name"], f"{place}.name") if "name" in message else None
    return Message(str(message["role"]), content if isinstance(content, str) else _parts(content, f"{place}.content"), name)  # type: ignore[arg-type]  # a known role


def _read_assistant(message: Json, place: str) -> Message:
    """An assistant message; fields that are not modelled go back as they came, with its reasoning (`meta`)."""
    parts: list[Part] = []
    others = {key: value for key, value in message.items() if key not in ("role", "content", "name", "tool_calls") and value != []}
    if "function_call" in others:
        raise ConfigurationError(f"{place}.function_call: the old form of a call has no id: use tool_calls")
    if others:
        text = next((value for key in ("reasoning_content", "reasoning") if isinstance(value := others.get(key), str)), "")
        reasoning = ReasoningPart(text, meta=Raw(msgspec.json.encode(others)))
        parts.append(TextPart("", meta=reasoning.meta) if "refusal" in others else reasoning)
    content = message.get("content", "")
    parts += _parts(content, f"{place}.content") if not isinstance(content, str) else (TextPart(content),) if content else ()
    calls = message.get("tool_calls", [])
    if not isinstance(calls, list):
        raise ConfigurationError(f"{place}.tool_calls: a list is needed, not {_kind(calls)}")
    parts += [_call(call, f"{place}.tool_calls[{index}]") for index, call in enumerate(calls)]
    return Message("assistant", tuple(parts), _string(message["name"], f"{place}.name") if "name" in message else None)


def _read_tool(message: Json, place: str) -> Message:
    _refuse_others(message, {"role", "content", "name", "tool_call_id"}, place)
    id = _string(message.get("tool_call_id"), f"{place}.tool_call_id")
    content = message.get("content", "")
    name = _string(message["name"], f"{place}.name") if "name" in message else None
    if isinstance(content, str):
        return Message("tool", (ToolResultPart(id, content, name),))
    parts = tuple(part for part in _parts(content, f"{place}.content") if isinstance(part, TextPart | ImagePart | FilePart))
    return Message("tool", (ToolResultPart(id, parts, name),))


_ROLES: dict[str, Callable[[Json, str], Message]] = {
    "system": _read_plain,
    "developer": _read_plain,
    "user": _read_plain,
    "assistant": _read_assistant,
    "tool": _read_tool,
}


def _call(call: object, place: str) -> ToolCallPart:
    if not isinstance(call, dict):
        raise ConfigurationError(f"{place}: a call is an object, not {_kind(call)}")
    kind = call.get("type", "function")
    described = call.get(kind) if kind in ("function", "custom") else None
    if not isinstance(described, dict):
        raise ConfigurationError(f"{place}: a call has type function or custom, and an object under that name")
    id, name = _string(call.get("id"), f"{place}.id"), _string(described.get("name"), f"{place}.{kind}.name")
    arguments = described.get("arguments" if kind == "function" else "input", "")
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    if not isinstance(arguments, str):
        raise ConfigurationError(f"{place}.{kind}: arguments are a string of JSON, not {_kind(arguments)}")
    return ToolCallPart(id, name, arguments, "custom" if kind == "custom" else "function")


def _parts(content: object, place: str) -> tuple[Part, ...]:
    if not isinstance(content, list):
        raise ConfigurationError(f"{place}: a string or a list of parts is needed, not {_kind(content)}")
    return tuple(_part(part, f"{place}[{index}]") for index, part in enumerate(content))


def _part(part: object, place: str) -> Part:
    if isinstance(part, str):
        return TextPart(part)
    kind = part.get("type") if isinstance(part, dict) else None
    reader = _PARTS.get(kind) if isinstance(kind, str) else None
    if reader is None or not isinstance(part, dict):
        raise ConfigurationError(f"{place}: {f'the type {kind!r}' if isinstance(part, dict) else _kind(part)} is none of {', '.join(_PARTS)}")
    return reader(part, place)


def _text_part(part: Json, place: str) -> Part:
    others = {key: value for key, value in part.items() if key not in ("type", "text", "refusal")}
    text = _string(part.get("text", part.get("refusal")), f"{place}.text", empty=True)
    return TextPart(text, meta=Raw(msgspec.json.encode(others)) if others else None)


def _image_part(part: Json, place: str) -> Part:
    image = part.get("image_url")
    if isinstance(image, str):
        image = {"url": image}
    if not isinstance(image, dict):
        raise ConfigurationError(f"{place}.image_url: an object with a url is needed")
    url, detail = _string(image.get("url"), f"{place}.image_url.url"), image.get("detail")
    found = _DATA_URL.fullmatch(url)
    return ImagePart(None, found[2], found[1], detail) if found else ImagePart(url, detail=detail)


def _audio_part(part: Json, place: str) -> Part:
    audio = part.get("input_audio")
    if not isinstance(audio, dict):
        raise ConfigurationError(f"{place}.input_audio: an object with data and format is needed")
    format = _string(audio.get("format"), f"{place}.input_audio.format")
    if format not in AUDIO_TYPES:
        raise ConfigurationError(f"{place}.input_audio.format: {format!r} is none of {', '.join(AUDIO_TYPES)}")
    return FilePart(data=_string(audio.get("data"), f"{place}.input_audio.data"), media_type=AUDIO_TYPES[format])


def _file_part(part: Json, place: str) -> Part:
    file = part.get("file")
    if not isinstance(file, dict):
        raise ConfigurationError(f"{place}.file: an object with file_data or file_id is needed")
    filename = file.get("filename")
    if file.get("file_id") is not None:
        return FilePart(file_id=_string(file["file_id"], f"{place}.file.file_id"), filename=filename)
    data = _string(file.get("file_data"), f"{place}.file.file_data")
    found = _DATA_URL.fullmatch(data)
    return FilePart(data=found[2], media_type=found[1], filename=filename) if found else FilePart(url=data, filename=filename)


def _video_part(part: Json, place: str) -> Part:
    video = part.get("video_url")
    url = _string(video.get("url") if isinstance(video, dict) else video, f"{place}.video_url.url")
    found = _DATA_URL.fullmatch(url)
    return FilePart(data=found[2], media_type=found[1]) if found else FilePart(url=url, media_type="video/mp4")


_PARTS: dict[str, Callable[[Json, str], Part]] = {
    "text": _text_part,
    "refusal": _text_part,
    "image_url": _image_part,
    "input_audio": _audio_part,
    "file": _file_part,
    "video_url": _video_part,
}


def _refuse_others(message: Json, known: set[str], place: str) -> None:
    for key in message:
        if key not in known:
            raise ConfigurationError(f"{place}.{key}: a message of role {message['role']} has no such field")


def _string(value: object, place: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value or empty):
        raise ConfigurationError(f"{place}: a {'' if empty else 'non-empty '}string is needed, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    """What this is, in JSON's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    return {int: "a number", float: "a number", list: "a list", dict: "an object"}.get(type(value), type(value).__name__)
