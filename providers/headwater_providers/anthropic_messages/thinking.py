"""How much a model should think. Rows OR-AN-06 to OR-AN-09.

Newer models decide themselves (`adaptive`) and take an effort; older ones take a budget in tokens, which must stay below `max_tokens`.
"""

from __future__ import annotations

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Reasoning, Request
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.body import Json

_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 16384, "max": 16384}
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}
_LEAST = 1024  # tokens: the API refuses a smaller budget, and an answer needs as many beside it
_DISPLAYS = ("summarized", "omitted")


def thinks(request: Request) -> bool:
    """Whether the request asks for thinking."""
    asked = request.reasoning
    if isinstance(asked, Reasoning):
        return asked.effort != "off" and (asked.effort is not None or asked.budget_tokens is not None)
    return asked not in (None, "off")


def add_thinking(body: Json, request: Request, provider: str, dialect: MessagesDialect) -> None:
    """Put what was asked into the body. Raises ConfigurationError, naming `reasoning`, for what cannot be said."""
    asked = Reasoning(effort=request.reasoning) if isinstance(request.reasoning, str) else request.reasoning
    if asked is None:
        return
    effort, budget = asked.effort, asked.budget_tokens
    if effort is not None and effort != "off" and effort not in _EFFORTS:
        raise ConfigurationError(f"Request.reasoning: the effort {effort!r} is none of off, {', '.join(_EFFORTS)}")
    if asked.summary is not None and asked.summary not in _DISPLAYS:
        raise ConfigurationError(f"Request.reasoning: summary is {asked.summary!r}: give {' or '.join(_DISPLAYS)}")
    if effort is None and budget is None:
        return
    if effort == "off":
        if dialect.supports_thinking:
            body["thinking"] = {"type": "disabled"}
        return
    if not dialect.supports_thinking:
        raise ConfigurationError(f"Request.reasoning: provider {provider} takes neither an effort nor a budget for this model: leave it out")
    if budget is not None and not dialect.supports_budget:
        raise ConfigurationError("Request.reasoning: this model takes no budget_tokens, it decides itself: give an effort")
    thinking: Json = {"type": "adaptive"} if budget is None and dialect.adaptive_thinking else {"type": "enabled"}
    if effort is not None and (dialect.adaptive_thinking or dialect.effort_beside_budget):
        body["output_config"] = {"effort": _EFFORTS[effort]}
    if thinking["type"] == "enabled":
        thinking["budget_tokens"] = budget if budget is not None else _budget(effort or "medium", body, request)
        _make_room(thinking["budget_tokens"], body, request)
    if (display := asked.summary or dialect.thinking_display) is not None:
        thinking["display"] = display
    body["thinking"] = thinking


def _budget(effort: str, body: Json, request: Request) -> int:
    """The budget for an effort. Below a limit of the caller's own it leaves 1024 tokens for the answer (OR-AN-07)."""
    budget = _BUDGETS[effort]
    if request.max_tokens is not None and budget >= request.max_tokens:
        budget = max(request.max_tokens - _LEAST, _LEAST)
        if budget >= request.max_tokens:
            raise ConfigurationError(f"Request.max_tokens is {request.max_tokens}: thinking takes {_LEAST} tokens at least, and they count")
    return budget


def _make_room(budget: object, body: Json, request: Request) -> None:
    """Where the limit is ours, it grows by the budget: thinking counts as output."""
    if request.max_tokens is None and isinstance(budget, int) and isinstance(limit := body["max_tokens"], int) and budget >= limit - _LEAST:
        body["max_tokens"] = budget + limit
