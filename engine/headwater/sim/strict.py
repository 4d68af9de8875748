"""What vendors refuse and lenient servers let pass: the checks of `--strict`. Each gives the words of the refusal, or None.

Orphan calls and results, blank blocks, a wrong order of turns, bad ids, and fields that the protocol does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from headwater.sim.speech import Asked, Json

_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_FIELDS = {
    "openai-chat": _words(
        "model messages stream stream_options max_tokens max_completion_tokens temperature top_p n stop seed presence_penalty frequency_penalty",
        "logprobs top_logprobs logit_bias tools tool_choice parallel_tool_calls response_format reasoning_effort verbosity service_tier user store",
        "metadata prompt_cache_key prediction modalities audio web_search_options safety_identifier",
    ),
    "openai-responses": _words(
        "model input instructions stream stream_options max_output_tokens max_tool_calls temperature top_p tools tool_choice parallel_tool_calls",
        "text reasoning include store metadata user service_tier prompt_cache_key top_logprobs previous_response_id truncation background prompt",
        "conversation safety_identifier",
    ),
    "anthropic-messages": _words(
        "model messages stream max_tokens system temperature top_p top_k stop_sequences tools tool_choice thinking metadata service_tier",
        "output_config container mcp_servers context_management cache_control",
    ),
}


def objection(asked: Asked) -> str | None:
    """Why a vendor would refuse this request, None if it would not."""
    known = _FIELDS.get(asked.speech.protocol)
    if known is not None and (unknown := sorted(set(asked.body) - known)):
        return f"unknown field: {', '.join(unknown)}"
    check = _CHECKS.get(asked.speech.protocol)
    return check(asked.body) if check is not None else None


def _objects(value: object) -> Iterator[Json]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _chat(body: Json) -> str | None:
    waiting: list[str] = []
    for number, message in enumerate(_objects(body.get("messages"))):
        role = message.get("role")
        if role == "tool":
            id = message.get("tool_call_id")
            if id not in waiting:
                return f"messages[{number}]: a tool message must answer a call before it, and {id!r} is none"
            waiting.remove(str(id))
            continue
        if waiting:
            return f"messages[{number}]: the calls {', '.join(waiting)} have no result"
        if role == "assistant":
            waiting = [str(call.get("id")) for call in _objects(message.get("tool_calls"))]
            if not waiting and not message.get("content") and not message.get("refusal"):
                return f"messages[{number}]: an assistant message has neither content nor tool calls"
    return f"the calls {', '.join(waiting)} have no result" if waiting else None


def _responses(body: Json) -> str | None:
    calls: list[str] = []
    answered: set[str] = set()
    for number, item in enumerate(_objects(body.get("input"))):
        kind = item.get("type")
        if kind in ("function_call", "custom_tool_call"):
            calls.append(str(item.get("call_id")))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if item.get("call_id") not in calls:
                return f"input[{number}]: no tool call found for the output of call {item.get('call_id')!r}"
            answered.add(str(item.get("call_id")))
    open_calls = [id for id in calls if id not in answered]
    return f"no tool output found for the calls {', '.join(open_calls)}" if open_calls else None


def _anthropic(body: Json) -> str | None:
    waiting: list[str] = []
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: field required"
    for number, message in enumerate(_objects(body.get("messages"))):
        where = f"messages.{number}"
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            return f"{where}: the role {role!r} is not allowed"
        if number == 0 and role != "user":
            return "messages: the first message must be the user's"
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(_objects(content))
        results = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        if missing := [id for id in waiting if id not in results]:
            return f"{where}: tool_use ids without tool_result blocks: {', '.join(missing)}"
        if strange := [id for id in results if id not in waiting]:
            return f"{where}: unexpected tool_use_id in tool_result blocks: {', '.join(strange)}"
        if any(block.get("type") == "text" and not str(block.get("text", "")).strip() for block in blocks) or not blocks:
            return f"{where}: text content blocks must contain non-whitespace text"
        waiting = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if bad := [id for id in waiting if not _ANTHROPIC_ID.fullmatch(id)]:
            return f"{where}: the tool_use id {bad[0]!r} does not match [a-zA-Z0-9_-]+"
    return f"tool_use ids without tool_result blocks: {', '.join(waiting)}" if waiting else None


def _gemini(body: Json) -> str | None:
    last: object = None
    for number, content in enumerate(_objects(body.get("contents"))):
        parts = list(_objects(content.get("parts")))
        if not parts:
            return f"contents[{number}].parts must not be empty"
        calls = sum("functionCall" in part for part in parts)
        results = sum("functionResponse" in part for part in parts)
        if results and last != results:
            return f"contents[{number}]: the number of function response parts must equal the number of function call parts of the turn before it"
        last = calls or None
    return None


def _converse(body: Json) -> str | None:
    roles = [message.get("role") for message in _objects(body.get("messages"))]
    if roles and roles[0] != "user":
        return "a conversation must start with a user message"
    if any(first == second for first, second in pairwise(roles)):
        return "roles must alternate between user and assistant"
    for number, message in enumerate(_objects(body.get("messages"))):
        if any("text" in block and not str(block["text"]).strip() for block in _objects(message.get("content"))):
            return f"messages.{number}: the text field in a content block is blank"
    return None


_CHECKS: dict[str, Callable[[Json], str | None]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _anthropic,
    "gemini": _gemini,
    "bedrock-converse": _converse,
}
