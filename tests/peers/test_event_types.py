"""Every kind of event that the vendors' own types know stands in a fixture of ours, so none is read for the first time at a user's."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable

import pytest

from helpers import FIXTURES

pytest.importorskip("openai", reason="the vendors' SDKs are not installed: pip install headwater[peers]")

import anthropic.types
import anthropic.types.beta
import botocore.session
import google.genai.types
import openai.types.beta
import openai.types.beta.threads
import openai.types.chat.chat_completion_chunk
import openai.types.responses
from google.genai._gaos.types import interactions  # the public names hide the unions

BEDROCK = botocore.session.get_session().get_service_model("bedrock-runtime")


def words(kind: object, field: str = "type") -> set[str]:
    """The values that the field takes in the members of a union."""
    if typing.get_origin(kind) is typing.Literal:
        return {word for word in typing.get_args(kind) if isinstance(word, str)}
    model_fields = getattr(kind, "model_fields", None)
    if model_fields is not None:
        return words(model_fields[field].annotation) if field in model_fields else set()
    return {word for inner in typing.get_args(kind) for word in words(inner, field)} - {"UNKNOWN"}


def members(shape: str) -> set[str]:
    """The members of a shape of Bedrock's, or the words of an enumeration."""
    found = BEDROCK.shape_for(shape)
    return set(getattr(found, "enum", None) or found.members)


def aliases(model: type) -> set[str]:
    """The fields of a model, as they stand on the wire."""
    return {field.alias or name for name, field in model.model_fields.items()}  # type: ignore[attr-defined]  # pydantic's


def choice_fields() -> set[str]:
    """What a chunk of a chat completion, its choices and their deltas hold."""
    chunk = openai.types.chat.chat_completion_chunk
    return (
        aliases(chunk.ChatCompletionChunk)
        | aliases(chunk.Choice)
        | aliases(chunk.ChoiceDelta)
        | words(chunk.Choice.model_fields["finish_reason"].annotation)
    )


# Protocol -> the words that its fixtures must hold, and those that never come in an answer.
KINDS: list[tuple[str, str, Iterable[str], set[str]]] = [
    ("openai-chat", "fields", choice_fields(), {"moderation"}),
    ("openai-responses", "events", words(openai.types.responses.ResponseStreamEvent), set()),
    ("openai-responses", "items", words(openai.types.responses.ResponseOutputItem), set()),
    ("openai-assistants", "events", words(openai.types.beta.AssistantStreamEvent, "event"), set()),
    ("openai-assistants", "content", words(openai.types.beta.threads.MessageContentDelta), set()),
    ("openai-assistants", "annotations", words(openai.types.beta.threads.AnnotationDelta), set()),
    ("openai-text", "fields", {"text", "finish_reason", "logprobs", "stop", "length", "content_filter", "[DONE]"}, set()),
    ("anthropic-messages", "events", words(anthropic.types.beta.BetaRawMessageStreamEvent) | {"ping", "error"}, set()),
    ("anthropic-messages", "deltas", words(anthropic.types.beta.BetaRawContentBlockDelta), set()),
    ("anthropic-messages", "blocks", words(anthropic.types.beta.BetaContentBlock) | words(anthropic.types.ContentBlock), set()),
    ("anthropic-messages", "stop reasons", words(anthropic.types.beta.BetaStopReason), set()),
    ("gemini", "parts", aliases(google.genai.types.Part), set()),
    ("gemini", "candidate", aliases(google.genai.types.Candidate), {"tokenCount", "continuationToken"}),
    ("gemini-interactions", "events", words(interactions.InteractionSSEEvent, "event_type"), set()),
    ("gemini-interactions", "steps", words(interactions.Step), set()),
    ("gemini-interactions", "deltas", words(interactions.StepDeltaData), set()),
    ("bedrock-converse", "events and exceptions", members("ConverseStreamOutput"), set()),
    ("bedrock-converse", "deltas", members("ContentBlockDelta") | members("ReasoningContentBlockDelta") | members("ContentBlockStart"), set()),
    ("bedrock-converse", "stop reasons", members("StopReason"), set()),
    ("bedrock-invoke", "chunks and exceptions", members("ResponseStream"), set()),
    (
        "cohere-chat",
        "events",
        {"message-start", "content-start", "content-delta", "content-end", "tool-plan-delta", "tool-call-start", "tool-call-delta", "tool-call-end"}
        | {"citation-start", "citation-end", "message-end", "debug"},
        set(),
    ),
    ("cohere-chat", "finish reasons", {"COMPLETE", "STOP_SEQUENCE", "MAX_TOKENS", "TOOL_CALL", "ERROR", "TIMEOUT"}, set()),
    ("ollama-chat", "fields", {"content", "thinking", "tool_calls", "done", "done_reason", "stop", "length", "load", "unload", "error"}, set()),
]


@pytest.mark.parametrize(
    ("protocol", "what", "kinds", "never"), KINDS, ids=[f"{protocol}-{what.replace(' ', '-')}" for protocol, what, _, _ in KINDS]
)
def test_every_kind_is_in_a_fixture(protocol: str, what: str, kinds: Iterable[str], never: set[str]) -> None:
    """The vendor's words, looked for in the bytes that our fixtures give to the translator."""
    told = set(kinds)
    assert told, f"the vendor's types name no {what} any more: look where they went"
    assert never <= told
    received = "\n".join([path.read_text("latin-1") for path in (FIXTURES / protocol).iterdir() if not path.name.endswith(".events.jsonl")])
    assert sorted(word for word in told - never if not re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", received)) == []
