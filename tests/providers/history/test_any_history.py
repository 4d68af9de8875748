"""Whatever a history holds, what each protocol is sent is what its vendor takes: the strict simulator is the judge."""

from __future__ import annotations

import copy
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sim import Simulator
from headwater.sim.speech import understand
from headwater.sim.strict import objection
from headwater_codecs.neutral import (
    ConfigurationError,
    ImagePart,
    Message,
    OpaquePart,
    Origin,
    ReasoningPart,
    Request,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    user,
)
from headwater_providers import new_registries
from headwater_providers.history import History, hand_off

PROTOCOLS = (
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "gemini",
    "bedrock-converse",
    "cohere-chat",
    "ollama-chat",
    "gemini-interactions",
)
ORIGINS = [None, *(Origin("elsewhere", protocol, "other-1") for protocol in ("openai-chat", "anthropic-messages", "gemini"))]
TOOLS = [Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}}), Tool("clock", "The time.")]
ids = st.sampled_from(["call_1", "call_2", "functions.weather:0", "call_1|fc_9", "", "x" * 90, "x" * 91, "a\nb", "ä"])
blanks = st.sampled_from(["", " ", "\n", "Hello.", "Oslo?", "\ud800 cut"])
texts = st.builds(TextPart, blanks)
images = st.just(ImagePart(data="aGk=", media_type="image/png"))
results = st.builds(ToolResultPart, ids, blanks | st.lists(texts | images, max_size=3).map(tuple), st.sampled_from([None, "weather"]), st.booleans())
calls = st.builds(
    ToolCallPart,
    ids,
    st.sampled_from(["weather", "clock"]),
    st.sampled_from(['{"city":"Oslo"}', "{}", "", "[1]", '"x"', "{cut"]),
    st.just("function"),
    st.booleans(),
)
thoughts = st.builds(ReasoningPart, blanks, st.sampled_from([None, "c2ln"]), st.booleans(), st.sampled_from([None, "ZGF0YQ=="]))
items = st.builds(OpaquePart, st.just("search"), st.just(b'{"type":"search"}'))
asked = st.builds(Message, st.just("user"), st.lists(texts | images | results, max_size=4).map(tuple))
said = st.builds(Message, st.just("user"), blanks)
made = st.builds(
    Message,
    st.just("assistant"),
    st.lists(texts | calls | thoughts | items, max_size=5).map(tuple),
    origin=st.sampled_from([origin for origin in ORIGINS if origin is not None]),
    failed=st.booleans(),
)
tools = st.builds(Message, st.just("tool"), st.lists(results, max_size=3).map(tuple))
systems = st.builds(Message, st.just("system"), st.just("Be brief."))
histories = st.lists(asked | said | made | tools | systems, max_size=10).map(lambda messages: [*messages, user("Go on.")])


@pytest.mark.rows("OR-TM-07", "OR-TM-09", "OR-TM-10", "PI-TM-20")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(messages=histories, history=st.builds(History, thinking=st.sampled_from(["drop", "text"]), failed=st.sampled_from(["drop", "keep"])))
def test_nothing_that_is_sent_is_refused(protocol: str, messages: list[Message], history: History) -> None:
    """Orphans, blanks, cut calls, failed turns, bad ids, a wrong order: none of it reaches a vendor, and the history is as it was."""
    before = copy.deepcopy(messages)
    sim = Simulator()
    sim.address = sim.refusing = "http://127.0.0.1:1"
    registries = new_registries()
    target = registries.resolve(sim.model(protocol))
    handed = hand_off(messages, target, history)
    request = Request(model=target.model, messages=handed, tools=TOOLS)
    built = registries.adapter(protocol).build(request, target, None)
    url = urlsplit(built.url)
    understood = understand(url.path, url.query, msgspec.json.decode(built.body))
    assert understood is not None
    assert objection(understood) is None
    assert messages == before


def test_the_judge_refuses() -> None:
    """Without the hand-off the same conversation is refused: the test above can fail."""
    messages = [user("a"), Message("assistant", (ToolCallPart("c", "clock"),)), user("b")]
    sim = Simulator()
    sim.address = sim.refusing = "http://127.0.0.1:1"
    registries = new_registries()
    refused = []
    for protocol in PROTOCOLS:
        target = registries.resolve(sim.model(protocol))
        try:
            built = registries.adapter(protocol).build(Request(model=target.model, messages=messages, tools=TOOLS), target, None)
        except ConfigurationError:
            refused.append(protocol)
            continue
        url = urlsplit(built.url)
        understood = understand(url.path, url.query, msgspec.json.decode(built.body))
        assert understood is not None
        refused += [protocol] if objection(understood) is not None else []
    assert refused == [protocol for protocol in PROTOCOLS if protocol != "ollama-chat"]  # which knows no ids
