"""The vendors' own SDKs read the simulator without a complaint: text, tools, reasoning, usage, and errors as their own exceptions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread
import pytest

from headwater.sim import Script, Simulator

anthropic = pytest.importorskip("anthropic", reason="needs the extra `peers`")
boto3 = pytest.importorskip("boto3", reason="needs the extra `peers`")
genai = pytest.importorskip("google.genai", reason="needs the extra `peers`")
openai = pytest.importorskip("openai", reason="needs the extra `peers`")

pytestmark = pytest.mark.anyio
Result = TypeVar("Result")
TEXT = "token0 token1 token2 "
THOUGHTS = "thought0 thought1 "
SCRIPTS = {
    "plain": Script(n=3),
    "thinks": Script(n=3, reasoning=2),
    "calls": Script(call="weather", args='{"city":"Oslo"}'),
    "refuses": Script(refusal="I will not."),
    "breaks": Script(n=3, kind="error", after=2),
    "limited": Script(kind="status", status=429),
    "wrong": Script(kind="status", status=400),
}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


async def against_sim(use: Callable[[str], Result]) -> Result:
    """What `use` gives, in a thread of its own, for the address of a strict simulator."""
    async with Simulator(scripts=SCRIPTS, strict=True) as sim:
        return await anyio.to_thread.run_sync(use, sim.address)


def openai_client(address: str) -> Any:
    return openai.OpenAI(api_key="sim-key", base_url=f"{address}/v1", max_retries=0)


async def test_openai_chat() -> None:
    """`client.chat.completions.stream`, which accumulates and parses everything itself."""

    def use(address: str) -> None:
        with openai_client(address) as client:

            def ask(model: str, **fields: Any) -> Any:
                messages = [{"role": "user", "content": "hi"}]
                with client.chat.completions.stream(model=model, messages=messages, stream_options={"include_usage": True}, **fields) as stream:
                    return stream.get_final_completion()

            answer = ask("plain")
            assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (TEXT, "stop")
            assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (10, 3)
            assert ask("thinks").usage.completion_tokens_details.reasoning_tokens == 2
            assert ask("refuses").choices[0].message.refusal == "I will not."
            tool = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
            choice = ask("calls", tools=[tool]).choices[0]
            assert (choice.finish_reason, [call.function.arguments for call in choice.message.tool_calls]) == ("tool_calls", ['{"city":"Oslo"}'])
            whole = client.chat.completions.create(model="plain", messages=[{"role": "user", "content": "hi"}])
            assert (whole.choices[0].message.content, whole.usage.completion_tokens) == (TEXT, 3)
            with pytest.raises(openai.APIError, match="told to fail"):
                ask("breaks")
            with pytest.raises(openai.RateLimitError):
                ask("limited")
            with pytest.raises(openai.BadRequestError):
                ask("wrong")

    await against_sim(use)


async def test_openai_responses() -> None:
    """`client.responses.stream`, whose state machine raises for events out of order."""

    def use(address: str) -> None:
        with openai_client(address) as client:

            def ask(model: str, **fields: Any) -> Any:
                with client.responses.stream(model=model, input="hi", **fields) as stream:
                    return stream.get_final_response()

            answer = ask("plain")
            assert (answer.status, answer.output_text) == ("completed", TEXT)
            assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 3)
            thinking, message = ask("thinks").output
            assert (thinking.type, message.type, message.content[0].text) == ("reasoning", "message", TEXT)
            assert THOUGHTS in "".join(part.text for part in [*(thinking.summary or []), *(thinking.content or [])])
            tool = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}
            call = ask("calls", tools=[tool]).output[0]
            assert (call.type, call.name, call.arguments) == ("function_call", "weather", '{"city":"Oslo"}')
            assert ask("refuses").output[0].content[0].refusal == "I will not."
            assert client.responses.create(model="plain", input="hi").output_text == TEXT
            with client.responses.stream(model="breaks", input="hi") as stream:
                failed = [event for event in stream if event.type in ("response.failed", "error")]
            assert failed
            with pytest.raises(openai.RateLimitError):
                ask("limited")

    await against_sim(use)


async def test_anthropic() -> None:
    """`client.messages.stream`, which accumulates the snapshot itself."""

    def use(address: str) -> None:
        with anthropic.Anthropic(api_key="sim-key", base_url=address, max_retries=0) as client:

            def ask(model: str, **fields: Any) -> Any:
                with client.messages.stream(model=model, max_tokens=100, messages=[{"role": "user", "content": "hi"}], **fields) as stream:
                    return stream.get_final_message()

            answer = ask("plain")
            assert (answer.content[0].text, answer.stop_reason) == (TEXT, "end_turn")
            assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 3)
            thinking, text = ask("thinks").content
            assert (thinking.thinking, thinking.signature, text.text) == (THOUGHTS, "c2ltdWxhdGVk", TEXT)
            called = ask("calls", tools=[{"name": "weather", "input_schema": SCHEMA}])
            assert (called.stop_reason, called.content[0].name, called.content[0].input) == ("tool_use", "weather", {"city": "Oslo"})
            whole = client.messages.create(model="plain", max_tokens=100, messages=[{"role": "user", "content": "hi"}])
            assert (whole.content[0].text, whole.usage.output_tokens) == (TEXT, 3)
            with pytest.raises(anthropic.APIError, match="told to fail"):
                ask("breaks")
            with pytest.raises(anthropic.RateLimitError):
                ask("limited")

    await against_sim(use)


async def test_google_genai() -> None:
    """`client.models.generate_content_stream`."""

    def use(address: str) -> None:
        client = genai.Client(api_key="sim-key", http_options={"base_url": address, "api_version": "v1beta"})

        def ask(model: str, **config: Any) -> list[Any]:
            return list(client.models.generate_content_stream(model=model, contents="hi", config=config))

        def parts(chunks: list[Any]) -> list[Any]:
            return [
                part for chunk in chunks for candidate in chunk.candidates or [] for part in (candidate.content and candidate.content.parts) or []
            ]

        chunks = ask("plain")
        assert "".join(part.text or "" for part in parts(chunks)) == TEXT
        assert chunks[-1].candidates[0].finish_reason.value == "STOP"
        assert (chunks[-1].usage_metadata.prompt_token_count, chunks[-1].usage_metadata.candidates_token_count) == (10, 3)
        found = parts(ask("thinks"))
        assert "".join(part.text or "" for part in found if part.thought) == THOUGHTS
        assert "".join(part.text or "" for part in found if not part.thought) == TEXT
        tool = {"function_declarations": [{"name": "weather", "parameters_json_schema": SCHEMA}]}
        calls = [part.function_call for part in parts(ask("calls", tools=[tool])) if part.function_call]
        assert [(call.name, call.args) for call in calls] == [("weather", {"city": "Oslo"})]
        assert client.models.generate_content(model="plain", contents="hi").text == TEXT
        with pytest.raises(genai.errors.APIError, match="told to fail"):
            ask("breaks")
        with pytest.raises(genai.errors.ClientError) as limited:
            ask("limited")
        assert limited.value.code == 429

    await against_sim(use)


async def test_boto3() -> None:
    """`client.converse_stream`, read by botocore's own event stream parser, checksums and all."""

    def use(address: str) -> None:
        import botocore.config
        from botocore.exceptions import ClientError, EventStreamError

        config = botocore.config.Config(retries={"max_attempts": 1})
        client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=address,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="example",
            config=config,
        )

        def ask(model: str, **fields: Any) -> list[dict[str, Any]]:
            stream = client.converse_stream(modelId=model, messages=[{"role": "user", "content": [{"text": "hi"}]}], **fields)["stream"]
            with contextlib.closing(stream):
                return list(stream)

        def deltas(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]

        events = ask("plain")
        assert "".join(delta["text"] for delta in deltas(events)) == TEXT
        assert [event["messageStop"]["stopReason"] for event in events if "messageStop" in event] == ["end_turn"]
        usage = events[-1]["metadata"]["usage"]
        assert (usage["inputTokens"], usage["outputTokens"]) == (10, 3)
        thoughts = [delta["reasoningContent"] for delta in deltas(ask("thinks")) if "reasoningContent" in delta]
        assert "".join(thought.get("text", "") for thought in thoughts) == THOUGHTS
        assert [thought["signature"] for thought in thoughts if "signature" in thought] == ["c2ltdWxhdGVk"]
        tools = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}]}
        assert "".join(delta["toolUse"]["input"] for delta in deltas(ask("calls", toolConfig=tools))) == '{"city":"Oslo"}'
        whole = client.converse(modelId="plain", messages=[{"role": "user", "content": [{"text": "hi"}]}])
        assert (whole["output"]["message"]["content"][0]["text"], whole["stopReason"]) == (TEXT, "end_turn")
        with pytest.raises(EventStreamError, match="told to fail"):
            ask("breaks")
        with pytest.raises(ClientError) as limited:
            ask("limited")
        assert limited.value.response["Error"]["Code"] == "ThrottlingException"
        client.close()

    await against_sim(use)
