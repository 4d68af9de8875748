"""What vendors refuse and lenient servers let pass: the checks of `--strict`. Each gives the words of the refusal, or None.

Orphan calls and results, blank blocks, a wrong order of turns, bad ids, and fields that the protocol does not have. Here are those whose calls are
parts of turns: Anthropic's, Gemini's, Converse's, and all that Bedrock invokes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from headwater.sim.speech import Asked, Json
from headwater.sim.strict_fields import ANTHROPIC_BLOCKS, BODY, GEMINI_CONTENT, GEMINI_PART, objects, unknown
from headwater.sim.strict_openai import (
    ID,
    MAX_ID,
    bad_id,
    check_chat,
    check_cohere,
    check_interaction,
    check_ollama,
    check_outputs,
    check_responses,
    check_run,
    check_text,
)


def objection(asked: Asked) -> str | None:
    """Why a vendor would refuse this request, None if it would not."""
    name = asked.speech.protocol
    if name == "bedrock-invoke":
        name = f"{name} {asked.settings['family']}"
    elif asked.run is not None:
        name = f"{name} outputs"
    if (words := unknown(asked.body, BODY.get(name))) is not None:
        return words
    return _CHECKS[name](asked.body)


def _anthropic(body: Json) -> str | None:
    waiting: list[str] = []
    if not isinstance(body.get("max_tokens"), int):
        return "max_tokens: field required"
    messages = list(objects(body.get("messages")))
    if not messages:
        return "messages: at least one message is required"
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            return f"{where}: the role {role!r} is not allowed"
        if number == 0 and role != "user":
            return "messages: the first message must be the user's"
        if (words := unknown(message, frozenset({"role", "content"}))) is not None:
            return f"{where}: {words}"
        blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else list(objects(content))
        for place, block in enumerate(blocks):
            if (words := unknown(block, ANTHROPIC_BLOCKS.get(str(block.get("type"))))) is not None:
                return f"{where}.content.{place}: {words}"
        results = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        if missing := [id for id in waiting if id not in results]:
            return f"{where}: tool_use ids without tool_result blocks: {', '.join(missing)}"
        if strange := [id for id in results if id not in waiting]:
            return f"{where}: unexpected tool_use_id in tool_result blocks: {', '.join(strange)}"
        if any(block.get("type") == "text" and not str(block.get("text", "")).strip() for block in blocks) or not blocks:
            return f"{where}: text content blocks must contain non-whitespace text"
        if role == "assistant" and blocks[-1].get("type") in ("thinking", "redacted_thinking"):
            return f"{where}: the final block in an assistant message cannot be `{blocks[-1]['type']}`"
        waiting = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if bad := [id for id in waiting if not ID.fullmatch(id)]:
            return f"{where}: the tool_use id {bad[0]!r} does not match [a-zA-Z0-9_-]+"
    return f"tool_use ids without tool_result blocks: {', '.join(waiting)}" if waiting else None


def _invoke(body: Json) -> str | None:
    if not isinstance(body.get("anthropic_version"), str):
        return "anthropic_version: field required"
    return _anthropic(body)


def _gemini(body: Json) -> str | None:
    contents = list(objects(body.get("contents")))
    if not contents:
        return "contents is not specified"
    calls = 0
    before: object = None
    for number, content in enumerate(contents):
        parts = list(objects(content.get("parts")))
        if not parts:
            return f"contents[{number}].parts must not be empty"
        for value, known in ((content, GEMINI_CONTENT), *((part, GEMINI_PART) for part in parts)):
            if (words := unknown(value, known)) is not None:
                return f"contents[{number}]: {words}"
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
    messages = list(objects(body.get("messages")))
    roles = [message.get("role") for message in messages]
    if not roles or roles[0] != "user":
        return "a conversation must start with a user message"
    if any(first == second for first, second in pairwise(roles)):
        return "roles must alternate between user and assistant"
    waiting: list[object] = []
    for number, message in enumerate(messages):
        where, blocks = f"messages.{number}.content", list(objects(message.get("content")))
        if any("text" in block and not str(block["text"]).strip() for block in blocks) or not blocks:
            return f"{where}: the text field in a content block is blank"
        results = [result.get("toolUseId") for result in objects([block.get("toolResult") for block in blocks])]
        if missing := [str(id) for id in waiting if id not in results]:
            return f"expected toolResult blocks at {where} for the following ids: {', '.join(missing)}"
        if len(results) > len(waiting):
            return f"the number of toolResult blocks at {where} exceeds the number of toolUse blocks of the turn before it"
        waiting = [use.get("toolUseId") for use in objects([block.get("toolUse") for block in blocks])]
        if bad := [id for id in waiting if bad_id(id)]:
            return f"{where}: the toolUseId {bad[0]!r} does not match [a-zA-Z0-9_-]+, or is longer than {MAX_ID}"
        if (waiting or results) and not body.get("toolConfig"):
            return "the toolConfig field must be defined when using toolUse and toolResult content blocks"
    return f"expected toolResult blocks for the following ids: {', '.join(map(str, waiting))}" if waiting else None


def _prompt(field: str) -> Callable[[Json], str | None]:
    """Of the families that take one prompt."""

    def check(body: Json) -> str | None:
        prompt = body.get(field)
        if not isinstance(prompt, str):
            return f"required key [{field}] not found"
        return None if prompt.strip() else f"{field} must not be blank"

    return check


_CHECKS: dict[str, Callable[[Json], str | None]] = {
    "openai-chat": check_chat,
    "openai-responses": check_responses,
    "openai-text": check_text,
    "openai-assistants": check_run,
    "openai-assistants outputs": check_outputs,
    "anthropic-messages": _anthropic,
    "gemini": _gemini,
    "gemini-interactions": check_interaction,
    "bedrock-converse": _converse,
    "bedrock-invoke anthropic": _invoke,
    "bedrock-invoke nova": _converse,
    "bedrock-invoke titan": _prompt("inputText"),
    "bedrock-invoke llama": _prompt("prompt"),
    "bedrock-invoke mistral": _prompt("prompt"),
    "bedrock-invoke mistral-chat": check_chat,
    "cohere-chat": check_cohere,
    "ollama-chat": check_ollama,
}
