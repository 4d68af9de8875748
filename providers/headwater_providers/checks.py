"""Checks of a `Request` that need no more than its fields: types, numbers that JSON can say, what a protocol or a vendor does not take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Request, Tool
from headwater_providers.adapter import Support

_WANTED: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(("max_tokens", "top_k", "seed", "top_logprobs"), (lambda value: type(value) is int, "give a whole number")),
    "n": (lambda value: type(value) is int and value >= 1, "at least one answer is asked for"),
    **dict.fromkeys(("temperature", "top_p", "presence_penalty", "frequency_penalty"), (lambda value: is_number(value), "give a finite number")),
    **dict.fromkeys(("parallel_tool_calls", "logprobs", "store"), (lambda value: isinstance(value, bool), "give True or False")),
    **dict.fromkeys(("tool_choice", "service_tier", "verbosity", "user", "cache_key"), (lambda value: isinstance(value, str), "give a string")),
}
TOOL_CHOICES = ("auto", "none", "required")  # what is no tool's name
_checked = attrgetter(*_WANTED)
_NOTHING = (None,) * len(_WANTED)
_EMPTY: tuple[object, ...] = (None, (), [], {})


def check_types(request: Request) -> None:
    """Raise ConfigurationError, naming the field, for a value of the wrong type."""
    values = _checked(request)
    if values != _NOTHING:
        for (name, (good, wanted)), value in zip(_WANTED.items(), values, strict=True):
            if value is not None and not good(value):
                raise ConfigurationError(f"Request.{name} is {value!r}: {wanted}")
    if request.stop is not None and not isinstance(request.stop, str) and not all(isinstance(piece, str) for piece in request.stop):
        raise ConfigurationError("Request.stop holds something that is not a string")


def check_rejected(request: Request, supports: Mapping[str, Support], protocol: str) -> None:
    """Raise ConfigurationError for a given field that the protocol's table rejects. One answer (`n` of 1) is what comes anyway."""
    for name, support in supports.items():
        if support.how == "rejected" and (value := getattr(request, name)) not in _EMPTY and not (name == "n" and value == 1):
            raise ConfigurationError(f"{protocol} does not take the field `{name}` ({support.reason}): leave it out")


def check_unsupported(request: Request, unsupported: Iterable[str], provider: str) -> None:
    """Raise ConfigurationError for a given field that this vendor refuses, as its dialect says."""
    for name in unsupported:
        value = getattr(request, name)
        if value is None or (name == "n" and value == 1) or (name == "tools" and not value):
            continue
        raise ConfigurationError(f"provider {provider} does not take the field `{name}`: leave it out")


def check_tools(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The tools by name. Raises ConfigurationError for one without a name, for two of one name, for parameters that are no schema."""
    known: dict[str, Tool] = {}
    for index, tool in enumerate(tools):
        if not tool.name.strip():
            raise ConfigurationError(f"Request.tools[{index}] has no name")
        if tool.name in known:
            raise ConfigurationError(f"Request.tools: two tools are called {tool.name!r}")
        if tool.parameters is not None:
            if not isinstance(tool.parameters, dict):
                raise ConfigurationError(f"Request.tools[{index}] ({tool.name}): parameters is a JSON schema, an object")
            check_json(tool.parameters, f"Request.tools[{index}].parameters")
        known[tool.name] = tool
    return known


def check_tool_choice(choice: str, tools: Mapping[str, Tool]) -> Tool | None:
    """The tool that a `tool_choice` names, None for `auto`, `none` and `required`. Raises ConfigurationError for anything else."""
    if not tools:
        raise ConfigurationError(f"Request.tool_choice is {choice!r}, but there are no tools to choose from")
    if choice in TOOL_CHOICES:
        return None
    tool = tools.get(choice)
    if tool is None:
        raise ConfigurationError(f"Request.tool_choice names the unknown tool {choice!r}: give auto, none, required or one of {', '.join(tools)}")
    return tool


def is_number(value: object) -> bool:
    """Whether this is a number that JSON can say: NaN and infinities are none (AMB-70)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_json(value: object, where: str) -> None:
    """Raise ConfigurationError, naming the place, for a NaN or infinity, which would silently become null."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigurationError(f"{where} is {value!r}: JSON has no such number")
    elif isinstance(value, dict):
        for key, item in value.items():
            check_json(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            check_json(item, f"{where}[{index}]")
