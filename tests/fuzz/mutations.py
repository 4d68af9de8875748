"""Bytes that a server might send when it is broken: made from our fixtures and a seed, so that every body can be made again.

Bytes are flipped, cut out, said twice, cut off and spliced between two fixtures; frames change places; the values in their JSON become what
nobody expects there. Everything that hypothesis and the long job (`make fuzz`) read is made here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import lru_cache

from headwater_codecs.aws_event_stream import EventStreamParser, encode_message
from helpers import Fixture, fixtures

PROTOCOLS = (
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "cohere-chat",
    "gemini",
    "gemini-interactions",
    "ollama-chat",
    "openai-assistants",
    "openai-chat",
    "openai-responses",
    "openai-text",
)
DEEP = 100_000  # brackets: far beyond what any decoder follows
LARGEST = 8 << 10  # bytes of a fixture that is mutated: larger ones are the same again
_AWS = "application/vnd.amazon.eventstream"
_BORDER = {"text/event-stream": b"\n\n", "application/x-ndjson": b"\n"}
# Raw JSON texts: what the strict decoder refuses must get through to our code too.
ODD_VALUES = (
    "null", "true", "0", "-1", "1.5", '""', '"x"', "[]", "{}", "[null]", "[[]]", '{"type":"text"}', "1" + "0" * 400, "1e999", "-1e999", "NaN",
    "-0", "9223372036854775808", '"\\ud83d"', '"\\ude80"', '["\\ud83d"]', '{"\\ud83d":1}', '{"a":1,"a":2}', '"\\u0000"', '" "', '"null"',
    '"' + "k" * 3000 + '"', '{"' + "k" * 3000 + '":1}', "[" * 150 + "]" * 150, "[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP,
)  # fmt: skip
_VALUE = re.compile(rb'(?<=[:\[,])\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+]+|true|false|null|\{\}|\[\])(?=\s*[,\]}])')
_KEY = re.compile(rb'"(?:[^"\\]|\\.)*"(?=\s*:)')


@lru_cache
def bodies(protocol: str) -> tuple[Fixture, ...]:
    """The protocol's fixtures that are small enough."""
    return tuple(fixture for fixture in fixtures(protocol) if 0 < len(fixture.data) <= LARGEST)


def frames_of(fixture: Fixture) -> list[bytes]:
    """The fixture cut at the borders of its frames."""
    if fixture.content_type == _AWS:
        parser = EventStreamParser()
        return [encode_message(message.headers, message.payload) for message in parser.feed(fixture.data)] or [fixture.data]
    border = _BORDER.get(fixture.content_type)
    return [frame + border for frame in fixture.data.split(border) if frame] if border else [fixture.data]


def odd_json(data: bytes, random_: random.Random) -> bytes:
    """One value of the JSON in these bytes replaced, or one key: renamed, emptied, doubled, or with an unknown one before it."""
    places = list((_VALUE if random_.random() < 0.8 else _KEY).finditer(data))
    if not places:
        return data
    place = random_.choice(places)
    if place.re is _VALUE:
        start, end = place.span(1)
        return data[:start] + random_.choice(ODD_VALUES).encode() + data[end:]
    start, end = place.span()
    key = data[start:end]
    other = random_.choice([b'""', b'"type"', b'"unknown"', b'"' + b"k" * 3000 + b'"', b'"\\ud83d"', key + b":null," + key, b'"unknown":{},' + key])
    return data[:start] + other + data[end:]


def _aws_json(frame: bytes, random_: random.Random) -> bytes:
    """The same inside of a message, with checksums that are right."""
    [message] = EventStreamParser().feed(frame) or [None]
    return frame if message is None else encode_message(message.headers, odd_json(message.payload, random_))


def mutated_frames(protocol: str, random_: random.Random) -> tuple[Fixture, bytes]:
    """A fixture whose frames changed places, came twice, got lost, came from another fixture, or hold odd JSON."""
    fixture = random_.choice(bodies(protocol))
    frames = frames_of(fixture)
    for _ in range(random_.randint(1, 4)):
        if not frames:
            break
        at, other = random_.randrange(len(frames)), random_.randrange(len(frames))
        match random_.randrange(8):
            case 0:
                frames[at], frames[other] = frames[other], frames[at]
            case 1:
                frames.insert(other, frames[at])
            case 2:
                del frames[at]
            case 3:
                donors = [one for one in bodies(protocol) if one.content_type == fixture.content_type]
                donated = frames_of(random_.choice(donors))
                frames[at:at] = donated[random_.randrange(len(donated)) :]
            case _:
                change = _aws_json if fixture.content_type == _AWS and frames[at][:1] == b"\0" else odd_json
                frames[at] = change(frames[at], random_)
    return fixture, b"".join(frames)


def _flip(data: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random_.randrange(8))]) + data[at + 1 :]


def _cut_out(data: bytes, random_: random.Random) -> bytes:
    start = random_.randrange(len(data))
    return data[:start] + data[start + random_.randint(1, 40) :]


def _twice(data: bytes, random_: random.Random) -> bytes:
    start = random_.randrange(len(data))
    end = start + random_.randint(1, 200)
    return data[:end] + data[start:end] + data[end:]


def _cut_off(data: bytes, random_: random.Random) -> bytes:
    return data[: random_.randrange(len(data))]


def _put_in(data: bytes, random_: random.Random) -> bytes:
    at = random_.randrange(len(data) + 1)
    piece = random_.choice(
        [b"\0", b"\r", b"\n", b"\n\n", b"\xef\xbb\xbf", b"\xff", b"data:", b"event: error\n", b": x\n", b"[DONE]", b"[", b"]", b"{", b"}", b'"', b","]
    )
    return data[:at] + piece + data[at:]


_BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (_flip, _cut_out, _twice, _cut_off, _put_in)


def mutated(protocol: str, random_: random.Random) -> tuple[Fixture, bytes]:
    """A fixture with its frames, its bytes or both mutated. The fixture tells the content type and the options."""
    fixture, data = mutated_frames(protocol, random_)
    if random_.random() < 0.2:
        other = random_.choice(bodies(protocol)).data
        data = data[: random_.randrange(len(data) + 1)] + other[random_.randrange(len(other)) :]
    for _ in range(random_.choice([0, 0, 1, 2, 3])):
        if data:
            data = random_.choice(_BYTES)(data, random_)
    return fixture, data


def cut(data: bytes, random_: random.Random) -> list[bytes]:
    """The bytes in pieces: up to seven, or of a few bytes each where that is not too many."""
    if len(data) < 3000 and random_.random() < 0.3:
        size = random_.randint(1, 3)
        return [data[at : at + size] for at in range(0, len(data), size)]
    places = sorted(random_.randrange(len(data) + 1) for _ in range(random_.randint(1, 6)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
