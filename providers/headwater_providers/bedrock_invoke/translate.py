"""From the chunks of InvokeModelWithResponseStream to events: each holds one event of the model's own protocol, in base64. Row WIRE-39.

Which protocol it is tells the first chunk: Anthropic's events have a type, Nova's are those of Converse, the others are pieces of text. Whoever
reads them does all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater_codecs.framing import Fault, snippet
from headwater_codecs.neutral import Diagnostic, ErrorInfo, Event, error_info
from headwater_codecs.sse import Frame
from headwater_providers.adapter import Translator
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.anthropic_messages.translate import MessagesTranslator
from headwater_providers.bedrock_converse.dialect import ConverseDialect
from headwater_providers.bedrock_converse.translate import ConverseTranslator
from headwater_providers.bedrock_invoke.dialect import InvokeDialect
from headwater_providers.bedrock_invoke.plain import PlainInvokeTranslator
from headwater_providers.event_translator import Json

_CONVERSE = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "output"})


class Chunk(msgspec.Struct, frozen=True):
    """The payload of a chunk; its padding is not read."""

    bytes: str


class Packed(msgspec.Struct, frozen=True):
    """The same where it holds base64."""

    data: bytes = msgspec.field(name="bytes")


_decode_chunk = msgspec.json.Decoder(Chunk).decode
_decode_packed = msgspec.json.Decoder(Packed).decode


def _value(frame: Frame | Fault) -> Json:
    """The object in the first frame; an empty one where there is none."""
    try:
        value = msgspec.json.decode(b"" if isinstance(frame, Fault) or frame.exception else frame.data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class InvokeTranslator:
    """Frames of one response to events; see the module's text for the rules."""

    def __init__(self, dialect: InvokeDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        self._dialect = dialect or InvokeDialect()
        self._settings = (provider, choices, raw)
        self._inner: Translator | None = None

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What was odd and did not stop the stream."""
        return self._reader({}).diagnostics

    @property
    def progress(self) -> int:
        """Grows with every sign of the model at work that is no event."""
        return self._inner.progress if self._inner is not None else 0

    @property
    def settled(self) -> bool:
        """True once the finish reason is known and only trailing usage may follow."""
        return self._inner is not None and self._inner.settled

    @property
    def done(self) -> bool:
        """True once the terminal event is out."""
        return self._inner is not None and self._inner.done

    def feed(self, frames: Sequence[Frame | Fault], /) -> list[Event]:
        """The events of these frames."""
        if not frames:
            return []
        unpacked: list[Frame | Fault] = []
        for frame in frames:
            if isinstance(frame, Fault) or frame.exception:
                unpacked.append(frame)
                continue
            data = self._unpacked(frame)
            if data is None:
                said = f"a chunk holds no base64: {snippet(frame.data)}"
                unpacked.append(Fault(error_info("malformed", said, phase="stream")))
                break
            unpacked.append(Frame(data, terminated=frame.terminated))
        reader = self._inner or self._reader(_value(unpacked[0]))
        return reader.feed(unpacked)

    def finish(self) -> list[Event]:
        """The bytes have ended cleanly: was the stream whole?"""
        return self._reader({}).finish()

    def fail(self, error: ErrorInfo) -> list[Event]:
        """The stream broke outside of the protocol."""
        return self._reader({}).fail(error)

    def _unpacked(self, frame: Frame) -> bytes | None:
        """The event in a chunk; one that is not packed, and a body that is no stream of chunks, are taken as they are."""
        try:
            return _decode_packed(frame.data).data
        except (ValueError, RecursionError):
            pass
        try:
            _decode_chunk(frame.data)
        except (ValueError, RecursionError):
            return frame.data
        return None

    def _reader(self, first: Json) -> Translator:
        """Who reads the events; the first one tells."""
        if self._inner is None:
            provider, choices, raw = self._settings
            eof_is_end, strict = self._dialect.eof_is_end, self._dialect.strict
            if "type" in first:
                self._inner = MessagesTranslator(MessagesDialect(eof_is_end=eof_is_end, strict=strict), provider=provider, choices=choices, raw=raw)
            elif _CONVERSE.intersection(first):
                self._inner = ConverseTranslator(ConverseDialect(eof_is_end=eof_is_end, strict=strict), provider=provider, choices=choices, raw=raw)
            else:
                self._inner = PlainInvokeTranslator(dialect=self._dialect, provider=provider, choices=choices, raw=raw)
        return self._inner
