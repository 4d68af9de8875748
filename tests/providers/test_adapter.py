"""The adapter as the engine uses it: address, headers, key, translator, dialect."""

from __future__ import annotations

import pytest

from chat_calls import KEY, http, target
from headwater_codecs.neutral import ConfigurationError, Model, Request, Secret, user
from headwater_providers import Target, new_registries
from headwater_providers.openai_chat.adapter import OpenAIChatAdapter
from headwater_providers.openai_chat.dialect import ChatDialect

ADAPTER = OpenAIChatAdapter()


def request(**fields: object) -> Request:
    """The least request, with some fields."""
    return Request(model="m", messages=[user("hi")], **fields)  # type: ignore[arg-type]


def at(base_url: str, **flags: object) -> str:
    """The address of a call."""
    to = Target(model="my model", provider="p", protocol="openai-chat", base_url=base_url, dialect=ADAPTER.dialect(flags))
    return ADAPTER.build(request(), to, None).url


@pytest.mark.parametrize(
    ("base_url", "flags", "url"),
    [
        ("http://h/v1", {}, "http://h/v1/chat/completions"),
        ("http://h/v1/", {}, "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", {}, "http://h/v1/chat/completions"),
        ("http://h/v1?key=1", {}, "http://h/v1/chat/completions?key=1"),
        ("http://h", {"query": {"api-version": "1"}}, "http://h/chat/completions?api-version=1"),
        ("http://h?api-version=2", {"query": {"api-version": "1"}}, "http://h/chat/completions?api-version=2"),
        ("http://h", {"path": "/d/{model}/chat/completions"}, "http://h/d/my%20model/chat/completions"),
    ],
)
def test_addresses(base_url: str, flags: dict[str, object], url: str) -> None:
    """The path goes behind the base URL once, the query behind both."""
    assert at(base_url, **flags) == url


@pytest.mark.parametrize(
    ("auth", "provider", "header"),
    [
        ("bearer", None, ("authorization", f"Bearer {KEY}")),
        ("api-key", None, ("api-key", KEY)),
        ("api-key-or-token", None, ("api-key", KEY)),
        ("api-key-or-token", lambda: KEY, ("authorization", f"Bearer {KEY}")),
    ],
)
def test_the_key_goes_into_its_header(auth: str, provider: object, header: tuple[str, str]) -> None:
    """A bearer token, or the header of Azure; a token from a callable is a bearer token there too."""
    base = target(auth=auth)
    to = Target(model="m", provider="p", protocol="openai-chat", base_url="http://h", api_key=provider or Secret(KEY), dialect=base.dialect)  # type: ignore[arg-type]
    built = ADAPTER.build(request(), to, Secret(f" {KEY}\n"))
    assert built.headers == (("content-type", "application/json"), ("accept", "text/event-stream"), header)


def test_no_key_no_header() -> None:
    """Servers that need none get none; a dialect may keep it back."""
    assert dict(ADAPTER.build(request(), target(), None).headers).keys() == {"content-type", "accept"}
    assert "authorization" not in dict(ADAPTER.build(request(), target(auth="none"), Secret(KEY)).headers)


@pytest.mark.parametrize("key", ["", " ", "a b", "a\nb", "schlüssel"])
def test_a_key_that_no_header_can_carry(key: str) -> None:
    """Such a key is an error that does not show it."""
    with pytest.raises(ConfigurationError, match="the API key is empty or holds characters") as caught:
        ADAPTER.build(request(), target(), Secret(key))
    assert not key.strip() or key not in str(caught.value)


def test_headers_of_target_and_request() -> None:
    """The request's headers go over the target's, whatever their case."""
    base = target()
    to = Target(model="m", provider="p", protocol="openai-chat", base_url="http://h", headers={"x-a": "1", "x-b": "1"}, dialect=base.dialect)
    built = ADAPTER.build(request(extra_headers={"X-B": "2", "Accept": "*/*"}), to, None)
    assert built.headers == (("content-type", "application/json"), ("accept", "*/*"), ("x-a", "1"), ("x-b", "2"))


@pytest.mark.parametrize(
    "headers", [{"x y": "1"}, {"": "1"}, {"x\n": "1"}, {"x-key": "geheim\r\nx: 1"}, {"x-key": "geheim\0"}, {"x-key": "geheim☃"}, {"x-key": 1}]
)
def test_headers_that_cannot_be_sent(headers: dict[str, str]) -> None:
    """Line breaks and the like are refused; a value is never shown."""
    with pytest.raises(ConfigurationError, match="header") as caught:
        ADAPTER.build(request(extra_headers=headers), target(), None)
    assert "geheim" not in str(caught.value)


def test_a_built_request_shows_no_key() -> None:
    """The repr of what is sent has neither headers nor body."""
    built = http("openai/gpt-4o-mini")
    assert KEY in str(built.headers)
    assert KEY not in repr(built)
    assert repr(built) == "HttpRequest(POST https://api.openai.com/v1/chat/completions, 121 bytes)"


def test_errors_of_building_show_no_key() -> None:
    """Whatever is wrong with a request, the key is not in the error."""
    registries = new_registries(plugins=False)
    to = registries.resolve(Model("openai/gpt-4o-mini", api_key=KEY, headers={"x-key": KEY}))
    for fields in ({"top_k": 1}, {"temperature": float("nan")}, {"extra_headers": {"bad name": KEY}}, {"messages": []}):
        with pytest.raises(ConfigurationError) as caught:
            ADAPTER.build(Request(**{"model": "m", "messages": [user("hi")], **fields}), to, Secret(KEY))  # type: ignore[arg-type]
        assert KEY not in f"{caught.value} {caught.value!r} {caught.value.info!r}"


def test_a_translator_is_fresh() -> None:
    """Every response gets one of its own; a foreign dialect is refused."""
    assert ADAPTER.translator() is not ADAPTER.translator()
    assert not ADAPTER.translator(ChatDialect(think_tags=True), provider="p", choices=2, raw=True).done
    with pytest.raises(ConfigurationError, match="the dialect of openai-chat is a ChatDialect, not a dict"):
        ADAPTER.translator({})


def test_dialects_are_laid_over_each_other() -> None:
    """Only what is named changes."""
    base = ADAPTER.dialect({"think_tags": True, "effort_map": {"off": "none"}})
    assert ADAPTER.dialect({"strict": True}, base) == ChatDialect(think_tags=True, strict=True, effort_map={"off": "none"})
    assert ADAPTER.dialect({}, base) is base
