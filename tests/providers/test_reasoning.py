"""Reasoning in all its fields, and the details that must go back as they came."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw

from headwater_codecs.neutral import ReasoningEnd
from headwater_codecs.openai_chat.wire import Delta
from headwater_providers.openai_chat.reasoning import ReasoningDetails, reasoning_text, text_of

Json = dict[str, object]


@pytest.mark.rows("OR-CCS-03")
@pytest.mark.parametrize(
    ("delta", "text"),
    [
        ({}, ""),
        ({"reasoning_content": "a"}, "a"),
        ({"reasoning": "a"}, "a"),
        ({"reasoning_text": "a"}, "a"),
        ({"reasoning_content": "a", "reasoning": "a", "reasoning_text": "a"}, "a"),
        ({"reasoning_content": "", "reasoning": "a"}, "a"),
        ({"reasoning_content": None, "reasoning": "a"}, "a"),
        ({"reasoning_content": [], "reasoning": {"content": "a"}}, "a"),
        ({"reasoning_content": [{"type": "image"}], "reasoning": "a"}, "a"),
        ({"reasoning": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]}, "a"),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.summary", "summary": "b"}]}, "ab"),
        ({"reasoning_details": [{"type": "reasoning.encrypted", "data": "a"}, {"text": 5, "summary": ["x"]}]}, ""),
    ],
)
def test_reasoning_text(delta: Json, text: str) -> None:
    """One field counts per delta: vendors mirror what they send."""
    assert reasoning_text(msgspec.convert(delta, Delta)) == text


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ("a", "a"),
        ({"type": "text", "text": "a"}, "a"),
        ({"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": {"text": "a"}}, "a"),
        ({"summary": [{"text": "a"}]}, "a"),
        ([["a"], "b", 5, None], "ab"),
        (5, ""),
        (None, ""),
        ({}, ""),
    ],
)
def test_text_of(parts: object, text: str) -> None:
    """Text is found however deep it is nested; anything else is none."""
    assert text_of(parts) == text


def ended(*batches: list[Json], has_text: bool = True, complete: bool = True) -> ReasoningEnd:
    """The end of a block that got these details."""
    details = ReasoningDetails()
    for batch in batches:
        details.feed(batch)
    return details.end(7, has_text, complete)


def meta(*details: Json) -> Raw:
    """The wire object with these details."""
    return Raw(msgspec.json.encode({"reasoning_details": details}))


TEXT: Json = {"type": "reasoning.text", "text": "Let", "index": 0, "format": "f1"}


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ((), ReasoningEnd(7)),
        (([TEXT],), ReasoningEnd(7, meta=meta(TEXT))),
        # pieces of one index are one detail, and the signature comes last
        (
            ([TEXT], [{**TEXT, "text": " me"}], [{"type": "reasoning.text", "signature": "SIG", "index": 0, "format": None}]),
            ReasoningEnd(7, signature="SIG", meta=meta({**TEXT, "text": "Let me", "signature": "SIG"})),
        ),
        # two of them
        (
            ([TEXT, {**TEXT, "index": 1}], [{**TEXT, "text": "!", "index": 1}]),
            ReasoningEnd(7, meta=meta(TEXT, {**TEXT, "text": "Let!", "index": 1})),
        ),
        # the same index under another type is another one
        (
            ([TEXT, {"type": "reasoning.summary", "summary": "s", "index": 0}],),
            ReasoningEnd(7, meta=meta(TEXT, {"type": "reasoning.summary", "summary": "s", "index": 0})),
        ),
        # told apart by their ids
        (([{"type": "t", "id": "a", "text": "1"}, {"type": "t", "id": "b", "text": "2"}, {"type": "t", "id": "a", "text": "3"}],),
         ReasoningEnd(7, meta=meta({"type": "t", "id": "a", "text": "13"}, {"type": "t", "id": "b", "text": "2"}))),
        # told apart by nothing: text grows, data does not
        (([{"type": "t", "text": "1"}], [{"type": "t", "text": "2"}]), ReasoningEnd(7, meta=meta({"type": "t", "text": "12"}))),
        (
            ([{"type": "e", "data": "AA"}], [{"type": "e", "data": "BB"}]),
            ReasoningEnd(7, data="AA", meta=meta({"type": "e", "data": "AA"}, {"type": "e", "data": "BB"})),
        ),
        # nonsense
        (([{"index": {"a": 1}, "id": [], "type": None, "text": "1", "signature": 5, "data": True}],),
         ReasoningEnd(7, meta=meta({"index": {"a": 1}, "id": [], "type": None, "text": "1", "signature": 5, "data": True}))),
    ],
)  # fmt: skip
def test_merging(batches: tuple[list[Json], ...], expected: ReasoningEnd) -> None:
    """Details are merged as they must go back: texts joined, the rest once, null overwriting nothing."""
    assert ended(*batches) == expected


@pytest.mark.rows("PI-CCS-14")
def test_encrypted() -> None:
    """Encrypted reasoning without text is redacted; with text it is data beside it."""
    detail: Json = {"type": "reasoning.encrypted", "data": "AAAA", "id": "r1", "index": 0}
    assert ended([detail], has_text=False) == ReasoningEnd(7, redacted=True, data="AAAA", meta=meta(detail))
    assert ended([detail]) == ReasoningEnd(7, data="AAAA", meta=meta(detail))
    assert ended([detail], complete=False) == ReasoningEnd(7, complete=False, data="AAAA", meta=meta(detail))


def test_progress() -> None:
    """A signature or data shows the model at work, though there is no text to show."""
    details = ReasoningDetails()
    assert not details
    assert details.feed([{"type": "t", "text": "a", "signature": "", "data": None}]) is False
    assert details.feed([{"type": "t", "signature": "S"}]) is True
    assert details.feed([{"type": "t", "data": "D"}]) is True
    assert details
