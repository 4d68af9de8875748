"""Chunks of InvokeModelWithResponseStream: `{"bytes": BASE64, "p": PADDING}`, and readers of each family's events that take them out. Row WIRE-39."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from headwater_codecs.anthropic_messages.wire import decode_text
from headwater_codecs.framing import Fault, snippet
from headwater_codecs.neutral import FinishReason, TextDelta, error_info
from headwater_codecs.sse import Frame
from headwater_providers.anthropic_messages.translate import MessagesTranslator
from headwater_providers.bedrock_converse.said import hidden_failure, with_inner_message
from headwater_providers.bedrock_converse.translate import ConverseTranslator
from headwater_providers.bedrock_invoke.plain import PlainInvokeTranslator
from headwater_providers.event_translator import EventTranslator, Json

_GUARDRAIL = "amazon-bedrock-guardrailAction"


class Chunk(Struct, frozen=True):
    """The payload of a chunk, whatever its text holds."""

    bytes: str


class Packed(Struct, frozen=True, gc=False):
    """The same where it holds base64; the padding is not read."""

    data: bytes = msgspec.field(name="bytes")


_decode_chunk = msgspec.json.Decoder(Chunk).decode
_decode_packed = msgspec.json.Decoder(Packed).decode


def unpacked(frame: Frame | Fault) -> Frame | Fault:
    """The event in a chunk. What is not packed, or is no stream of chunks, is taken as it is; a chunk without base64 is a fault."""
    if isinstance(frame, Fault) or frame.exception:
        return frame
    try:
        return Frame(_decode_packed(frame.data).data, terminated=frame.terminated)
    except (ValueError, RecursionError):  # also msgspec's own errors
        pass
    try:
        _decode_chunk(frame.data)
    except (ValueError, RecursionError):
        return frame
    return Fault(error_info("malformed", f"a chunk holds no base64: {snippet(frame.data)}", phase="stream"))


class Unpacking(EventTranslator):
    """A translator whose events come in chunks, to which Bedrock adds what its guardrails did and what it counted."""

    _intervened = False  # a guardrail put its own words in place of the answer

    def _take(self, frame: Frame | Fault) -> None:
        super()._take(unpacked(frame))

    def _event(self, value: Json, frame: Frame) -> None:
        if (failure := hidden_failure(value, frame.event)) is not None:
            self._in_band(failure)
            return
        self._intervened = self._intervened or value.get(_GUARDRAIL) == "INTERVENED"
        super()._event(value, frame)  # type: ignore[safe-super]  # the reader that this is mixed into has one

    def _in_band(self, payload: object) -> None:
        super()._in_band(with_inner_message(payload))

    def _ended_well(self) -> bool:
        return self._intervened or super()._ended_well()

    def _finish_with(self, reason: FinishReason, raw: str | None, *, detail: str | None = None, cut: bool = False) -> None:
        super()._finish_with("content_filter" if self._intervened else reason, raw, detail=detail, cut=cut)


class PackedMessages(Unpacking, MessagesTranslator):
    """Chunks of Anthropic's events."""

    def _plain(self, frame: Frame) -> bool:
        if self._text_at < 0 or frame.exception:
            return False
        try:
            event = decode_text(_decode_packed(frame.data).data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        if event.index != self._text_at:
            return False
        if text := event.delta.text:
            self._writer.out.append(TextDelta(self._text_index, text))
        return True


class PackedConverse(Unpacking, ConverseTranslator):
    """Chunks of Converse's events, as Nova has them."""


class PackedText(Unpacking, PlainInvokeTranslator):
    """Chunks of text with a stop reason."""
