"""Whatever bytes come: a result or a typed error, lawful events with one terminal, the same for every cutting, and all of it can be written."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzz.checks import check_body
from fuzz.mutations import PROTOCOLS, mutated, mutated_frames

CONTENT_TYPES = ("text/event-stream", "application/json", "application/x-ndjson", "application/vnd.amazon.eventstream", "text/html", "")
SEEDS = st.integers(0, 2**48)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=60)
@given(seed=SEEDS)
@example(seed=1617671)  # gemini-interactions: half a character in what an error quotes
def test_mutated_bodies(protocol: str, seed: int) -> None:
    """Our fixtures, with bytes, frames and values that nobody would send."""
    random_ = random.Random(seed)
    fixture, data = mutated(protocol, random_)
    check_body(protocol, data, fixture.content_type, fixture.options, random_)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=60)
@given(seed=SEEDS)
@example(seed=9432)  # openai-responses: half a character in a name
@example(seed=1000158)  # openai-text: the same in a report of usage
def test_mutated_frames(protocol: str, seed: int) -> None:
    """Frames that are whole, in any order, with odd values in them: these get past the parsers, and deep into the translators."""
    random_ = random.Random(seed)
    fixture, data = mutated_frames(protocol, random_)
    check_body(protocol, data, fixture.content_type, fixture.options, random_)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=30)
@given(data=st.binary(max_size=200), content_type=st.sampled_from(CONTENT_TYPES), seed=SEEDS)
def test_random_bytes(protocol: str, data: bytes, content_type: str, seed: int) -> None:
    """Bytes of no meaning under every content type."""
    check_body(protocol, data, content_type, {}, random.Random(seed))
