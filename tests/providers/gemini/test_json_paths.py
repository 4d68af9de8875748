"""Arguments that come value by value: texts grow in linear time, and half characters meet."""

from __future__ import annotations

from typing import Any

from headwater_providers.gemini.json_paths import joined, put
from told import sse, told


def test_texts_grow() -> None:
    """Pieces of a text are joined, other values replace it and are replaced."""
    root: dict[str, object] = {}
    pieces: list[tuple[str, object]] = [("$.a", "x"), ("$.a", "y"), ("$.a", "z"), ("$.b[1].c", "1"), ("$.b[1].c", "2")]
    for path, value in [*pieces, ("$.d", "t"), ("$.d", 1), ("$.e", 1), ("$.e", "t")]:
        assert put(root, path, value)
    assert joined(root) == {"a": "xyz", "b": [None, {"c": "12"}], "d": 1, "e": "t"}


def test_a_text_in_a_hundred_thousand_pieces() -> None:
    """Pieces are kept, not copied into a longer text each time."""
    root: dict[str, object] = {}
    for _ in range(100_000):
        put(root, "$.a", "0123456789")
    held: Any = root["a"]
    assert len(held.pieces) == 100_000
    assert joined(root) == {"a": "0123456789" * 100_000}


def test_a_deep_path() -> None:
    """Deep nesting neither fails nor is lost on the way."""
    root: dict[str, object] = {}
    assert put(root, "$" + ".a" * 5000, "x")
    assert put(root, "$" + ".a" * 5000, "y")
    value: Any = joined(root)
    for _ in range(5000):
        value = value["a"]
    assert value == "xy"


def test_half_characters_of_two_pieces_meet() -> None:
    """A character that the pieces part is whole in the arguments; half ones are replaced, in names too."""
    start = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "id": "c1", "willContinue": True}}]}}]}
    pieces = [{"jsonPath": "$.a", "stringValue": "A"}, {"jsonPath": "$.a", "stringValue": "B"}, {"jsonPath": "$['\\ud83d']", "boolValue": True}]
    more = {"candidates": [{"content": {"parts": [{"functionCall": {"partialArgs": pieces}}]}, "finishReason": "STOP"}]}
    data = sse(start, more).replace(b'"A"', b'"\\ud83d"').replace(b'"B"', b'"\\ude80"')
    assert told("gemini", data) == [("call", "c1", "f", '{"a":"\N{ROCKET}","\ufffd":true}'), ("tool_calls", "STOP")]
