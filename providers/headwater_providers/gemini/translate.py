"""From the chunks of a Gemini stream to ours (Gemini API and Vertex). Rows ADK-AGG, PI-GO, WIRE-15, WIRE-16, WIRE-53.

Each chunk is a GenerateContentResponse. The stream ends well with a finish reason on candidate 0, or with a blocked prompt; usage may follow it.
"""

from __future__ import annotations

import msgspec

from headwater_codecs.framing import snippet
from headwater_codecs.gemini.wire import decode_plain, decode_raw
from headwater_codecs.neutral import ChoiceEnd, ErrorInfo, TextDelta, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, word_of
from headwater_providers.gemini.candidate import Candidate
from headwater_providers.gemini.dialect import GeminiDialect
from headwater_providers.gemini.finish_reasons import UNSPECIFIED
from headwater_providers.gemini.usage import read_plain_usage, read_usage

MAX_CANDIDATES = 128  # a number beyond is nonsense, and would make a list as long
_CHUNK = frozenset({"candidates", "usageMetadata", "promptFeedback", "modelVersion", "responseId", "createTime", "modelStatus"})


class GeminiTranslator(EventTranslator):
    """Frames of one response to events; see the module's text for the rules."""

    protocol = "gemini"

    def __init__(self, dialect: GeminiDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or GeminiDialect(), provider=provider, choices=choices, raw=raw)
        self._candidates: dict[int, Candidate] = {}
        self._blocked: str | None = None
        self._blocked_detail: str | None = None
        self._text_index: int | None = None  # of the block that a plain piece of text would go on with, None if that is not all
        self._usage_bytes = b""  # of the last report: most chunks repeat it

    def _plain(self, frame: Frame) -> bool:
        if (index := self._text_index) is None:
            return False
        try:
            chunk = decode_plain(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        if text := chunk.candidates[0].content.parts[0].text:
            self._writer.out.append(TextDelta(index, text))
        if isinstance(chunk.usage_metadata, msgspec.Raw) and (counts := bytes(chunk.usage_metadata)) != self._usage_bytes:
            self._usage_bytes = counts
            self._writer.count(read_plain_usage(counts))
        return True

    def _frame(self, frame: Frame) -> None:
        super()._frame(frame)
        first = self._candidates.get(0) if len(self._candidates) == 1 else None
        self._text_index = first.open_text if first is not None and first.raw_finish is None else None

    def _event(self, value: Json, frame: Frame) -> None:
        if value.get("error"):
            self._in_band(value["error"])
            return
        if not _CHUNK.intersection(value):
            if isinstance(response := value.get("response"), dict):  # some gateways wrap the chunk
                value = response
            elif not self._writer.started and not frame.terminated:
                self._fail(error_info("malformed", f"the body is no GenerateContentResponse: {snippet(frame.data)}", phase="stream"))
                return
            else:
                self.note("odd_frame", "a chunk has none of the known fields; it was left out", snippet(frame.data))
                return
        writer = self._writer
        writer.response_id = writer.response_id or word_of(value.get("responseId"))
        writer.model = writer.model or word_of(value.get("modelVersion"))
        for position, candidate in enumerate(list_of(value.get("candidates"))):
            if isinstance(candidate, dict):
                self._candidate(candidate, position, frame)
        self._feedback(object_of(value.get("promptFeedback")))
        if usage := object_of(value.get("usageMetadata")):
            self._writer.count(read_usage(usage))

    def _candidate(self, value: Json, position: int, frame: Frame) -> None:
        number = 0 if (given := value.get("index")) is None else given
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MAX_CANDIDATES:
            self.note("odd_candidate", f"a candidate has the number {number!r}; it was left out")
            return
        candidate = self._candidates.get(number)
        if candidate is None:
            candidate = self._candidates[number] = Candidate(number, self._blocks, self._writer, self)
        content = value.get("content")
        parts = list_of(object_of(content).get("parts")) if isinstance(content, dict) else list_of(content)
        for part, raw in zip(parts, self._bytes(parts, position, frame), strict=True):
            if isinstance(part, dict):
                candidate.part(part, raw)
        candidate.sources(value)
        reason = word_of(value.get("finishReason"))
        if reason is not None and reason not in UNSPECIFIED:
            candidate.finish(reason, word_of(value.get("finishMessage")))
            finished = [one.raw_finish is not None for one in self._candidates.values()]
            self.settled = len(finished) >= self._expected and all(finished) and 0 in self._candidates

    def _bytes(self, parts: list[object], position: int, frame: Frame) -> list[bytes]:
        """The parts as they came, where one of them will be kept so."""
        if all(isinstance(part, dict) and ("text" in part or "functionCall" in part) for part in parts):
            return [b""] * len(parts)
        try:
            candidate = (decode_raw(frame.data).candidates or [])[position]
            raws = [bytes(raw) for raw in (candidate.content.parts if candidate.content else None) or []]
        except (ValueError, RecursionError, IndexError):
            raws = []
        return raws if len(raws) == len(parts) else [encode_json(clean(part)) for part in parts]

    def _feedback(self, feedback: Json) -> None:
        reason = word_of(feedback.get("blockReason"))
        if reason is not None and reason not in UNSPECIFIED:
            self._blocked, self._blocked_detail = reason, word_of(feedback.get("blockReasonMessage"))
            self.settled = True

    def _ended_well(self) -> bool:
        first = self._candidates.get(0)
        return self._blocked is not None or (first is not None and first.raw_finish is not None)

    def _missing(self) -> str:
        return "a finish reason"

    def _end(self) -> None:
        for candidate in self._candidates.values():
            if candidate.raw_finish is None:
                candidate.cut()
        self._blocks.close_all()
        ends = [self._candidates[number].end() for number in sorted(self._candidates)]
        if self._blocked is not None and not any(end.raw_finish_reason for end in ends):
            self._writer.finish([ChoiceEnd(0, "content_filter", self._blocked)], self._blocked_detail)
            return
        first = self._candidates.get(0)
        self._writer.finish(ends, first.detail if first is not None else None)

    def _fail(self, error: ErrorInfo, raw_finish_reason: str | None = None) -> None:
        for candidate in self._candidates.values():
            candidate.cut()
        first = self._candidates.get(0)
        super()._fail(error, raw_finish_reason or (first.raw_finish if first is not None else None))
