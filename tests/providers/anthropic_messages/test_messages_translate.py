"""The Messages translator beside its fixtures: progress, diagnostics, what a broken connection means, speed that stays linear."""

from __future__ import annotations

import msgspec
import pytest

from headwater_codecs.framing import Fault
from headwater_codecs.neutral import Finish, RawFrame, StreamFailed, TextDelta, ToolCallEnd, error_info
from headwater_codecs.sse import Frame
from headwater_providers.anthropic_messages.dialect import MessagesDialect
from headwater_providers.anthropic_messages.translate import MessagesTranslator


def frame(type: str, **fields: object) -> Frame:
    """One event without its event line, as Bedrock hands it over."""
    return Frame(msgspec.json.encode({"type": type, **fields}))


def delta(index: int, **fields: object) -> Frame:
    """A delta of a block."""
    return frame("content_block_delta", index=index, delta=fields)


START = frame("message_start", message={"id": "m", "model": "x"})
TEXT = frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
REASON = frame("message_delta", delta={"stop_reason": "end_turn"})


def test_signs_of_work_without_event() -> None:
    """Pieces of signatures and of opaque input are progress; pings and empty pieces are none."""
    translator = MessagesTranslator()
    translator.feed([START, frame("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""})])
    seen = translator.progress
    assert translator.feed([delta(0, type="signature_delta", signature="S")]) != []  # the block opens
    assert translator.progress == seen + 1
    assert translator.feed([delta(0, type="signature_delta", signature="T")]) == []
    assert translator.progress == seen + 2
    translator.feed([frame("ping"), delta(0, type="thinking_delta", thinking=""), delta(0, type="signature_delta", signature="")])
    assert translator.progress == seen + 2
    translator.feed([frame("content_block_start", index=1, content_block={"type": "server_tool_use", "id": "s", "name": "n", "input": {}})])
    seen = translator.progress
    assert translator.feed([delta(1, type="input_json_delta", partial_json='{"q":')]) == []
    assert translator.progress == seen + 1


@pytest.mark.rows("WIRE-14", "ISS-31")
def test_settled_and_done() -> None:
    """Settled with the stop reason, done with message_stop."""
    translator = MessagesTranslator()
    translator.feed([START, TEXT, delta(0, type="text_delta", text="a")])
    assert (translator.settled, translator.done) == (False, False)
    translator.feed([REASON])
    assert (translator.settled, translator.done) == (True, False)
    assert type(translator.feed([frame("message_stop")])[-1]) is Finish
    assert translator.done
    assert translator.feed([TEXT]) == []
    assert translator.finish() == []


@pytest.mark.rows("OR-ANS-07", "OR-ANS-08")
def test_broken_connection() -> None:
    """A broken connection behind the stop reason costs nothing; before it the stream failed."""
    broken = error_info("network", "reset")
    whole = MessagesTranslator()
    assert type(whole.feed([START, TEXT, REASON, Fault(broken)])[-1]) is Finish
    assert [diagnostic.code for diagnostic in whole.diagnostics] == ["broken_after_finish"]
    cut = MessagesTranslator()
    failed = cut.feed([START, TEXT, Fault(broken)])[-1]
    assert isinstance(failed, StreamFailed)
    assert failed.error == broken
    aborted = MessagesTranslator()
    assert type(aborted.feed([START, REASON])) is list
    assert isinstance(aborted.fail(error_info("timeout", "too long"))[-1], StreamFailed)


def test_diagnostics() -> None:
    """What was odd and did no harm is noted."""
    translator = MessagesTranslator()
    translator.feed([START, TEXT, delta(0, type="text_delta", text="a"), START, TEXT, Frame(b"[1]")])
    translator.feed([frame("message_delta", delta={"stop_reason": "tool_use"}), frame("message_stop")])
    codes = {diagnostic.code for diagnostic in translator.diagnostics}
    assert codes == {"second_start", "block_not_stopped", "odd_frame", "tool_calls_without_call"}


def test_strict() -> None:
    """In strict mode an odd frame ends the stream."""
    translator = MessagesTranslator(MessagesDialect(strict=True))
    failed = translator.feed([START, Frame(b"[1]")])[-1]
    assert isinstance(failed, StreamFailed)
    assert failed.error.kind == "malformed"


def test_raw_frames() -> None:
    """With `raw` each frame comes before its events."""
    translator = MessagesTranslator(raw=True)
    first, second = delta(0, type="text_delta", text="a"), delta(0, type="text_delta", text="b")
    events = translator.feed([START, TEXT, first, second])
    assert [event for event in events if isinstance(event, RawFrame | TextDelta)] == [
        RawFrame(START.data),
        RawFrame(TEXT.data),
        RawFrame(first.data),
        TextDelta(0, "a"),
        RawFrame(second.data),
        TextDelta(0, "b"),
    ]


@pytest.mark.rows("WIRE-39", "OR-ANS-05")
def test_counts_of_bedrock() -> None:
    """The last event's own counts stand in where the model's are missing, and never replace them."""
    metrics = {"inputTokenCount": 9, "outputTokenCount": 4, "cacheReadInputTokenCount": 1}
    stop = frame("message_stop", **{"amazon-bedrock-invocationMetrics": metrics})
    missing = MessagesTranslator().feed([START, REASON, stop])[-1]
    assert isinstance(missing, Finish)
    assert missing.usage is not None
    assert (missing.usage.input_tokens, missing.usage.output_tokens, missing.usage.cached_input_tokens) == (10, 4, 1)
    told = frame("message_start", message={"usage": {"input_tokens": 7, "output_tokens": 5, "cache_read_input_tokens": 0}})
    known = MessagesTranslator().feed([told, REASON, stop])[-1]
    assert isinstance(known, Finish)
    assert known.usage is not None
    assert (known.usage.input_tokens, known.usage.output_tokens, known.usage.cached_input_tokens) == (7, 5, 0)


def test_an_empty_call_before_another_takes_no_arguments() -> None:
    """Only the newest call may lack its arguments when the answer was cut."""
    calls = [frame("content_block_start", index=i, content_block={"type": "tool_use", "id": f"t{i}", "name": "f", "input": {}}) for i in (0, 1)]
    events = MessagesTranslator().feed([START, *calls, frame("message_delta", delta={"stop_reason": "max_tokens"}), frame("message_stop")])
    assert [event for event in events if isinstance(event, ToolCallEnd)] == [ToolCallEnd(0), ToolCallEnd(1, complete=False)]
