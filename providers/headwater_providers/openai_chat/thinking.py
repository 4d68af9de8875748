"""How much a model should think, in the ten ways that vendors ask for it. Rows OR-THK-01 to 10, OR-MOD-02 to 04.

A level that the vendor does not know goes to the nearest higher one it knows, else the nearest lower. Nothing is sent for what was not asked.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Reasoning
from headwater_providers.levels import EFFORTS, clamp, levels_of
from headwater_providers.openai_chat.dialect import ChatDialect

Json = dict[str, object]


def reasoning_fields(reasoning: str | Reasoning | None, provider: str, dialect: ChatDialect) -> Json:
    """The body's fields for this. Raises ConfigurationError, naming `reasoning`, for what the vendor has no field for."""
    if reasoning is None:
        return {}
    asked = Reasoning(effort=reasoning) if isinstance(reasoning, str) else reasoning  # type: ignore[arg-type]  # looked at below
    if asked.summary is not None:
        raise ConfigurationError(f"Request.reasoning: openai-chat (provider {provider}) has no field for `summary`")
    if asked.effort is not None and asked.effort != "off" and asked.effort not in EFFORTS:
        raise ConfigurationError(f"Request.reasoning: the effort {asked.effort!r} is none of off, {', '.join(EFFORTS)}")
    fields: Json = {}
    if asked.effort == "off":
        fields = _OFF[dialect.thinking_format](dialect)
    elif asked.effort is not None or asked.budget_tokens is not None:
        level = asked.effort and supported(asked.effort, dialect)
        fields = _ON[dialect.thinking_format](level, dialect)
        if asked.effort is not None and not fields:
            raise ConfigurationError(
                f"Request.reasoning: provider {provider} has no field for an effort: leave it out, or put the vendor's own field into extra_body"
            )
    if asked.budget_tokens is not None and asked.effort != "off":
        _add_budget(fields, asked.budget_tokens, provider, dialect)
    return fields


def supported(level: str, dialect: ChatDialect) -> str:
    """The level itself where it is supported, else the nearest higher one, else the nearest lower."""
    known = [effort for effort in levels_of(True, {name: word is not None for name, word in dialect.effort_map.items()}) if effort != "off"]
    return clamp(level, known) if known else level


def _word(level: str | None, dialect: ChatDialect) -> str | None:
    return None if level is None else dialect.effort_map.get(level, level)


def _effort(level: str | None, dialect: ChatDialect) -> Json:
    """`reasoning_effort`, where the vendor has it."""
    word = _word(level, dialect)
    return {"reasoning_effort": word} if dialect.supports_reasoning_effort and word is not None else {}


def _openai_off(dialect: ChatDialect) -> Json:
    word = dialect.effort_map.get("off")
    return {"reasoning_effort": word} if dialect.supports_reasoning_effort and word is not None else {}


def _template(on: bool) -> Json:
    return {"chat_template_kwargs": {"enable_thinking": on, "preserve_thinking": on}}


def _openrouter(level: str | None, dialect: ChatDialect) -> Json:
    word = _word(level, dialect)
    return {"reasoning": {"effort": word} if word is not None else {}}


def _ant_ling(level: str | None, dialect: ChatDialect) -> Json:
    word = dialect.effort_map.get(level) if level is not None else None
    return {"reasoning": {"effort": word}} if word is not None else {}


_ON: dict[str, Callable[[str | None, ChatDialect], Json]] = {
    "openai": _effort,
    "deepseek": lambda level, dialect: {"thinking": {"type": "enabled"}, **_effort(level, dialect)},
    "xiaomi": lambda level, dialect: {"thinking": {"type": "enabled"}},
    "zai": lambda level, dialect: {"thinking": {"type": "enabled", "clear_thinking": False}, **_effort(level, dialect)},
    "together": lambda level, dialect: {"reasoning": {"enabled": True}, **_effort(level, dialect)},
    "qwen": lambda level, dialect: {"enable_thinking": True},
    "qwen-chat-template": lambda level, dialect: _template(True),
    "string-thinking": lambda level, dialect: {"thinking": _word(level, dialect)} if level is not None else {},
    "ant-ling": _ant_ling,
    "openrouter": _openrouter,
    "none": lambda level, dialect: {},
}
_OFF: dict[str, Callable[[ChatDialect], Json]] = {
    "openai": _openai_off,
    "deepseek": lambda dialect: {"thinking": {"type": "disabled"}},
    "xiaomi": lambda dialect: {"thinking": {"type": "disabled"}},
    "zai": lambda dialect: {"thinking": {"type": "disabled"}},
    "together": lambda dialect: {"reasoning": {"enabled": False}},
    "qwen": lambda dialect: {"enable_thinking": False},
    "qwen-chat-template": lambda dialect: _template(False),
    "string-thinking": lambda dialect: {"thinking": dialect.effort_map.get("off") or "none"},
    "ant-ling": lambda dialect: {},
    "openrouter": lambda dialect: {"reasoning": {"effort": dialect.effort_map.get("off") or "none"}},
    "none": lambda dialect: {},
}


def _add_budget(fields: Json, budget: int, provider: str, dialect: ChatDialect) -> None:
    if dialect.thinking_budget_field is not None:
        fields[dialect.thinking_budget_field] = budget
    elif dialect.thinking_format == "openrouter":
        fields["reasoning"] = {"max_tokens": budget}  # it takes one of the two
    else:
        raise ConfigurationError(f"Request.reasoning: provider {provider} has no field for `budget_tokens`: give an effort instead")
