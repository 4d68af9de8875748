"""Names of models that say more than the model, and answers under another name than was asked for."""

from __future__ import annotations

import msgspec
import pytest

import headwater as hw
from headwater_codecs.neutral import Message, Model, Request, Secret, user
from headwater_codecs.neutral.request import Origin, ReasoningPart, TextPart, ToolCallPart
from headwater_providers import new_registries
from headwater_providers.adapter import Target
from headwater_providers.origin import same_origin
from headwater_providers.resolve import Registries

PLACE = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
HOME = "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4"
STREAM = ":streamGenerateContent?alt=sse"
OTHER = "projects/q/locations/us-east1"


def registries(**env: str) -> Registries:
    """The built-in registries in an environment of these variables."""
    made = new_registries(plugins=False)
    made.env = env
    return made


@pytest.mark.parametrize(
    ("model", "url"),
    [
        (Model("vertex/gemini-2.5-pro"), f"{HOME}/publishers/google/models/gemini-2.5-pro{STREAM}"),
        (Model("vertex/endpoints/123"), f"{HOME}/endpoints/123{STREAM}"),
        (Model("vertex/publishers/google/models/gemini-2.5-pro"), f"{HOME}/publishers/google/models/gemini-2.5-pro{STREAM}"),
        (Model(f"vertex/{OTHER}/endpoints/123"), f"https://us-east1-aiplatform.googleapis.com/v1/{OTHER}/endpoints/123{STREAM}"),
        (Model(f"{OTHER}/endpoints/123"), f"https://us-east1-aiplatform.googleapis.com/v1/{OTHER}/endpoints/123{STREAM}"),
        (
            Model("projects/q/locations/global/publishers/google/models/gemini-2.5-pro"),
            f"https://aiplatform.googleapis.com/v1/projects/q/locations/global/publishers/google/models/gemini-2.5-pro{STREAM}",
        ),
        (
            Model("vertex/endpoints/123", base_url=f"https://g.example/v1/{OTHER}/publishers/google"),
            f"https://g.example/v1/{OTHER}/endpoints/123{STREAM}",
        ),
        (Model(f"vertex/{OTHER}/endpoints/1", base_url=f"{HOME}/publishers/google"), f"{HOME.partition('/projects')[0]}/{OTHER}/endpoints/1{STREAM}"),
        (Model("vertex/endpoints/a?b#c"), f"{HOME}/endpoints/a%3Fb%23c{STREAM}"),
        (Model("google/tunedModels/t-1"), f"https://generativelanguage.googleapis.com/v1beta/tunedModels/t-1{STREAM}"),
    ],
)
def test_where_a_name_leads(model: Model, url: str) -> None:
    """Tuned endpoints, models of other publishers, and names with project and region: the address is made of them."""
    made = registries(**PLACE)
    target = made.resolve(msgspec.structs.replace(model, api_key="k"))
    built = made.adapter("gemini").build(Request(model=model, messages=[user("Hi")]), target, Secret("k"))
    assert built.url == url


def test_a_name_with_its_project_needs_no_variables() -> None:
    """It says all that the variables would."""
    assert registries().resolve(Model(f"{OTHER}/endpoints/1", api_key="k")).base_url == "https://us-east1-aiplatform.googleapis.com/v1"


@pytest.mark.rows("OR-TM-02")
@pytest.mark.parametrize(
    ("asked", "answered", "to", "same"),
    [
        ("gemini-flash-latest", "gemini-2.5-flash", "gemini-flash-latest", True),
        ("gemini-flash-latest", "gemini-2.5-flash", "gemini-2.5-flash", True),
        ("gemini-flash-latest", "gemini-2.5-flash", "gemini-2.5-flash-preview", False),
        ("gemini-flash-latest", "gemini-2.5-flash", "gemini-pro-latest", False),
        ("gemini-2.5-flash", None, "gemini-2.5-flash", True),
        (None, "gemini-2.5-flash", "gemini-2.5-flash", True),
        (None, None, "gemini-2.5-flash", True),
    ],
)
def test_either_name_is_the_models(asked: str | None, answered: str | None, to: str, same: bool) -> None:
    """The one that was asked for and the one that answered; no third."""
    target = Target(model=to, provider="google", protocol="gemini", base_url="")
    assert same_origin(Origin("google", "gemini", asked, answered), target) is same
    assert same_origin(Origin("google", "gemini-interactions", asked, answered), target) is False


def test_signatures_survive_an_alias() -> None:
    """What `gemini-flash-latest` signed under its own name goes back to it: also a signature without text."""
    parts = (
        b'{"text":"plan","thought":true,"thoughtSignature":"UjE="},'
        b'{"functionCall":{"name":"f","args":{},"id":"c1"},"thoughtSignature":"Qw=="},'
        b'{"text":"Hi"},{"inlineData":{"mimeType":"a/b","data":"AA=="}},{"text":"","thoughtSignature":"VA=="}'
    )
    data = b'data: {"candidates":[{"content":{"parts":[' + parts + b']},"finishReason":"STOP"}],"modelVersion":"gemini-2.5-flash"}\n\n'
    answer = hw.decode("gemini", [data])
    answer.provider, answer.protocol, answer.requested_model = "google", "gemini", "gemini-flash-latest"
    message = answer.message()
    assert message.origin == Origin("google", "gemini", "gemini-flash-latest", "gemini-2.5-flash")
    assert [part.signature for part in message.parts if isinstance(part, ReasoningPart | ToolCallPart | TextPart)] == ["UjE=", "Qw==", None, "VA=="]
    assert sent("google/gemini-flash-latest", message) == msgspec.json.decode(b"[" + parts + b"]")


def sent(model: str, message: Message) -> object:
    """The parts of the message as they go to this model."""
    made = registries()
    target = made.resolve(Model(model, api_key="k"))
    built = made.adapter("gemini").build(Request(model=model, messages=[user("Hi"), message]), target, Secret("k"))
    return msgspec.json.decode(built.body)["contents"][1]["parts"]


def test_what_stands_beside_the_text_is_not_sent_back() -> None:
    """Queries and addresses are for who shows the answer; a request has no place for them."""
    data = b'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["q"]}}]}\n\n'
    answer = hw.decode("gemini", [data])
    assert sent("google/gemini-2.5-flash", answer.message()) == [{"text": "Hi"}]
    assert answer.blocks[0].meta == msgspec.Raw(b'{"groundingMetadata":{"webSearchQueries":["q"]}}')
