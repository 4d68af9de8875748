"""The protocols that the simulator speaks, as one table: where a request comes, whose model it names, and who writes the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import unquote

from msgspec import Struct

from headwater.sim.small_encoders import AssistantsEncoder, CohereEncoder, InvokeEncoder, TextEncoder, encode_cohere_error
from headwater_codecs.anthropic_messages import encode as anthropic_messages
from headwater_codecs.bedrock_converse import encode as bedrock_converse
from headwater_codecs.gemini import encode as gemini
from headwater_codecs.neutral import ErrorInfo, Event, Response
from headwater_codecs.ollama_chat import encode as ollama_chat
from headwater_codecs.openai_chat import encode as openai_chat
from headwater_codecs.openai_responses import encode as openai_responses

Json = dict[str, object]
SSE = "text/event-stream"
AWS = "application/vnd.amazon.eventstream"
NDJSON = "application/x-ndjson"
PING = b": ping\n\n"


class Encoder(Protocol):
    """Events in, bytes out."""

    def feed(self, events: list[Event], /) -> bytes: ...


class Speech(Struct, frozen=True):
    """One protocol. `path` finds a request; a group called `model` in it names the model, else the body's field does."""

    protocol: str
    path: re.Pattern[str]
    encoder: Callable[..., Encoder]
    error: Callable[[ErrorInfo], bytes]
    whole: Callable[..., bytes] | None = None
    content_type: str = SSE
    garbage: bytes = b"data: {oops\n\n"
    always_streams: bool = False
    limits: Callable[[str, int, int, float], Mapping[str, str]] = lambda what, limit, left, reset: {}
    kind_headers: Callable[[ErrorInfo], Mapping[str, str]] = lambda error: {}

    def error_headers(self, error: ErrorInfo) -> dict[str, str]:
        """The headers of an answer that is an error."""
        return {"content-type": "application/json", **self.kind_headers(error)}

    def base_url(self, address: str) -> str:
        """What a client of this protocol takes as its base URL."""
        return address + BASES.get(self.protocol, "")


def _openai_limits(what: str, limit: int, left: int, reset: float) -> Mapping[str, str]:
    return {f"x-ratelimit-limit-{what}": str(limit), f"x-ratelimit-remaining-{what}": str(left), f"x-ratelimit-reset-{what}": f"{reset:.3f}s"}


def _anthropic_limits(what: str, limit: int, left: int, reset: float) -> Mapping[str, str]:
    from datetime import UTC, datetime, timedelta

    moment = (datetime.now(UTC) + timedelta(seconds=reset)).strftime("%Y-%m-%dT%H:%M:%SZ")
    name = f"anthropic-ratelimit-{what}"
    return {f"{name}-limit": str(limit), f"{name}-remaining": str(left), f"{name}-reset": moment}


BASES = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "openai-text": "/v1",
    "openai-assistants": "/v1",
    "gemini": "/v1beta",
}
SPEECHES = (
    Speech(
        "openai-chat",
        re.compile(r"/chat/completions$"),
        openai_chat.ChatEncoder,
        openai_chat.encode_error,
        openai_chat.encode_response,
        limits=_openai_limits,
    ),
    Speech(
        "openai-responses",
        re.compile(r"/responses$"),
        openai_responses.ResponsesEncoder,
        openai_responses.encode_error,
        openai_responses.encode_response,
        limits=_openai_limits,
    ),
    Speech("openai-text", re.compile(r"/completions$"), TextEncoder, openai_chat.encode_error, limits=_openai_limits),
    Speech(
        "openai-assistants",
        re.compile(r"/threads/(?:[^/]+/)?runs(?:/[^/]+/submit_tool_outputs)?$"),
        AssistantsEncoder,
        openai_chat.encode_error,
        limits=_openai_limits,
    ),
    Speech(
        "anthropic-messages",
        re.compile(r"/v1/messages$"),
        anthropic_messages.MessagesEncoder,
        anthropic_messages.encode_error,
        anthropic_messages.encode_response,
        limits=_anthropic_limits,
    ),
    Speech(
        "gemini",
        re.compile(r"/(?:models|publishers/[^/]+/models)/(?P<model>.+):(?P<verb>streamGenerateContent|generateContent)$"),
        gemini.GeminiEncoder,
        gemini.encode_error,
        gemini.encode_response,
    ),
    Speech(
        "bedrock-converse",
        re.compile(r"/model/(?P<model>.+)/(?P<verb>converse-stream|converse)$"),
        bedrock_converse.ConverseEncoder,
        bedrock_converse.encode_error,
        bedrock_converse.encode_response,
        AWS,
        b"\x00\x00\x00\x20\x00\x00\x00\x00garbage!",
        kind_headers=bedrock_converse.error_headers,
    ),
    Speech(
        "bedrock-invoke",
        re.compile(r"/model/(?P<model>.+)/(?P<verb>invoke-with-response-stream)$"),
        InvokeEncoder,
        bedrock_converse.encode_error,
        None,
        AWS,
        b"\x00\x00\x00\x20\x00\x00\x00\x00garbage!",
        kind_headers=bedrock_converse.error_headers,
    ),
    Speech("cohere-chat", re.compile(r"/v2/chat$"), CohereEncoder, encode_cohere_error),
    Speech(
        "ollama-chat",
        re.compile(r"/api/chat$"),
        ollama_chat.OllamaEncoder,
        ollama_chat.encode_error,
        ollama_chat.encode_response,
        NDJSON,
        b"{oops\n",
        always_streams=True,
    ),
)
BY_PROTOCOL = {speech.protocol: speech for speech in SPEECHES}
_STREAMS = frozenset({"streamGenerateContent", "converse-stream", "invoke-with-response-stream"})


class Asked(Struct):
    """A request as the simulator understands it."""

    speech: Speech
    model: str
    stream: bool
    body: Json
    array: bool = False  # Gemini without alt=sse


def understand(path: str, query: str, body: Json) -> Asked | None:
    """Whose request this is, None for nobody's."""
    for speech in SPEECHES:
        match = speech.path.search(path)
        if match is None:
            continue
        groups = match.groupdict()
        if "model" in groups:
            model, stream = unquote(groups["model"]), groups["verb"] in _STREAMS
        else:
            named = body.get("model") or body.get("assistant_id")
            model = named if isinstance(named, str) else ""
            stream = body.get("stream", speech.always_streams) is True
        return Asked(speech, model, stream, body, speech.protocol == "gemini" and stream and "alt=sse" not in query)
    return None


def whole_answer(asked: Asked, response: Response, id: str, created: int) -> bytes | None:
    """The body of an answer that is not streamed; None where the simulator has none for this protocol."""
    if asked.speech.whole is None:
        return None
    return asked.speech.whole(response, model=asked.model, id=id, created=created)
