"""Plain JSON calls: what is handed back, and how it is read. A call is a stream whose answer is one document: no rule here is its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from headwater_codecs.neutral import ConfigurationError, Model

if TYPE_CHECKING:
    from headwater.stream import Stream

_ANY = "any"  # a model's name for calls that have none: it goes nowhere, unless the path says {model}


class Reply(Struct, frozen=True):
    """The answer to a plain call.

    `json` is the decoded document (dicts, lists, strings, numbers; None for an empty body), `body` its bytes, for a decoder of one's own.
    `headers` are those that a stream's `Response` keeps: request ids and rate limits, no secrets. `attempts` counts the requests.
    """

    json: object
    body: bytes
    headers: Mapping[str, str]
    request_id: str | None
    attempts: int


def called_model(model: Model | str | None, provider: str | None) -> Model:
    """The model that says where a call goes. Raises ConfigurationError unless exactly one of the two is given."""
    if (model is None) == (provider is None):
        raise ConfigurationError("say where the call goes: give either model= or provider=")
    if provider is not None:
        return Model(_ANY, provider=provider)
    assert model is not None
    return Model(model) if isinstance(model, str) else model


async def read_reply(stream: Stream) -> Reply:
    """The stream's one document. Raises the typed error of a failed call, with `.response`."""
    async with stream:
        response = await stream.result()
    body = response.blocks[0].raw if response.blocks else b""
    value: object = msgspec.json.decode(body) if body else None
    return Reply(value, body, response.headers, response.request_id, response.attempts)
