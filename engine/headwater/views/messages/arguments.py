"""A call's arguments against its tool's schema, before the tool runs. Row OR-JX-07.

Needs the extra `validation` (jsonschema). Nothing here is called by the view itself: who runs tools asks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headwater.views.messages.types import ToolCall, ToolDefinition
from headwater_codecs.neutral import ConfigurationError, MalformedError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

NOTHING: Mapping[str, object] = {}


def check_arguments(call: ToolCall, tools: Sequence[ToolDefinition]) -> dict[str, object]:
    """The arguments to run the call with: mended where a value only has the wrong type (`"3"` for a number), and valid. The call stays as it is.

    Raises MalformedError for what the model did wrong: a cut call, a tool that does not exist, arguments that do not fit. Its text lists every
    problem and what was received; it may go back to the model as the result. Raises ConfigurationError for a schema that is none, and
    without jsonschema.
    """
    if not call.complete:
        raise MalformedError(f"the arguments of call {call.id} ({call.name}) are cut or were guessed: it must not be run")
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        known = ", ".join([tool.name for tool in tools]) or "none"
        raise MalformedError(f"call {call.id} asks for the tool {call.name!r}, which does not exist; there are: {known}")
    schema = tool.parameters or NOTHING
    arguments = _mended(call.arguments, schema)
    problems = _problems(tool, schema, arguments)
    if problems or not isinstance(arguments, dict):
        received = json.dumps(call.arguments, ensure_ascii=False, default=repr)
        listed = "\n".join([f"  - {problem}" for problem in problems])
        raise MalformedError(f"the arguments of call {call.id} ({call.name}) do not fit its schema:\n{listed}\nreceived: {received}")
    return arguments


def _problems(tool: ToolDefinition, schema: Mapping[str, object], arguments: object) -> list[str]:
    validator = _validator(tool, schema)
    from referencing.exceptions import Unresolvable

    try:
        found = sorted(validator.iter_errors(arguments), key=lambda error: (list(map(str, error.absolute_path)), error.message))
    except Unresolvable as error:
        raise ConfigurationError(f"the schema of tool {tool.name!r} refers to what is not in it: {error}") from error
    return [f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {error.message}" for error in found]


def _validator(tool: ToolDefinition, schema: Mapping[str, object]) -> Validator:
    try:
        from jsonschema import Draft202012Validator, SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry
    except ImportError as error:
        raise ConfigurationError("checking arguments needs jsonschema: pip install headwater[validation]") from error
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ConfigurationError(f"the schema of tool {tool.name!r} is none: {error.message}") from error
    nothing_fetched: Registry[object] = Registry()
    return kind(schema, registry=nothing_fetched)


def _mended(value: object, schema: object) -> object:
    """The value with the types that the schema names, wherever one can be made of what is there; null is never made, nor made of."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, dict):
        properties = schema.get("properties")
        known: Mapping[str, object] = properties if isinstance(properties, Mapping) else NOTHING
        others = schema.get("additionalProperties")
        return {name: _mended(item, known.get(name, others)) for name, item in value.items()}
    if isinstance(value, list):
        return [_mended(item, schema.get("items")) for item in value]
    named = schema.get("type")
    types = named if isinstance(named, list) else [named]
    if not any(_IS[kind](value) for kind in types if kind in _IS):
        for kind in types:
            if kind in _MAKE and (made := _MAKE[kind](value)) is not None:
                return made
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: object) -> int | float | None:
    try:
        number: object = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None
    return number if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number) else None


def _integer(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def _boolean(value: object) -> bool | None:
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def _string(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, int | float) else None


_IS: dict[object, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or float.is_integer(value)),  # type: ignore[arg-type]  # a float
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_MAKE: dict[object, Callable[[object], object]] = {"number": _number, "integer": _integer, "boolean": _boolean, "string": _string}
