"""Lines to rows: the three forms, what is sent and what is not, and lines that cannot be run."""

from __future__ import annotations

import pytest

from headwater.batch import Defaults, Row, RowReader, read_rows, row_of
from headwater_codecs.neutral import Message, Model, Request


def rows(data: bytes, defaults: Defaults | None = None) -> list[Row]:
    """The rows of a file's bytes."""
    return list(read_rows(data.splitlines(keepends=True) if b"\r" not in data else [line + b"\n" for line in data.split(b"\n")], defaults))


def only(data: bytes, defaults: Defaults | None = None) -> Row:
    """The one row of one line."""
    (row,) = rows(data, defaults)
    return row


def message(row: Row) -> str:
    """The error's text."""
    assert row.error is not None
    assert row.request is None
    return row.error.message


def test_prompt_row() -> None:
    """A prompt becomes a user message; the local model answers where nobody named one."""
    row = only(b'{"id": 7, "prompt": "hi", "max_tokens": 5}')
    assert row == Row(index=0, line=1, id=7, form="prompt", request=Request(model="local/smollm2", messages=(Message("user", "hi"),), max_tokens=5))


def test_own_columns_are_not_sent() -> None:
    """Columns of the data set, also such as `user` and `metadata`, are not part of the request."""
    row = only(b'{"prompt": "hi", "label": "x", "user": "u", "metadata": {"a": 1}, "stream": false, "temperature": 0}')
    assert row.request == Request(model="local/smollm2", messages=(Message("user", "hi"),), temperature=0)


def test_messages_row() -> None:
    """Messages are read as OpenAI's."""
    row = only(b'{"id": "a", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}], "model": "openai/gpt-4o"}')
    assert row.form == "messages"
    assert row.request == Request(model="openai/gpt-4o", messages=(Message("system", "s"), Message("user", "hi")))


def test_openai_line() -> None:
    """OpenAI's batch line: its id is the custom_id, its body is the request, how it is sent is not its business."""
    body = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 3, "stream": true}'
    row = only(b'{"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": ' + body + b"}")
    assert row == Row(index=0, line=1, id="r1", form="openai", request=Request(model="m", messages=(Message("user", "hi"),), seed=3))


def test_bom_crlf_blank_and_bad_lines() -> None:
    """A byte order mark, CRLF and blank lines do no harm; a bad line is named by its number, and the next one runs."""
    first, second, third = rows(b'\xef\xbb\xbf{"id":1,"prompt":"a"}\r\n\r\n{bad\n{"id":2,"prompt":"b"}')
    assert (first.index, first.line, first.id, first.error) == (0, 1, 1, None)
    assert (second.index, second.line, second.id) == (1, 3, None)
    assert message(second).startswith("line 3: not JSON (")
    assert message(second).endswith("'{bad'")
    assert (third.index, third.line, third.id, third.error) == (2, 4, 2, None)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"[1]", "line 1: not a JSON object, but an array: '[1]'"),
        (b'{"id": 4}', 'line 1: has none of "prompt", "messages" and "body"'),
        (b'{"prompt": 5}', 'line 1: "prompt" is a number; give a string, or use "messages"'),
        (b'{"prompt": null}', 'line 1: "prompt" is null; give a string, or use "messages"'),
        (b'{"prompt": " "}', 'line 1: "prompt" is empty'),
        (b'{"prompt": "a", "model": 3}', 'line 1: "model" is a number; give a name'),
        (b'{"prompt": "a", "system": []}', 'line 1: "system" is an array; give a string'),
        (b'{"custom_id": "x", "body": 1}', 'line 1: "body" is a number; a batch line has an object there'),
        (b'{"body": {}}', 'line 1: a batch line needs a "custom_id"'),
        (b'{"custom_id": "x", "method": "GET", "body": {}}', 'line 1: "method" is \'GET\'; a batch line has "POST"'),
        (
            b'{"custom_id": "x", "url": "/v1/embeddings", "body": {}}',
            "line 1: \"url\" is '/v1/embeddings'; only /v1/chat/completions lines can be run",
        ),
    ],
)
def test_rows_that_cannot_be_run(line: bytes, said: str) -> None:
    """Every way in which a row is wrong is said, with the line's number."""
    row = only(line)
    assert message(row) == said
    assert row.error is not None
    assert row.error.kind == "invalid_request"


def test_utf16_is_recognised() -> None:
    """A file saved as UTF-16 gets advice instead of a parser's complaint."""
    assert "looks like UTF-16: save the file as UTF-8" in message(only('{"prompt": "a"}'.encode("utf-16")))


def test_bad_messages_name_their_place() -> None:
    """What is wrong inside of messages is said by the reader of chat bodies, under the line's number."""
    said = message(only(b'{"messages": [{"role": "user", "content": 5}]}'))
    assert said.startswith("line 1: ")
    assert "messages[0]" in said


def test_lone_surrogates_are_kept() -> None:
    """JSON that only a tolerant reader takes is a row like any other."""
    row = only(b'{"id": "\\ud800", "prompt": "hi"}')
    assert (row.id, row.error) == ("\ud800", None)


def test_defaults_fill_what_rows_leave_open() -> None:
    """What a row says wins, except over the model."""
    defaults = Defaults(model="m", system="be brief", max_tokens=9, temperature=0.5)
    open_row, full_row = rows(b'{"prompt": "a"}\n{"prompt": "b", "system": "s", "max_tokens": 1, "temperature": 0, "model": "other"}\n', defaults)
    assert open_row.request == Request(model="m", messages=(Message("system", "be brief"), Message("user", "a")), max_tokens=9, temperature=0.5)
    assert full_row.request == Request(model="m", messages=(Message("system", "s"), Message("user", "b")), max_tokens=1, temperature=0)


def test_base_url() -> None:
    """A base URL goes to every row's model."""
    row = only(b'{"prompt": "a", "model": "m"}', Defaults(base_url="http://127.0.0.1:1/v1"))
    assert row.request is not None
    assert row.request.model == Model("m", base_url="http://127.0.0.1:1/v1")


def test_read_lazily() -> None:
    """Asking for a row reads its line and no further one."""
    read: list[int] = []

    def lines() -> object:
        for number in range(10**6):
            read.append(number)
            yield b'{"prompt": "a"}\n'

    source = read_rows(lines())  # type: ignore[arg-type]
    assert (next(source).index, next(source).index, read) == (0, 1, [0, 1])


def test_reader_of_arriving_lines() -> None:
    """The same rows come from lines that are fed one by one."""
    reader = RowReader()
    assert [reader.feed(line) for line in (b"\n", b'{"prompt": "a"}\n')] == [None, next(iter(read_rows([b"\n", b'{"prompt": "a"}\n'])))]


def test_rows_of_programs() -> None:
    """A program may give a prompt or a dict."""
    assert row_of("hi", index=2) == Row(index=2, line=3, request=Request(model="local/smollm2", messages=(Message("user", "hi"),)))
    assert row_of({"id": "x", "prompt": "hi"}, index=0).id == "x"
