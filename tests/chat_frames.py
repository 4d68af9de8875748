"""Frames of openai-chat as tests write them, and what a translator makes of them."""

from __future__ import annotations

import json

from headwater_codecs.framing import Fault
from headwater_codecs.neutral import Event
from headwater_codecs.sse import Frame
from headwater_providers.openai_chat.dialect import ChatDialect
from headwater_providers.openai_chat.translate import ChatTranslator

Json = dict[str, object]
DONE = Frame(b"[DONE]")


def frame(value: object, event: str = "", terminated: bool = True) -> Frame:
    """A frame with this value; lone surrogates stay escapes."""
    return Frame(json.dumps(value).encode(), event, terminated=terminated)


def delta(index: int = 0, finish: str | None = None, **fields: object) -> Frame:
    """A chunk with one choice."""
    return frame({"choices": [{"index": index, "delta": fields, "finish_reason": finish}]})


STOP = delta(finish="stop")


def translator(choices: int = 1, raw: bool = False, **flags: object) -> ChatTranslator:
    """A translator with these dialect flags."""
    return ChatTranslator(ChatDialect(**flags), choices=choices, raw=raw)  # type: ignore[arg-type]  # flags by name


def translated(*frames: Frame | Fault, **flags: object) -> list[Event]:
    """The events of these frames and of the end of the bytes, without StreamStart."""
    stage = translator(**flags)  # type: ignore[arg-type]
    events = stage.feed(frames) + stage.finish()
    return events[1:]


def codes(*frames: Frame | Fault, **flags: object) -> list[str]:
    """The codes of the diagnostics."""
    stage = translator(**flags)  # type: ignore[arg-type]
    stage.feed(frames)
    stage.finish()
    return [diagnostic.code for diagnostic in stage.diagnostics]
