"""Bodies of gemini: whole conversations, and what differs between the servers and the models."""

from __future__ import annotations

import msgspec
import pytest

from headwater_codecs.neutral import ConfigurationError, Message, Model, Request, Secret, assistant, system, tool_result, user
from headwater_codecs.neutral.request import (
    FilePart,
    ImagePart,
    JsonSchema,
    OpaquePart,
    Origin,
    Reasoning,
    ReasoningPart,
    TextPart,
    Tool,
    ToolCallPart,
)
from headwater_providers import new_registries

Json = dict[str, object]
ENV = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
HI: Json = {"role": "user", "parts": [{"text": "Hi"}]}
PNG = ImagePart(data="iVBORw0K", media_type="image/png")
INLINE: Json = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0K"}}
MARKER = "skip_thought_signature_validator"


def body(request: Request) -> Json:
    """The body for the model of this request."""
    registries = new_registries(plugins=False)
    registries.env = ENV
    assert isinstance(request.model, Model)
    target = registries.resolve(request.model)
    built = registries.adapter(target.protocol).build(request, target, Secret("k"))
    value: Json = msgspec.json.decode(built.body)
    return value


def contents(model: str, *messages: Message) -> object:
    """The contents for this model."""
    return body(Request(model=Model(model, api_key="k"), messages=list(messages)))["contents"]


def test_everything_that_is_sent() -> None:
    """Every field of the body."""
    request = Request(
        model=Model("google/gemini-2.5-pro", api_key="k"),
        messages=[system("Be brief."), user("Hi", FilePart(file_id="files/1", media_type="application/pdf"), ImagePart(url="gs://b/i.png"))],
        tools=[Tool("f", "Does.", {"type": "object"}), Tool("g")],
        tool_choice="f",
        max_tokens=10,
        temperature=0.5,
        top_p=0.9,
        top_k=40,
        n=2,
        stop="END",
        seed=7,
        presence_penalty=0.1,
        frequency_penalty=0.2,
        response_format=JsonSchema({"type": "object"}, "place"),
        reasoning=Reasoning(budget_tokens=512),
        extra_body={"safetySettings": [{"category": "C", "threshold": "T"}], "generationConfig": {"mediaResolution": "LOW"}, "cachedContent": "c/1"},
    )
    assert body(request) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "Hi"},
                    {"fileData": {"fileUri": "files/1", "mimeType": "application/pdf"}},
                    {"fileData": {"fileUri": "gs://b/i.png"}},
                ],
            }
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "description": "Does.", "parametersJsonSchema": {"type": "object"}}, {"name": "g"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "maxOutputTokens": 10,
            "temperature": 0.5,
            "topP": 0.9,
            "topK": 40,
            "candidateCount": 2,
            "seed": 7,
            "presencePenalty": 0.1,
            "frequencyPenalty": 0.2,
            "stopSequences": ["END"],
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
            "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 512},
            "mediaResolution": "LOW",
        },
        "safetySettings": [{"category": "C", "threshold": "T"}],
        "cachedContent": "c/1",
    }


CALLS = Message("assistant", (TextPart("Look."), ToolCallPart("c1", "f", '{"a":1}'), ToolCallPart("c2", "g", "")))
RESULTS = (tool_result("c1", [TextPart("a map"), PNG]), tool_result("c2", "broke", is_error=True))


@pytest.mark.rows("PI-GO-03")
def test_calls_and_results() -> None:
    """Results come back in one turn, with ids and the tools' names; the images follow theirs."""
    assert contents("google/gemini-2.5-pro", user("Hi"), CALLS, *RESULTS, user("Go on.")) == [
        HI,
        {
            "role": "model",
            "parts": [
                {"text": "Look."},
                {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c1"}},
                {"functionCall": {"name": "g", "args": {}, "id": "c2"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "id": "c1", "response": {"output": "a map"}}},
                INLINE,
                {"functionResponse": {"name": "g", "id": "c2", "response": {"error": "broke"}}},
                {"text": "Go on."},
            ],
        },
    ]


@pytest.mark.rows("PI-GO-03")
def test_calls_and_results_of_gemini_3() -> None:
    """Images go into the result; the first call that has no signature gets the marker, no other does."""
    assert contents("google/gemini-3-pro-preview", user("Hi"), CALLS, *RESULTS) == [
        HI,
        {
            "role": "model",
            "parts": [
                {"text": "Look."},
                {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c1"}, "thoughtSignature": MARKER},
                {"functionCall": {"name": "g", "args": {}, "id": "c2"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "id": "c1", "response": {"output": "a map"}, "parts": [INLINE]}},
                {"functionResponse": {"name": "g", "id": "c2", "response": {"error": "broke"}}},
            ],
        },
    ]


def test_vertex_has_no_ids() -> None:
    """Vertex refuses ids of calls and results, express mode too."""
    for model in ("vertex/gemini-2.5-pro", "vertex-express/gemini-2.5-pro"):
        assert contents(model, user("Hi"), Message("assistant", (ToolCallPart("c1", "f", "{}"),)), tool_result("c1", "ok")) == [
            HI,
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "ok"}}}]},
        ]


SIGNED = (
    ReasoningPart("plan", signature="UjE="),
    ReasoningPart("", signature="UjI="),
    TextPart("Hi", signature="VA=="),
    ToolCallPart("c1", "f", "{}", signature="Qw=="),
    ToolCallPart("c2", "f", "{}"),
    OpaquePart("executableCode", b'{"executableCode": {"code":"1"}}'),
)
PLAIN_CALL: Json = {"functionCall": {"name": "f", "args": {}, "id": "c2"}}


@pytest.mark.rows("PI-GO-03", "ISS-03", "ISS-04")
def test_signatures_go_home() -> None:
    """To the model that made them: each on its own part, none copied to another (B200), opaque parts as they came."""
    own = Message("assistant", SIGNED, origin=Origin("google", "gemini", "gemini-3-pro-preview"))
    assert contents("google/gemini-3-pro-preview", user("Hi"), own) == [
        HI,
        {
            "role": "model",
            "parts": [
                {"text": "plan", "thought": True, "thoughtSignature": "UjE="},
                {"text": "", "thought": True, "thoughtSignature": "UjI="},
                {"text": "Hi", "thoughtSignature": "VA=="},
                {"functionCall": {"name": "f", "args": {}, "id": "c1"}, "thoughtSignature": "Qw=="},
                PLAIN_CALL,
                {"executableCode": {"code": "1"}},
            ],
        },
    ]


@pytest.mark.rows("PI-GO-03")
@pytest.mark.parametrize(("model", "signature"), [("google/gemini-2.5-pro", {}), ("google/gemini-3-pro-preview", {"thoughtSignature": MARKER})])
def test_signatures_of_others_stay_away(model: str, signature: Json) -> None:
    """Another model's reasoning, signatures and opaque parts are left out; the marker stands where a signature is demanded."""
    other = Message("assistant", SIGNED, origin=Origin("anthropic", "anthropic-messages", "claude"))
    assert contents(model, user("Hi"), other) == [
        HI,
        {"role": "model", "parts": [{"text": "Hi"}, {"functionCall": {"name": "f", "args": {}, "id": "c1"}, **signature}, PLAIN_CALL]},
    ]


def test_cut_calls_are_left_out() -> None:
    """A call that was cut goes nowhere, nor does its result; turns of one role are joined."""
    cut = Message("assistant", (ToolCallPart("c1", "f", '{"a":', complete=False),))
    assert contents("google/gemini-2.5-pro", user("Hi"), cut, tool_result("c1", "x"), user("Again"), assistant("Yes."), assistant("No.")) == [
        {"role": "user", "parts": [{"text": "Hi"}, {"text": "Again"}]},
        {"role": "model", "parts": [{"text": "Yes."}, {"text": "No."}]},
    ]


@pytest.mark.parametrize(
    ("model", "reasoning", "expected"),
    [
        ("google/gemini-2.5-pro", "low", {"includeThoughts": True, "thinkingBudget": 2048}),
        ("google/gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("google/gemini-3-pro-preview", "xhigh", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("google/gemini-3-pro-preview", Reasoning(effort="low", summary="off"), {"includeThoughts": False, "thinkingLevel": "LOW"}),
    ],
)
def test_thinking(model: str, reasoning: object, expected: Json) -> None:
    """A budget or a level, as the model takes it."""
    request = Request(model=Model(model, api_key="k"), messages=[user("Hi")], reasoning=reasoning)  # type: ignore[arg-type]  # one of both
    assert body(request)["generationConfig"] == {"thinkingConfig": expected}


def test_labels_are_for_vertex() -> None:
    """The Gemini API refuses labels, so they are refused before a byte is sent."""
    fields: Json = {"messages": [user("Hi")], "metadata": {"team": "a"}}
    sent = body(Request(model=Model("vertex/gemini-2.5-pro", api_key="k"), **fields))  # type: ignore[arg-type]  # fields by name
    assert sent["labels"] == {"team": "a"}
    with pytest.raises(ConfigurationError, match="metadata"):
        body(Request(model=Model("google/gemini-2.5-pro", api_key="k"), **fields))  # type: ignore[arg-type]  # fields by name
