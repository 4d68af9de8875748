"""What the simulator answers: a script, by the model's name (`sim/tokens?n=200&gap_ms=20`, `sim/fault?kind=truncate&after=10`) or from a file.

A script is pure: it gives the events of the answer, each with the seconds to wait before it. The same script gives the same answer every time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias, get_args
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Struct

from headwater_codecs.neutral import (
    ChoiceEnd,
    ConfigurationError,
    Event,
    Finish,
    FinishReason,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RefusalDelta,
    RefusalEnd,
    RefusalStart,
    StreamFailed,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    error_info,
)
from headwater_codecs.neutral.errors import ErrorKind

FaultKind = Literal[
    "refuse",  # the connection is refused
    "close",  # it is closed before the headers
    "reset",  # it is reset before the headers
    "no_http",  # bytes that are no HTTP come in place of the headers
    "status",  # an answer with `status`
    "status_stall",  # the same, but its body does not end
    "html",  # a web page with status 200
    "json_error",  # an error object with status 200
    "error",  # an error in the stream, of kind `error_kind`
    "truncate",  # the body ends cleanly, without the protocol's end
    "cut",  # the connection is closed in mid-body
    "reset_body",  # it is reset there
    "stall",  # nothing more comes, and the connection stays
    "pings",  # nothing but keep-alives comes
    "garbage",  # bytes that are no frame
    "bad_chunk",  # bytes that break HTTP's own framing
    "huge",  # a frame of `size` bytes that never ends
    "cut_utf8",  # the body ends inside a character
    "length",  # content-length promises more than comes
    "idle_close",  # all is well, and then the idle connection is closed without a word
]
# What stands before it is for others: `meta.llama3/sim/tokens` is a Llama, `openai/sim/tokens` is OpenAI's.
_NAME = re.compile(r"(?:[^?]*/)?sim/(?P<what>[^?]*)(?:\?(?P<query>.*))?")
PIECE = 8  # characters of arguments in one event


class Script(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """One answer. Times are milliseconds. A fault in the body happens after `after` pieces, and in front of the protocol's end at the latest."""

    n: int = 20  # pieces of text
    text: str | None = None  # the text itself, cut at its blanks, in place of `n` made-up pieces
    reasoning: int = 0  # pieces of reasoning before it
    refusal: str | None = None  # in place of the text
    call: str | None = None  # the name of a tool that is called
    args: str = "{}"  # its arguments
    calls: int = 1  # how often it is called: their arguments take turns on the wire
    blocks: int = 1  # texts that are open at the same time, and take turns
    choices: int = 1
    finish: FinishReason | None = None  # None: what the answer comes to
    input_tokens: int = 10
    usage: bool = True
    headers_ms: float = 0.0  # before the headers
    first_ms: float = 0.0  # before the first piece
    gap_ms: float = 0.0  # between two pieces
    ping_ms: float = 0.0  # a keep-alive this often while a piece is waited for; 0 for none
    merge: int = 1  # events in one write
    split: int = 0  # bytes in one write; 0: as they come
    drip_ms: float = 0.0  # between two such writes
    gzip: bool = False  # compressed, as a proxy on the way might do unasked
    kind: FaultKind | None = None
    after: int = 0
    late: bool = False  # the fault comes behind the protocol's end
    status: int = 429
    error_kind: ErrorKind = "server"
    message: str = "the simulator was told to fail"
    retry_after: float | None = None
    retry_as: Literal["seconds", "date", "ms"] = "seconds"  # how the headers say it
    times: int | None = None  # how often the fault happens, then all is well; None: always
    size: int = 64 << 20


def read_script(name: str) -> Script:
    """The script in a model's name. Raises ConfigurationError for one that cannot be read; any other name is the default script."""
    match = _NAME.fullmatch(unquote(name))
    if match is None:
        return Script()
    what, query = match["what"], match["query"] or ""
    if what not in ("tokens", "fault"):
        raise ConfigurationError(f"the simulator has no script {what!r}: use sim/tokens?... or sim/fault?kind=...")
    fields = dict(parse_qsl(query, keep_blank_values=True))
    try:
        script = msgspec.convert(fields, Script, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"the script {name!r} cannot be read: {error}; the fields are {', '.join(Script.__struct_fields__)}") from error
    if what == "fault" and script.kind is None:
        raise ConfigurationError(f"sim/fault needs kind=..., one of {', '.join(get_args(FaultKind))}")
    return script


def read_scripts(data: bytes) -> dict[str, Script]:
    """The scripts of a JSON file, by the model's name. Raises ConfigurationError for one that cannot be read."""
    try:
        return msgspec.json.decode(data, type=dict[str, Script])
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"the file of scripts cannot be read: {error}") from error


def steps(script: Script, model: str, id: str) -> Iterator[tuple[float, Event]]:
    """The events of the answer, each with the seconds before it; the fault `error` ends them as one."""
    yield 0.0, StreamStart(model, id)
    index = written = 0
    wait = script.first_ms / 1000
    for block, pieces, count in _blocks(script):
        opened = [block(index + choice * count + number, choice) for choice in range(script.choices) for number in range(count)]
        yield from ((0.0, start) for start, _ in opened)
        for piece in pieces:
            for number, (start, _) in enumerate(opened):
                if script.kind == "error" and written >= script.after:
                    yield wait, StreamFailed(error_info(script.error_kind, script.message))
                    return
                yield wait, _delta(start, index + number, piece)
                wait = script.gap_ms / 1000
                written += 1
        yield from ((0.0, end) for _, end in opened)
        index += len(opened)
    if script.kind == "error":
        yield wait, StreamFailed(error_info(script.error_kind, script.message))
        return
    reason: FinishReason = script.finish or ("tool_calls" if script.call else "refusal" if script.refusal else "stop")
    for choice in range(script.choices):
        yield 0.0, ChoiceEnd(choice, reason)
    usage = Usage(script.input_tokens, written, 0, None, script.reasoning or None) if script.usage else None
    yield 0.0, Finish(reason, None, usage)


def _blocks(script: Script) -> Iterator[tuple[_Block, list[str], int]]:
    """The blocks of every choice: how one is made, its pieces, and how many of it a choice has open at once. Open blocks take turns."""
    if script.reasoning:
        yield _reasoning, [f"thought{number} " for number in range(script.reasoning)], 1
    if script.refusal is not None:
        yield _refusal, _words(script.refusal), 1
    elif script.text is not None:
        if script.text:
            yield _text, _words(script.text), script.blocks
    elif script.n and not script.call:
        yield _text, [f"token{number} " for number in range(script.n)], script.blocks
    if script.call is not None:
        name, args = script.call, script.args

        def call(index: int, choice: int) -> tuple[Event, Event]:
            return ToolCallStart(index, f"call_{index}", name, choice), ToolCallEnd(index)

        yield call, [args[start : start + PIECE] for start in range(0, len(args), PIECE)], script.calls


_Block: TypeAlias = "Callable[[int, int], tuple[Event, Event]]"


def _text(index: int, choice: int) -> tuple[Event, Event]:
    return TextStart(index, choice), TextEnd(index)


def _reasoning(index: int, choice: int) -> tuple[Event, Event]:
    return ReasoningStart(index, choice), ReasoningEnd(index, signature="c2ltdWxhdGVk")


def _refusal(index: int, choice: int) -> tuple[Event, Event]:
    return RefusalStart(index, choice), RefusalEnd(index)


def _delta(start: Event, index: int, piece: str) -> Event:
    if isinstance(start, ReasoningStart):
        return ReasoningDelta(index, piece)
    if isinstance(start, RefusalStart):
        return RefusalDelta(index, piece)
    return ToolCallDelta(index, piece) if isinstance(start, ToolCallStart) else TextDelta(index, piece)


def _words(text: str) -> list[str]:
    """The text in pieces, each with the blank behind it."""
    words = text.split(" ")
    return [f"{word} " for word in words[:-1]] + ([words[-1]] if words[-1] else [])
