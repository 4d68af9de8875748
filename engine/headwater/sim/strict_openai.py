"""What is refused of conversations whose calls are items or messages with ids: OpenAI's protocols, Cohere's, Ollama's, Google's interactions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headwater.sim.strict_fields import ASSISTANTS_MESSAGE, CHAT_MESSAGES, COHERE_MESSAGES, RESPONSES_ITEMS, STEPS, Json, objects, unknown

MAX_ID = 64  # characters of an id
ID = re.compile(r"[a-zA-Z0-9_-]+")
_ITEM_IDS = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}  # how their ids begin in openai-responses
_ROLES = frozenset({"system", "developer", "user", "assistant"})


def bad_id(id: object) -> bool:
    """Whether it is no id of theirs."""
    return not isinstance(id, str) or len(id) > MAX_ID or ID.fullmatch(id) is None


def is_blank(content: object) -> bool:
    """Whether there is nothing to read in a content: no text but white space, and no part that is no text."""
    if isinstance(content, str):
        return not content.strip()
    return all(part.get("type") == "text" and not str(part.get("text", "")).strip() for part in objects(content))


def check_chat(body: Json) -> str | None:
    """Of OpenAI's chat."""
    return _messages(body, {**CHAT_MESSAGES, "function": frozenset({"role", "content", "name"})})


def check_cohere(body: Json) -> str | None:
    """Of Cohere's chat: the same, with roles and fields of its own, and what the user says must be something."""
    if not body.get("model"):
        return "model is required"
    for number, message in enumerate(objects(body.get("messages"))):
        if message.get("role") == "user" and is_blank(message.get("content")):
            return f"messages[{number}]: a user message must be at least 1 token long"
    return _messages(body, COHERE_MESSAGES)


def _messages(body: Json, roles: Mapping[str, frozenset[str]]) -> str | None:
    waiting: list[str] = []
    messages = list(objects(body.get("messages")))
    if not messages:
        return "messages: at least one is needed"
    for number, message in enumerate(messages):
        role = message.get("role")
        if role not in roles:
            return f"messages[{number}]: there is no role {role!r}"
        if (words := unknown(message, roles[str(role)])) is not None:
            return f"messages[{number}]: {words}"
        if role == "tool":
            id = message.get("tool_call_id")
            if id not in waiting:
                return f"messages[{number}]: a tool message must answer a call before it, and {id!r} is none"
            waiting.remove(str(id))
            continue
        if waiting:
            return f"messages[{number}]: the calls {', '.join(waiting)} have no result"
        if role == "assistant":
            waiting = [str(call.get("id")) for call in objects(message.get("tool_calls"))]
            if not waiting and not message.get("content") and not message.get("refusal"):
                return f"messages[{number}]: an assistant message has neither content nor tool calls"
            if long := [id for id in waiting if len(id) > MAX_ID]:
                return f"messages[{number}]: the id of a call has at most {MAX_ID} characters, not {len(long[0])}"
    return f"the calls {', '.join(waiting)} have no result" if waiting else None


def check_responses(body: Json) -> str | None:
    """Of openai-responses. What a response or conversation before holds is not known, so that its calls may be answered."""
    given = body.get("input")
    goes_on = body.get("previous_response_id") or body.get("conversation")
    if not given and not goes_on and not body.get("prompt"):
        return "input: one of input, previous_response_id, prompt and conversation is needed"
    calls: list[str] = []
    answered: set[str] = set()
    items = list(objects(given))
    for number, item in enumerate(items):
        kind, where = str(item.get("type", "message")), f"input[{number}]"
        if (words := unknown(item, RESPONSES_ITEMS.get(kind))) is not None:
            return f"{where}: {words}"
        begins = _ITEM_IDS.get(kind)
        if begins is not None and "id" in item and (bad_id(item["id"]) or not str(item["id"]).startswith(begins)):
            return f"{where}.id: {item['id']!r} must begin with {begins!r} and hold at most {MAX_ID} letters, numbers, underscores or dashes"
        if kind == "message" and item.get("role") not in _ROLES:
            return f"{where}: there is no role {item.get('role')!r}"
        if kind == "reasoning" and not any(map(_is_made, items[number + 1 : number + 2])):
            return f"{where}: item {item.get('id')!r} of type 'reasoning' was provided without its required following item"
        if kind in ("function_call", "custom_tool_call"):
            if not item.get("call_id") or len(str(item["call_id"])) > MAX_ID:
                return f"{where}.call_id must be there, and has at most {MAX_ID} characters"
            calls.append(str(item["call_id"]))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if item.get("call_id") not in calls and not goes_on:
                return f"{where}: no tool call found for the output of call {item.get('call_id')!r}"
            answered.add(str(item.get("call_id")))
    open_calls = [id for id in calls if id not in answered]
    return f"no tool output found for the calls {', '.join(open_calls)}" if open_calls else None


def _is_made(item: Json) -> bool:
    """Whether an item of openai-responses is the model's own."""
    kind = str(item.get("type", "message"))
    return item.get("role") == "assistant" if kind == "message" else not kind.endswith("_output")


def check_text(body: Json) -> str | None:
    """Of legacy completions."""
    return None if body.get("model") else "you must provide a model parameter"


def check_run(body: Json) -> str | None:
    """Of a run of an assistant."""
    if not body.get("assistant_id"):
        return "missing required parameter: 'assistant_id'"
    thread = body.get("thread")
    for messages in (thread.get("messages") if isinstance(thread, dict) else None, body.get("additional_messages")):
        for number, message in enumerate(objects(messages)):
            if message.get("role") not in ("user", "assistant"):
                return f"messages[{number}]: the role {message.get('role')!r} is none of user and assistant"
            if (words := unknown(message, ASSISTANTS_MESSAGE)) is not None:
                return f"messages[{number}]: {words}"
            if is_blank(message.get("content")):
                return f"messages[{number}]: message content must be non-empty"
    return None


def check_outputs(body: Json) -> str | None:
    """Of tool outputs for a run; that the run asked for them is seen where it is known."""
    outputs = list(objects(body.get("tool_outputs")))
    if not outputs:
        return "missing required parameter: 'tool_outputs'"
    for number, output in enumerate(outputs):
        if (words := unknown(output, frozenset({"tool_call_id", "output"}))) is not None:
            return f"tool_outputs[{number}]: {words}"
    return None


def check_ollama(body: Json) -> str | None:
    """Of Ollama, which minds the types of its fields and little else."""
    if not body.get("model"):
        return "model is required"
    for number, message in enumerate(objects(body.get("messages"))):
        if not isinstance(message.get("role", ""), str) or not isinstance(message.get("content", ""), str):
            return f"json: cannot unmarshal messages[{number}]: role and content are strings"
        for call in objects(message.get("tool_calls")):
            function = call.get("function")
            if not isinstance(function, dict) or not isinstance(function.get("arguments", {}), dict):
                return f"json: cannot unmarshal messages[{number}].tool_calls: arguments are an object"
    return None


def check_interaction(body: Json) -> str | None:
    """Of Google's interactions. What an interaction before holds is not known, so that its calls may be answered."""
    if not body.get("model") and not body.get("agent"):
        return "one of model and agent is required"
    given, goes_on = body.get("input"), body.get("previous_interaction_id")
    if not given:
        return "input is required"
    calls: list[str] = []
    for number, step in enumerate(objects(given)):
        kind, where = str(step.get("type")), f"input[{number}]"
        if (words := unknown(step, STEPS.get(kind))) is not None:
            return f"{where}: {words}"
        if kind in ("user_input", "model_output") and is_blank(step.get("content")):
            return f"{where}: content must not be empty"
        if kind == "function_call":
            calls.append(str(step.get("id")))
        elif kind == "function_result":
            if step.get("call_id") not in calls and not goes_on:
                return f"{where}: no function call has the id {step.get('call_id')!r}"
            calls = [id for id in calls if id != step.get("call_id")]
    return f"the function calls {', '.join(calls)} have no result" if calls else None
