"""The simulator's strictness: it refuses what the vendors refuse, in their own form, and nothing that they take."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.sim import Simulator
from headwater.sim.speech import BY_PROTOCOL, understand
from headwater.sim.strict import objection
from headwater_codecs.neutral import Message, ToolCallPart, tool_result, user

pytestmark = pytest.mark.anyio
WEATHER = hw.Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
Json = dict[str, object]


async def ask(to: hw.Model, *messages: Message, tools: tuple[hw.Tool, ...] = ()) -> hw.Response:
    """One answer, without retries."""
    async with hw.Engine(transport="socket", retry=hw.Retry(attempts=0)) as engine:
        return await engine.generate(hw.Request(model=to, messages=list(messages) or [user("hi")], tools=tools), raise_on_error=False)


@pytest.mark.parametrize("protocol", [name for name in BY_PROTOCOL if name not in ("openai-text", "openai-assistants")])
async def test_strict_takes_what_is_right(protocol: str) -> None:
    """A conversation with a call and its result, as our own adapters write it, is nobody's to refuse."""
    turns = (user("Oslo?"), Message("assistant", (ToolCallPart("call_1", "weather", '{"city":"Oslo"}'),)), tool_result("call_1", "Rain."))
    async with Simulator(strict=True) as sim:
        answer = await ask(sim.model(protocol, "sim/tokens?n=1"), *turns, tools=(WEATHER,))
        assert (answer.error, answer.text) == (None, "token0 ")
        plain = await ask(sim.model(protocol, "sim/tokens?n=1"))
        assert plain.error is None


@pytest.mark.parametrize("protocol", ["openai-text", "openai-assistants"])
async def test_strict_takes_a_prompt(protocol: str) -> None:
    """So is a prompt where there are no calls."""
    async with Simulator(strict=True) as sim:
        assert (await ask(sim.model(protocol, "sim/tokens?n=1"))).error is None


async def test_strict_refuses_in_the_vendors_form() -> None:
    """The refusal is an error of the request, it names the field, and without `strict` there is none."""
    for strict, kind in ((True, "invalid_request"), (False, None)):
        async with Simulator(strict=strict) as sim, hw.Engine(transport="socket") as engine:
            for protocol in set(BY_PROTOCOL) - {"bedrock-converse", "ollama-chat"}:
                request = hw.Request(model=sim.model(protocol, "sim/tokens?n=1"), messages=[user("hi")], extra_body={"sparkle": 1})
                answer = await engine.generate(request, raise_on_error=False)
                assert (answer.error and answer.error.kind) == kind
                assert answer.error is None or "sparkle" in answer.error.message


CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI, CONVERSE, INVOKE = "/v1beta/models/m:streamGenerateContent", "/model/m/converse-stream", "/model/m/invoke-with-response-stream"
NOVA, TITAN, LLAMA, MISTRAL, PIXTRAL = (
    INVOKE.replace("/m/", f"/{name}/")
    for name in ("amazon.nova-lite-v1:0", "amazon.titan-text-lite-v1", "meta.llama3-8b", "mistral.mistral-7b", "mistral.pixtral-large-2502-v1:0")
)
COHERE, OLLAMA, STEPS, RUNS = "/v2/chat", "/api/chat", "/v1beta/interactions", "/v1/threads/runs"
OUTPUTS = "/v1/threads/t/runs/r/submit_tool_outputs"
S_HI: Json = {"type": "user_input", "content": [{"type": "text", "text": "hi"}]}
S_CALL: Json = {"type": "function_call", "id": "c1", "name": "f", "arguments": {}}
S_RESULT: Json = {"type": "function_result", "call_id": "c1", "result": "ok"}
HI: Json = {"role": "user", "content": "hi"}
CHAT_CALL: Json = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
USE: Json = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
RESULT: Json = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}
NAMED: Json = {"type": "tool_result", "tool_use_id": "c1", "name": "f"}
G_HI: Json = {"role": "user", "parts": [{"text": "hi"}]}
G_CALL: Json = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
G_RESULT: Json = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}
C_HI: Json = {"role": "user", "content": [{"text": "hi"}]}
C_USE: Json = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {}}}]}
C_RESULT: Json = {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}]}}]}
TOOLS: Json = {"toolConfig": {"tools": []}, "system": []}
R_CALL: Json = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
R_THOUGHT: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
THOUGHT: Json = {"role": "assistant", "content": [{"type": "text", "text": "ok"}, {"type": "thinking", "thinking": "hm", "signature": "s"}]}
LONG = "c" * 65
REFUSED: list[tuple[str, Json, str]] = [
    (CHAT, {"messages": []}, "at least one"),
    (CHAT, {"messages": [{**HI, "sparkle": 1}]}, "messages[0]: unknown field: sparkle"),
    (CHAT, {"messages": [HI, CHAT_CALL, HI]}, "c1 have no result"),
    (CHAT, {"messages": [HI, CHAT_CALL]}, "c1 have no result"),
    (CHAT, {"messages": [HI, {"role": "tool", "tool_call_id": "c9", "content": "ok"}]}, "'c9' is none"),
    (CHAT, {"messages": [HI, {"role": "assistant", "content": ""}]}, "neither content nor tool calls"),
    (CHAT, {"messages": [{"role": "robot", "content": "hi"}]}, "no role 'robot'"),
    (CHAT, {"messages": [HI, {"role": "assistant", "tool_calls": [{"id": LONG}]}]}, "at most 64"),
    (CHAT, {"messages": [HI], "sparkle": 1, "glitter": 2}, "unknown field: glitter, sparkle"),
    (COHERE, {"messages": [HI]}, "model is required"),
    (COHERE, {"model": "m", "messages": [HI, CHAT_CALL, HI]}, "c1 have no result"),
    (COHERE, {"model": "m", "messages": [HI, {"role": "tool", "tool_call_id": "c9", "content": "ok"}]}, "'c9' is none"),
    (COHERE, {"model": "m", "messages": [{"role": "developer", "content": "hi"}]}, "no role 'developer'"),
    (COHERE, {"model": "m", "messages": [{"role": "user", "content": " "}]}, "at least 1 token"),
    (COHERE, {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}, "at least 1 token"),
    (COHERE, {"model": "m", "messages": [{**HI, "name": "Ann"}]}, "messages[0]: unknown field: name"),
    (COHERE, {"model": "m", "messages": [HI], "top_p": 1}, "unknown field: top_p"),
    ("/v1/completions", {"model": "m", "prompt": "hi", "messages": []}, "unknown field: messages"),
    ("/v1/completions", {"prompt": "hi"}, "model parameter"),
    (RUNS, {"assistant_id": "asst_1", "sparkle": 1}, "unknown field: sparkle"),
    (RUNS, {"thread": {"messages": [HI]}}, "assistant_id"),
    (RUNS, {"assistant_id": "asst_1", "thread": {"messages": [{"role": "tool", "content": "ok"}]}}, "'tool' is none of"),
    (RUNS, {"assistant_id": "asst_1", "thread": {"messages": [{**HI, "sparkle": 1}]}}, "messages[0]: unknown field: sparkle"),
    ("/v1/threads/t/runs", {"assistant_id": "asst_1", "additional_messages": [{"role": "user", "content": ""}]}, "non-empty"),
    (OUTPUTS, {"tool_outputs": []}, "tool_outputs"),
    (OUTPUTS, {"tool_outputs": [{"tool_call_id": "c1", "output": "ok", "is_error": True}]}, "tool_outputs[0]: unknown field: is_error"),
    (OUTPUTS, {"tool_outputs": [{"tool_call_id": "c1", "output": "ok"}], "assistant_id": "asst_1"}, "unknown field: assistant_id"),
    (OLLAMA, {"messages": [HI]}, "model is required"),
    (OLLAMA, {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}, "are strings"),
    (OLLAMA, {"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]}, "an object"),
    (STEPS, {"input": "hi"}, "model and agent"),
    (STEPS, {"model": "m", "input": []}, "input is required"),
    (STEPS, {"model": "m", "input": "hi", "sparkle": 1}, "unknown field: sparkle"),
    (STEPS, {"model": "m", "input": [{"type": "user_input", "content": [{"type": "text", "text": " "}]}]}, "must not be empty"),
    (STEPS, {"model": "m", "input": [S_HI, S_CALL]}, "c1 have no result"),
    (STEPS, {"model": "m", "input": [S_HI, S_RESULT]}, "no function call has the id 'c1'"),
    (STEPS, {"model": "m", "input": [S_HI, S_CALL, {**S_RESULT, "output": "ok"}]}, "input[2]: unknown field: output"),
    (RESPONSES, {"input": []}, "is needed"),
    (RESPONSES, {"input": [{"role": "tool", "content": "hi"}]}, "no role 'tool'"),
    (RESPONSES, {"input": [{**HI, "sparkle": 1}]}, "input[0]: unknown field: sparkle"),
    (RESPONSES, {"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}, "call_id must be there"),
    (RESPONSES, {"input": [R_CALL]}, "no tool output found for the calls c1"),
    (RESPONSES, {"input": [{"type": "function_call_output", "call_id": "c9", "output": "ok"}]}, "'c9'"),
    (RESPONSES, {"input": [{**R_CALL, "id": "call_1"}]}, "must begin with 'fc'"),
    (RESPONSES, {"input": [{"type": "reasoning", "id": "rs_" + LONG, "summary": []}]}, "must begin with 'rs'"),
    (RESPONSES, {"input": [{**R_CALL, "call_id": LONG}]}, "at most 64"),
    (RESPONSES, {"input": [HI, R_THOUGHT]}, "item 'rs_1' of type 'reasoning' was provided without its required following item"),
    (RESPONSES, {"input": [HI, R_THOUGHT, HI]}, "required following item"),
    (RESPONSES, {"input": [R_CALL, R_THOUGHT, {"type": "function_call_output", "call_id": "c1", "output": "ok"}]}, "required following item"),
    (MESSAGES, {"messages": [HI]}, "max_tokens"),
    (MESSAGES, {"max_tokens": 1, "messages": []}, "at least one message"),
    (MESSAGES, {"max_tokens": 1, "messages": [{"role": "assistant", "content": "hi"}]}, "first message"),
    (MESSAGES, {"max_tokens": 1, "messages": [{"role": "system", "content": "hi"}]}, "'system' is not allowed"),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, USE]}, "without tool_result blocks: c1"),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, USE, HI]}, "without tool_result blocks: c1"),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, RESULT]}, "unexpected tool_use_id"),
    (MESSAGES, {"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text", "text": " \n"}]}]}, "non-whitespace"),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, {"role": "assistant", "content": [{"type": "tool_use", "id": "a.b"}]}]}, "'a.b' does not match"),
    (MESSAGES, {"max_tokens": 1, "messages": [{**HI, "name": "Ann"}]}, "messages.0: unknown field: name"),
    (
        MESSAGES,
        {"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "name": "f"}]}]},
        "messages.0.content.0: unknown",
    ),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, THOUGHT, HI]}, "messages.1: the final block in an assistant message cannot be `thinking`"),
    (INVOKE, {"max_tokens": 1, "messages": [HI]}, "anthropic_version"),
    (NOVA, {"messages": [C_HI, C_HI]}, "alternate"),
    (NOVA, {"messages": [C_HI], "modelId": "m"}, "unknown field: modelId"),
    (TITAN, {"textGenerationConfig": {}}, "[inputText] not found"),
    (TITAN, {"inputText": "hi", "maxTokenCount": 1}, "unknown field: maxTokenCount"),
    (LLAMA, {"prompt": " "}, "must not be blank"),
    (LLAMA, {"prompt": "hi", "max_tokens": 1}, "unknown field: max_tokens"),
    (MISTRAL, {"prompt": "hi", "max_gen_len": 1}, "unknown field: max_gen_len"),
    (PIXTRAL, {"messages": [HI, CHAT_CALL]}, "c1 have no result"),
    (PIXTRAL, {"messages": [HI], "model": "m"}, "unknown field: model"),
    (INVOKE, {"anthropic_version": "v", "max_tokens": 1, "messages": [HI], "model": "m"}, "unknown field: model"),
    (GEMINI, {"contents": []}, "contents is not specified"),
    (GEMINI, {"contents": [{"role": "user", "parts": []}]}, "must not be empty"),
    (GEMINI, {"contents": [{"role": "assistant", "parts": [{"text": "hi"}]}]}, "valid roles"),
    (GEMINI, {"contents": [G_HI, G_CALL, G_HI]}, "must equal the number of function call parts"),
    (GEMINI, {"contents": [G_HI, G_RESULT]}, "must equal the number of function call parts"),
    (GEMINI, {"contents": [G_HI, G_CALL]}, "without function responses"),
    (GEMINI, {"contents": [G_CALL, G_RESULT]}, "immediately after a user turn"),
    (GEMINI, {"contents": [G_HI], "sparkle": 1}, "unknown field: sparkle"),
    (GEMINI, {"contents": [{**G_HI, "sparkle": 1}]}, "contents[0]: unknown field: sparkle"),
    (GEMINI, {"contents": [{"parts": [{"text": "hi", "type": "text"}]}]}, "contents[0]: unknown field: type"),
    (CONVERSE, {"messages": [C_USE]}, "start with a user message"),
    (CONVERSE, {"messages": [C_HI, C_HI]}, "alternate"),
    (CONVERSE, {"messages": [{"role": "user", "content": [{"text": " "}]}]}, "blank"),
    (CONVERSE, {"messages": [C_HI, C_USE], **TOOLS}, "following ids: c1"),
    (CONVERSE, {"messages": [C_HI, C_USE, C_HI], **TOOLS}, "following ids: c1"),
    (CONVERSE, {"messages": [C_RESULT], **TOOLS}, "exceeds the number of toolUse blocks"),
    (CONVERSE, {"messages": [C_HI, C_USE, C_RESULT]}, "toolConfig"),
    (CONVERSE, {"messages": [C_HI, {"role": "assistant", "content": [{"toolUse": {"toolUseId": LONG}}]}], **TOOLS}, "longer than 64"),
]


@pytest.mark.parametrize(("path", "body", "words"), REFUSED)
def test_strict_refuses(path: str, body: Json, words: str) -> None:
    """Each of the vendors' rules, with the words that tell which one it is."""
    asked = understand(path, "", body)
    assert asked is not None
    refusal = objection(asked)
    assert refusal is not None
    assert words in refusal


ACCEPTED: list[tuple[str, Json]] = [
    (CHAT, {"messages": [HI, CHAT_CALL, {"role": "tool", "tool_call_id": "c1", "content": "ok"}, HI]}),
    (RESPONSES, {"input": "hi"}),
    (RESPONSES, {"input": [HI, R_THOUGHT, {"role": "assistant", "content": "ok"}, HI]}),
    (RESPONSES, {"input": [HI, R_THOUGHT, R_CALL, {"type": "function_call_output", "call_id": "c1", "output": "ok"}]}),
    (RESPONSES, {"input": [HI, {**R_CALL, "id": "fc_1"}, {"type": "function_call_output", "call_id": "c1", "output": "ok"}]}),
    (MESSAGES, {"max_tokens": 1, "messages": [HI, HI, USE, RESULT]}),
    (INVOKE, {"anthropic_version": "v", "max_tokens": 1, "messages": [HI]}),
    (GEMINI, {"contents": [{"parts": [{"text": "hi"}]}, G_CALL, G_RESULT, G_CALL, G_RESULT, {"role": "model", "parts": [{"text": "ok"}]}, G_HI]}),
    (CONVERSE, {"messages": [C_HI, C_USE, C_RESULT], **TOOLS}),
    (OLLAMA, {"model": "m", "messages": [], "sparkle": 1}),
    (COHERE, {"model": "m", "messages": [HI, CHAT_CALL, {"role": "tool", "tool_call_id": "c1", "content": "ok"}, HI]}),
    (RESPONSES, {"previous_response_id": "resp_1", "input": [{"type": "function_call_output", "call_id": "c9", "output": "ok"}]}),
    (STEPS, {"model": "m", "input": "hi"}),
    (STEPS, {"model": "m", "input": [S_HI, S_CALL, S_RESULT, S_HI]}),
    (STEPS, {"agent": "a", "previous_interaction_id": "i1", "input": [S_RESULT]}),
    (RUNS, {"assistant_id": "asst_1", "thread": {"messages": [HI]}}),
    (OUTPUTS, {"tool_outputs": [{"tool_call_id": "c1", "output": "ok"}], "stream": True}),
    (NOVA, {"messages": [C_HI, C_USE, C_RESULT], "toolConfig": {"tools": []}, "schemaVersion": "messages-v1"}),
    (TITAN, {"inputText": "hi", "textGenerationConfig": {"maxTokenCount": 1}}),
    (LLAMA, {"prompt": "hi", "max_gen_len": 1}),
    (MISTRAL, {"prompt": "hi", "max_tokens": 1, "stop": ["x"]}),
    (PIXTRAL, {"messages": [HI], "max_tokens": 1}),
]


@pytest.mark.parametrize(("path", "body"), ACCEPTED)
def test_strict_accepts(path: str, body: Json) -> None:
    """What is in order has nothing against it."""
    asked = understand(path, "", body)
    assert asked is not None
    assert objection(asked) is None
