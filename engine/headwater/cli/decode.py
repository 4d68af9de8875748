"""`headwater decode`: what a captured response body says, offline."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import BinaryIO, Self

import msgspec
from msgspec import Struct

import headwater
from headwater.batch.files import InputFile
from headwater.cli.console import DONE, FAILED, explain, say, write_out
from headwater.plain import json_line, response_as_dict
from headwater_codecs.neutral import ConfigurationError, Response, StreamFailed

_PIECE = 256 << 10  # bytes read at a time
_WORDS: dict[str, object] = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of this command."""

    as_json: bool = False
    events: bool = False
    content_type: str | None = None
    headers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, object]) -> Self:
        """The options as the command line gave them."""
        return msgspec.convert(dict(options), cls)


def decode(path: str, protocol: str, options: Options) -> int:
    """Decode the body and print it; the exit code."""
    flags = dict(map(_flag, options.options))
    headers = dict(map(_header, options.headers))
    with InputFile(path) as file:
        pieces = _pieces(file.binary)
        if options.events:
            events = headwater.decode_events(protocol, pieces, content_type=options.content_type, headers=headers, options=flags)
            for event in events:
                sys.stdout.buffer.write(json_line(event))
            sys.stdout.buffer.flush()
            return FAILED if events and isinstance(events[-1], StreamFailed) else DONE
        response = headwater.decode(protocol, pieces, content_type=options.content_type, headers=headers, options=flags)
    if options.as_json:
        sys.stdout.buffer.write(json_line(response_as_dict(response)))
        sys.stdout.buffer.flush()
    else:
        _show(response)
    return FAILED if response.to_exception() is not None else DONE


def _show(response: Response) -> None:
    """The text on standard output, everything about it on standard error."""
    for choice in response.choices:
        if len(response.choices) > 1:
            write_out(f"--- choice {choice.index}\n")
        for text in (choice.text, choice.refusal or ""):
            if text:
                write_out(text if text.endswith("\n") else text + "\n")
        for call in choice.tool_calls:
            write_out(f"{call.name}({call.arguments})  id={call.id}{'' if call.complete else '  (incomplete: not to be run)'}\n")
        if choice.reasoning:
            say(f"reasoning: {len(choice.reasoning)} characters")
        if choice.finish_reason is not None:
            said = choice.raw_finish_reason
            say(f"finish reason: {choice.finish_reason}" + (f" ({said})" if said and said != choice.finish_reason else ""))
    if (usage := response.usage) is not None:
        known = [(name, getattr(usage, name)) for name in usage.__struct_fields__ if name != "raw"]
        say("usage: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in known if value is not None))
    for diagnostic in response.diagnostics:
        say(f"odd: {diagnostic.code}: {diagnostic.message}" + (f" ({diagnostic.detail})" if diagnostic.detail else ""))
    if (failed := response.to_exception()) is not None:
        say(f"failed: {explain(failed.info)}")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _flag(text: str) -> tuple[str, object]:
    name, given, value = text.partition("=")
    return name.strip().replace("-", "_"), _WORDS.get(value.strip().lower(), value.strip()) if given else True


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ConfigurationError(f"{text!r} is no header: write NAME:VALUE")
    return name.strip().lower(), value.strip()
