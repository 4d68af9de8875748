"""Cutting bytes in every way that matters, feeding a stage, and reading the wire fixtures."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple, Protocol, TypeVar

import msgspec
import pytest
from _pytest.mark import ParameterSet

from aws_messages import aws_bytes
from headwater_codecs.neutral import Event, RawFrame

FIXTURES = Path(__file__).parent / "fixtures"
RANDOM_CUTS = 20
MADE_UP_ID = "*"  # stands in a fixture for a call id that Headwater made up

_Item = TypeVar("_Item", covariant=True)
_Case = TypeVar("_Case")
Json = dict[str, object]


class Stage(Protocol[_Item]):
    """A parser or a decoder: bytes in, items out."""

    def feed(self, data: bytes, /) -> Sequence[_Item]: ...

    def finish(self) -> Sequence[_Item]: ...


def every_split(data: bytes, *, two_way: bool = True) -> Iterator[list[bytes]]:
    """The same bytes whole, byte by byte, cut in two at every place (unless `two_way` is off), and at 20 seeded random choices of places."""
    yield [data]
    yield [data[position : position + 1] for position in range(len(data))]
    if two_way:
        for position in range(1, len(data)):
            yield [data[:position], data[position:]]
    for seed in range(RANDOM_CUTS):
        generator = random.Random(seed)
        cuts = sorted(generator.randrange(len(data) + 1) for _ in range(generator.randint(1, 30)))  # equal ones give empty reads
        yield [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def feed_all(stage: Stage[_Item], chunks: Iterable[bytes]) -> list[_Item]:
    """Everything that a stage gives for these reads and at their end."""
    items: list[_Item] = []
    for chunk in chunks:
        items += stage.feed(chunk)
    items += stage.finish()
    return items


def count_calls(work: Callable[[], None]) -> int:
    """How many functions run while `work` does: a measure that no load of the machine changes."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def with_rows(cases: Mapping[str, _Case], rows: Mapping[str, str]) -> list[ParameterSet]:
    """The cases of a table as parameters, by name; some are marked with the rows that they cover, as words. A name that is no case is an error."""
    assert rows.keys() <= cases.keys(), sorted(rows.keys() - cases.keys())
    return [pytest.param(case, id=name, marks=[pytest.mark.rows(*rows[name].split())] if name in rows else ()) for name, case in cases.items()]


class Fixture(NamedTuple):
    """A response body, how it is to be read, and the events that must come out, as plain JSON values (see `plain_events`)."""

    name: str
    data: bytes
    content_type: str
    options: Json
    events: list[Json]


def fixtures(protocol: str) -> list[Fixture]:
    """The fixtures of a protocol: `<case>.sse` (or `.ndjson`, `.json`, `.html`, `.aws`) beside `<case>.events.jsonl`, with `<case>.settings.json`."""
    return [_fixture(expected) for expected in sorted((FIXTURES / protocol).glob("*.events.jsonl"))]


def _fixture(expected: Path) -> Fixture:
    name = expected.name.removesuffix(".events.jsonl")
    body = next(path for suffix in _CONTENT_TYPES if (path := expected.with_name(name + suffix)).exists())
    settings_file = expected.with_name(name + ".settings.json")
    settings = msgspec.json.decode(settings_file.read_bytes(), type=_Settings) if settings_file.exists() else _Settings()
    events = [_plain(line) for line in expected.read_bytes().splitlines()]
    data = aws_bytes(body.read_bytes()) if body.suffix == ".aws" else body.read_bytes()
    return Fixture(name, data, settings.content_type or _CONTENT_TYPES[body.suffix], settings.options, events)


def plain_events(events: Iterable[Event], expected: Sequence[Json] = ()) -> list[Json]:
    """Events as plain JSON values, without what no fixture can know: raw frames, and of an error all but its kind and whether to retry.

    Where `expected` has a made-up call id (`*`), the id of the same event becomes `*` too, after it was seen to be nobody else's.
    """
    plain: list[Json] = []
    made_up: set[object] = set()
    for event in events:
        if isinstance(event, RawFrame):
            continue
        value = _plain(msgspec.json.encode(event))
        position = len(plain)
        if value["type"] == "tool_call_start" and position < len(expected) and expected[position].get("id") == MADE_UP_ID:
            assert value["id"], "the made-up id is empty"
            assert value["id"] not in made_up, f"two calls have the made-up id {value['id']}"
            made_up.add(value["id"])
            value["id"] = MADE_UP_ID
        plain.append(value)
    return plain


def _plain(line: bytes) -> Json:
    value = msgspec.json.decode(line, type=Json)
    if isinstance(error := value.get("error"), dict):
        value["error"] = {"kind": error["kind"], "retryable": error.get("retryable", False)}
    return value


class _Settings(msgspec.Struct):
    content_type: str = ""
    options: Json = {}


_CONTENT_TYPES = {
    ".sse": "text/event-stream",
    ".ndjson": "application/x-ndjson",
    ".json": "application/json",
    ".html": "text/html",
    ".aws": "application/vnd.amazon.eventstream",
}
