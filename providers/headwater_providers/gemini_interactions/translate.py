"""From the events of Google's Interactions API to ours: steps that start, grow and stop, then the interaction's own end."""

from __future__ import annotations

from msgspec import Raw

from headwater_codecs.framing import snippet
from headwater_codecs.gemini_interactions.wire import decode_plain
from headwater_codecs.neutral import Citation, FinishReason, Usage, error_info
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.counts import read_count
from headwater_providers.event_translator import EventTranslator, Json, list_of, object_of, text_of, word_of
from headwater_providers.gemini_interactions.dialect import InteractionsDialect

FINISH: dict[str, FinishReason] = {
    "completed": "stop",
    "incomplete": "length",
    "budget_exceeded": "length",
    "requires_action": "tool_calls",
    "requires_continuation": "pause",
}
_PROSE = frozenset({"model_output", "thought", "text"})
_ADDRESSES = ("url", "document_uri", "source")  # of a source: a page or a place, a file
_TITLES = ("title", "file_name", "name")
_WORDS = frozenset({"thought_summary", "thought", "text", "model_output", ""})  # deltas and parts of prose


class InteractionsTranslator(EventTranslator):
    """Frames of one interaction to events."""

    protocol = "gemini-interactions"

    def __init__(self, dialect: InteractionsDialect | None = None, *, provider: str | None = None, choices: int = 1, raw: bool = False) -> None:
        super().__init__(dialect or InteractionsDialect(), provider=provider, choices=choices, raw=raw)
        self._kinds: dict[int, str] = {}  # step -> its type
        self._opaque: dict[int, Json] = {}  # steps that are kept as they are
        self._given: dict[int, str] = {}  # arguments that came with the start of a call
        self._status: str | None = None

    def _plain(self, frame: Frame) -> bool:
        if not len(self._blocks):
            return False
        try:
            piece = decode_plain(frame.data)
        except (ValueError, RecursionError):  # also msgspec's own errors
            return False
        return self._kinds.get(piece.index) != "thought" and self._blocks.more(piece.index, piece.delta.text) is not None

    def _event(self, value: Json, frame: Frame) -> None:
        kind = text_of(value.get("event_type")) or text_of(value.get("type")) or frame.event
        metadata = object_of(value.get("metadata"))
        for usage in (metadata.get("usage"), metadata.get("total_usage")):
            if isinstance(usage, dict):
                self._count(usage)
        index = _index(value)
        if kind in ("step.start", "content.start"):
            self._start(index, object_of(value.get("step") or value.get("content")))
        elif kind in ("step.delta", "content.delta"):
            self._delta(index, object_of(value.get("delta")))
        elif kind in ("step.stop", "content.stop"):
            if usage := object_of(value.get("usage")):
                self._count(usage)
            self._stop(index)
        elif kind.startswith("interaction."):
            self._life(kind, value)
        elif kind == "error" or value.get("error"):
            self._in_band(value.get("error") or value)
        elif isinstance(value.get("status"), str) and ("steps" in value or "outputs" in value):
            self._whole(value)
        elif not frame.terminated and not self._writer.started:
            self._fail(error_info("malformed", f"the body is no interaction: {snippet(frame.data)}", phase="stream"))

    def _life(self, kind: str, value: Json) -> None:
        interaction = object_of(value.get("interaction")) or value
        self._name(interaction, value)
        if usage := object_of(interaction.get("usage")):
            self._count(usage)
        status = word_of(interaction.get("status")) or kind.removeprefix("interaction.")
        if status in ("failed", "cancelled") or kind in ("interaction.failed", "interaction.cancelled"):
            if error := object_of(interaction.get("error")):
                self._in_band(error)
            else:
                self._fail(error_info("server" if status == "failed" else "aborted", f"the interaction ended as {status}", phase="stream"), status)
        elif kind in ("interaction.completed", "interaction.complete", "interaction.incomplete", "interaction.requires_action"):
            self._status = status
            self._end()
        elif kind == "interaction.status_update":
            self._status = status if status in FINISH else None

    def _name(self, interaction: Json, value: Json) -> None:
        writer = self._writer
        writer.response_id = writer.response_id or word_of(interaction.get("id")) or word_of(value.get("interaction_id"))
        writer.model = writer.model or word_of(interaction.get("model")) or word_of(interaction.get("agent"))

    def _start(self, index: int, step: Json) -> None:
        kind = word_of(step.get("type")) or ""
        self._kinds[index] = kind
        self.progress += 1
        if kind == "function_call":
            name = word_of(step.get("name"))
            if name is None:
                self.note("nameless_call", "a tool call has no name; it was left out")
                return
            block = self._blocks.open_call(index, name, word_of(step.get("id")))
            block.signature = word_of(step.get("signature"))
            if arguments := step.get("arguments"):
                self._given[index] = arguments if isinstance(arguments, str) else encode_json(clean(arguments)).decode()
        elif kind in _PROSE:
            if error := object_of(step.get("error")):  # the interaction goes on, and says itself what it comes to
                self.note("step_failed", "a step of the interaction failed", word_of(error.get("message")))
            for part in (step, *list_of(step.get("content")), *list_of(step.get("summary"))):
                self._content(index, object_of(part), whole=part is step)
            self._sign(index, step)
        else:
            self._opaque[index] = dict(step)
            self._blocks.open_opaque(index, kind or "unknown", item_id=word_of(step.get("id")))

    def _delta(self, index: int, delta: Json) -> None:
        kind = word_of(delta.get("type")) or ""
        if index in self._opaque:
            self._opaque[index].update({name: value for name, value in delta.items() if name != "type"})
            self.progress += 1
        elif kind == "arguments_delta" or "arguments" in delta:
            self._arguments(index, delta.get("arguments"))
        elif kind != "thought_signature":
            self._content(index, delta)
        self._sign(index, delta)

    def _content(self, index: int, part: Json, whole: bool = False) -> None:
        """A delta, a part, or the `whole` step: prose with its sources, or an item like an image, which is kept as it is."""
        kind = word_of(part.get("type")) or ""
        if whole or kind in _WORDS:
            self._text(index, object_of(part.get("content")) or part)
        elif "annotations" not in part:
            block = self._blocks.open_opaque((index, kind), kind)
            block.raw = encode_json(clean(part))
            self._blocks.close((index, kind))
        self._cite(index, part)

    def _text(self, index: int, part: Json) -> None:
        if text := text_of(part.get("text")) or text_of(part.get("thought")):
            if index in self._given:  # prose under the number of a call ends the call
                self._stop(index)
            self._blocks.write(index, "reasoning" if self._kinds.get(index) == "thought" else "text", text)

    def _sign(self, index: int, part: Json) -> None:
        if signature := word_of(part.get("signature")):
            self.progress += 1
            if index not in self._blocks and self._kinds.get(index) == "function_call":
                return  # of a call that was left out
            block = self._blocks.get(index) or self._blocks.open(index, "reasoning" if self._kinds.get(index) == "thought" else "text")
            block.signature = signature

    def _arguments(self, index: int, arguments: object) -> None:
        block = self._blocks.get(index)
        if block is None or block.kind != "tool_call":
            self.note("odd_delta", "arguments came for no function call; they were left out")
            return
        self._given.pop(index, None)
        self._blocks.add_arguments(index, arguments if isinstance(arguments, str) else encode_json(clean(arguments or {})).decode())

    def _cite(self, index: int, delta: Json) -> None:
        for note in list_of(delta.get("annotations")):
            cited = object_of(clean(note))
            block = self._blocks.get(index) or self._blocks.open(index, "text")
            url = next((word for name in _ADDRESSES if (word := word_of(cited.get(name)))), None)
            title = next((word for name in _TITLES if (word := word_of(cited.get(name)))), None)
            kind = word_of(cited.get("type")) or "annotation"
            self._writer.content(Citation(block.index, 0, kind, url, title, None, Raw(encode_json(cited))))

    def _stop(self, index: int, complete: bool = True) -> None:
        block = self._blocks.get(index)
        if block is None:
            return
        if (given := self._given.pop(index, None)) is not None:
            self._blocks.add_arguments(index, given)
        if (step := self._opaque.pop(index, None)) is not None:
            block.raw = encode_json(clean(step))
        self._blocks.close(index, complete)

    def _whole(self, value: Json) -> None:
        """An interaction that was not streamed."""
        self._name(value, value)
        for index, step in enumerate(list_of(value.get("steps") or value.get("outputs"))):
            self._start(index, object_of(step))
            self._stop(index)
        self._life(f"interaction.{value['status']}", value)
        if not self._writer.done:
            self._fail(error_info("truncated", f"the interaction is still {value['status']}", phase="stream"))

    def _count(self, usage: Json) -> None:
        written, thoughts = read_count(usage.get("total_output_tokens")), read_count(usage.get("total_thought_tokens"))
        kept = clean(usage)
        assert isinstance(kept, dict)
        total = None if written is None else written + (thoughts or 0)
        read, cached = read_count(usage.get("total_input_tokens")), read_count(usage.get("total_cached_tokens"))
        self._writer.count(Usage(read, total, cached, None, thoughts, kept))

    def _ended_well(self) -> bool:
        return self._status is not None

    def _missing(self) -> str:
        return "the end of the interaction"

    def _end(self) -> None:
        for index in [*self._opaque, *self._given]:
            self._stop(index)
        raw = self._status
        self._finish_with("unknown" if raw is None else FINISH.get(raw, "unknown"), raw, cut=FINISH.get(raw or "") == "length")


def _index(value: Json) -> int:
    index = value.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else 0
