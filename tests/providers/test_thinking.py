"""Reasoning controls: every format on and off, clamping, budgets (OR-THK-01 to 10, OR-MOD-02 to 04)."""

from __future__ import annotations

import pytest

from chat_calls import body, target
from headwater_codecs.neutral import ConfigurationError, Reasoning, user
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.thinking import reasoning_fields, supported

MAPPED = {"off": "zero", "low": "small"}


@pytest.mark.rows(
    "OR-THK-01",
    "OR-THK-02",
    "OR-THK-03",
    "OR-THK-04",
    "OR-THK-05",
    "OR-THK-06",
    "OR-THK-07",
    "OR-THK-08",
    "OR-THK-09",
    "OR-THK-10",
    "OR-CMP-03",
    "OR-CMP-08",
)
@pytest.mark.rows
@pytest.mark.parametrize(
    ("format", "flags", "on", "off"),
    [
        ("openai", {}, {"reasoning_effort": "low"}, {}),
        ("openai", {"effort_map": MAPPED}, {"reasoning_effort": "small"}, {"reasoning_effort": "zero"}),
        ("deepseek", {}, {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}, {"thinking": {"type": "disabled"}}),
        ("deepseek", {"supports_reasoning_effort": False}, {"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}}),
        ("xiaomi", {}, {"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}}),
        (
            "zai",
            {},
            {"thinking": {"type": "enabled", "clear_thinking": False}, "reasoning_effort": "low"},
            {"thinking": {"type": "disabled"}},
        ),
        ("together", {}, {"reasoning": {"enabled": True}, "reasoning_effort": "low"}, {"reasoning": {"enabled": False}}),
        ("qwen", {}, {"enable_thinking": True}, {"enable_thinking": False}),
        (
            "qwen-chat-template",
            {},
            {"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}},
            {"chat_template_kwargs": {"enable_thinking": False, "preserve_thinking": False}},
        ),
        ("string-thinking", {}, {"thinking": "low"}, {"thinking": "none"}),
        ("string-thinking", {"effort_map": MAPPED}, {"thinking": "small"}, {"thinking": "zero"}),
        ("ant-ling", {"effort_map": MAPPED}, {"reasoning": {"effort": "small"}}, {}),
        ("openrouter", {}, {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "none"}}),
    ],
)
def test_formats(format: str, flags: dict[str, object], on: dict[str, object], off: dict[str, object]) -> None:
    """Each format's fields for `low` and for `off`; nothing for what was not asked."""
    to = target(thinking_format=format, **flags)
    dialect = to.dialect
    assert isinstance(dialect, ChatDialect)
    assert reasoning_fields("low", "p", dialect) == on
    assert reasoning_fields(Reasoning("off"), "p", dialect) == off
    assert reasoning_fields(None, "p", dialect) == reasoning_fields(Reasoning(), "p", dialect) == {}


@pytest.mark.parametrize(
    ("effort_map", "level", "expected"),
    [
        ({}, "high", "high"),
        ({}, "xhigh", "high"),
        ({}, "max", "high"),
        ({"max": "max"}, "xhigh", "max"),
        ({"xhigh": "x"}, "max", "xhigh"),
        ({"minimal": None}, "minimal", "low"),
        ({"medium": None}, "medium", "high"),
        ({"high": None}, "high", "medium"),
        ({"minimal": None, "low": None, "medium": None}, "minimal", "high"),
    ],
)
@pytest.mark.rows("OR-OPT-03", "OR-MOD-02")
def test_clamping(effort_map: dict[str, str | None], level: str, expected: str) -> None:
    """A level that is not supported goes to the nearest higher one, else the nearest lower; xhigh and max exist only where mapped."""
    assert supported(level, ChatDialect(effort_map=effort_map)) == expected


@pytest.mark.parametrize(
    ("flags", "reasoning", "said"),
    [
        ({"supports_reasoning_effort": False}, "high", "has no field for an effort"),
        ({"thinking_format": "none"}, "low", "has no field for an effort"),
        ({"thinking_format": "ant-ling"}, "low", "has no field for an effort"),
        ({}, Reasoning(budget_tokens=9), "has no field for `budget_tokens`"),
        ({}, Reasoning("low", summary="auto"), "has no field for `summary`"),
    ],
)
@pytest.mark.rows("OR-OPT-10", "OR-OPT-13")
def test_what_a_vendor_has_no_field_for(flags: dict[str, object], reasoning: object, said: str) -> None:
    """A control that would be lost in silence is an error that names `reasoning`."""
    with pytest.raises(ConfigurationError) as caught:
        body([user("hi")], target(**flags), reasoning=reasoning)
    assert said in str(caught.value)
    assert "Request.reasoning" in str(caught.value)


def test_budgets() -> None:
    """A budget goes where the vendor has a place for it, and not beside `off`."""
    qwen = ChatDialect(thinking_format="qwen", thinking_budget_field="thinking_budget")
    assert reasoning_fields(Reasoning(budget_tokens=100), "p", qwen) == {"enable_thinking": True, "thinking_budget": 100}
    assert reasoning_fields(Reasoning("off", budget_tokens=100), "p", qwen) == {"enable_thinking": False}
    router = ChatDialect(thinking_format="openrouter")
    assert reasoning_fields(Reasoning(budget_tokens=100), "p", router) == {"reasoning": {"max_tokens": 100}}
