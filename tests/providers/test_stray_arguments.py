"""Arguments for what is no open call, and calls without a name: left out with a note, never an exception or an unlawful event."""

from __future__ import annotations

import headwater as hw
from headwater import Event

CREATED = '{"type":"response.created","response":{"id":"r","model":"m"}}'
COMPLETED = '{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}'
CALL = '"item":{"id":"i","type":"function_call","call_id":"c","name":"f","arguments":"{}"}}'
STRAY = '{"type":"response.function_call_arguments.delta","item_id":"i","output_index":0,"delta":"x"}'
STEP_END = '{"event_type":"interaction.completed","interaction":{"status":"requires_action"}}'


def read(protocol: str, *frames: str) -> tuple[list[Event], list[str]]:
    """The events but for the first and the counts, and the codes of the diagnostics."""
    body = "".join(f"data: {frame}\n\n" for frame in frames).encode()
    events = hw.decode_events(protocol, [body])
    return events[1:], [diagnostic.code for diagnostic in hw.decode(protocol, [body]).diagnostics]


def test_after_the_end_of_the_call() -> None:
    """The call stands as it ended."""
    done = '{"type":"response.output_item.done","output_index":0,' + CALL
    events, notes = read("openai-responses", CREATED, done, STRAY, COMPLETED)
    end = events[2]
    assert isinstance(end, hw.ToolCallEnd)
    assert end.complete
    assert events == [
        hw.ToolCallStart(0, "c", "f", item_id="i"),
        hw.ToolCallDelta(0, "{}"),
        end,  # its `meta` is compared by identity
        hw.ChoiceEnd(0, "tool_calls", "completed"),
        hw.Finish("tool_calls", "completed"),
    ]
    assert notes == ["odd_delta"]


def test_for_another_item() -> None:
    """An item that is kept as it is has no arguments."""
    added = '{"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":{}}}'
    events, notes = read("openai-responses", CREATED, added, STRAY, COMPLETED)
    assert events[0] == hw.OpaqueStart(0, "unknown", item_id="i")
    assert [type(event) for event in events[1:]] == [hw.OpaqueEnd, hw.ChoiceEnd, hw.Finish]
    assert notes == ["odd_delta"]


def test_a_kind_that_cannot_be_written() -> None:
    """A lone surrogate in the type of an item is replaced."""
    added = '{"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":"\\ud83d"}}'
    events, notes = read("openai-responses", CREATED, added, COMPLETED)
    assert (events[0], notes) == (hw.OpaqueStart(0, "\ufffd", item_id="i"), [])


def test_no_name_in_a_whole_response() -> None:
    """Nobody can run it."""
    whole = '{"object":"response","id":"r","status":"completed","output":[{"type":"function_call","call_id":"c","name":0,"arguments":"{}"}]}'
    assert read("openai-responses", whole) == ([hw.ChoiceEnd(0, "stop", "completed"), hw.Finish("stop", "completed")], ["nameless_call"])


def test_no_name_in_a_step() -> None:
    """Neither the call nor its signature nor its arguments are heard of."""
    start = '{"event_type":"step.start","index":0,"step":{"type":"function_call","arguments":{"a":1},"signature":"S"}}'
    more = '{"event_type":"step.delta","index":0,"delta":{"type":"thought_signature","signature":"S"}}'
    events, notes = read("gemini-interactions", start, more, STEP_END)
    assert [type(event) for event in events] == [hw.ChoiceEnd, hw.Finish]
    assert notes == ["nameless_call"]


def test_prose_in_a_step_of_a_call() -> None:
    """The call ends with the arguments that it was given; the text is a block of its own."""
    start = '{"event_type":"step.start","index":0,"step":{"type":"function_call","id":"c","name":"f","arguments":{"a":1}}}'
    text = '{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"Hi"}}'
    events, _ = read("gemini-interactions", start, text, STEP_END)
    assert events[:6] == [
        hw.ToolCallStart(0, "c", "f"),
        hw.ToolCallDelta(0, '{"a":1}'),
        hw.ToolCallEnd(0),
        hw.TextStart(1),
        hw.TextDelta(1, "Hi"),
        hw.TextEnd(1),
    ]
