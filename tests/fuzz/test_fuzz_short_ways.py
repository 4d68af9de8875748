"""The short way for pieces of plain text gives the events of the long way, whatever came before, between and behind them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from fuzz.checks import told
from fuzz.mutations import PROTOCOLS, mutated_frames
from headwater_codecs.openai_chat.plain import PLAIN
from headwater_providers.event_translator import EventTranslator


def _translators(base: type[EventTranslator] = EventTranslator) -> Iterator[type[EventTranslator]]:
    for translator in base.__subclasses__():
        yield translator
        yield from _translators(translator)


def _never(*_: object) -> bool:
    return False


def _refuse(_: bytes) -> NoReturn:
    raise msgspec.DecodeError


@contextmanager
def long_way() -> Iterator[None]:
    """Every translator reads every frame in full."""
    with pytest.MonkeyPatch.context() as patch:
        for translator in _translators():
            if "_plain" in vars(translator):
                patch.setattr(translator, "_plain", _never)
        for kind in PLAIN:
            patch.setitem(PLAIN, kind, _refuse)
        yield


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=120)
@given(seed=st.integers(0, 2**48))
def test_short_way_is_long_way(protocol: str, seed: int) -> None:
    """Frames of our fixtures, mutated: the same events both ways. (Only the long way notes odd values in fields that nobody reads.)"""
    fixture, data = mutated_frames(protocol, random.Random(seed))
    short = hw.decode_events(protocol, [data], content_type=fixture.content_type, options=fixture.options)
    with long_way():
        assert told(hw.decode_events(protocol, [data], content_type=fixture.content_type, options=fixture.options)) == told(short)


def test_the_long_way_is_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this module compares are two ways: the plain reader is asked in one and not in the other."""
    from headwater_providers.anthropic_messages.translate import MessagesTranslator

    asked: list[bool] = []
    plain = MessagesTranslator._plain

    def counted(self: MessagesTranslator, frame: object) -> bool:
        asked.append(plain(self, frame))  # type: ignore[arg-type]
        return asked[-1]

    monkeypatch.setattr(MessagesTranslator, "_plain", counted)
    body = (
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}\n\n'
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}\n\n'
    )
    with long_way():
        hw.decode_events("anthropic-messages", [body])
    assert asked == []
    hw.decode_events("anthropic-messages", [body])
    assert asked == [False, False, True]  # until the block has text nothing is expected
