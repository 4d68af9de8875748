"""Messages and conversations as JSON and back, without loss: one line each, for files that grow by a line. Rows OR-TYPE-03, 04, 05, 12.

Reading names the place of what is wrong: `messages[2].content[0]: ...`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from headwater.views.messages.types import ALLOWED, CONTENT, Context, Message
from headwater_codecs.neutral import ConfigurationError

T = TypeVar("T")
_TYPES = tuple(str(kind.__struct_config__.tag) for kind in CONTENT)


def encode(value: Message | Context) -> bytes:
    """One line of JSON, without its end. Raises ConfigurationError for a number that JSON does not know."""
    try:
        plain = msgspec.to_builtins(value)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"this {type(value).__name__} cannot be written as JSON: {error}") from error
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: only an escape can say it
        return json.dumps(plain, separators=(",", ":")).encode("ascii")


def decode_message(data: bytes | str) -> Message:
    """A message. Raises ConfigurationError for what is none."""
    return _message(_parsed(data, "message"), "message")


def decode_messages(lines: Iterable[bytes | str]) -> list[Message]:
    """Messages, one a line; blank lines count but hold none. Raises ConfigurationError, naming the line (from 0): `messages[2]`."""
    return [_message(_parsed(line, where), where) for index, line in enumerate(lines) if line.strip() and (where := f"messages[{index}]")]


def decode_context(data: bytes | str) -> Context:
    """A whole conversation. Raises ConfigurationError, naming the message."""
    value = _parsed(data, "context")
    if not isinstance(value, dict):
        raise ConfigurationError(f"a context is an object, not {_kind(value)}")
    value = {name: given for name, given in value.items() if given is not None}
    messages = value.get("messages", [])
    if not isinstance(messages, list):
        raise ConfigurationError(f"messages is a list, not {_kind(messages)}")
    read = [_message(message, f"messages[{index}]") for index, message in enumerate(messages)]
    around = _converted({**value, "messages": []}, Context, "context")
    return Context(read, around.system_prompt, around.tools)


def _message(value: object, where: str) -> Message:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{where}: a message is an object, not {_kind(value)}")
    role = value.get("role")
    if not isinstance(role, str) or role not in ALLOWED:
        said = f"role {role!r} is none of" if "role" in value else "role is missing, it is one of"
        raise ConfigurationError(f"{where}: {said} {', '.join(ALLOWED)}")
    content = value.get("content")
    if not isinstance(content, list):
        raise ConfigurationError(f"{where}: content is a list, not {_kind(content)}")
    checked = [_content(item, role, f"{where}.content[{index}]") for index, item in enumerate(content)]
    return _converted({**value, "content": checked}, Message, where)  # type: ignore[arg-type]  # a union is no type to mypy


def _content(item: object, role: str, where: str) -> dict[str, object]:
    if not isinstance(item, dict):
        raise ConfigurationError(f"{where}: content is an object, not {_kind(item)}")
    kind = item.get("type")
    if kind not in _TYPES:
        said = f"content type {kind!r} is none of" if "type" in item else "type is missing, it is one of"
        raise ConfigurationError(f"{where}: {said} {', '.join(_TYPES)}")
    if kind not in ALLOWED[role]:
        raise ConfigurationError(f"{where}: content type {kind!r} is not allowed in a {role} message")
    return {name: value for name, value in item.items() if value is not None}


def _converted(value: object, kind: type[T], where: str) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def _parsed(data: bytes | str, where: str) -> object:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where}: this is no JSON: {error}") from error
    return value


def _kind(value: object) -> str:
    return {type(None): "null", dict: "an object", list: "a list", str: "a string", bool: "a boolean"}.get(type(value), "a number")
