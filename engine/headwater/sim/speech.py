"""The protocols that the simulator speaks, as one table: where a request comes, whose model it names, and who writes the answer."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol
from urllib.parse import unquote
from zlib import crc32

import msgspec
from msgspec import Struct

from headwater.sim.interactions import InteractionsEncoder, encode_interaction, encode_interaction_error
from headwater.sim.invoke import encode_invoked, invoke_encoder, told_family
from headwater.sim.limit_headers import anthropic_limits, no_headers, no_limits, openai_limits, say_nothing, say_retry_after, say_retry_info
from headwater.sim.runs import AssistantsEncoder, Threads, encode_run
from headwater.sim.small_encoders import CohereEncoder, TextEncoder, encode_cohere, encode_cohere_error, encode_text
from headwater_codecs.anthropic_messages import encode as anthropic_messages
from headwater_codecs.bedrock_converse import encode as bedrock_converse
from headwater_codecs.gemini import encode as gemini
from headwater_codecs.neutral import ErrorInfo, Event, Response
from headwater_codecs.ollama_chat import encode as ollama_chat
from headwater_codecs.openai_chat import encode as openai_chat
from headwater_codecs.openai_responses import encode as openai_responses

Json = dict[str, object]


class Form(Struct, frozen=True):
    """How a protocol frames its events, and what is wrong in that framing. `endless` begins a frame; what follows it is never its end."""

    content_type: str
    garbage: bytes
    endless: bytes
    cut: bytes  # ends inside a character
    ping: bytes = b""  # where there is a keep-alive: bytes that say nothing


_CUT = b'{"x":"\xf0\x9f'
_PRELUDE = struct.pack(">II", 1 << 31, 0)
SSE = Form("text/event-stream", b"data: {oops\n\n", b"data: ", b"data: " + _CUT, b": ping\n\n")
AWS = Form("application/vnd.amazon.eventstream", b"\0\0\0\x20\0\0\0\0garbage!", _PRELUDE + struct.pack(">I", crc32(_PRELUDE)), _CUT)
NDJSON = Form("application/x-ndjson", b"{oops\n", b'{"x":"', _CUT, b"\n")
ARRAY = Form("application/json", b"{oops,\n", b',{"x":"', _CUT, b"\n")  # Gemini without alt=sse
ANTHROPIC = msgspec.structs.replace(SSE, ping=b'event: ping\ndata: {"type": "ping"}\n\n')


class Encoder(Protocol):
    """Events in, bytes out."""

    def feed(self, events: list[Event], /) -> bytes: ...


def no_dialect(model: str) -> Mapping[str, object]:
    """The defaults."""
    return {}


def family_dialect(model: str) -> Mapping[str, object]:
    """Whose body the model takes."""
    return {"family": told_family(model, {})}


class Speech(Struct, frozen=True, kw_only=True):
    """One protocol. `path` finds a request; a group called `model` in it names the model, else the body's field does.

    limits: the headers that tell of a limit per minute, from what is limited, the limit, what is left, and the seconds until there is more.
    limited: the refusal of a request that goes beyond one, from the error and the seconds to wait: its body, and headers that say how long.
    dialect: what clients of the simulator have to know of the model of this name.
    """

    protocol: str
    path: re.Pattern[str]
    encoder: Callable[..., Encoder]
    error: Callable[[ErrorInfo], bytes]
    whole: Callable[..., bytes]
    form: Form = SSE
    always_streams: bool = False
    limits: Callable[[str, int, int, float], Mapping[str, str]] = no_limits
    limited: Callable[[bytes, float], tuple[bytes, Mapping[str, str]]] = say_retry_after
    kind_headers: Callable[[ErrorInfo], Mapping[str, str]] = no_headers
    request_id: str = "x-request-id"
    base: str = ""
    prefix: str = ""  # of a model's name
    dialect: Callable[[str], Mapping[str, object]] = no_dialect

    def error_headers(self, error: ErrorInfo) -> dict[str, str]:
        """The headers of an answer that is an error."""
        return {"content-type": "application/json", **self.kind_headers(error)}

    def base_url(self, address: str) -> str:
        """What a client of this protocol takes as its base URL."""
        return address + self.base


SPEECHES = (
    Speech(
        protocol="openai-chat",
        path=re.compile(r"/chat/completions$"),
        encoder=openai_chat.ChatEncoder,
        error=openai_chat.encode_error,
        whole=openai_chat.encode_response,
        limits=openai_limits,
        base="/v1",
    ),
    Speech(
        protocol="openai-responses",
        path=re.compile(r"/responses$"),
        encoder=openai_responses.ResponsesEncoder,
        error=openai_responses.encode_error,
        whole=openai_responses.encode_response,
        limits=openai_limits,
        base="/v1",
    ),
    Speech(
        protocol="openai-text",
        path=re.compile(r"/completions$"),
        encoder=TextEncoder,
        error=openai_chat.encode_error,
        whole=encode_text,
        limits=openai_limits,
        base="/v1",
    ),
    Speech(
        protocol="openai-assistants",
        path=re.compile(r"/threads/(?:(?P<thread>[^/]+)/)?runs(?:/(?P<run>[^/]+)/submit_tool_outputs)?$"),
        encoder=AssistantsEncoder,
        error=openai_chat.encode_error,
        whole=encode_run,
        limits=openai_limits,
        base="/v1",
        prefix="asst_",
    ),
    Speech(
        protocol="anthropic-messages",
        path=re.compile(r"/v1/messages$"),
        encoder=anthropic_messages.MessagesEncoder,
        error=anthropic_messages.encode_error,
        whole=anthropic_messages.encode_response,
        form=ANTHROPIC,
        limits=anthropic_limits,
        request_id="request-id",
    ),
    Speech(
        protocol="gemini",
        path=re.compile(r"/(?:(?:tunedM|m)odels|endpoints)/(?P<model>.+):(?P<verb>streamGenerateContent|generateContent)$"),
        encoder=gemini.GeminiEncoder,
        error=gemini.encode_error,
        whole=gemini.encode_response,
        limited=say_retry_info,
        base="/v1beta",
    ),
    Speech(
        protocol="gemini-interactions",
        path=re.compile(r"/interactions$"),
        encoder=InteractionsEncoder,
        error=encode_interaction_error,
        whole=encode_interaction,
        base="/v1beta",
    ),
    Speech(
        protocol="bedrock-converse",
        path=re.compile(r"/model/(?P<model>.+)/(?P<verb>converse-stream|converse)$"),
        encoder=bedrock_converse.ConverseEncoder,
        error=bedrock_converse.encode_error,
        whole=bedrock_converse.encode_response,
        form=AWS,
        limited=say_nothing,
        kind_headers=bedrock_converse.error_headers,
        request_id="x-amzn-requestid",
    ),
    Speech(
        protocol="bedrock-invoke",
        path=re.compile(r"/model/(?P<model>.+)/(?P<verb>invoke-with-response-stream|invoke)$"),
        encoder=invoke_encoder,
        error=bedrock_converse.encode_error,
        whole=encode_invoked,
        form=AWS,
        limited=say_nothing,
        kind_headers=bedrock_converse.error_headers,
        request_id="x-amzn-requestid",
        dialect=family_dialect,
    ),
    Speech(protocol="cohere-chat", path=re.compile(r"/v2/chat$"), encoder=CohereEncoder, error=encode_cohere_error, whole=encode_cohere),
    Speech(
        protocol="ollama-chat",
        path=re.compile(r"/api/chat$"),
        encoder=ollama_chat.OllamaEncoder,
        error=ollama_chat.encode_error,
        whole=ollama_chat.encode_response,
        form=NDJSON,
        always_streams=True,
    ),
)
BY_PROTOCOL = {speech.protocol: speech for speech in SPEECHES}
_STREAMS = frozenset({"streamGenerateContent", "converse-stream", "invoke-with-response-stream"})


class Asked(Struct):
    """A request as the simulator understands it. `settings` are for the encoder; `run` is the run that goes on with tool outputs."""

    speech: Speech
    model: str
    stream: bool
    body: Json
    form: Form
    settings: Mapping[str, object] = MappingProxyType({})
    thread: str | None = None
    run: str | None = None


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
            named = body.get("model") or body.get("assistant_id") or body.get("agent")
            model = named if isinstance(named, str) else ""
            stream = body.get("stream", speech.always_streams) is True
        asked = Asked(speech, model.removeprefix(speech.prefix), stream, body, speech.form, {}, groups.get("thread"), groups.get("run"))
        if speech.protocol == "gemini" and stream and "alt=sse" not in query:
            asked.form, asked.settings = ARRAY, {"array": True}
        elif speech.protocol == "bedrock-invoke":
            asked.settings = {"family": told_family(model, body)}
        return asked
    return None


def place_run(asked: Asked, threads: Threads) -> None:
    """Where the run of an assistant stands: it gets a thread if it has none, and if it goes on, its model."""
    if asked.speech.protocol == "openai-assistants":
        model, asked.settings = threads.place(asked.thread, asked.run, asked.body)
        asked.model = asked.model or model


def whole_answer(asked: Asked, response: Response, id: str, created: int) -> bytes:
    """The body of an answer that is not streamed."""
    return asked.speech.whole(response, model=asked.model, id=id, created=created, **asked.settings)
