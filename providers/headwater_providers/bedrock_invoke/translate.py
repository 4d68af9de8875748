"""From the chunks of InvokeModelWithResponseStream to events: each holds one event of the model's own protocol, in base64. Row WIRE-39.

Which protocol it is tells the first chunk: Anthropic's events have a type, Nova's are those of Converse, the others are pieces of text. Whoever
reads them does all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater_codecs import tolerant_json
from headwater_codecs.framing import Fault
from headwater_codecs.neutral import Diagnostic, ErrorInfo, Event
from headwater_codecs.sse import Frame
from headwater_providers.adapter import Translator
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.bedrock_converse.dialect import ConverseDialect
from headwater_providers.bedrock_invoke.dialect import InvokeDialect
from headwater_providers.bedrock_invoke.packed import PackedConverse, PackedMessages, PackedText, unpacked
from headwater_providers.event_translator import Json

_CONVERSE = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "output"})


def _object(frame: Frame | Fault) -> Json:
    """The object in a frame; an empty one where there is none."""
    if isinstance(frame, Fault) or frame.exception:
        return {}
    try:
        value = tolerant_json.decode(frame.data)
    except ValueError:
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
        reader = self._inner or self._reader(_object(unpacked(frames[0])))
        return reader.feed(frames)

    def finish(self) -> list[Event]:
        """The bytes have ended cleanly: was the stream whole?"""
        return self._reader({}).finish()

    def fail(self, error: ErrorInfo) -> list[Event]:
        """The stream broke outside of the protocol."""
        return self._reader({}).fail(error)

    def _reader(self, first: Json) -> Translator:
        """Who reads the events; the first one tells."""
        if self._inner is None:
            provider, choices, raw = self._settings
            eof_is_end, strict = self._dialect.eof_is_end, self._dialect.strict
            if "type" in first:
                self._inner = PackedMessages(MessagesDialect(eof_is_end=eof_is_end, strict=strict), provider=provider, choices=choices, raw=raw)
            elif _CONVERSE.intersection(first):
                self._inner = PackedConverse(ConverseDialect(eof_is_end=eof_is_end, strict=strict), provider=provider, choices=choices, raw=raw)
            else:
                self._inner = PackedText(dialect=self._dialect, provider=provider, choices=choices, raw=raw)
        return self._inner
