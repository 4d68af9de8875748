"""One conversation, another protocol and model at every turn: each body is what the vendor's own types allow, and the strict simulator takes it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

import headwater as hw
from headwater.sim import Simulator
from headwater_codecs.neutral import ImagePart, Message, TextPart, tool_result, user

pytest.importorskip("openai", reason="the vendors' SDKs are not installed: pip install headwater[peers]")

from peers.vendor_types import TYPED_DICTS, Json, check_converse, check_gemini, check_typed_dict

pytestmark = pytest.mark.anyio
PNG = ImagePart(data="iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", media_type="image/png")
WEATHER = hw.Tool("weather", "The weather of a city.", {"type": "object", "properties": {"city": {"type": "string"}}})
ORDER = ("openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse", "ollama-chat")

READ_THEIR_REASONING = ("anthropic-messages", "gemini", "bedrock-converse", "ollama-chat")  # as the simulator sends it: not encrypted


def check(protocol: str, body: Json) -> None:
    """Ask the vendor's own types, where there are any."""
    if protocol in TYPED_DICTS:
        check_typed_dict(protocol, body)
    elif protocol == "gemini":
        check_gemini(body)
    elif protocol == "bedrock-converse":
        check_converse(body)


@pytest.mark.rows("OR-TM-03", "OR-TM-05")
@pytest.mark.parametrize("first", range(len(ORDER)))
@pytest.mark.parametrize("thinking", ["drop", "text"])
async def test_eight_turns(first: int, thinking: str) -> None:
    """Each turn thinks, says something, calls a tool twice at once, and is answered with text and an image; then the user shows one and goes on."""
    bodies: list[bytes] = []
    messages: list[Message] = [hw.system("Be brief.")]
    asked = 0
    history = hw.History(thinking=thinking)  # type: ignore[arg-type]
    async with Simulator(strict=True) as sim, hw.Engine(history=history, on_request=lambda method, url, body: bodies.append(body)) as engine:
        for number in range(8):
            protocol = ORDER[(first + number) % len(ORDER)]
            messages.append(Message("user", (TextPart(f"Turn {number}."), PNG)))
            for script in ('call=weather&args={"city":"Oslo"}&calls=2', "n=3"):
                model = sim.model(protocol, f"sim/tokens?reasoning=2&{script}&input_tokens={number}")
                answer = await engine.generate(hw.Request(model=model, messages=messages, tools=[WEATHER], max_tokens=100))
                check(protocol, json.loads(bodies[-1]))
                asked += 1
                messages.append(answer.message())
                messages += [tool_result(call.id, [TextPart("Rain."), PNG]) for call in answer.tool_calls]
            assert answer.text == "token0 token1 token2 "
    assert (len(bodies), asked) == (16, 16)
    assert sum(len(message.parts) for message in messages if message.role == "tool") == 16


@pytest.mark.rows("OR-TM-03", "OR-TM-05", "PI-GO-03")
@pytest.mark.parametrize("protocol", ORDER)
async def test_a_model_reads_its_own_turns(protocol: str) -> None:
    """Within a loop of tools, and when it comes back after others: what it signed goes home, what the others made is taken without that."""
    bodies: list[bytes] = []
    asks = 'sim/tokens?reasoning=2&n=3&call=weather&args={"city":"Oslo"}&calls=2'
    at = ORDER.index(protocol)
    turns = [protocol, protocol, *ORDER[at + 1 :], *ORDER[:at], protocol]
    messages: list[Message] = []
    async with Simulator(strict=True) as sim, hw.Engine(on_request=lambda method, url, body: bodies.append(body)) as engine:
        for number, name in enumerate(turns):
            messages.append(Message("user", (TextPart(f"Turn {number}."), PNG)))
            model = sim.model(name, asks)
            if name == "openai-chat":
                model = replace(model, dialect={**model.dialect, "reasoning_field": ""})  # as OpenAI's own, whose types know no field for it
            for _ in range(2):
                answer = await engine.generate(hw.Request(model=model, messages=messages, tools=[WEATHER], max_tokens=100))
                check(name, json.loads(bodies[-1]))
                assert len(answer.tool_calls) == 2
                messages.append(answer.message())
                messages += [tool_result(call.id, "Rain.") for call in answer.tool_calls]
    own = [0, 1, 2, 3, *([0, 1] * 5), 4, 5]  # turns of the model's own in front of each request
    asked = [name for name in turns for _ in range(2)]
    assert [body.count(b"thought0") for body in bodies] == [
        count if name in READ_THEIR_REASONING else 0 for count, name in zip(own, asked, strict=True)
    ]


async def test_the_conversation_goes_on_after_a_failure() -> None:
    """A turn that broke off is in the history, and nothing of it is sent; the next model is asked as if it had not been."""
    bodies: list[bytes] = []
    async with Simulator(strict=True) as sim, hw.Engine(on_request=lambda method, url, body: bodies.append(body)) as engine:
        messages = [user("a")]
        cut = sim.model("anthropic-messages", "sim/fault?kind=truncate&after=2&n=5")
        answer = await engine.generate(hw.Request(model=cut, messages=messages), raise_on_error=False)
        assert (answer.text, answer.message().failed) == ("token0 token1 ", True)
        messages += [answer.message(), user("b")]
        again = await engine.generate(hw.Request(model=sim.model("openai-chat", "sim/tokens?n=1"), messages=messages))
        assert (again.text, again.message().failed) == ("token0 ", False)
    assert [message["content"] for message in json.loads(bodies[-1])["messages"]] == ["a", "b"]
