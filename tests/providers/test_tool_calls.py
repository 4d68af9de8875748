"""Tool calls from every kind of pieces that vendors send: each row is a sequence of pieces and the calls that it means."""

from __future__ import annotations

import time

import msgspec
import pytest

from headwater_codecs.neutral import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from headwater_codecs.openai_chat.wire import CallPiece
from headwater_providers.openai_chat.call import Call, is_json
from headwater_providers.openai_chat.tool_calls import ToolCalls, says_nothing
from headwater_providers.writer import EventWriter

Json = dict[str, object]
MADE_UP = "*"


def piece(index: int | None = None, id: str | None = None, name: str | None = None, args: object = None, **more: object) -> Json:
    """A piece with these parts; None leaves one out."""
    parts = {"index": index, "id": id, **more}
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    return {key: value for key, value in parts.items() if value is not None} | ({"function": function} if function else {})


def call(id: str, name: str, args: str, complete: bool = True, kind: str = "function", signature: str | None = None) -> tuple[object, ...]:
    """An expected call."""
    return id, name, args, complete, kind, signature


def read(pieces: list[Json], *, cut: bool = False, cumulative: bool = False) -> tuple[list[tuple[object, ...]], list[str], str | None]:
    """The calls that the events tell, what was odd, and what was wrong."""
    writer = EventWriter()
    calls = ToolCalls(writer, 0, cumulative)
    odd = [code for value in pieces if (code := calls.feed(msgspec.convert(value, CallPiece))) is not None]
    wrong = calls.finish()
    for last in (False, True):
        for end in calls.ends(last=last, cut=cut):
            writer.close(end)
    return fold(writer.take()), odd, wrong


def fold(events: list[Event]) -> list[tuple[object, ...]]:
    """Events as calls, in the order of their starts; made-up ids become `*`."""
    starts = {event.index: event for event in events if isinstance(event, ToolCallStart)}
    ends = {event.index: event for event in events if isinstance(event, ToolCallEnd)}
    assert len({start.id for start in starts.values()}) == len(starts)
    return [
        call(
            MADE_UP if start.id.startswith("call_") else start.id,
            start.name,
            "".join(event.arguments for event in events if isinstance(event, ToolCallDelta) and event.index == index),
            ends[index].complete,
            start.kind,
            ends[index].signature,
        )
        for index, start in starts.items()
    ]


A1, B2 = '{"a":1}', '{"b":2}'
FA, GB = call("t1", "f", A1), call("t2", "g", B2)
FA_OPEN, A_REST = '{"a"', ":1}"

# The name of the row -> pieces, calls.
CALLS: dict[str, tuple[list[Json], list[tuple[object, ...]]]] = {
    # rule 1: an index is the key
    "index": ([piece(0, "t1", "f", FA_OPEN), piece(0, args=A_REST)], [FA]),
    "index, one whole piece": ([piece(0, "t1", "f", A1)], [FA]),
    "index, header first": ([piece(0, "t1", "f", ""), piece(0, args=FA_OPEN), piece(0, args=A_REST)], [FA]),
    "two indices": ([piece(0, "t1", "f", A1), piece(1, "t2", "g", B2)], [FA, GB]),
    "interleaved": (
        [piece(0, "t1", "f", FA_OPEN), piece(1, "t2", "g", '{"b"'), piece(1, args=":2}"), piece(0, args=A_REST)],
        [FA, GB],
    ),
    "indices that start at one, with holes": ([piece(1, "t1", "f", A1), piece(7, "t2", "g", B2)], [FA, GB]),
    "indices that go down": ([piece(1, "t1", "f", A1), piece(0, "t2", "g", B2)], [FA, GB]),
    "negative index": ([piece(-1, "t1", "f", FA_OPEN), piece(-1, args=A_REST)], [FA]),
    "same index, new id and name": ([piece(0, "t1", "f", A1), piece(0, "t2", "g", B2)], [FA, GB]),
    "same index, new id, same name": ([piece(0, "t1", "f", A1), piece(0, "t2", "f", B2)], [FA, call("t2", "f", B2)]),
    "same index, new id, the same arguments": ([piece(0, "t1", "f", A1), piece(0, "t2", "f", A1)], [FA, call("t2", "f", A1)]),
    "same index, new id, no arguments before": ([piece(0, "t1", "f"), piece(0, "t2", "g", B2)], [call("t1", "f", ""), GB]),
    "same index, new id, {} before": ([piece(0, "t1", "f", "{}"), piece(0, "t2", "f", "{}")], [call("t1", "f", "{}"), call("t2", "f", "{}")]),
    "same index, new id and name while open": ([piece(0, "x1", "f", FA_OPEN), piece(0, "x2", "f", A_REST)], [call("x1", "f", A1)]),
    "same index, new id, other name while open": ([piece(0, "x1", "f", FA_OPEN), piece(0, "x2", "g", A_REST)], [call("x1", "f", A1)]),
    "id changes, no name": ([piece(0, "x1", "f", FA_OPEN), piece(0, "x2", args=":"), piece(0, "x3", args="1}")], [call("x1", "f", A1)]),
    "id changes, and once more at the end": ([piece(0, "x1", "f", A1), piece(0, "x2", args="")], [call("x1", "f", A1)]),
    "id repeated": ([piece(0, "t1", "f", FA_OPEN), piece(0, "t1", args=A_REST)], [FA]),
    "three whole calls at index 0": (
        [piece(0, "t1", "f", A1), piece(0, "t2", "g", B2), piece(0, "t3", "f", "[]")],
        [FA, GB, call("t3", "f", "[]")],
    ),
    "two calls at index 0, in pieces": (
        [piece(0, "t1", "f", ""), piece(0, args=A1), piece(0, "t2", "g", ""), piece(0, args='{"b"'), piece(0, args=":2}")],
        [FA, GB],
    ),
    # rule 2: an unknown index without id and name
    "tail under the next index": ([piece(0, "t1", "f", A1), piece(0, "t2", "g", ""), piece(1, args=B2)], [FA, GB]),
    "tail under the next index, then under its own": ([piece(0, "t1", "f", '{"a"'), piece(1, args=":"), piece(0, args="1}")], [FA]),
    "index counts the pieces": ([piece(0, "t1", "f", FA_OPEN), piece(1, args=":"), piece(2, args="1}")], [FA]),
    "index counts the pieces, id repeated": ([piece(0, "t1", "f", FA_OPEN), piece(1, "t1", args=":"), piece(2, "t1", args="1}")], [FA]),
    "index counts the pieces, id and name repeated": ([piece(0, "t1", "f", FA_OPEN), piece(1, "t1", "f", A_REST)], [FA]),
    "index counts the pieces, name repeated": ([piece(0, None, "f", FA_OPEN), piece(1, None, "f", A_REST)], [call(MADE_UP, "f", A1)]),
    "index counts the pieces, id changes": ([piece(0, "t1", "f", FA_OPEN), piece(1, "t2", args=A_REST)], [FA]),
    "header and arguments under two indices": ([piece(0, "t1", "f"), piece(1, "t1", "f", A1)], [FA]),
    # rule 3: no index
    "no index": ([piece(None, "t1", "f", A1)], [FA]),
    "no index, pieces": ([piece(None, "t1", "f", FA_OPEN), piece(args=A_REST), piece(None, "t2", "g", B2)], [FA, GB]),
    "no index, id in each piece": ([piece(None, "t1", "f", FA_OPEN), piece(None, "t1", args=A_REST), piece(None, "t2", "g", B2)], [FA, GB]),
    "no index, interleaved by id": (
        [piece(None, "t1", "f", FA_OPEN), piece(None, "t2", "g", '{"b"'), piece(None, "t1", args=A_REST), piece(None, "t2", args=":2}")],
        [FA, GB],
    ),
    "no index, no id": ([piece(None, None, "f", A1), piece(None, None, "g", B2)], [call(MADE_UP, "f", A1), call(MADE_UP, "g", B2)]),
    "no index, no id, same name twice": ([piece(None, None, "f", A1), piece(None, None, "f", B2)], [call(MADE_UP, "f", A1), call(MADE_UP, "f", B2)]),
    "no index, no id, name repeated while open": ([piece(None, None, "f", FA_OPEN), piece(None, None, "f", A_REST)], [call(MADE_UP, "f", A1)]),
    "no index, no id, header first": ([piece(None, None, "f"), piece(None, None, "f", A1)], [call(MADE_UP, "f", A1)]),
    "no index, no id, other name while open": (
        [piece(None, None, "f", FA_OPEN), piece(None, None, "g", B2)],
        [call(MADE_UP, "f", FA_OPEN, complete=False), call(MADE_UP, "g", B2)],
    ),
    "no index, id first and name later": ([piece(None, "t1", type="function"), piece(None, None, "f", A1)], [FA]),
    "no index, arguments before the name": ([piece(None, "t1", None, FA_OPEN), piece(None, None, "f", A_REST)], [FA]),
    "no index, id changes": ([piece(None, "t1", "f", FA_OPEN), piece(None, "t2", args=A_REST)], [FA]),
    "no index, id changes, name repeated": ([piece(None, "t1", "f", FA_OPEN), piece(None, "t2", "f", A_REST)], [FA]),
    "no index, new id while the last was cut": (
        [piece(None, "t1", "f", FA_OPEN), piece(None, "t2", "f", B2)],
        [call("t1", "f", FA_OPEN, complete=False), call("t2", "f", B2)],
    ),
    "no index on the first only": (
        [piece(None, "t1", "f", "{}"), piece(1, "t2", "g", '{"b":'), piece(1, args="2}")],
        [call("t1", "f", "{}"), GB],
    ),
    "index on the first only": ([piece(0, "t1", "f", FA_OPEN), piece(args=A_REST), piece(None, "t2", "g", B2)], [FA, GB]),
    "calls without arguments, no index": ([piece(None, "t1", "f"), piece(None, "t2", "f")], [call("t1", "f", ""), call("t2", "f", "")]),
    # nothing equals absent
    "empty id and name later": ([piece(0, "t1", "f", FA_OPEN), piece(0, "", "", A_REST)], [FA]),
    "empty id and name later, no index": ([piece(None, "t1", "f", FA_OPEN), piece(None, "", "", A_REST)], [FA]),
    "empty id first": ([piece(0, "", "f", A1)], [call(MADE_UP, "f", A1)]),
    "id that is the word null": ([piece(0, "null", "f", A1), piece(1, "None", "g", B2)], [call(MADE_UP, "f", A1), call(MADE_UP, "g", B2)]),
    "name of white space": ([piece(0, "t1", " ", ""), piece(0, None, "f", A1)], [FA]),
    "places that nothing stands in": ([piece(0), piece(1), piece(0, type="function"), piece(0, "t1", "f", A1)], [FA]),
    "function is null": ([{"index": 0, "id": "t1", "function": None}, piece(0, None, "f", A1)], [FA]),
    # ids
    "no ids": ([piece(0, None, "f", A1), piece(1, None, "f", B2)], [call(MADE_UP, "f", A1), call(MADE_UP, "f", B2)]),
    "id comes late, before the arguments": ([piece(0, None, "f"), piece(0, "t1"), piece(0, args=A1)], [FA]),
    "id comes with the arguments": ([piece(0, None, "f"), piece(0, "t1", args=A1)], [FA]),
    "id comes after the arguments began": ([piece(0, None, "f", FA_OPEN), piece(0, "t1", "f", A_REST)], [call(MADE_UP, "f", A1)]),
    "id comes when the arguments are whole": (
        [piece(0, None, "f", A1), piece(0, "t2", "g", B2)],
        [call(MADE_UP, "f", A1), GB],
    ),
    # rule 4: names
    "name in pieces": ([piece(0, "t1", "get_"), piece(0, None, "weather"), piece(0, args="{}")], [call("t1", "get_weather", "{}")]),
    "name repeated": ([piece(0, "t1", "f", FA_OPEN), piece(0, "t1", "f", ":"), piece(0, "t1", "f", "1}")], [FA]),
    "name repeated before the arguments": ([piece(0, "t1", "f"), piece(0, "t1", "f"), piece(0, args=A1)], [FA]),
    "name in pieces, then whole": (
        [piece(0, "t1", "get_"), piece(0, None, "x"), piece(0, None, "get_x"), piece(0, args=A1)],
        [call("t1", "get_x", A1)],
    ),
    "name after the arguments": ([piece(0, "t1", None, A1), piece(0, None, "f")], [FA]),
    "name changes after the arguments began": ([piece(0, "t1", "f", FA_OPEN), piece(0, None, "g", A_REST)], [FA]),
    # rule 5: the end
    "no arguments": ([piece(0, "t1", "f")], [call("t1", "f", "")]),
    "empty arguments": ([piece(0, "t1", "f", "")], [call("t1", "f", "")]),
    "blank arguments": ([piece(0, "t1", "f", " \n")], [call("t1", "f", " \n")]),
    "cut arguments": ([piece(0, "t1", "f", '{"a":"lon')], [call("t1", "f", '{"a":"lon', complete=False)]),
    "arguments that are no JSON": ([piece(0, "t1", "f", "a: 1")], [call("t1", "f", "a: 1", complete=False)]),
    "arguments with NaN": ([piece(0, "t1", "f", '{"a":NaN}')], [call("t1", "f", '{"a":NaN}', complete=False)]),
    "arguments with half a surrogate pair": ([piece(0, "t1", "f", '{"a":"\\ud83d"}')], [call("t1", "f", '{"a":"\\ud83d"}', complete=False)]),
    "arguments with something behind": ([piece(0, "t1", "f", A1), piece(0, args="}")], [call("t1", "f", A1 + "}", complete=False)]),
    "arguments that are a list": ([piece(0, "t1", "f", "[1"), piece(0, args=",2]")], [call("t1", "f", "[1,2]")]),
    "arguments that are a number": ([piece(0, "t1", "f", "1"), piece(0, args="2")], [call("t1", "f", "12")]),
    "arguments that are a text": ([piece(0, "t1", "f", '"a'), piece(0, args='b"')], [call("t1", "f", '"ab"')]),
    "brackets in texts do not count": (
        [piece(0, "t1", "f", '{"a":"}'), piece(0, "x2", "f", '\\"]"'), piece(0, "x3", "f", "}")],
        [call("t1", "f", '{"a":"}\\"]"}')],
    ),
    "an escape that is cut": (
        [piece(0, "t1", "f", '{"a":"\\'), piece(0, "x2", "f", '"}'), piece(0, "x3", "f", '"}')],
        [call("t1", "f", '{"a":"\\"}"}')],
    ),
    # arguments that are not text
    "arguments as an object": ([piece(0, "t1", "f", {"a": 1})], [FA]),
    "arguments as an empty object": ([piece(0, "t1", "f", {})], [call("t1", "f", "{}")]),
    "arguments as a list": ([piece(0, "t1", "f", [1])], [call("t1", "f", "[1]")]),
    "no function around name and arguments": ([{"id": "t1", "name": "f", "arguments": A1}], [FA]),
    # rule 6: whole arguments take nothing more
    "same index, no ids": ([piece(0, None, "f", A1), piece(0, None, "g", B2)], [call(MADE_UP, "f", A1), call(MADE_UP, "g", B2)]),
    "same index, no ids, same name": ([piece(0, None, "f", A1), piece(0, None, "f", B2)], [call(MADE_UP, "f", A1), call(MADE_UP, "f", B2)]),
    "header repeated at the end": ([piece(0, "t1", "f", A1), piece(0, "t1", "f", "")], [FA]),
    "white space behind": ([piece(0, "t1", "f", A1), piece(0, args="\n")], [FA]),
    # rule 8: placeholders
    "{} stands in for arguments": ([piece(0, "t1", "f", "{}"), piece(0, args=FA_OPEN), piece(0, args=A_REST)], [FA]),
    "{} stands in, header repeated": ([piece(0, "t1", "f", "{}"), piece(0, "t1", "f", A1)], [FA]),
    "{} stands in, as an object": ([piece(0, "t1", "f", {}), piece(0, args=A1)], [FA]),
    "{} is all": ([piece(0, "t1", "f", "{}"), piece(1, "t2", "g", "{}")], [call("t1", "f", "{}"), call("t2", "g", "{}")]),
    "{} and something else": ([piece(0, "t1", "f", "{}"), piece(0, args="x")], [call("t1", "f", "{}x", complete=False)]),
    "{} and white space": ([piece(0, "t1", "f", "{}"), piece(0, args=" ")], [call("t1", "f", "{}")]),
    "null for none": ([piece(0, "t1", "f", "null")], [call("t1", "f", "")]),
    "null, then arguments": ([piece(0, "t1", "f", "null"), piece(0, args=A1)], [FA]),
    # custom tools
    "custom": (
        [{"index": 0, "id": "t1", "type": "custom", "custom": {"name": "sh", "input": "ls "}}, {"index": 0, "custom": {"input": "-l"}}],
        [call("t1", "sh", "ls -l", kind="custom")],
    ),
    "custom, type on the header": (
        [{"index": 0, "id": "t1", "type": "custom"}, {"index": 0, "custom": {"name": "sh", "input": "ls"}}],
        [call("t1", "sh", "ls", kind="custom")],
    ),
    "custom, type comes late": (
        [{"index": 0, "id": "t1"}, {"index": 0, "custom": {"name": "sh", "input": "{}"}}],
        [call("t1", "sh", "{}", kind="custom")],
    ),
    "custom, no input": ([{"index": 0, "id": "t1", "custom": {"name": "sh"}}], [call("t1", "sh", "", kind="custom")]),
    "custom, two at the same index": (
        [{"index": 0, "id": "t1", "custom": {"name": "a", "input": "x"}}, {"index": 0, "id": "t2", "custom": {"name": "b", "input": "y"}}],
        [call("t1", "a", "x", kind="custom"), call("t2", "b", "y", kind="custom")],
    ),
    "custom, text that looks like JSON goes on": (
        [{"index": 0, "id": "t1", "custom": {"name": "a", "input": "{}"}}, {"index": 0, "custom": {"input": "{}"}}],
        [call("t1", "a", "{}{}", kind="custom")],
    ),
    # signatures
    "signature beside the function": (
        [piece(0, "t1", "f", A1, extra_content={"google": {"thought_signature": "SIG"}}), piece(0, extra_content={"google": None})],
        [call("t1", "f", A1, signature="SIG")],
    ),
    # text
    "characters cut in pieces": ([piece(0, "t1", "f", '{"a":"é'), piece(0, args='🚀"}')], [call("t1", "f", '{"a":"é🚀"}')]),
}  # fmt: skip


@pytest.mark.rows("OR-CCS-06", "OR-CCS-07", "OR-CCS-08", "AMB-28", "ISS-36", "ISS-40", "ISS-41")
@pytest.mark.parametrize(("pieces", "expected"), CALLS.values(), ids=CALLS)
def test_calls(pieces: list[Json], expected: list[tuple[object, ...]]) -> None:
    """The pieces make these calls, and none is odd or wrong."""
    assert read(pieces) == (expected, [], None)


@pytest.mark.parametrize(
    ("pieces", "expected", "odd"),
    [
        ([piece(0, "t1", "f", FA_OPEN), piece(0, args=A_REST), piece(0, "t1", "f", A1)], [FA], ["repeated_arguments"]),
        ([piece(0, "t1", "f", A1), piece(0, args=A1)], [FA], ["repeated_arguments"]),
        ([piece(None, "t1", "f", A1), piece(None, "t1", "f", A1)], [FA], ["repeated_arguments"]),
        ([piece(0, None, "f", A1), piece(0, "t1", "f", A1)], [call(MADE_UP, "f", A1)], ["repeated_arguments"]),
        ([piece(0, "t1", "f", "{}"), piece(0, args="{}")], [call("t1", "f", "{}")], ["repeated_arguments"]),
        ([piece(0, "t1", "f", A1), piece(1, "t1", "g", B2)], [FA, call(MADE_UP, "g", B2)], ["repeated_call_id"]),
        ([piece(0, "t1", "f", A1), piece(1, "t1", "f", B2)], [FA, call(MADE_UP, "f", B2)], ["repeated_call_id"]),
        ([piece(0, "t1", "f", A1), piece(0, "t1", "f", B2)], [FA, call(MADE_UP, "f", B2)], ["repeated_call_id"]),
        (
            [piece(None, "t1", "f", A1), piece(None, "t1", "g", '{"b"'), piece(None, "t1", args=":2}")],
            [FA, call(MADE_UP, "g", B2)],
            ["repeated_call_id"],
        ),
    ],
)
def test_odd_calls(pieces: list[Json], expected: list[tuple[object, ...]], odd: list[str]) -> None:
    """Repetitions are left out, an id is nobody else's, and both are told."""
    assert read(pieces) == (expected, odd, None)


@pytest.mark.rows("ISS-36")
@pytest.mark.parametrize(
    ("pieces", "wrong"),
    [
        ([piece(0, "t1", None, A1)], "tool call t1 never got a name"),
        ([piece(0, None, None, A1)], "tool call without id never got a name"),
        ([piece(0, "t1")], "tool call t1 never got a name"),
        ([piece(0, "t1", "f", A1), piece(1, "t2", None, B2)], "tool call t2 never got a name"),
    ],
)
def test_nameless(pieces: list[Json], wrong: str) -> None:
    """A call that never gets a name makes the answer unreadable; the others are still told."""
    calls, _, told = read(pieces)
    assert told == wrong
    assert calls == [FA] * (len(pieces) - 1)


@pytest.mark.rows("AMB-09", "ISS-34")
@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([piece(0, "t1", "f")], [call("t1", "f", "", complete=False)]),
        ([piece(0, "t1", "f", "null")], [call("t1", "f", "", complete=False)]),
        ([piece(0, "t1", "f", A1)], [FA]),
        ([piece(0, "t1", "f"), piece(1, "t2", "g", '{"b"')], [call("t1", "f", ""), call("t2", "g", '{"b"', complete=False)]),
        ([{"index": 0, "id": "t1", "custom": {"name": "sh", "input": "rm -rf /tm"}}], [call("t1", "sh", "rm -rf /tm", False, "custom")]),
    ],
)
def test_cut(pieces: list[Json], expected: list[tuple[object, ...]]) -> None:
    """Where the answer was broken off, the newest call without arguments, or with free text, may not be run."""
    assert read(pieces, cut=True) == (expected, [], None)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([piece(0, "t1", "f", FA_OPEN), piece(0, "t1", "f", A1), piece(0, "t1", "f", A1)], [FA]),
        ([piece(0, "t1", "get"), piece(0, "t1", "get_x"), piece(0, "t1", "get_x", A1)], [call("t1", "get_x", A1)]),
        ([piece(0, "t1", "f", "{}"), piece(0, "t1", "f", A1)], [FA]),
        ([piece(0, "t1", "f", A1), piece(0, "t2", "g", B2)], [FA, GB]),
        ([piece(0, "t1", "f", A1), piece(1, "t2", "g", '{"b"'), piece(0, "t1", "f", A1), piece(1, "t2", "g", B2)], [FA, GB]),
    ],
)
def test_cumulative(pieces: list[Json], expected: list[tuple[object, ...]]) -> None:
    """Where deltas repeat what was so far, names and arguments do too."""
    assert read(pieces, cumulative=True) == (expected, [], None)


def test_events_go_out_at_once() -> None:
    """A call starts with its first argument, and every fragment is sent as it comes."""
    writer = EventWriter()
    calls = ToolCalls(writer, 3)
    seen = []
    for value in (piece(0, "t1", "f"), piece(0, args="{"), piece(0, args='"a":'), piece(0, args="1}")):
        calls.feed(msgspec.convert(value, CallPiece))
        seen.append([event for event in writer.take() if type(event) in (ToolCallStart, ToolCallDelta)])
    assert seen == [[], [ToolCallStart(0, "t1", "f", 3), ToolCallDelta(0, "{")], [ToolCallDelta(0, '"a":')], [ToolCallDelta(0, "1}")]]


def test_late_arguments() -> None:
    """A call that may get more stays open at the finish reason; a closed one takes nothing, whatever comes."""
    writer = EventWriter()
    calls = ToolCalls(writer, 0)

    def feed(value: Json) -> str | None:
        return calls.feed(msgspec.convert(value, CallPiece))

    for value in (piece(0, "t1", "f", A1), piece(1, "t2", "g", '{"b"'), piece(2, "t3", "h")):
        assert feed(value) is None
    assert calls.finish() is None
    assert calls.ends(last=False, cut=False) == [ToolCallEnd(0)]
    assert feed(piece(0, args="x")) == "late_arguments"
    assert feed(piece(0, args=A1)) == "repeated_arguments"
    assert feed(piece(0, args=" ")) is None
    assert feed(piece(1, args=":2}")) is None
    assert feed(piece(2, args="{}")) is None
    assert calls.finish() is None
    assert calls.ends(last=True, cut=False) == [ToolCallEnd(1), ToolCallEnd(2)]
    assert [call.complete for call in calls.calls] == [True, True, True]
    assert calls.ends(last=True, cut=False) == []


def test_late_custom_input() -> None:
    """Free text is closed with the finish reason, since nobody can see whether it is whole."""
    calls = ToolCalls(EventWriter(), 0)
    custom = {"index": 0, "id": "t1", "custom": {"name": "sh", "input": "ls"}}
    assert calls.feed(msgspec.convert(custom, CallPiece)) is None
    assert calls.ends(last=False, cut=False) == [ToolCallEnd(0)]
    assert calls.feed(msgspec.convert({"index": 0, "custom": {"input": " -l"}}, CallPiece)) == "late_arguments"


def test_half_a_surrogate_pair() -> None:
    """A pair cut between two pieces is joined; one that stays alone is replaced at the end."""
    for tail, text in (('\ude80"}', '{"a":"🚀"}'), ("", '{"a":"\ufffd')):
        calls, _, _ = read([piece(0, "t1", "f", '{"a":"\ud83d'), piece(0, args=tail)])
        assert calls == [call("t1", "f", text, complete=tail != "")]


def test_legacy_call() -> None:
    """The old field holds one call; another name with whole arguments is another one all the same."""
    writer = EventWriter()
    calls = ToolCalls(writer, 0)
    for value in (piece(None, None, "f", ""), piece(args=FA_OPEN), piece(args=A_REST), piece(None, None, "g", B2)):
        assert calls.feed(msgspec.convert(value, CallPiece), legacy=True) is None
    assert calls.is_legacy
    for end in calls.ends(last=True, cut=False):
        writer.close(end)
    assert fold(writer.take()) == [call(MADE_UP, "f", A1), call(MADE_UP, "g", B2)]


@pytest.mark.parametrize(
    ("value", "nothing"),
    [
        ({}, True),
        (piece(3, type="function"), True),
        (piece(0, "", "", ""), True),
        (piece(0, "t1"), False),
        (piece(0, None, "f"), False),
        (piece(0, args={}), False),
        ({"name": "f"}, False),
        ({"custom": {"input": "a"}}, False),
        ({"arguments": "a"}, False),
        ({"extra_content": {"a": 1}}, False),
    ],
)
def test_says_nothing(value: Json, nothing: bool) -> None:
    """A place that nothing stands in is no piece of a call."""
    assert says_nothing(msgspec.convert(value, CallPiece)) is nothing


@pytest.mark.parametrize("text", ["{", '{"a":1}}', "", " ", "[" * 100_000, '{"a":1e999}', "{'a':1}", "\x00"])
def test_no_json(text: str) -> None:
    """What no strict parser takes is no JSON, and never raises."""
    assert not is_json(text)


@pytest.mark.parametrize("text", ["}" * 7, "ab", '"a" b', "{]", "word", "{} {}"])
def test_garbage_stays_linear(text: str) -> None:
    """Arguments that look whole again and again are not parsed again and again."""
    started = time.process_time()
    call = Call()
    for _ in range(20_000):
        call.fragments.append(text)
        assert not call.whole or len(call.fragments) == 1
    assert time.process_time() - started < 2
