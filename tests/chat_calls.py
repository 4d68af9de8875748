"""Building openai-chat requests in tests: one call from a request to its decoded body."""

from __future__ import annotations

import msgspec

from headwater_codecs.neutral import Message, Model, Request, Secret, user
from headwater_providers import HttpRequest, Target, new_registries
from headwater_providers.openai_chat.adapter import OpenAIChatAdapter

HI: dict[str, object] = {"role": "user", "content": "hi"}
KEY = "sk-test-0123456789abcdef"


def target(model: str = "m", provider: str = "custom", **flags: object) -> Target:
    """A target with some dialect flags set."""
    adapter = OpenAIChatAdapter()
    return Target(model=model, provider=provider, protocol="openai-chat", base_url="http://h/v1", dialect=adapter.dialect(flags))


def body(request: Request | list[Message], to: Target | None = None, **fields: object) -> dict[str, object]:
    """The body of a request (or of one with these messages and fields), decoded."""
    to = to or target()
    if not isinstance(request, Request):
        request = Request(model="m", messages=request, **fields)  # type: ignore[arg-type]
    decoded: dict[str, object] = msgspec.json.decode(OpenAIChatAdapter().build(request, to, None).body)
    return decoded


def messages(sent: list[Message], to: Target | None = None, **fields: object) -> object:
    """The wire messages of these messages."""
    return body(sent, to, **fields)["messages"]


def http(model: str, **fields: object) -> HttpRequest:
    """The HTTP request that the built-in vendors make for this model, with a key given."""
    registries = new_registries(plugins=False)
    registries.env = {}
    to = registries.resolve(Model(model, api_key=KEY))
    request = Request(model=model, messages=[user("hi")], **fields)  # type: ignore[arg-type]
    assert isinstance(to.api_key, Secret)
    return OpenAIChatAdapter().build(request, to, to.api_key)
