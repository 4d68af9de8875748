"""What vendors refuse and lenient servers let pass: the checks of `--strict`. Each gives the words of the refusal, or None.

Orphan calls and results, blank blocks, a wrong order of turns, bad ids, and fields that the protocol does not have. Ollama refuses none of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from headwater.sim.speech import Asked, Json

MAX_ID = 64  # characters of an id
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ITEM_IDS = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}  # how their ids begin in openai-responses


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_ANTHROPIC = _words(
    "messages max_tokens system temperature top_p top_k stop_sequences tools tool_choice thinking metadata service_tier",
    "output_config container mcp_servers context_management cache_control",
)
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
    "openai-text": _words(
        "model prompt suffix max_tokens temperature top_p n stream stream_options logprobs echo stop presence_penalty frequency_penalty best_of",
        "logit_bias user seed",
    ),
    "openai-assistants": _words(
        "assistant_id thread model instructions additional_instructions additional_messages tools tool_resources metadata temperature top_p stream",
        "max_prompt_tokens max_completion_tokens truncation_strategy tool_choice parallel_tool_calls response_format reasoning_effort tool_outputs",
    ),
    "anthropic-messages": _ANTHROPIC | {"model", "stream"},
    "bedrock-invoke": _ANTHROPIC | {"anthropic_version", "anthropic_beta"},
    "gemini": _words(
        "contents systemInstruction system_instruction tools toolConfig tool_config safetySettings safety_settings generationConfig",
        "generation_config cachedContent cached_content labels serviceTier store",
    ),
    "cohere-chat": _words(
        "model messages stream tools documents citation_options response_format safety_mode max_tokens stop_sequences temperature seed",
        "frequency_penalty presence_penalty k p logprobs strict_tools tool_choice thinking priority raw_prompting",
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


def _bad_id(id: object) -> bool:
    return not isinstance(id, str) or len(id) > MAX_ID or _ID.fullmatch(id) is None


def _chat(body: Json) -> str | None:
    """Of OpenAI's chat, and of Cohere's, whose messages have the same roles."""
    waiting: list[str] = []
    messages = list(_objects(body.get("messages")))
    if not messages:
        return "messages: at least one is needed"
    for number, message in enumerate(messages):
        role = message.get("role")
        if role not in ("system", "developer", "user", "assistant", "tool", "function"):
            return f"messages[{number}]: there is no role {role!r}"
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
            if long := [id for id in waiting if len(id) > MAX_ID]:
                return f"messages[{number}]: the id of a call has at most {MAX_ID} characters, not {len(long[0])}"
    return f"the calls {', '.join(waiting)} have no result" if waiting else None


def _responses(body: Json) -> str | None:
    calls: list[str] = []
    answered: set[str] = set()
    for number, item in enumerate(_objects(body.get("input"))):
        kind, where = item.get("type", "message"), f"input[{number}]"
        begins = _ITEM_IDS.get(str(kind))
        if begins is not None and "id" in item and (_bad_id(item["id"]) or not str(item["id"]).startswith(begins)):
            return f"{where}.id: {item['id']!r} must begin with {begins!r} and hold at most {MAX_ID} letters, numbers, underscores or dashes"
        if kind in ("function_call", "custom_tool_call"):
            if len(str(item.get("call_id"))) > MAX_ID:
                return f"{where}.call_id has at most {MAX_ID} characters"
            calls.append(str(item.get("call_id")))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if item.get("call_id") not in calls:
                return f"{where}: no tool call found for the output of call {item.get('call_id')!r}"
            answered.add(str(item.get("call_id")))
    open_calls = [id for id in calls if id not in answered]
    return f"no tool output found for the calls {', '.join(open_calls)}" if open_calls else None


def _anthropic(body: Json) -> str | None:
    waiting: list[str] = []
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: field required"
    messages = list(_objects(body.get("messages")))
    if not messages:
        return "messages: at least one message is required"
    for number, message in enumerate(messages):
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
        if bad := [id for id in waiting if not _ID.fullmatch(id)]:
            return f"{where}: the tool_use id {bad[0]!r} does not match [a-zA-Z0-9_-]+"
    return f"tool_use ids without tool_result blocks: {', '.join(waiting)}" if waiting else None


def _invoke(body: Json) -> str | None:
    if not isinstance(body.get("anthropic_version"), str):
        return "anthropic_version: field required"
    return _anthropic(body)


def _gemini(body: Json) -> str | None:
    contents = list(_objects(body.get("contents")))
    if not contents:
        return "contents is not specified"
    calls = 0
    before: object = None
    for number, content in enumerate(contents):
        parts = list(_objects(content.get("parts")))
        if not parts:
            return f"contents[{number}].parts must not be empty"
        if content.get("role", "user") not in ("user", "model", "function"):
            return f"contents[{number}]: valid roles are user and model"
        results = sum("functionResponse" in part for part in parts)
        if results != calls:
            return f"contents[{number}]: the number of function response parts must equal the number of function call parts of the turn before it"
        calls = sum("functionCall" in part for part in parts)
        if calls and before not in ("user", "function"):
            return f"contents[{number}]: a function call turn must come immediately after a user turn or after a function response turn"
        before = content.get("role", "user")
    return "the last turn holds function calls without function responses" if calls else None


def _converse(body: Json) -> str | None:
    messages = list(_objects(body.get("messages")))
    roles = [message.get("role") for message in messages]
    if not roles or roles[0] != "user":
        return "a conversation must start with a user message"
    if any(first == second for first, second in pairwise(roles)):
        return "roles must alternate between user and assistant"
    waiting: list[object] = []
    for number, message in enumerate(messages):
        where, blocks = f"messages.{number}.content", list(_objects(message.get("content")))
        if any("text" in block and not str(block["text"]).strip() for block in blocks) or not blocks:
            return f"{where}: the text field in a content block is blank"
        results = [result.get("toolUseId") for result in _objects([block.get("toolResult") for block in blocks])]
        if missing := [str(id) for id in waiting if id not in results]:
            return f"expected toolResult blocks at {where} for the following ids: {', '.join(missing)}"
        if len(results) > len(waiting):
            return f"the number of toolResult blocks at {where} exceeds the number of toolUse blocks of the turn before it"
        waiting = [use.get("toolUseId") for use in _objects([block.get("toolUse") for block in blocks])]
        if bad := [id for id in waiting if _bad_id(id)]:
            return f"{where}: the toolUseId {bad[0]!r} does not match [a-zA-Z0-9_-]+, or is longer than {MAX_ID}"
        if (waiting or results) and not body.get("toolConfig"):
            return "the toolConfig field must be defined when using toolUse and toolResult content blocks"
    return f"expected toolResult blocks for the following ids: {', '.join(map(str, waiting))}" if waiting else None


_CHECKS: dict[str, Callable[[Json], str | None]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _anthropic,
    "bedrock-invoke": _invoke,
    "gemini": _gemini,
    "bedrock-converse": _converse,
    "cohere-chat": _chat,
}
