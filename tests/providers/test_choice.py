"""One choice: channels and their blocks, finish reasons, citations, images, speech, what is held back and what a failure leaves."""

from __future__ import annotations

import pytest
from msgspec import Raw

from chat_frames import DONE, STOP, codes, delta, frame, translated
from headwater_codecs.neutral import (
    ChoiceEnd,
    Citation,
    Event,
    Finish,
    FinishReason,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    StreamFailed,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from headwater_providers.finish_reasons import FINISH, is_absent, unified

STOPPED: list[Event] = [ChoiceEnd(0, "stop", "stop"), Finish("stop", "stop")]
CALL = {"index": 0, "id": "t1", "function": {"name": "f", "arguments": "{}"}}
CALLED: list[Event] = [ChoiceEnd(0, "tool_calls", "stop"), Finish("tool_calls", "stop")]


def said(index: int, *pieces: str, choice: int = 0) -> list[Event]:
    """A whole text block."""
    return [TextStart(index, choice), *(TextDelta(index, piece) for piece in pieces), TextEnd(index)]


def thought(index: int, *pieces: str) -> list[Event]:
    """A whole reasoning block."""
    return [ReasoningStart(index), *(ReasoningDelta(index, piece) for piece in pieces), ReasoningEnd(index)]


def refused(index: int, *pieces: str) -> list[Event]:
    """A whole refusal block."""
    return [RefusalStart(index), *(RefusalDelta(index, piece) for piece in pieces), RefusalEnd(index)]


@pytest.mark.rows("OR-CCS-03", "OR-CCS-04", "AMB-21", "ISS-14")
def test_blocks_by_channel() -> None:
    """A switch of the channel ends a block and opens one; nothing and null do neither."""
    frames = [
        delta(role="assistant"),
        delta(content=""),
        delta(reasoning_content="a"),
        delta(content="", reasoning_content=None),
        delta(reasoning_content="b"),
        delta(content="c"),
        delta(content=None),
        delta(content="d"),
        delta(reasoning="e"),
        STOP,
    ]
    assert translated(*frames) == [*thought(0, "a", "b"), *said(1, "c", "d"), *thought(2, "e"), *STOPPED]


@pytest.mark.rows("OR-CCS-05")
def test_order_inside_one_delta() -> None:
    """Reasoning comes before text, text before a refusal, then calls."""
    one = delta(tool_calls=[CALL], refusal="r", content="c", reasoning_content="b", finish="stop")
    assert translated(one) == [
        *thought(0, "b"),
        *said(1, "c"),
        *refused(2, "r"),
        ToolCallStart(3, "t1", "f"),
        ToolCallDelta(3, "{}"),
        ToolCallEnd(3),
        *CALLED,
    ]


@pytest.mark.rows("OR-CCS-04", "AMB-21")
def test_text_around_a_call() -> None:
    """Text after a call is a block of its own, also after a call without arguments."""
    for arguments, deltas in (("{}", [ToolCallDelta(1, "{}")]), ("", [])):
        call = {"index": 0, "id": "t1", "function": {"name": "f", "arguments": arguments}}
        events = translated(delta(content="a"), delta(tool_calls=[call]), delta(content="b"), STOP)
        ends = [TextDelta(2, "b"), ToolCallEnd(1), TextEnd(2)] if arguments else [TextDelta(2, "b"), TextEnd(2), ToolCallEnd(1)]
        assert events == [*said(0, "a"), ToolCallStart(1, "t1", "f"), *deltas, TextStart(2), *ends, *CALLED]


def test_places_for_calls_do_not_cut_the_text() -> None:
    """A list of calls with nothing in it is no call."""
    places = [[], None, [{}], [{"index": 0, "function": {"name": "", "arguments": ""}}]]
    frames = [delta(content="a", tool_calls=place, function_call=None) for place in places]
    assert translated(*frames, STOP) == [*said(0, "a", "a", "a", "a"), *STOPPED]


@pytest.mark.parametrize(
    ("content", "events"),
    [
        ([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}], said(0, "a", "b")),
        (["a", {"text": "b"}, {"type": "text"}, 5], said(0, "a", "b")),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}, {"type": "text", "text": "b"}], [*thought(0, "a"), *said(1, "b")]),
        ([{"type": "reasoning", "text": "a"}], thought(0, "a")),
        (
            [{"type": "reference", "reference_ids": [1]}],
            [OpaqueStart(0, "reference"), OpaqueEnd(0, raw=b'{"type": "reference", "reference_ids": [1]}')],
        ),
        ({"type": "text", "text": "a"}, said(0, "a")),
        (5, said(0, "5")),
        (1.5, said(0, "1.5")),
    ],
)
def test_content_that_is_no_text(content: object, events: list[Event]) -> None:
    """Content may be typed parts; those that are not modelled are kept byte by byte."""
    assert translated(delta(content=content), STOP) == [*events, *STOPPED]


@pytest.mark.rows("AMB-36")
@pytest.mark.parametrize("content", [[{"type": "refusal", "refusal": "no"}], None])
def test_refusal(content: object) -> None:
    """A refusal is its own channel, and why a choice stopped that stopped for nothing else."""
    first = delta(content=content) if content else delta(refusal="no")
    assert translated(first, STOP) == [*refused(0, "no"), ChoiceEnd(0, "refusal", "stop"), Finish("refusal", "stop")]


def test_bytes_in_parts_that_are_no_utf8() -> None:
    """A bad byte in a list of parts costs one character."""
    bad = frame({"choices": [{"delta": {"content": [{"type": "text", "text": "aXb"}]}}]})
    broken = type(bad)(bad.data.replace(b"X", b"\xff"))
    assert translated(broken, STOP) == [*said(0, "a\ufffdb"), *STOPPED]


@pytest.mark.rows("AMB-71")
@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ({"content": "a\ud83d"}, {"content": "\ude80b"}, ["a", "🚀b"]),
        ({"content": "\ud83d"}, {"content": "x"}, ["\ufffdx"]),
        ({"content": "\ude80"}, {"content": "\ud83d\ude80"}, ["\ufffd", "🚀"]),
        ({"content": "a\ud83d"}, {}, ["a", "\ufffd"]),
    ],
)
def test_surrogates(first: dict[str, object], second: dict[str, object], text: list[str]) -> None:
    """A pair cut between two deltas is joined; a half that stays alone is replaced, at the latest at the end."""
    assert translated(delta(**first), delta(**second), STOP) == [*said(0, *text), *STOPPED]


def test_half_a_pair_before_something_else() -> None:
    """A half is given up where its channel is left, so that it stays in its place."""
    call = [ToolCallStart(1, "t1", "f"), ToolCallDelta(1, "{}"), ToolCallEnd(1)]
    assert translated(delta(content="a\ud83d"), delta(tool_calls=[CALL]), STOP) == [*said(0, "a", "\ufffd"), *call, *CALLED]
    assert translated(delta(content="a\ud83d"), delta(reasoning="b"), STOP) == [*said(0, "a", "\ufffd"), *thought(1, "b"), *STOPPED]


def test_cumulative() -> None:
    """Where each delta repeats the text so far, only what is new is told; what does not repeat is taken as it is."""
    frames = [
        delta(reasoning="I"),
        delta(reasoning="I see"),
        delta(reasoning="I see"),
        delta(content="Hi"),
        delta(content="Hi!"),
        delta(content="x"),
        STOP,
    ]
    assert translated(*frames, cumulative_deltas=True) == [*thought(0, "I", " see"), *said(1, "Hi", "!", "x"), *STOPPED]


def test_tags() -> None:
    """Tagged text is reasoning, and what is held as the start of a tag comes before what follows it."""
    frames = [delta(content="<think>pl"), delta(content="an</thi"), delta(content="nk>a <"), delta(tool_calls=[CALL]), STOP]
    assert translated(*frames, think_tags=True) == [
        *thought(0, "pl", "an"),
        *said(1, "a ", "<"),
        ToolCallStart(2, "t1", "f"),
        ToolCallDelta(2, "{}"),
        ToolCallEnd(2),
        *CALLED,
    ]


def test_tags_beside_a_field() -> None:
    """The field wins over the copy in the text; encrypted reasoning is no such field."""
    assert translated(delta(content="<think>plan", reasoning_content="plan"), delta(content="</think>Hi"), STOP, think_tags=True) == [
        *thought(0, "plan"),
        *said(1, "Hi"),
        *STOPPED,
    ]
    assert translated(delta(content="Hi", reasoning_content="plan"), STOP, think_tags=True, think_open="implicit") == [
        *thought(0, "plan"),
        *said(1, "Hi"),
        *STOPPED,
    ]
    encrypted = delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "AA", "index": 0}])
    events = translated(encrypted, delta(content="<think>plan</think>Hi"), STOP, think_tags=True)
    assert [event.text for event in events if isinstance(event, ReasoningDelta | TextDelta)] == ["plan", "Hi"]


@pytest.mark.rows("ISS-54")
@pytest.mark.parametrize(
    ("choices", "text"),
    [
        ([{"message": {"content": "Hi"}, "finish_reason": "stop"}], ["Hi"]),
        ([{"text": "H"}, {"text": "i", "finish_reason": "stop"}], ["H", "i"]),
        ([{"message": {"content": "H"}}, {"message": {"content": "i"}, "finish_reason": "stop"}], ["H", "i"]),
        ([{"delta": {"content": "Hi"}}, {"delta": {}, "message": {"content": "Hi"}, "finish_reason": "stop"}], ["Hi"]),
        ([{"delta": {"content": "Hi"}}, {"message": {"content": "Hi"}, "finish_reason": "stop"}], ["Hi"]),
        ([{"delta": {"content": "Hi"}, "text": "Hi"}, {"text": "Hi", "finish_reason": "stop"}], ["Hi"]),
        ([{"delta": {}, "text": "Hi", "finish_reason": "stop"}], ["Hi"]),
        ([{"delta": {"role": "assistant"}}, {"delta": {}, "message": {"content": "Hi"}, "finish_reason": "stop"}], ["Hi"]),
        ([{"message": {"content": "Hi"}, "finish_reason": "stop"}, {"message": {"content": "Hi"}, "finish_reason": "stop"}], ["Hi"]),
    ],
)
def test_message_and_text(choices: list[dict[str, object]], text: list[str]) -> None:
    """A whole message, or the old `text`, is a delta where there are no deltas, else a repetition."""
    assert translated(*(frame({"choices": [choice]}) for choice in choices)) == [*said(0, *text), *STOPPED]


@pytest.mark.rows("OR-CCS-09", "ISS-42", "AMB-35")
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        *FINISH.items(),
        ("STOP", "stop"),
        ("tool-calls", "stop"),  # there is no call
        ("Content Filter", "content_filter"),
        ("made_up", "unknown"),
    ],
)
def test_finish_reasons(raw: str, reason: FinishReason) -> None:
    """The vendor's word is unified, and kept beside it."""
    expected: FinishReason = "stop" if reason == "tool_calls" else reason
    assert translated(delta(content="a"), delta(finish=raw))[-2:] == [ChoiceEnd(0, expected, raw), Finish(expected, raw)]
    assert unified(raw) == ("tool_calls" if raw == "tool-calls" else reason)


@pytest.mark.rows("OR-CCS-09")
@pytest.mark.parametrize("raw", ["", "null", "None", " "])
def test_absent_finish_reasons(raw: str) -> None:
    """What some servers write for null does not end an answer."""
    assert is_absent(raw)
    assert translated(delta(content="a", finish=raw), delta(content="b", finish=raw), STOP) == [*said(0, "a", "b"), *STOPPED]


@pytest.mark.parametrize(
    ("frames", "raw"),
    [
        ([delta(content="a", finish="stop"), STOP], "stop"),
        ([delta(content="a", finish="stop"), delta(finish="length")], "stop"),
        ([delta(content="a", finish="stop"), delta(content="b"), delta(finish="length")], "length"),
        ([delta(content="a", finish="stop"), delta(content="b", finish="length")], "length"),
        ([delta(finish="stop"), delta(finish="length")], "stop"),
    ],
)
def test_the_reason_behind_the_last_content_counts(frames: list[object], raw: str) -> None:
    """The first reason counts, unless more content followed it."""
    assert translated(*frames)[-1].raw_finish_reason == raw  # type: ignore[arg-type, union-attr]


def test_late_text() -> None:
    """Text behind the finish reason is a block more."""
    assert translated(delta(content="H", finish="stop"), delta(content="i"), STOP) == [*said(0, "H"), *said(1, "i"), *STOPPED]


def test_late_arguments() -> None:
    """A finish reason on the first chunk does not cut a call; behind the call's end nothing is taken any more."""
    first = delta(tool_calls=[{"index": 0, "id": "t1", "function": {"name": "f", "arguments": ""}}], finish="tool_calls")
    late = delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a":1}'}}])
    more = delta(tool_calls=[{"index": 0, "function": {"arguments": "x"}}])
    end = delta(finish="tool_calls")
    assert translated(first, late, end, DONE) == [
        ToolCallStart(0, "t1", "f"),
        ToolCallDelta(0, '{"a":1}'),
        ToolCallEnd(0),
        ChoiceEnd(0, "tool_calls", "tool_calls"),
        Finish("tool_calls", "tool_calls"),
    ]
    assert codes(first, late, end, more, DONE) == ["late_arguments"]
    assert codes(first, late, end, late, DONE) == ["repeated_arguments"]


@pytest.mark.rows("AMB-09", "ISS-34")
@pytest.mark.parametrize(
    ("finish", "complete", "reason"),
    [
        ("tool_calls", True, "tool_calls"),
        ("stop", True, "tool_calls"),
        ("length", False, "length"),
        ("content_filter", False, "content_filter"),
        ("odd", True, "unknown"),
    ],
)
def test_a_call_that_may_be_cut(finish: str, complete: bool, reason: FinishReason) -> None:
    """A call without arguments at the end of an answer that was broken off is not complete."""
    call = {"index": 0, "id": "t1", "function": {"name": "f"}}
    events = translated(delta(tool_calls=[call]), delta(finish=finish))
    assert events == [ToolCallStart(0, "t1", "f"), ToolCallEnd(0, complete=complete), ChoiceEnd(0, reason, finish), Finish(reason, finish)]
    followed = translated(delta(tool_calls=[call]), delta(content="a"), delta(finish=finish))
    assert ToolCallEnd(0) in followed
    again = translated(delta(tool_calls=[call]), delta(content="a"), delta(tool_calls=[CALL | {"index": 1, "id": "t2"}]), delta(finish=finish))
    assert {ToolCallEnd(0), ToolCallEnd(2)} <= {event for event in again if isinstance(event, ToolCallEnd)}


def test_legacy_function_call() -> None:
    """The old field is a call; beside the new one it is a copy."""
    old = {"name": "f", "arguments": '{"a":'}
    events = translated(delta(function_call=old), delta(function_call={"arguments": "1}"}), delta(finish="function_call"))
    assert isinstance(events[0], ToolCallStart)
    assert events[1:] == [
        ToolCallDelta(0, '{"a":'),
        ToolCallDelta(0, "1}"),
        ToolCallEnd(0),
        ChoiceEnd(0, "tool_calls", "function_call"),
        Finish("tool_calls", "function_call"),
    ]
    copied = translated(delta(tool_calls=[CALL], function_call=old), delta(function_call={"arguments": "1}"}), STOP)
    assert copied == [ToolCallStart(0, "t1", "f"), ToolCallDelta(0, "{}"), ToolCallEnd(0), *CALLED]


SOURCE = {"url": "u1", "title": "One"}


@pytest.mark.parametrize(
    ("frames", "events"),
    [
        # before the text: they wait for it; repeated: sent once
        (
            [frame({"choices": [], "citations": ["u1"]}), delta(content="a"), frame({"choices": [], "citations": ["u1", "u2"]}), STOP],
            [TextStart(0), Citation(0, url="u1", raw=Raw(b'"u1"')), TextDelta(0, "a"), Citation(0, url="u2", raw=Raw(b'"u2"')), TextEnd(0), *STOPPED],
        ),
        # both lists of one frame: the one with titles counts
        (
            [delta(content="a"), frame({"choices": [], "citations": ["u1"], "search_results": [{**SOURCE, "snippet": "s"}]}), STOP],
            [
                TextStart(0),
                TextDelta(0, "a"),
                Citation(0, url="u1", title="One", cited_text="s", raw=Raw(b'{"url":"u1","title":"One","snippet":"s"}')),
                TextEnd(0),
                *STOPPED,
            ],
        ),
        # no text at all: a block for them
        (
            [frame({"choices": [], "citations": [{"id": 1}, {"id": 2}, 3]}), STOP],
            [
                TextStart(0),
                Citation(0, raw=Raw(b'{"id":1}')),
                Citation(0, raw=Raw(b'{"id":2}')),
                Citation(0, raw=Raw(b"3")),
                TextEnd(0),
                *STOPPED,
            ],
        ),
        # annotations
        (
            [delta(content="a", annotations=[{"type": "url_citation", "url_citation": {"url": "u", "title": "t", "content": "c"}}]), STOP],
            [
                TextStart(0),
                TextDelta(0, "a"),
                Citation(
                    0, 0, "url_citation", "u", "t", "c", Raw(b'{"type":"url_citation","url_citation":{"url":"u","title":"t","content":"c"}}')
                ),
                TextEnd(0),
                *STOPPED,
            ],
        ),
        # one address for two passages
        (
            [delta(content="a", annotations=[{"url": "u", "start_index": 1}, {"url": "u", "start_index": 5}, {"url": "u", "start_index": 1}]), STOP],
            [
                TextStart(0),
                TextDelta(0, "a"),
                Citation(0, 0, "url_citation", "u", raw=Raw(b'{"url":"u","start_index":1}')),
                Citation(0, 0, "url_citation", "u", raw=Raw(b'{"url":"u","start_index":5}')),
                TextEnd(0),
                *STOPPED,
            ],
        ),
    ],
)  # fmt: skip
def test_citations(frames: list[object], events: list[Event]) -> None:
    """Each source is sent once, for a text block."""
    assert translated(*frames) == events  # type: ignore[arg-type]


def test_citations_of_another_choice() -> None:
    """A citation belongs to the block and the choice of its text."""
    note = [{"type": "url_citation", "url": "u"}]
    events = translated(delta(0, content="a"), delta(1, content="b", annotations=note), delta(1, finish="stop"), STOP)
    assert [event for event in events if isinstance(event, Citation)] == [
        Citation(1, 1, "url_citation", "u", raw=Raw(b'{"type":"url_citation","url":"u"}'))
    ]


def test_images_and_speech() -> None:
    """An image is an item of its own; the pieces of speech are one item, which opens with the first and ends with the choice."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    frames = [
        delta(content="a"),
        delta(images=[image]),
        delta(audio={"id": "s", "data": "AA"}),
        delta(content="b"),
        delta(audio={"data": "BB"}),
        STOP,
    ]
    assert translated(*frames) == [
        *said(0, "a"),
        OpaqueStart(1, "image"),
        OpaqueEnd(1, raw=b'{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}'),
        OpaqueStart(2, "audio"),
        TextStart(3),
        TextDelta(3, "b"),
        OpaqueEnd(2, raw=b'[{"id": "s", "data": "AA"},{"data": "BB"}]'),
        TextEnd(3),
        *STOPPED,
    ]


DETAIL = {"type": "reasoning.text", "index": 0}


@pytest.mark.rows("PI-CCS-14")
def test_details_with_text() -> None:
    """Text and its details are one block, whose end carries the signature and what must go back."""
    frames = [
        delta(reasoning="Let", reasoning_details=[{**DETAIL, "text": "Let"}]),
        delta(reasoning_details=[{**DETAIL, "text": " me"}]),
        delta(reasoning_details=[{**DETAIL, "signature": "SIG"}]),
        delta(content="Hi"),
        STOP,
    ]
    meta = Raw(b'{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"Let me","signature":"SIG"}]}')
    assert translated(*frames) == [
        ReasoningStart(0),
        ReasoningDelta(0, "Let"),
        ReasoningDelta(0, " me"),
        ReasoningEnd(0, signature="SIG", meta=meta),
        *said(1, "Hi"),
        *STOPPED,
    ]


@pytest.mark.rows("PI-CCS-14")
def test_encrypted_details() -> None:
    """Details without text make a redacted block, at their place."""
    frames = [delta(reasoning_details=[{"type": "reasoning.encrypted", "data": "AA", "index": 0}]), delta(content="Hi"), STOP]
    end = ReasoningEnd(0, redacted=True, data="AA", meta=Raw(b'{"reasoning_details":[{"type":"reasoning.encrypted","data":"AA","index":0}]}'))
    assert translated(*frames) == [ReasoningStart(0), end, *said(1, "Hi"), *STOPPED]


def test_late_signature() -> None:
    """A signature that comes when its block is closed is kept in a block without text."""
    frames = [delta(reasoning="a"), delta(content="Hi"), delta(reasoning_details=[{**DETAIL, "signature": "SIG"}]), STOP]
    end = ReasoningEnd(2, signature="SIG", meta=Raw(b'{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"SIG"}]}'))
    assert translated(*frames) == [*thought(0, "a"), *said(1, "Hi"), ReasoningStart(2), end, *STOPPED]


@pytest.mark.rows("AMB-37", "OR-CCS-13")
def test_what_a_failure_leaves() -> None:
    """What was received is readable: speech, signatures, calls that had not started, half a tag."""
    frames = [
        delta(audio={"data": "AA"}),
        delta(tool_calls=[{"index": 0, "id": "t1", "function": {"name": "f"}}]),
        delta(content="a <thi"),
        delta(reasoning_details=[{**DETAIL, "text": "b", "signature": "SIG"}]),
    ]
    events = translated(*frames, think_tags=True)
    meta = Raw(b'{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"b","signature":"SIG"}]}')
    assert events[:-1] == [
        OpaqueStart(0, "audio"),
        ToolCallStart(1, "t1", "f"),
        TextStart(2),
        TextDelta(2, "a "),
        TextDelta(2, "<thi"),
        TextEnd(2),
        ReasoningStart(3),
        ReasoningDelta(3, "b"),
        OpaqueEnd(0, complete=False, raw=b'[{"data": "AA"}]'),
        ReasoningEnd(3, complete=False, signature="SIG", meta=meta),
        ToolCallEnd(1, complete=False),
    ]
    assert isinstance(events[-1], StreamFailed)


def test_call_cut_before_its_arguments() -> None:
    """A call whose name is all that came before the cut is told, and is not complete."""
    events = translated(delta(tool_calls=[{"index": 0, "id": "t1", "function": {"name": "f", "arguments": ""}}]))
    assert events[:-1] == [ToolCallStart(0, "t1", "f"), ToolCallEnd(0, complete=False)]
    assert isinstance(events[-1], StreamFailed)
    assert events[-1].error.kind == "truncated"
