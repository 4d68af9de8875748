"""Typical uses of the public API, as a type checker sees them: checked by mypy, never run."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import assert_type

import headwater as hw


async def every_event(prompt: str) -> str:
    """Events of one answer, told apart by their type; the response is there afterwards, whatever happened."""
    model = hw.Model("gpt-4o-mini", provider="openai", protocol="openai-chat", base_url="http://127.0.0.1:1/v1", api_key="x")
    request = hw.Request(model=model, messages=[hw.system("Be brief."), hw.user(prompt)], max_tokens=20, temperature=0.0)
    async with hw.Engine(transport="auto", timeouts=hw.Timeouts(idle=60), topology="fused", retry_budget=hw.RetryBudget(retries=20)) as engine:
        assert_type(engine, hw.Engine)
        async with engine.stream(request) as stream:
            async for event in stream:
                assert_type(event, hw.Event)
                match event:
                    case hw.TextDelta():
                        assert_type(event.text, str)
                        assert_type(event.index, int)
                    case hw.ToolCallEnd():
                        assert_type(event.complete, bool)
                    case hw.UsageUpdate():
                        assert_type(event.usage, hw.Usage)
                    case hw.Finish():
                        assert_type(event.finish_reason, hw.FinishReason)
                        assert_type(event.usage, hw.Usage | None)
                    case hw.StreamFailed():
                        assert_type(event.error, hw.ErrorInfo)
                    case _:
                        pass
        assert_type(stream.response, hw.Response)
        return stream.response.text


async def conveniences(engine: hw.Engine) -> None:
    """Text only, one whole answer, and failures as exceptions or as data."""
    request = hw.Request(model="openai/gpt-4o-mini", messages=[hw.user("hi")])
    async with engine.stream(request) as stream:
        async for text in stream.text_deltas():
            assert_type(text, str)
    response = await engine.generate(request)
    assert_type(response, hw.Response)
    response = await engine.generate(request, raise_on_error=False)
    assert_type(response.error, hw.ErrorInfo | None)
    response.raise_for_error()
    response = await engine.generate(request, fallbacks=["anthropic/claude-sonnet-4-5", hw.Model("m", provider="openai")], hedge=2.0)
    assert_type([(failed.provider, failed.model, failed.error) for failed in response.failed_attempts], list[tuple[str, str, hw.ErrorInfo]])
    assert_type(await engine.drain(grace=10), hw.Drained)
    assert_type(await engine.call("GET", "/models", provider="openai"), hw.Reply)
    assert_type(await engine.call("POST", "/threads", {"metadata": {}}, model="openai/gpt-4o-mini", timeouts=hw.Timeouts(total=5)), hw.Reply)
    try:
        await engine.generate(request)
    except hw.RateLimitError as error:
        assert_type(error.info.retry_after, float | None)
    except hw.HeadwaterError as error:
        assert_type(error.info, hw.ErrorInfo)
        assert_type(error.response, hw.Response | None)


def in_a_script(request: hw.Request) -> None:
    """Without async: one answer, or its events."""
    assert_type(hw.generate_sync(request), hw.Response)
    with hw.stream_sync(request) as stream:
        for event in stream:
            assert_type(event, hw.Event)
        assert_type(stream.response, hw.Response)


def offline(body: bytes) -> None:
    """Bytes that were captured, without a network."""
    response = hw.decode("openai-chat", [body], content_type="text/event-stream", headers={"content-encoding": "gzip"}, options={"think_tags": True})
    assert_type(response, hw.Response)
    assert_type(hw.decode_events("openai-chat", [body]), list[hw.Event])


def the_answer(response: hw.Response) -> hw.Message:
    """What an answer holds, and how it goes into the next request."""
    assert_type(response.text, str)
    assert_type(response.reasoning, str)
    assert_type(response.refusal, str | None)
    assert_type(response.finish_reason, hw.FinishReason | None)
    assert_type(response.ok, bool)
    assert_type(response.usage, hw.Usage | None)
    assert_type(response.timing.first_content, float | None)
    assert_type(response.choices, Sequence[hw.Choice])
    assert_type(response.blocks, list[hw.Block])
    for call in response.tool_calls:
        assert_type(call, hw.ToolCall)
        if call.complete:
            assert_type(call.name, str)
            assert_type(call.input, object)
    return response.message()


def a_conversation_with_tools(previous: hw.Response) -> hw.Request:
    """Tools, their results, structured output, reasoning, and deadlines of one request."""
    weather = hw.Tool("weather", "The weather at a place", {"type": "object", "properties": {"place": {"type": "string"}}})
    results = [hw.tool_result(call.id, "sunny") for call in previous.tool_calls if call.complete]
    assert_type(results, list[hw.Message])
    return hw.Request(
        model=hw.Model("local/smollm2"),
        messages=[hw.user("Weather?", hw.ImagePart(url="https://example.com/sky.png")), previous.message(), *results],
        tools=[weather],
        tool_choice="weather",
        response_format=hw.JsonSchema({"type": "object"}),
        reasoning=hw.Reasoning(effort="low"),
        extra_body={"top_k": 4},
        timeouts=hw.Timeouts(first_content=5, total=30),
    )


async def own_parts(request: hw.Request, context: ssl.SSLContext) -> None:
    """An engine with its parts chosen by hand."""
    async with hw.Engine(transport="socket", topology="staged", ssl_context=context) as engine, engine.stream(request, raw=True) as stream:
        async for event in stream:
            if isinstance(event, hw.RawFrame):
                assert_type(event.data, bytes)
