"""Whatever a history holds, what each protocol is sent is what its vendor takes: the strict simulator is the judge."""

from __future__ import annotations

import copy
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from headwater.sim import Simulator
from headwater.sim.speech import understand
from headwater.sim.strict import objection
from headwater_codecs.neutral import (
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

NAME = "sim/tokens"
MODELS = {  # protocol, or what is told apart within it -> the protocol and the model's name
    **{
        protocol: (protocol, NAME)
        for protocol in (
            "openai-chat",
            "openai-responses",
            "anthropic-messages",
            "gemini",
            "bedrock-converse",
            "cohere-chat",
            "ollama-chat",
            "gemini-interactions",
        )
    },
    **{f"bedrock-invoke {family}": ("bedrock-invoke", f"{family}/{NAME}") for family in ("anthropic.claude", "amazon.nova", "mistral.pixtral")},
}
OWN = Origin("the target")  # put in its place where there is a target
ORIGINS = [OWN, *(Origin("elsewhere", protocol, "other-1") for protocol in ("openai-chat", "anthropic-messages", "gemini"))]
TOOLS = [Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}}), Tool("clock", "The time.")]
ids = st.sampled_from(["call_1", "call_2", "functions.weather:0", "call_1|fc_9", "", "x" * 90, "x" * 91, "a\nb", "ä"])
blanks = st.sampled_from(["", " ", "\n", "Hello.", "Oslo?", "\ud800 cut"])
texts = st.builds(TextPart, blanks)
marks = st.just(TextPart("", meta=Raw(b'{"cachePoint":{"type":"default"}}')))
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
stored = st.builds(
    ReasoningPart,
    st.sampled_from(["", "hm"]),
    data=st.just("ZGF0YQ=="),
    meta=st.just(Raw(b'{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ZGF0YQ=="}')),
)
items = st.builds(OpaquePart, st.just("search"), st.just(b'{"type":"search"}'))
asked = st.builds(Message, st.just("user"), st.lists(texts | images | results | marks, max_size=4).map(tuple))
said = st.builds(Message, st.just("user"), blanks)
made = st.builds(
    Message,
    st.just("assistant"),
    st.lists(texts | calls | thoughts | items, max_size=5).map(tuple),
    origin=st.sampled_from(ORIGINS[1:]),
    failed=st.booleans(),
)
own = st.builds(Message, st.just("assistant"), st.lists(texts | calls | thoughts | stored, max_size=5).map(tuple), origin=st.just(OWN))
tools = st.builds(Message, st.just("tool"), st.lists(results, max_size=3).map(tuple))
systems = st.builds(Message, st.just("system"), st.just("Be brief."))
histories = st.lists(asked | said | made | own | tools | systems, max_size=10).map(lambda messages: [*messages, user("Go on.")])


READS = st.sampled_from([None, frozenset({"text"}), frozenset({"text", "image"})])


def refusal(model: str, messages: list[Message], tools: list[Tool], history: History | None, reads: frozenset[str] | None = None) -> str | None:
    """Why the strict simulator refuses what is built of these messages; None where it takes it. Without a history they are built as they are."""
    protocol, name = MODELS[model]
    sim = Simulator()
    sim.address = sim.refusing = "http://127.0.0.1:1"
    registries = new_registries()
    asked = sim.model(protocol, name)
    if protocol == "openai-chat":
        asked = replace(asked, dialect={**asked.dialect, "reasoning_field": ""})  # as OpenAI's own: its judge knows no other field
    target = replace(registries.resolve(asked), modalities=reads)
    here = Origin(target.provider, target.protocol, target.model)
    # What a model of openai-responses thought is an item of its own; elsewhere such an item is none of the model's.
    given = [_at_home(message, here, protocol == "openai-responses") if message.origin == OWN else message for message in messages]
    before = copy.deepcopy(given)
    handed = given if history is None else hand_off(given, target, history)
    built = registries.adapter(protocol).build(Request(model=target.model, messages=handed, tools=tools, max_tokens=99), target, None)
    assert given == before
    url = urlsplit(built.url)
    understood = understand(url.path, url.query, msgspec.json.decode(built.body))
    assert understood is not None
    return objection(understood)


def _at_home(message: Message, here: Origin, stores: bool) -> Message:
    parts = message.parts if stores else tuple(part for part in message.parts if not (isinstance(part, ReasoningPart) and part.meta is not None))
    return replace(message, content=parts, origin=here)


@pytest.mark.rows("OR-TM-07", "OR-TM-09", "OR-TM-10", "PI-TM-20")
@pytest.mark.parametrize("model", MODELS)
@given(
    messages=histories,
    history=st.builds(History, thinking=st.sampled_from(["drop", "text"]), failed=st.sampled_from(["drop", "keep"])),
    offered=st.sampled_from([TOOLS, []]),
    reads=READS,
)
def test_nothing_that_is_sent_is_refused(
    model: str, messages: list[Message], history: History, offered: list[Tool], reads: frozenset[str] | None
) -> None:
    """Orphans, blanks, cut calls, failed turns, bad ids, a wrong order: none of it reaches a vendor, and the history is as it was."""
    assert refusal(model, messages, offered, history, reads) is None


@pytest.mark.parametrize("model", MODELS)
def test_the_judge_refuses(model: str) -> None:
    """Without the hand-off the same conversation is refused: the test above can fail. Ollama knows no ids, and refuses nothing."""
    messages = [user("a"), Message("assistant", (ToolCallPart("c", "clock"),)), user("b")]
    assert (refusal(model, messages, TOOLS, None) is None) == (model == "ollama-chat")


@pytest.mark.parametrize("model", ["openai-responses", "anthropic-messages", "bedrock-invoke anthropic.claude"])
def test_the_judge_refuses_an_answer_that_was_cut(model: str) -> None:
    """Reasoning that nothing follows is refused as well."""
    thought = ReasoningPart("hm", "c2ln")
    if model == "openai-responses":
        thought = ReasoningPart("", data="x", meta=Raw(b'{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}'))
    assert refusal(model, [user("a"), Message("assistant", (thought,), origin=OWN), user("b")], TOOLS, None) is not None
