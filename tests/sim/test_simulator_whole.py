"""Answers in one body, and what protocols say beside streams of text: families of models, blocks that take turns, a simulator in a thread."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

import headwater as hw
from headwater.sim import Script, Simulator, read_script, read_scripts
from headwater.sim.speech import BY_PROTOCOL
from headwater_codecs.neutral import user

pytest_plugins = ["headwater.sim.fixtures"]
SCRIPTS = {"whole": Script(n=2, reasoning=1), "calls": Script(call="weather", args='{"city":"Oslo"}')}
Json = dict[str, object]
TEXT, THOUGHT = "token0 token1 ", "thought0 "
USAGE = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
COHERE_USAGE = {"billed_units": {"input_tokens": 10, "output_tokens": 3}, "tokens": {"input_tokens": 10, "output_tokens": 3}}
CALL = {"id": "call_0", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
INVOKE = "/model/{}/invoke"
# Where, what is asked, and the whole body, of an answer with text and thinking and of one that calls.
BODIES: dict[str, tuple[str, Json, Json]] = {
    "openai-text": (
        "/v1/completions",
        {"model": "whole", "prompt": "hi"},
        {
            "id": "sim1",
            "object": "text_completion",
            "created": 1_760_000_000,
            "model": "whole",
            "choices": [{"text": TEXT, "index": 0, "logprobs": None, "finish_reason": "stop"}],
            "usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 1}},
        },
    ),
    "cohere-chat": (
        "/v2/chat",
        {"model": "whole", "messages": []},
        {
            "id": "sim1",
            "finish_reason": "COMPLETE",
            "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": TEXT}]},
            "usage": COHERE_USAGE,
        },
    ),
    "cohere-chat, a call": (
        "/v2/chat",
        {"model": "calls", "messages": []},
        {
            "id": "sim1",
            "finish_reason": "TOOL_CALL",
            "message": {"role": "assistant", "tool_calls": [CALL]},
            "usage": {part: {"input_tokens": 10, "output_tokens": 2} for part in ("billed_units", "tokens")},
        },
    ),
    "gemini-interactions": (
        "/v1beta/interactions",
        {"model": "whole", "input": "hi"},
        {
            "id": "sim1",
            "object": "interaction",
            "model": "whole",
            "status": "completed",
            "role": "model",
            "steps": [
                {"type": "thought", "summary": [{"type": "text", "text": THOUGHT}], "signature": "c2ltdWxhdGVk"},
                {"type": "model_output", "content": [{"type": "text", "text": TEXT}]},
            ],
            "usage": {"total_input_tokens": 10, "total_output_tokens": 2, "total_tokens": 13, "total_thought_tokens": 1, "total_cached_tokens": 0},
        },
    ),
    "gemini-interactions, a call": (
        "/v1beta/interactions",
        {"model": "calls", "input": "hi"},
        {
            "id": "sim1",
            "object": "interaction",
            "model": "calls",
            "status": "requires_action",
            "role": "model",
            "steps": [{"type": "function_call", "id": "call_0", "name": "weather", "arguments": {"city": "Oslo"}}],
            "usage": {"total_input_tokens": 10, "total_output_tokens": 2, "total_tokens": 12, "total_cached_tokens": 0},
        },
    ),
    "titan": (
        INVOKE.format("amazon.titan%2Fsim%2Ftokens%3Fn%3D2%26finish%3Dlength"),
        {"inputText": "hi"},
        {"inputTextTokenCount": 10, "results": [{"tokenCount": 2, "outputText": TEXT, "completionReason": "LENGTH"}]},
    ),
    "llama": (
        INVOKE.format("meta.llama3%2Fsim%2Ftokens%3Fn%3D2"),
        {"prompt": "hi"},
        {"generation": TEXT, "prompt_token_count": 10, "generation_token_count": 2, "stop_reason": "stop"},
    ),
    "mistral": (
        INVOKE.format("mistral.mistral-7b%2Fsim%2Ftokens%3Fn%3D2"),
        {"prompt": "hi"},
        {"outputs": [{"text": TEXT, "stop_reason": "stop"}]},
    ),
    "mistral-chat": (
        INVOKE.format("mistral.pixtral%2Fsim%2Ftokens%3Fcall%3Dweather"),
        {"messages": []},
        {
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "",
                        "tool_calls": [{**CALL, "function": {"name": "weather", "arguments": "{}"}}],
                    },
                    "stop_reason": "tool_calls",
                }
            ]
        },
    ),
}


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    """A simulator in a thread."""
    with Simulator(scripts=SCRIPTS) as simulator:
        yield simulator


@pytest.mark.parametrize("name", BODIES)
def test_a_whole_body(name: str) -> None:
    """What the vendor's body holds, to the last field."""
    path, body, expected = BODIES[name]
    with Simulator(scripts=SCRIPTS) as simulator, httpx.Client(trust_env=False) as client:
        assert client.post(simulator.address + path, json=body).json() == expected


WHOLE: dict[str, tuple[str, Json]] = {
    "openai-chat": ("/v1/chat/completions", {"model": "{}"}),
    "openai-responses": ("/v1/responses", {"model": "{}"}),
    "openai-text": ("/v1/completions", {"model": "{}"}),
    "anthropic-messages": ("/v1/messages", {"model": "{}"}),
    "gemini": ("/v1beta/models/{}:generateContent", {}),
    "gemini-interactions": ("/v1beta/interactions", {"model": "{}"}),
    "bedrock-converse": ("/model/{}/converse", {}),
    "bedrock-invoke": ("/model/{}/invoke", {}),
    "cohere-chat": ("/v2/chat", {"model": "{}"}),
    "ollama-chat": ("/api/chat", {"model": "{}", "stream": False}),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("protocol", WHOLE)
def test_whole_bodies_are_read(sim: Simulator, protocol: str, compressed: bool) -> None:
    """Each protocol's reader takes the body for what it is, compressed by a proxy too; an assistant's run has no answer in it."""
    path, body = WHOLE[protocol]
    with httpx.Client(trust_env=False) as client:
        for name, text, calls in (("sim/tokens?n=2", TEXT, []), ("sim/tokens?call=weather", "", [] if protocol == "openai-text" else ["weather"])):
            name = name + "&gzip=1" if compressed else name
            asked = {key: name if value == "{}" else value for key, value in body.items()}
            answer = client.post(sim.address + path.format(httpx.QueryParams({"m": name})["m"].replace("?", "%3F").replace("/", "%2F")), json=asked)
            assert answer.headers.get("content-encoding") == ("gzip" if compressed else None)
            read = hw.decode(protocol, [answer.content], content_type="application/json")
            assert (read.error, read.text, [call.name for call in read.tool_calls]) == (None, text, calls)


def test_every_protocol_has_whole_answers() -> None:
    """The table above is of all protocols but the assistants', whose runs are asked for."""
    assert {*WHOLE, "openai-assistants"} == set(BY_PROTOCOL)


def test_a_whole_failure(sim: Simulator) -> None:
    """An error in place of a body has the status of its kind and the vendor's own form."""
    forms = {"gemini-interactions": "error", "cohere-chat": "message", "openai-text": "error", "bedrock-invoke": "message"}
    with httpx.Client(trust_env=False) as client:
        for protocol, key in forms.items():
            path, body = WHOLE[protocol]
            name = "sim/fault?kind=error&error_kind=rate_limit"
            asked = {key: name if value == "{}" else value for key, value in body.items()}
            answer = client.post(sim.address + path.format(name.replace("?", "%3F").replace("/", "%2F")), json=asked)
            assert answer.status_code == 429
            assert key in answer.json()


FAMILIES = {
    "anthropic.claude/": ("anthropic", True),
    "amazon.nova/": ("nova", True),
    "mistral.pixtral/": ("mistral-chat", True),
    "amazon.titan/": ("titan", False),
    "meta.llama3/": ("llama", False),
    "mistral.mistral-7b/": ("mistral", False),
}


@pytest.mark.parametrize("prefix", FAMILIES)
def test_families_behind_invoke(sim: Simulator, prefix: str) -> None:
    """The name says whose model it is: its body is written and its events are read; calls where there are any; failures are exceptions."""
    family, calls = FAMILIES[prefix]
    model = sim.model("bedrock-invoke", f"{prefix}sim/tokens?n=2")
    assert model.dialect["family"] == family
    answer = hw.generate_sync(hw.Request(model=model, messages=[user("hi")]))
    assert (answer.text, answer.finish_reason) == (TEXT, "stop")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 2)
    cut = hw.generate_sync(hw.Request(model=sim.model("bedrock-invoke", f"{prefix}sim/tokens?n=2&finish=length"), messages=[user("hi")]))
    assert cut.finish_reason == "length"
    failing = sim.model("bedrock-invoke", f"{prefix}sim/fault?kind=error&after=1&error_kind=overloaded")
    failed = hw.generate_sync(hw.Request(model=failing, messages=[user("hi")]), raise_on_error=False)
    assert failed.error is not None
    assert (failed.error.kind, failed.text) == ("overloaded", "token0 ")
    if calls:
        tool = hw.Tool("weather", "The weather.", {"type": "object", "properties": {}})
        called = hw.generate_sync(
            hw.Request(model=sim.model("bedrock-invoke", f"{prefix}sim/tokens?call=weather&calls=2"), messages=[user("hi")], tools=[tool])
        )
        assert (called.finish_reason, [(call.name, call.input) for call in called.tool_calls]) == ("tool_calls", [("weather", {})] * 2)


APART = [TEXT, TEXT]  # the texts are blocks of their own
TEXTS = {
    **dict.fromkeys(BY_PROTOCOL, APART),
    "openai-chat": ["token0 token0 token1 token1 "],  # one message, one text: the turns are all that shows
    "openai-text": ["token0 token0 token1 token1 "],
    "gemini": [TEXT + TEXT],  # parts without borders, one after the other
    "ollama-chat": [TEXT + TEXT],
}


@pytest.mark.parametrize("protocol", BY_PROTOCOL)
def test_texts_that_take_turns(sim: Simulator, protocol: str) -> None:
    """Where the wire can say so they are open at the same time; elsewhere they come one after the other."""
    answer = hw.generate_sync(hw.Request(model=sim.model(protocol, "sim/tokens?n=2&blocks=2"), messages=[user("hi")]))
    assert [block.text for block in answer.blocks] == TEXTS[protocol]


def test_a_simulator_in_a_thread(headwater_sim: Simulator) -> None:
    """The fixture for everybody: no event loop in the test, and counts to look at."""
    answer = hw.generate_sync(hw.Request(model=headwater_sim.model("openai-chat", "sim/tokens?n=2"), messages=[user("hi")]))
    assert answer.text == TEXT
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{headwater_sim.address}/_sim/stats").json()["completed"] == headwater_sim.stats.completed == 1


def test_leaving_a_thread() -> None:
    """What the block raises leaves as itself, and nobody listens any more."""
    with pytest.raises(ZeroDivisionError), Simulator() as simulator:
        raise ZeroDivisionError
    with pytest.raises(httpx.ConnectError), httpx.Client(trust_env=False) as client:
        client.get(simulator.address)


def test_names_with_something_before_the_script() -> None:
    """A vendor's name may stand before the script; a script that is none is still told."""
    assert read_script("openai/gpt-4o/sim/tokens?n=3") == Script(n=3)
    assert read_script("meta.llama3/sim/fault?kind=error&message=a/b") == Script(kind="error", message="a/b")
    assert read_script("not-sim/tokens?n=3") == Script()
    with pytest.raises(hw.ConfigurationError):
        read_script("openai/sim/sparkle")


def test_scripts_of_files_know_the_new_fields() -> None:
    """Blocks and gzip may stand in a file."""
    assert read_scripts(json.dumps({"m": {"blocks": 2, "gzip": True}}).encode()) == {"m": Script(blocks=2, gzip=True)}
