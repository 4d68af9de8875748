"""The translator as a whole: starts and ends, several choices, usage, odd frames, raw frames, what it says beside the events."""

from __future__ import annotations

import pytest

from chat_frames import DONE, STOP, codes, delta, frame, translated, translator
from headwater_codecs.framing import Fault
from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    Diagnostic,
    Event,
    Finish,
    RawFrame,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
    error_info,
)
from headwater_codecs.sse import Frame
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.openai_chat.translate import MAX_CHOICES, MAX_DIAGNOSTICS

HI: list[Event] = [TextStart(0), TextDelta(0, "Hi"), TextEnd(0)]
STOPPED: list[Event] = [ChoiceEnd(0, "stop", "stop"), Finish("stop", "stop")]
UNKNOWN: list[Event] = [ChoiceEnd(0, "unknown"), Finish("unknown")]
CUT = "the stream ended without a finish reason and without [DONE]"


def failed(events: list[Event]) -> tuple[str, str]:
    """Kind and message of the failure."""
    assert isinstance(events[-1], StreamFailed)
    return events[-1].error.kind, events[-1].error.message


@pytest.mark.rows("OR-CCS-01")
def test_start() -> None:
    """The start waits for content, and carries the first id and model that say something."""
    stage = translator()
    assert stage.feed([frame({"id": "", "model": "", "choices": []}), delta(role="assistant"), delta(content="")]) == []
    first = frame({"id": "c1", "model": "m1", "choices": [{"delta": {"content": "a"}}]})
    second = frame({"id": "c2", "model": "m2", "choices": [{"delta": {"content": "b"}}]})
    assert stage.feed([first, second]) == [StreamStart("m1", "c1"), TextStart(0), TextDelta(0, "a"), TextDelta(0, "b")]
    assert stage.finish()[-2:] == [TextEnd(0, complete=False), StreamFailed(error_info("truncated", CUT, phase="stream"))]


@pytest.mark.rows("OR-CCS-09", "WIRE-10", "AMB-63")
@pytest.mark.parametrize(
    ("frames", "events"),
    [
        ([STOP], STOPPED),
        ([STOP, DONE], STOPPED),
        ([delta(content="Hi"), DONE], [*HI, *UNKNOWN]),
        ([DONE], UNKNOWN),
        ([Frame(b" [DONE] \r")], UNKNOWN),
        ([Frame(b'"[DONE]"')], UNKNOWN),
        ([DONE, delta(content="late"), frame({"error": {"message": "late"}})], UNKNOWN),
        ([delta(content="Hi", finish="stop"), Frame(b'{"choices":[{"del', terminated=False)], [*HI, *STOPPED]),
        ([delta(content="Hi", finish="stop"), Frame(b"[DO", terminated=False)], [*HI, *STOPPED]),
        ([delta(content="Hi", finish="stop"), frame({"object": "chat.completion.chunk"}, terminated=False)], [*HI, *STOPPED]),
        ([delta(content="Hi", finish="stop"), Fault(error_info("network", "reset"))], [*HI, *STOPPED]),
    ],
)
def test_good_ends(frames: list[Frame | Fault], events: list[Event]) -> None:
    """A finish reason ends a stream well, and so does the end marker; nothing after it counts."""
    assert translated(*frames) == events


@pytest.mark.rows("OR-CCS-09", "OR-CCS-13", "ISS-39", "ISS-53", "ISS-56", "AMB-63")
@pytest.mark.parametrize(
    ("frames", "kind"),
    [
        ([], "truncated"),
        ([delta(content="Hi")], "truncated"),
        ([frame({"choices": [], "usage": {"prompt_tokens": 1}})], "truncated"),
        ([delta(content="Hi"), Frame(b'{"choices":[{"del', terminated=False)], "truncated"),
        ([delta(content="Hi"), Frame(b"[DO", terminated=False)], "truncated"),
        ([delta(content="Hi"), Fault(error_info("network", "reset"))], "network"),
        ([delta(content="Hi", finish="stop"), Fault(error_info("malformed", "odd"))], "malformed"),
        ([delta(content="Hi"), Frame(b"error: engine died")], "malformed"),
        ([delta(content="Hi"), Frame(b'{"choices":[')], "malformed"),
        ([delta(content="Hi"), Frame(b"[" * 100_000)], "malformed"),
        ([delta(content="Hi"), frame({"choices": "x"})], "malformed"),
        ([delta(content="Hi"), frame({"choices": [5]})], "malformed"),
        ([frame({"hello": "world"}, terminated=False)], "malformed"),
    ],
)
def test_bad_ends(frames: list[Frame | Fault], kind: str) -> None:
    """Anything else is a failure of its kind, and what came before stays."""
    events = translated(*frames)
    assert failed(events)[0] == kind
    if frames[:1] == [delta(content="Hi")]:
        assert events[:-1] == [TextStart(0), TextDelta(0, "Hi"), TextEnd(0, complete=False)]


def test_errors_quote_the_frame() -> None:
    """What cannot be read is shown, since it may be all that the server says."""
    assert failed(translated(Frame(b"error: engine died"))) == ("malformed", "a frame is not JSON: error: engine died")
    assert len(failed(translated(Frame(b"x" * 5000)))[1]) < 300


def test_eof_is_end() -> None:
    """Where a dialect says so, plain EOF is the end, but not of a body that said nothing, nor of a frame."""
    assert translated(delta(content="Hi"), eof_is_end=True) == [*HI, *UNKNOWN]
    assert failed(translated(eof_is_end=True)) == ("truncated", CUT)
    assert failed(translated(delta(content="Hi"), Frame(b"{", terminated=False), eof_is_end=True))[0] == "truncated"


@pytest.mark.rows("OR-CCS-13", "AMB-37")
def test_failing_from_outside() -> None:
    """A broken connection fails the stream, unless every finish reason was seen; then it is noted."""
    error = error_info("network", "reset")
    stage = translator()
    stage.feed([delta(content="Hi")])
    assert stage.fail(error) == [TextEnd(0, complete=False), StreamFailed(error)]
    assert stage.done
    assert stage.fail(error) == []
    assert stage.finish() == []
    stage = translator()
    stage.feed([delta(content="Hi", finish="stop")])
    assert stage.fail(error) == STOPPED
    assert stage.diagnostics == [Diagnostic("broken_after_finish", "the connection broke after the finish reason", "reset")]
    stage = translator()
    stage.feed([delta(content="Hi", finish="stop")])
    timeout = error_info("timeout", "late", deadline="total")
    assert stage.fail(timeout) == [StreamFailed(timeout, "stop")]


@pytest.mark.rows("OR-CCS-02")
def test_several_choices() -> None:
    """Each choice has its own blocks and its own end; their indices are shared."""
    frames = [
        frame({"choices": [{"index": 0, "delta": {"content": "A"}}, {"index": 1, "delta": {"content": "B"}}]}),
        frame({"choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]}),
        delta(1, finish="stop"),
        delta(0, finish="length"),
    ]
    assert translated(*frames, choices=2) == [
        TextStart(0, 0),
        TextDelta(0, "A"),
        TextStart(1, 1),
        TextDelta(1, "B"),
        TextDelta(1, "b"),
        TextDelta(0, "a"),
        TextEnd(1),
        TextEnd(0),
        ChoiceEnd(0, "length", "length"),
        ChoiceEnd(1, "stop", "stop"),
        Finish("length", "length"),
    ]


def test_a_choice_without_its_end() -> None:
    """One choice that did not end makes the stream a cut one, unless the server ended it on purpose."""
    frames = [delta(0, content="A", finish="stop"), delta(1, content="B")]
    events = translated(*frames)
    assert failed(events) == ("truncated", CUT)
    assert events[-2:-1] == [TextEnd(1, complete=False)]
    assert translated(*frames, DONE)[-3:] == [ChoiceEnd(0, "stop", "stop"), ChoiceEnd(1, "unknown"), Finish("stop", "stop")]


@pytest.mark.parametrize("number", [-1, MAX_CHOICES, 10**9])
def test_choices_that_cannot_be(number: int) -> None:
    """A number that no choice can have is left out and noted."""
    assert translated(delta(number, content="x"), delta(content="Hi"), STOP) == [*HI, *STOPPED]
    assert codes(delta(number, content="x"), STOP) == ["odd_choice"]


def test_settled() -> None:
    """Settled means that every choice asked for has its reason."""
    stage = translator(choices=2)
    stage.feed([delta(0, finish="stop")])
    assert not stage.settled
    stage.feed([delta(1, content="a")])
    assert not stage.settled
    stage.feed([delta(1, finish="stop")])
    assert stage.settled
    assert not stage.done
    stage = translator()
    stage.feed([delta(content="a", finish="")])
    assert not stage.settled
    stage.feed([STOP])
    assert stage.settled


def test_progress() -> None:
    """It grows with signs of work that are no events, and with those only."""
    stage = translator()
    seen = [stage.progress]
    for item in (
        delta(role="assistant"),
        frame({"choices": [], "usage": {"prompt_tokens": 1}}),
        delta(tool_calls=[{}]),
        delta(tool_calls=[{"index": 0, "id": "t", "function": {"name": "f"}}]),
        delta(reasoning_details=[{"type": "reasoning.text", "signature": "S"}]),
        delta(reasoning_details=[{"type": "reasoning.text", "text": "a"}]),
        delta(audio={"data": "AA"}),
    ):
        stage.feed([item])
        seen.append(stage.progress)
    assert seen == [0, 0, 0, 0, 1, 2, 2, 3]


def test_raw_frames() -> None:
    """Each frame comes before its events; before the stream has begun they are held."""
    stage = translator(raw=True)
    ping, usage, text, stop = Frame(b"null"), frame({"choices": [], "usage": {"prompt_tokens": 1}}), delta(content="a"), STOP
    assert stage.feed([ping, usage]) == []
    assert stage.feed([text]) == [
        StreamStart(),
        RawFrame(ping.data),
        RawFrame(usage.data),
        UsageUpdate(Usage(1, raw={"prompt_tokens": 1})),
        RawFrame(text.data),
        TextStart(0),
        TextDelta(0, "a"),
    ]
    assert stage.feed([text]) == [RawFrame(text.data), TextDelta(0, "a")]
    assert stage.feed([stop]) == [RawFrame(stop.data), TextEnd(0)]
    twice = Frame(b"data: " + DONE.data)
    assert stage.feed([twice, DONE])[:1] == [RawFrame(twice.data)]
    named = Frame(b'{"message":"m"}', "error")
    assert translator(raw=True).feed([named])[:2] == [StreamStart(), RawFrame(named.data, "error")]


@pytest.mark.rows("OR-CCS-01", "OR-CCS-02", "OR-CCS-12", "ISS-42")
@pytest.mark.parametrize(
    ("frames", "input", "output"),
    [
        ([{"usage": {"prompt_tokens": 3, "completion_tokens": 1}, "choices": None}], 3, 1),
        ([{"usage": {"prompt_tokens": 3, "completion_tokens": 1}}], 3, 1),
        ([{"choices": [{"delta": {}, "usage": {"prompt_tokens": 3}}]}], 3, None),
        ([{"choices": [{"delta": {}, "usage": {"prompt_tokens": 9}}], "usage": {"prompt_tokens": 3}}], 3, None),
        ([{"choices": [{"delta": {}}], "x_groq": {"id": "r", "usage": {"prompt_tokens": 3}}}], 3, None),
        ([{"usage": {"prompt_tokens": 3, "completion_tokens": 1}}, {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}], 3, 2),
        (
            [{"usage": {"prompt_tokens": 3, "completion_tokens": 2}}, {"usage": {"prompt_tokens": 0, "completion_tokens": None}}, {"usage": None}],
            3,
            2,
        ),
        ([{"usage": [3], "choices": []}, {"usage": "3"}, {"usage": {"prompt_tokens": 3}}], 3, None),
    ],
)
def test_usage(frames: list[dict[str, object]], input: int | None, output: int | None) -> None:
    """Usage is found in every place, merged and never added, before the finish reason and after it."""
    for stream in ([delta(content="Hi"), *map(frame, frames), STOP], [delta(content="Hi", finish="stop"), *map(frame, frames), DONE]):
        end = translated(*stream)[-1]
        assert isinstance(end, Finish)
        assert end.usage is not None
        assert (end.usage.input_tokens, end.usage.output_tokens) == (input, output)


@pytest.mark.rows("AMB-74")
def test_no_usage() -> None:
    """Not reported is not zero."""
    for nothing in (None, {}, []):
        assert translated(frame({"choices": [{"delta": {"content": "Hi"}}], "usage": nothing}), STOP) == [*HI, *STOPPED]


@pytest.mark.rows("WIRE-18")
@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([Frame(b'data: {"choices":[{"delta":{"content":"Hi"}}]}'), Frame(b"data:data: {}")], "repeated_prefix"),
        ([delta(content="Hi"), Frame(b'"message"')], "odd_frame"),
        ([delta(content="Hi"), Frame(b"[]")], "odd_frame"),
        ([delta(content="Hi"), Frame(b"null")], "odd_frame"),
        ([delta(content="Hi"), Frame(b"5")], "odd_frame"),
        ([frame({"id": {}, "choices": [{"delta": {"content": "Hi"}}]})], "odd_field"),
        ([frame({"choices": [{"delta": {"content": "Hi", "refusal": [1]}}]})], "odd_field"),
        ([frame({"choices": [{"delta": {"content": "Hi", "tool_calls": [5]}}]})], "odd_field"),
        ([Frame(b'{"choices":[{"delta":{"content":"Hi"}}]}\n{"choices":[{"delta":{}}]}')], "missing_blank_line"),
        ([delta(content="Hi"), delta(-1)], "odd_choice"),
    ],
)
def test_oddities(frames: list[Frame], code: str) -> None:
    """What can be left out is left out and noted; in strict mode it is malformed."""
    assert translated(*frames, STOP) == [*HI, *STOPPED]
    assert codes(*frames, STOP) == [code]
    assert failed(translated(*frames, STOP, strict=True))[0] == "malformed"


def test_prefixes_without_end() -> None:
    """A prefix may be repeated as often as it likes, and is noted once."""
    assert translated(Frame(b"data:" * 50_000), Frame(b"data: data: " + delta(content="Hi").data), STOP) == [*HI, *STOPPED]
    assert codes(Frame(b"data: data:"), Frame(b"data:data:data: {}"), STOP) == ["repeated_prefix"]


def test_several_frames_in_one() -> None:
    """Frames that no blank line parted are read one by one, the end marker too."""
    joined = b"\n".join([delta(content="Hi").data, STOP.data, b"[DONE]", delta(content="late").data])
    assert translated(Frame(joined)) == [*HI, *STOPPED]


@pytest.mark.rows("WIRE-19")
def test_bytes_that_are_no_utf8() -> None:
    """A bad byte costs one character, and is noted once."""
    bad = Frame(b'{"choices":[{"delta":{"content":"a\xffb"}}]}')
    assert translated(bad, bad, STOP) == [TextStart(0), TextDelta(0, "a\ufffdb"), TextDelta(0, "a\ufffdb"), TextEnd(0), *STOPPED]
    assert codes(bad, bad, STOP) == ["bad_utf8"]


@pytest.mark.rows("WIRE-04", "ISS-37")
@pytest.mark.parametrize(
    "data", [b"", b" ", b"\n", b"ping", b"PING", b"[ping]", b": keep-alive", b"keepalive", b"heartbeat", b'{"type":"ping"}', b"{}"]
)
def test_keep_alives(data: bytes) -> None:
    """Frames that only keep the connection alive say nothing, not even that they are odd."""
    assert translated(delta(content="Hi"), Frame(data), STOP) == [*HI, *STOPPED]
    assert codes(Frame(data), STOP, strict=True) == []


@pytest.mark.parametrize("event", ["ping", "heartbeat", "keep-alive", " Ping"])
def test_keep_alives_by_name(event: str) -> None:
    """So do frames that are called so, whatever is in them; other names mean nothing."""
    assert translated(delta(content="Hi"), Frame(b"now", event), STOP) == [*HI, *STOPPED]
    assert translated(Frame(delta(content="Hi").data, "message"), STOP) == [*HI, *STOPPED]


@pytest.mark.parametrize(
    ("choice", "events"),
    [
        ({"index": "0", "delta": {"content": "Hi"}}, HI),
        ({"index": 0.0, "delta": {"content": "Hi"}}, HI),
        ({"index": None, "delta": {"content": "Hi"}}, HI),
        ({"delta": "Hi"}, HI),
        ({"delta": None, "text": "Hi"}, HI),
        ({"delta": {"content": "Hi", "reasoning": {"text": ""}}}, HI),
        ({"delta": {"content": "Hi"}, "finish_reason": False}, HI),
        ({"delta": {"content": "Hi"}, "message": None, "logprobs": None}, HI),
        ({"delta": {"role": None, "content": "Hi", "tool_calls": None, "function_call": None, "audio": None, "images": None}}, HI),
    ],
)
def test_shapes_of_a_choice(choice: dict[str, object], events: list[Event]) -> None:
    """A choice is read in every shape that servers give it."""
    assert translated(frame({"choices": [choice]}), STOP) == [*events, *STOPPED]
    assert translated(frame({"choices": choice}), STOP) == [*events, *STOPPED]


def test_shapes_of_a_call() -> None:
    """A call too: one alone instead of a list, digits for an index, a number for an id."""
    call = {"index": "0", "id": 7, "type": None, "function": {"name": "f", "arguments": {"a": 1}}}
    for calls in (call, [call], [None, call]):
        events = translated(delta(tool_calls=calls), STOP)
        assert (events[0].id, events[0].name, events[1].arguments) == ("7", "f", '{"a":1}')  # type: ignore[union-attr]


def test_values_that_cannot_be_encoded() -> None:
    """Half surrogate pairs in an id, a model or a name are replaced, since these come in one piece."""
    value = {"id": "\ud83d", "model": "m\ude80", "choices": [{"delta": {"tool_calls": [{"id": "\ud83d1", "function": {"name": "f\ude80"}}]}}]}
    events = translator().feed([frame(value), STOP])
    assert events[0] == StreamStart("m\ufffd", "\ufffd")
    assert (events[1].id, events[1].name) == ("\ufffd1", "f\ufffd")  # type: ignore[union-attr]


@pytest.mark.rows("ISS-36")
def test_call_that_never_gets_a_name() -> None:
    """It makes the answer unreadable, once the stream has ended; text and other calls stay."""
    frames = [delta(content="x"), delta(tool_calls=[{"index": 0, "id": "t1", "function": {"arguments": "{}"}}]), delta(finish="tool_calls")]
    events = translated(*frames, DONE)
    assert failed(events) == ("malformed", "tool call t1 never got a name")
    assert events[:3] == [TextStart(0), TextDelta(0, "x"), TextEnd(0)]
    other = {"index": 1, "id": "t2", "function": {"name": "g", "arguments": "{}"}}
    assert ToolCallEnd(1) in translated(*frames[:-1], delta(tool_calls=[other]), frames[-1], DONE)


@pytest.mark.rows("ISS-32", "AMB-29")
def test_finish_for_calls_without_a_call() -> None:
    """It is a plain stop, since there is nothing to run, and is noted."""
    assert translated(delta(content="Hi"), delta(finish="tool_calls"))[-1] == Finish("stop", "tool_calls")
    assert codes(delta(content="Hi"), delta(finish="tool_calls")) == ["tool_calls_without_call"]


@pytest.mark.rows("OR-CCS-09")
def test_no_finish_reason() -> None:
    """The end marker without a reason is noted."""
    assert codes(delta(content="Hi"), DONE) == ["no_finish_reason"]
    assert codes(STOP, DONE) == []


def test_diagnostics_are_bounded() -> None:
    """A server that is odd in every frame does not fill the memory."""
    assert len(codes(*[Frame(b"null")] * 1000, STOP)) == MAX_DIAGNOSTICS


def nested(depth: int) -> object:
    """Lists in lists."""
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


def test_deep_values() -> None:
    """What is nested more deeply than anything real is dropped, and never breaks the reader."""
    assert clean(nested(3)) == [[["x"]]]
    assert clean({"a\ud83d": [nested(200)]}, 2) == {"a\ufffd": [None]}
    assert encode_json(nested(2)) == b'[["x"]]'
    assert encode_json(nested(100_000)) == b"null"
    deep = frame({"choices": [{"delta": {"content": "Hi", "annotations": [{"type": "url_citation", "x": nested(400)}]}}]})
    assert [event for event in translated(deep, STOP) if not isinstance(event, Citation)] == [*HI, *STOPPED]


@pytest.mark.parametrize("index", ["x", "1.5", "9" * 30, 1.5, True, [], "", " "])
def test_indices_that_are_none(index: object) -> None:
    """An index that cannot be read is no index: the choice is the first one, and the call the last one."""
    call = {"index": index, "id": "t1", "function": {"name": "f", "arguments": "{}"}}
    events = translated(frame({"choices": [{"index": index, "delta": {"tool_calls": [call]}}]}), STOP)
    assert [type(event) for event in events] == [ToolCallStart, ToolCallDelta, ToolCallEnd, ChoiceEnd, Finish]
