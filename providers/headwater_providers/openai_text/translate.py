"""From the chunks of a legacy completion to events: pieces of text by choice. Good ends are a finish reason for every choice, or `[DONE]`."""

from __future__ import annotations

from headwater_codecs.framing import snippet
from headwater_codecs.neutral import ChoiceEnd, ErrorInfo, error_info
from headwater_codecs.openai_text.wire import decode_text
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean
from headwater_providers.bare_error import is_bare_error, says_error
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of
from headwater_providers.finish_reasons import is_absent, unified
from headwater_providers.openai_chat.usage import read_usage
from headwater_providers.openai_text.dialect import TextDialect

MAX_CHOICES = 128  # a number beyond is nonsense, and would make a list as long


class TextTranslator(EventTranslator):
    """Frames of one response to events."""

    protocol = "openai-text"

    def __init__(self, dialect: TextDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or TextDialect(), provider=provider, choices=choices, raw=raw)
        self._finished: dict[int, str | None] = {}  # choice -> its finish reason

    def _plain(self, frame: Frame) -> bool:
        if not self._finished or frame.event == "error":
            return False
        try:
            (choice,) = decode_text(frame.data).choices
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        return self._blocks.more(choice.index, choice.text) is not None

    def _frame(self, frame: Frame) -> None:
        if frame.data.lstrip().startswith(b"[DONE]"):
            if not self._ended_well():
                self.note("no_finish_reason", "the stream ended with [DONE] but without a finish reason")
            self._end()
            return
        super()._frame(frame)

    def _event(self, value: Json, frame: Frame) -> None:
        error = value.get("error")
        if says_error(error) or frame.event == "error":
            self._in_band(error or value)
            return
        if "choices" not in value and is_bare_error(value):
            self._in_band(value)
            return
        if "choices" not in value and not frame.terminated and not self._finished:
            self._fail(error_info("malformed", f"the body is no completion: {snippet(frame.data)}", phase="stream"))
            return
        self._writer.response_id = self._writer.response_id or word_of(value.get("id"))
        self._writer.model = self._writer.model or word_of(value.get("model"))
        for item in list_of(value.get("choices")):
            self._choice(object_of(item))
        if usage := object_of(clean(value.get("usage"))):
            self._writer.count(read_usage(usage))

    def _choice(self, choice: Json) -> None:
        number = choice.get("index") or 0
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MAX_CHOICES:
            self.note("odd_choice", f"a choice has the number {number!r}; it was left out")
            return
        self._finished.setdefault(number, None)
        # A relay that has one answer for all its addresses sends chat's pieces.
        text = text_of(choice.get("text")) or text_of(object_of(choice.get("delta")).get("content"))
        self._blocks.write(number, "text", text, number)
        reason = word_of(choice.get("finish_reason"))
        if reason is not None and not is_absent(reason):
            self._finished[number] = reason
            if number in self._blocks:
                self._blocks.close(number)
            self.settled = len(self._finished) >= self._expected and self._ended_well()

    def _ended_well(self) -> bool:
        return bool(self._finished) and all(reason is not None for reason in self._finished.values())

    def _missing(self) -> str:
        return "a finish reason and without [DONE]"

    def _end(self) -> None:
        self._blocks.close_all()
        finished = self._finished or {0: None}
        self._writer.finish([ChoiceEnd(number, unified(finished[number]), finished[number]) for number in sorted(finished)])

    def _fail(self, error: ErrorInfo, raw_finish_reason: str | None = None) -> None:
        super()._fail(error, raw_finish_reason or self._finished.get(0))
