"""From the chunks of InvokeModelWithResponseStream to events: each holds one event of the model's own protocol, in base64. Row WIRE-39.

Which protocol it is tells the first chunk that says something: Anthropic's events have a type, Nova's are those of Converse, the others are pieces
of text. Whoever reads them does all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headwater_codecs import tolerant_json
from headwater_codecs.framing import Fault
from headwater_codecs.neutral import Diagnostic, ErrorInfo, Event
from headwater_codecs.sse import Frame
from headwater_providers.adapter import Translator
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.bare_error import is_bare_error, says_error
from headwater_providers.bedrock_converse.dialect import ConverseDialect
from headwater_providers.bedrock_invoke.dialect import InvokeDialect
from headwater_providers.bedrock_invoke.packed import PackedConverse, PackedMessages, PackedText, unpacked
from headwater_providers.event_translator import Json

_Family = Literal["messages", "converse", "text"]
_PATIENCE = 100  # frames that may wait for one that tells the family
_TEXT = frozenset({"outputText", "results", "generation", "completion", "outputs", "choices"})
_CONVERSE = frozenset({"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "output"})


def _object(frame: Frame | Fault) -> Json | None:
    """The object in a frame; None where there is none."""
    if isinstance(frame, Fault) or frame.exception:
        return None
    try:
        value = tolerant_json.decode(frame.data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _family_of(frame: Frame | Fault) -> _Family | None:
    """Who reads the answers in which this frame comes; None where it is some event that no family knows."""
    value = _object(frame)
    if value is None:
        return "text"
    if "type" in value and value["type"] != "completion":
        return "messages"
    if _CONVERSE.intersection(value):
        return "converse"
    return "text" if _TEXT.intersection(value) or says_error(value.get("error")) or is_bare_error(value) else None


class InvokeTranslator:
    """Frames of one response to events; see the module's text for the rules."""

    def __init__(self, dialect: InvokeDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        self._dialect = dialect or InvokeDialect()
        self._settings = (provider, choices, raw)
        self._inner: Translator | None = None
        self._waiting: list[Frame | Fault] = []  # frames that do not tell the family

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What was odd and did not stop the stream."""
        return self._inner.diagnostics if self._inner is not None else []

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
        if self._inner is not None:
            return self._inner.feed(frames)
        self._waiting += frames
        family = next((found for frame in frames if (found := _family_of(unpacked(frame))) is not None), None)
        if family is None and len(self._waiting) < _PATIENCE:
            return []
        return self._choose(family or "text")

    def finish(self) -> list[Event]:
        """The bytes have ended cleanly: was the stream whole?"""
        events = self._choose("text") if self._inner is None else []
        assert self._inner is not None
        return events + self._inner.finish()

    def fail(self, error: ErrorInfo) -> list[Event]:
        """The stream broke outside of the protocol."""
        events = self._choose("text") if self._inner is None else []
        assert self._inner is not None
        return events + self._inner.fail(error)

    def _choose(self, family: _Family) -> list[Event]:
        """From now on this family reads, beginning with what has waited."""
        provider, choices, raw = self._settings
        eof_is_end, strict = self._dialect.eof_is_end, self._dialect.strict
        if family == "messages":
            self._inner = PackedMessages(MessagesDialect(eof_is_end=eof_is_end, strict=strict), provider=provider, choices=choices, raw=raw)
        elif family == "converse":
            self._inner = PackedConverse(ConverseDialect(eof_is_end=eof_is_end, strict=strict), provider=provider, choices=choices, raw=raw)
        else:
            self._inner = PackedText(dialect=self._dialect, provider=provider, choices=choices, raw=raw)
        waiting, self._waiting = self._waiting, []
        return self._inner.feed(waiting)
