"""What `ResponsesEncoder` writes, event by event, where a client is particular."""

from __future__ import annotations

import json

import pytest

import headwater
from headwater_codecs.neutral import (
    ChoiceEnd,
    Event,
    Finish,
    LocalProtocolError,
    OpaqueEnd,
    OpaqueStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from headwater_codecs.openai_responses.encode import ResponsesEncoder

START = StreamStart("m", "r")
END: list[Event] = [ChoiceEnd(0, "stop", "stop"), Finish("stop", "stop", Usage(1, 2))]
Json = dict[str, object]
ITEM = b'{"id":"ws1","type":"web_search_call","n":1.50,  "q":"\xc3\xa9"}'


def encoder() -> ResponsesEncoder:
    """A fresh one."""
    return ResponsesEncoder(model="m", id="r", created=7)


def written(*events: Event) -> list[Json]:
    """The JSON of every frame of a stream of these events; each frame says its type twice, and they are numbered from 0."""
    frames = encoder().feed([START, *events, *END]).decode().split("\n\n")
    assert frames.pop() == ""
    found: list[Json] = []
    for number, frame in enumerate(frames):
        name, _, data = frame.partition("\n")
        value = json.loads(data.removeprefix("data: "))
        assert (name, value.pop("sequence_number")) == (f"event: {value['type']}", number)
        found.append(value)
    return found


def short(frames: list[Json]) -> list[object]:
    """Each event's type, and the item that it is about."""
    return [(str(frame["type"]).removeprefix("response."), frame["output_index"]) if "output_index" in frame else frame["type"] for frame in frames]


def output(frames: list[Json]) -> list[Json]:
    """The items that the terminal event lists."""
    response = frames[-1]["response"]
    assert isinstance(response, dict)
    items = response["output"]
    assert isinstance(items, list)
    return items


def test_order_of_a_message() -> None:
    """The order that clients demand."""
    assert short(written(TextStart(0), TextDelta(0, "Hi"), TextEnd(0))) == [
        "response.created",
        "response.in_progress",
        ("output_item.added", 0),
        ("content_part.added", 0),
        ("output_text.delta", 0),
        ("output_text.done", 0),
        ("content_part.done", 0),
        ("output_item.done", 0),
        "response.completed",
    ]


def test_order_of_reasoning_and_a_call() -> None:
    """Reasoning with its summary, then a call; every block is an item."""
    reasoning = [ReasoningStart(0), ReasoningDelta(0, "a"), ReasoningEnd(0, data="ENC=")]
    assert short(written(*reasoning, ToolCallStart(1, "c", "f"), ToolCallDelta(1, "{}"), ToolCallEnd(1)))[2:-1] == [
        ("output_item.added", 0),
        ("reasoning_summary_part.added", 0),
        ("reasoning_summary_text.delta", 0),
        ("reasoning_summary_text.done", 0),
        ("reasoning_summary_part.done", 0),
        ("output_item.done", 0),
        ("output_item.added", 1),
        ("function_call_arguments.delta", 1),
        ("function_call_arguments.done", 1),
        ("output_item.done", 1),
    ]


def test_whole_frames() -> None:
    """The bytes of a call's frames."""
    call = [ToolCallStart(0, "c1", "f", item_id="fc1"), ToolCallDelta(0, "{}"), ToolCallEnd(0)]
    item = '{"id":"fc1","type":"function_call","status":"%s","call_id":"c1","name":"f","arguments":"%s"}'
    assert encoder().feed([START, *call]).decode().split("\n\n", 2)[2] == (
        'event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":2,"output_index":0,'
        '"item":' + item % ("in_progress", "") + "}\n\n"
        'event: response.function_call_arguments.delta\ndata: {"type":"response.function_call_arguments.delta","sequence_number":3,'
        '"item_id":"fc1","output_index":0,"delta":"{}"}\n\n'
        'event: response.function_call_arguments.done\ndata: {"type":"response.function_call_arguments.done","sequence_number":4,'
        '"item_id":"fc1","output_index":0,"name":"f","arguments":"{}"}\n\n'
        'event: response.output_item.done\ndata: {"type":"response.output_item.done","sequence_number":5,"output_index":0,'
        '"item":' + item % ("completed", "{}") + "}\n\n"
    )


def test_the_end_lists_items_in_their_order() -> None:
    """Not in the order in which they ended: clients find an item by its `output_index`."""
    frames = written(
        TextStart(0), ToolCallStart(1, "c", "f"), TextDelta(0, "x"), ToolCallDelta(1, "{}"), ToolCallEnd(1), TextDelta(0, "y"), TextEnd(0)
    )
    assert [item["type"] for item in output(frames)] == ["message", "function_call"]


def test_items_are_numbered_as_they_are_announced() -> None:
    """An item that is written at its end has the number of that moment: clients append what is announced."""
    frames = written(OpaqueStart(0, "web_search_call"), TextStart(1), TextDelta(1, "x"), TextEnd(1), OpaqueEnd(0, True, ITEM))
    announced = [(frame["output_index"], frame["item"]) for frame in frames if frame["type"] == "response.output_item.added"]
    assert [index for index, _ in announced] == [0, 1]
    assert [item["type"] for item in output(frames)] == ["message", "web_search_call"]


def test_an_item_that_cannot_be_written_takes_no_number() -> None:
    """One that never came."""
    frames = written(OpaqueStart(0, "web_search_call"), OpaqueEnd(0, False), TextStart(1), TextDelta(1, "x"), TextEnd(1))
    assert [frame["output_index"] for frame in frames if frame["type"] == "response.output_item.added"] == [0]


def test_an_item_goes_out_as_it_came() -> None:
    """Byte for byte, and comes back so."""
    data = encoder().feed([START, OpaqueStart(0, "web_search_call", item_id="ws1"), OpaqueEnd(0, True, ITEM), *END])
    assert data.count(ITEM) == 3
    assert [block.raw for block in headwater.decode("openai-responses", [data]).blocks] == [ITEM]


def test_an_item_of_several_lines() -> None:
    """A line's end would end the frame's line."""
    frames = written(OpaqueStart(0, "x", item_id="i"), OpaqueEnd(0, True, b'{\n"type": "x"\r\n}'))
    assert output(frames) == [{"id": "i", "type": "x"}]


def test_every_item_has_an_id_of_its_own() -> None:
    """Two blocks of one message are two items."""
    frames = written(TextStart(0, 0, "m1"), TextDelta(0, "x"), TextEnd(0), RefusalStart(1, 0, "m1"), RefusalDelta(1, "y"), RefusalEnd(1))
    assert [item["id"] for item in output(frames)] == ["m1", "msg_r_1"]


def test_ids_stay() -> None:
    """An item's id is the same in all its events."""
    frames = written(ToolCallStart(0, "c", "f", kind="custom"), ToolCallDelta(0, "ls"), ToolCallEnd(0))
    ids = [frame["item_id"] if "item_id" in frame else frame["item"]["id"] for frame in frames if "output_index" in frame]  # type: ignore[index]
    assert ids == ["ctc_r_0"] * 4


def test_further_choices_are_left_out() -> None:
    """This wire has one."""
    frames = written(TextStart(0, 1), TextDelta(0, "x"), TextEnd(0), OpaqueStart(1, "x", 1), OpaqueEnd(1, True, b'{"type":"x"}'))
    assert short(frames) == ["response.created", "response.in_progress", "response.completed"]


@pytest.mark.parametrize(
    "events",
    [
        [TextDelta(0, "x")],
        [TextEnd(0)],
        [ReasoningDelta(0, "x")],
        [RefusalDelta(0, "x")],
        [ToolCallDelta(0, "{}")],
        [OpaqueEnd(0)],
        [TextStart(0), TextEnd(0), TextDelta(0, "late")],
    ],
)
def test_blocks_that_are_not_open(events: list[Event]) -> None:
    """An event for one is a mistake of the caller's."""
    with pytest.raises(LocalProtocolError):
        encoder().feed([START, *events])
