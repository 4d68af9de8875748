"""The vendors' own SDKs with the simulator's less known sides: Assistants and their threads, legacy completions, interactions, InvokeModel."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from headwater.sim import Script, Simulator

boto3 = pytest.importorskip("boto3", reason="needs the extra `peers`")
genai = pytest.importorskip("google.genai", reason="needs the extra `peers`")
openai = pytest.importorskip("openai", reason="needs the extra `peers`")

TEXT = "token0 token1 "
SCRIPTS = {
    "plain": Script(n=2),
    "thinks": Script(n=2, reasoning=1),
    "calls": Script(call="weather", args='{"city":"Oslo"}', n=2),
    "breaks": Script(n=2, kind="error", after=1),
    "limited": Script(kind="status", status=429),
}


@pytest.mark.filterwarnings("ignore:The Assistants API is deprecated:DeprecationWarning")
def test_assistants() -> None:
    """It polls, submits, streams and lists."""
    with Simulator(scripts=SCRIPTS, strict=True) as sim, openai.OpenAI(base_url=f"{sim.address}/v1", api_key="k", max_retries=0) as client:
        threads = client.beta.threads
        thread = threads.create(messages=[{"role": "user", "content": "Oslo?"}])
        run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id="asst_calls", poll_interval_ms=1)
        assert run.status == "requires_action"
        outputs = [{"tool_call_id": call.id, "output": "Rain."} for call in run.required_action.submit_tool_outputs.tool_calls]
        run = threads.runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread.id, tool_outputs=outputs, poll_interval_ms=1)
        assert (run.status, run.usage.completion_tokens) == ("completed", 2)
        assert threads.messages.list(thread.id).data[0].content[0].text.value == TEXT
        with threads.runs.stream(thread_id=thread.id, assistant_id="asst_calls") as stream:
            run = stream.get_final_run()
        calls = [(call.function.name, call.function.arguments) for call in run.required_action.submit_tool_outputs.tool_calls]
        assert calls == [("weather", '{"city":"Oslo"}')]
        with threads.runs.submit_tool_outputs_stream(run_id=run.id, thread_id=thread.id, tool_outputs=outputs) as stream:
            assert "".join(stream.text_deltas) == TEXT


def test_legacy_completions() -> None:
    """Whole and streamed."""
    with Simulator(scripts=SCRIPTS, strict=True) as sim, openai.OpenAI(base_url=f"{sim.address}/v1", api_key="k", max_retries=0) as client:
        whole = client.completions.create(model="plain", prompt="hi")
        assert (whole.choices[0].text, whole.choices[0].finish_reason, whole.usage.completion_tokens) == (TEXT, "stop", 2)
        streamed = list(client.completions.create(model="plain", prompt="hi", stream=True))
        assert "".join(choice.text for chunk in streamed for choice in chunk.choices) == TEXT


def test_interactions() -> None:
    """Whole and streamed: steps of their own types, counts, errors."""
    with Simulator(scripts=SCRIPTS, strict=True) as sim:
        client = genai.Client(api_key="sim-key", http_options={"base_url": sim.address})
        whole = client.interactions.create(model="thinks", input="hi")
        assert [step.type for step in whole.steps] == ["thought", "model_output"]
        assert (whole.status, whole.steps[1].content[0].text, whole.usage.total_thought_tokens) == ("completed", TEXT, 1)
        events = list(client.interactions.create(model="thinks", input="hi", stream=True))
        deltas = [event.delta for event in events if event.event_type == "step.delta"]
        assert "".join(delta.text for delta in deltas if delta.type == "text") == TEXT
        assert [delta.content.text for delta in deltas if delta.type == "thought_summary"] == ["thought0 "]
        assert [delta.signature for delta in deltas if delta.type == "thought_signature"] == ["c2ltdWxhdGVk"]
        assert (events[-1].interaction.status, events[-1].interaction.usage.total_input_tokens) == ("completed", 10)
        events = list(client.interactions.create(model="calls", input="hi", stream=True))
        assert "".join(event.delta.arguments for event in events if event.event_type == "step.delta") == '{"city":"Oslo"}'
        assert events[-1].interaction.status == "requires_action"
        broken = list(client.interactions.create(model="breaks", input="hi", stream=True))
        assert broken[-1].error.message == "the simulator was told to fail"
        with pytest.raises(Exception, match="told to fail"):  # the SDK keeps its class to itself
            client.interactions.create(model="limited", input="hi")


def test_invoke() -> None:
    """Whole and streamed, read by botocore's own parser."""
    from botocore.config import Config
    from botocore.exceptions import EventStreamError

    body = json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]})
    with Simulator(scripts=SCRIPTS, strict=True) as sim:
        keys = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "example", "region_name": "us-east-1"}
        client = boto3.client("bedrock-runtime", endpoint_url=sim.address, config=Config(retries={"max_attempts": 1}), **keys)

        def streamed(model: str, asked: str) -> list[dict[str, Any]]:
            stream = client.invoke_model_with_response_stream(modelId=model, body=asked)["body"]
            with contextlib.closing(stream):
                return [json.loads(event["chunk"]["bytes"]) for event in stream]

        events = streamed("plain", body)
        assert "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta") == TEXT
        assert events[-1]["type"] == "message_stop"
        assert json.loads(client.invoke_model(modelId="plain", body=body)["body"].read())["content"] == [{"type": "text", "text": TEXT}]
        pieces = streamed("meta.llama3/sim/tokens?n=2", '{"prompt":"hi"}')
        assert "".join(piece["generation"] for piece in pieces) == TEXT
        assert pieces[-1]["amazon-bedrock-invocationMetrics"] == {"inputTokenCount": 10, "outputTokenCount": 2}
        with pytest.raises(EventStreamError, match="told to fail"):
            streamed("breaks", body)
        client.close()
