"""Rows of a batch: one line of JSON each, in three forms, read without ever failing.

    {"prompt": "..."}                                            and, optionally, id, system and the fields of SAMPLING
    {"messages": [...]}                                          the same, with OpenAI's chat messages
    {"custom_id", "method": "POST", "url": "/v1/chat/completions", "body": {...}}    OpenAI's batch line; its answer takes OpenAI's form

A line that is none of them, or no JSON at all, becomes a row with an error that names the line: the others still run. What a row says wins
over `Defaults`, except the model: `Defaults.model` is for every row. Columns of one's own beside these are never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headwater_codecs import tolerant_json
from headwater_codecs.neutral import ErrorInfo, HeadwaterError, Message, Model, Request, error_info
from headwater_providers.openai_chat.read_messages import request_from_chat_body

RowForm = Literal["prompt", "messages", "openai"]

CHAT_URL = "/v1/chat/completions"
DEFAULT_MODEL = "local/smollm2"
SNIPPET = 60  # characters of a line quoted in an error

# The fields of a chat body that a prompt or messages row may carry beside its text. Data sets have columns like `user` or `metadata`: not those.
SAMPLING = frozenset(
    {
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "top_k",
        "n",
        "stop",
        "seed",
        "presence_penalty",
        "frequency_penalty",
        "logprobs",
        "top_logprobs",
        "logit_bias",
        "response_format",
        "reasoning_effort",
        "service_tier",
        "verbosity",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "prompt_cache_key",
    }
)
_TRANSPORT_FIELDS = ("stream", "stream_options", "model")  # how it is sent is the engine's business; the model is chosen here
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Defaults(Struct, frozen=True, kw_only=True):
    """What the rows leave open. `model` is taken for every row, whatever it says; `fallback` for rows that name none."""

    model: Model | str | None = None
    fallback: Model | str = DEFAULT_MODEL
    base_url: str | None = None
    system: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def model_for(self, named: str | None) -> Model | str:
        """The model of a row that names `named`."""
        model = self.model or named or self.fallback
        return Model(model, base_url=self.base_url) if self.base_url is not None and isinstance(model, str) else model


class Row(Struct, frozen=True, kw_only=True):
    """One row. `index` counts rows from 0, `line` lines of the file from 1. Either `request` or `error` is set."""

    index: int
    line: int
    id: object = None
    form: RowForm = "prompt"
    request: Request | None = None
    error: ErrorInfo | None = None


class _BadRow(Exception):
    """This row cannot be run; the message says why, `id` and `form` are what could be read."""

    def __init__(self, message: str, id: object = None, form: RowForm = "prompt") -> None:
        super().__init__(message)
        self.id = id
        self.form: RowForm = form


class RowReader:
    """Makes rows of lines and numbers both. For lines that come by and by; `read_rows` is for those that are there."""

    def __init__(self, defaults: Defaults | None = None) -> None:
        self._defaults = defaults or Defaults()
        self._line = 0
        self._index = 0

    def feed(self, line: bytes, /) -> Row | None:
        """The row of the next line; None for a blank one. Never raises for what a line holds."""
        self._line += 1
        text = without_frame(line, first=self._line == 1)
        if not text:
            return None
        row = parse_row(text, line=self._line, index=self._index, defaults=self._defaults)
        self._index += 1
        return row


def read_rows(lines: Iterable[bytes], defaults: Defaults | None = None) -> Iterator[Row]:
    """Rows of the lines, one at a time as they are asked for. Blank lines are skipped but counted. Never raises for what a line holds."""
    reader = RowReader(defaults)
    for line in lines:
        if (row := reader.feed(line)) is not None:
            yield row


def without_frame(line: bytes, *, first: bool = False) -> bytes:
    """The line without white space around it and, on the first line, without a byte order mark."""
    return (line.removeprefix(_BOM) if first else line).strip(b" \t\r\n\0")


def parse_row(text: bytes, *, line: int, index: int, defaults: Defaults) -> Row:
    """One row of the text of one line; an error row when it cannot be run."""
    try:
        id, form, request = _read(_object(text), defaults)
    except _BadRow as bad:
        return Row(index=index, line=line, id=bad.id, form=bad.form, error=error_info("invalid_request", f"line {line}: {bad}"))
    return Row(index=index, line=line, id=id, form=form, request=request)


def row_of(value: Mapping[str, object] | str, *, index: int, defaults: Defaults | None = None) -> Row:
    """A row given as a dict, or as the bare prompt (for programs; files have `parse_row`). `line` is its index plus one."""
    return parse_row(
        msgspec.json.encode({"prompt": value} if isinstance(value, str) else value), line=index + 1, index=index, defaults=defaults or Defaults()
    )


def _object(text: bytes) -> dict[str, object]:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        try:
            value = tolerant_json.decode(text)
        except ValueError:
            raise _BadRow(f"not JSON ({_why(text, error)}): {_snippet(text)}") from None
    if not isinstance(value, dict):
        raise _BadRow(f"not a JSON object, but {_json_type(value)}: {_snippet(text)}")
    return value


def _why(text: bytes, error: msgspec.DecodeError) -> str:
    if text.startswith(_UTF16) or b"\0" in text[:4]:
        return "it looks like UTF-16: save the file as UTF-8"
    return str(error)


def _snippet(text: bytes) -> str:
    shown = text[: 4 * SNIPPET].decode("utf-8", "replace")
    return repr(shown if len(shown) <= SNIPPET else shown[:SNIPPET] + "...")


def _read(value: dict[str, object], defaults: Defaults) -> tuple[object, RowForm, Request]:
    for key, reader in _FORMS.items():
        if key in value:
            return reader(value, defaults)
    raise _BadRow('has none of "prompt", "messages" and "body"', value.get("id"))


def _read_prompt(value: dict[str, object], defaults: Defaults) -> tuple[object, RowForm, Request]:
    prompt, id = value["prompt"], value.get("id")
    if not isinstance(prompt, str):
        raise _BadRow(f'"prompt" is {_json_type(prompt)}; give a string, or use "messages"', id)
    if not prompt.strip():
        raise _BadRow('"prompt" is empty', id)
    return id, "prompt", _request(_chosen(value) | {"messages": [{"role": "user", "content": prompt}]}, value, defaults, id, "prompt")


def _read_messages(value: dict[str, object], defaults: Defaults) -> tuple[object, RowForm, Request]:
    id = value.get("id")
    return id, "messages", _request(_chosen(value) | {"messages": value["messages"]}, value, defaults, id, "messages")


def _read_openai(value: dict[str, object], defaults: Defaults) -> tuple[object, RowForm, Request]:
    id, body = value.get("custom_id"), value.get("body")
    if not isinstance(body, dict):
        raise _BadRow(f'"body" is {_json_type(body)}; a batch line has an object there', id, "openai")
    if "custom_id" not in value:
        raise _BadRow('a batch line needs a "custom_id"', id, "openai")
    if (method := value.get("method", "POST")) != "POST":
        raise _BadRow(f'"method" is {method!r}; a batch line has "POST"', id, "openai")
    if (url := value.get("url", CHAT_URL)) != CHAT_URL:
        raise _BadRow(f'"url" is {url!r}; only {CHAT_URL} lines can be run', id, "openai")
    return id, "openai", _request(dict(body), body, defaults, id, "openai")


# Looked at in this order: a batch line's other keys are OpenAI's, so `body` decides first.
_FORMS: dict[str, Callable[[dict[str, object], Defaults], tuple[object, RowForm, Request]]] = {
    "body": _read_openai,
    "messages": _read_messages,
    "prompt": _read_prompt,
}


def _chosen(value: dict[str, object]) -> dict[str, object]:
    return {key: item for key, item in value.items() if key in SAMPLING and item is not None}


def _request(body: dict[str, object], said: Mapping[str, object], defaults: Defaults, id: object, form: RowForm) -> Request:
    model = said.get("model")
    if model is not None and not isinstance(model, str):
        raise _BadRow(f'"model" is {_json_type(model)}; give a name', id, form)
    system = said.get("system") if form != "openai" else None
    if system is not None and not isinstance(system, str):
        raise _BadRow(f'"system" is {_json_type(system)}; give a string', id, form)
    for field in _TRANSPORT_FIELDS:
        body.pop(field, None)
    try:
        request = request_from_chat_body(body, defaults.model_for(model))
    except HeadwaterError as error:
        raise _BadRow(str(error), id, form) from error
    return _completed(request, system, defaults)


def _completed(request: Request, system: str | None, defaults: Defaults) -> Request:
    """The request with what the row left open."""
    changes: dict[str, object] = {}
    instruction = system if system is not None else defaults.system
    if instruction is not None and not any(message.role in ("system", "developer") for message in request.messages):
        changes["messages"] = (Message("system", instruction), *request.messages)
    if request.max_tokens is None and defaults.max_tokens is not None:
        changes["max_tokens"] = defaults.max_tokens
    if request.temperature is None and defaults.temperature is not None:
        changes["temperature"] = defaults.temperature
    return replace(request, **changes) if changes else request


def _json_type(value: object) -> str:
    names: dict[type, str] = {dict: "an object", list: "an array", str: "a string", bool: "a truth value", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
