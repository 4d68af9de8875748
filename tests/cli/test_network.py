"""The commands against a scripted provider: what they print, how they exit, and what Ctrl-C leaves behind.

Most run inside of a worker thread, with an event loop of their own; signals and pipes need processes of their own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from anyio.abc import Process
from click.testing import CliRunner

from headwater.cli.app import app
from loopback import Asked, Reply, delta, ending, loopback, refused_url

pytestmark = pytest.mark.anyio

TIME = 20  # seconds for a process: starting one is slow where everything else runs too


def command(*arguments: str) -> list[str]:
    """The command line of this environment."""
    return [sys.executable, "-W", "error", "-m", "headwater", *arguments]


async def headwater(*arguments: str, input: bytes | None = None) -> tuple[int, str, str]:
    """Run the command in a thread: exit code, standard output, standard error."""
    with anyio.fail_after(TIME):
        result = await anyio.to_thread.run_sync(lambda: CliRunner().invoke(app, arguments, input=input))
    return result.exit_code, result.stdout, result.stderr


async def process_of(*arguments: str, input: bytes | None = None) -> tuple[int, str, str]:
    """The same in a process of its own."""
    with anyio.fail_after(TIME):
        done = await anyio.run_process(command(*arguments), input=input, stdin=None if input is not None else subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@asynccontextmanager
async def running(*arguments: str) -> AsyncGenerator[Process]:
    """The command while it runs."""
    async with await anyio.open_process(command(*arguments), stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


async def finished(process: Process) -> tuple[int, str, str]:
    """Exit code, rest of standard output, and standard error of a command that was started."""
    assert process.stdout is not None
    assert process.stderr is not None
    out = b"".join([piece async for piece in process.stdout])
    err = b"".join([piece async for piece in process.stderr])
    return await process.wait(), out.decode(), err.decode()


async def read_until(process: Process, text: str) -> None:
    """Wait until the command has printed this."""
    assert process.stdout is not None
    seen = ""
    while text not in seen:
        seen += (await process.stdout.receive()).decode()


async def echo(asked: Asked, reply: Reply) -> None:
    """Answer with the prompt, in two pieces."""
    await reply.chat("you said: ", asked.prompt)


async def so_far(asked: Asked, reply: Reply) -> None:
    """Begin an answer and never end it."""
    await reply.begin()
    await reply.send(delta("so far"))
    await anyio.sleep_forever()


async def test_generate(anyio_backend: str) -> None:
    """The text on standard output, a status line on standard error, what was asked for in the request."""
    async with loopback(echo) as server:
        options = (
            "-m",
            "scripted",
            "--base-url",
            server.base_url,
            "--system",
            "be brief",
            "--max-tokens",
            "9",
            "--temperature",
            "0",
            "--backend",
            anyio_backend,
        )
        code, out, err = await headwater("generate", "hi there", *options)
    assert (code, out) == (0, "you said: hi there\n")
    assert err.startswith("stop · 3 in, 2 out tokens · first after ")
    assert err.count("\n") == 1
    body = server.asked[0].body
    assert body["messages"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi there"}]
    assert (body["max_tokens"], body["temperature"], body["stream"]) == (9, 0, True)


async def test_generate_from_standard_input(anyio_backend: str) -> None:
    """`-` reads the prompt, and --json gives the response instead of the text."""
    async with loopback(echo) as server:
        options = ("-m", "scripted", "--base-url", server.base_url, "--json", "--backend", anyio_backend)
        code, out, _ = await headwater("generate", "-", *options, input="\ufeffüber\n".encode())
    response = json.loads(out)
    assert (code, response["text"], response["ok"], server.prompts) == (0, "you said: über", True, ["über"])


async def test_generate_streams(anyio_backend: str) -> None:
    """Text is printed when it comes, not when the answer is over."""
    printed = anyio.Event()

    async def in_two(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        await reply.send(delta("first"))
        await printed.wait()
        await reply.send(delta(" second") + ending())

    with anyio.fail_after(TIME):
        async with loopback(in_two) as server:
            options = ("-m", "scripted", "--base-url", server.base_url, "--backend", anyio_backend)
            async with running("generate", "x", *options) as process:
                await read_until(process, "first")
                printed.set()
                code, out, _ = await finished(process)
    assert (code, out) == (0, " second\n")


async def test_generate_stopped(anyio_backend: str) -> None:
    """Ctrl-C leaves the partial answer, says so, closes the connection, and exits with 130."""
    with anyio.fail_after(TIME):
        async with loopback(so_far) as server:
            options = ("-m", "scripted", "--base-url", server.base_url, "--backend", anyio_backend)
            async with running("generate", "x", *options) as process:
                await read_until(process, "so far")
                process.send_signal(signal.SIGINT)
                code, out, err = await finished(process)
                await server.asked[0].hung_up.wait()
    assert (code, out, err) == (130, "\n", "stopped by Ctrl-C: the answer is partial (6 characters)\n")


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (
            401,
            b'{"error":{"message":"Incorrect key","code":"invalid_api_key"}}',
            "headwater: auth: Incorrect key (status 401); check the provider's key",
        ),
        (
            404,
            b'{"error":{"message":"no such model","code":"model_not_found"}}',
            "headwater: not found: no such model (status 404); check the model's name",
        ),
        (429, b'{"error":{"message":"slow down"}}', "headwater: rate limit: slow down (status 429); wait, or run fewer requests at once"),
        (502, b"<html>Bad gateway</html>", "headwater: server: "),
    ],
)
async def test_generate_refused(anyio_backend: str, status: int, body: bytes, said: str) -> None:
    """What the provider refuses is one line with what to do, and exit code 1."""

    async def refuse(asked: Asked, reply: Reply) -> None:
        await reply.whole(status, body, "text/html" if body.startswith(b"<") else "application/json")

    async with loopback(refuse) as server:
        options = ("-m", "scripted", "--base-url", server.base_url, "--retries", "0", "--backend", anyio_backend)
        code, out, err = await headwater("generate", "x", *options)
    assert (code, out) == (1, "")
    assert err.startswith(said)
    assert err.count("\n") == 1


async def test_generate_cut(anyio_backend: str) -> None:
    """A stream that breaks off keeps its text and fails."""

    async def cut(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        await reply.send(delta("half"))

    async with loopback(cut) as server:
        code, out, err = await headwater("generate", "x", "-m", "scripted", "--base-url", server.base_url, "--backend", anyio_backend)
    assert (code, out) == (1, "half\n")
    assert err.endswith("try again (the answer is partial: 4 characters)\n")


async def test_generate_with_nobody_there(anyio_backend: str) -> None:
    """A refused connection says so, and what to check."""
    options = ("-m", "scripted", "--base-url", await refused_url(), "--retries", "0", "--backend", anyio_backend)
    code, _, err = await headwater("generate", "x", *options)
    assert code == 1
    assert err.startswith("headwater: network: ")
    assert err.endswith("check that the server runs and that the address is right\n")


async def test_logs_go_to_standard_error(anyio_backend: str) -> None:
    """-vv logs every stream on standard error; standard output holds nothing but the answer."""
    async with loopback(echo) as server:
        code, out, err = await process_of("generate", "x", "-vv", "-m", "scripted", "--base-url", server.base_url, "--backend", anyio_backend)
    assert (code, out) == (0, "you said: x\n")
    assert "headwater.stream.started" in err
    assert "headwater.stream.finished" in err


async def test_batch(anyio_backend: str, tmp_path: Path) -> None:
    """Good rows, bad rows and blank lines; a record for each, a summary on standard error, and exit code 1 because a row failed."""
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(
        b'\xef\xbb\xbf{"id": "a", "prompt": "one"}\r\n\r\n{bad\n'
        b'{"custom_id": "b", "method": "POST", "url": "/v1/chat/completions", '
        b'"body": {"model": "x", "messages": [{"role": "user", "content": "two"}]}}\n'
    )
    async with loopback(echo) as server:
        options = ("-m", "scripted", "--base-url", server.base_url, "--json", "--backend", anyio_backend)
        code, out, err = await headwater("batch", str(source), "-o", str(target), *options)
    records = {record.get("line", record.get("custom_id")): record for record in map(json.loads, target.read_bytes().splitlines())}
    assert (records[1]["id"], records[1]["text"]) == ("a", "you said: one")
    assert records[3]["error"]["message"].startswith("line 3: not JSON (")
    assert records["b"]["response"]["body"]["choices"][0]["message"]["content"] == "you said: two"
    assert [asked.body["model"] for asked in server.asked] == ["scripted", "scripted"]
    assert err.splitlines()[0].endswith(": 2 answered, 1 failed (invalid_request 1)")
    summary = json.loads(out)
    assert (code, summary["rows"], summary["answered"], summary["failures"]) == (1, 3, 2, {"invalid_request": 1})


async def test_batch_over_pipes(anyio_backend: str) -> None:
    """Rows may come from standard input and records go to standard output."""
    async with loopback(echo) as server:
        options = ("-m", "scripted", "--base-url", server.base_url, "--limit", "2", "--backend", anyio_backend)
        code, out, _ = await process_of("batch", "-", "-o", "-", *options, input=b'{"prompt": "a"}\n\n{"prompt": "b"}\n{"prompt": "c"}')
    assert (code, sorted(json.loads(line)["text"] for line in out.splitlines())) == (0, ["you said: a", "you said: b"])


async def test_batch_stopped(anyio_backend: str, tmp_path: Path) -> None:
    """Ctrl-C: rows in flight become aborted records, no further row starts, the summary says so, exit code 130."""
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b'{"prompt": "x"}\n' * 5)
    with anyio.fail_after(TIME):
        async with loopback(so_far) as server:
            options = ("-m", "scripted", "--base-url", server.base_url, "-c", "2", "--backend", anyio_backend)
            async with running("batch", str(source), "-o", str(target), *options) as process:
                await server.busy(2)
                process.send_signal(signal.SIGINT)
                code, _, err = await finished(process)
                for asked in server.asked:
                    await asked.hung_up.wait()
    records = [json.loads(line) for line in target.read_bytes().splitlines()]
    assert [(record["error"]["kind"], record["error"]["message"]) for record in records] == [("aborted", "stopped by Ctrl-C")] * 2
    assert (code, len(server.asked)) == (130, 2)
    assert "stopped by Ctrl-C: 2 rows in flight were aborted and written with what they had received; 3 rows were not started" in err


async def test_two_batches_on_one_output(anyio_backend: str, tmp_path: Path) -> None:
    """The second run on an output is refused at once; the first one goes on."""
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b'{"prompt": "x"}\n')
    let_go = anyio.Event()

    async def wait(asked: Asked, reply: Reply) -> None:
        await let_go.wait()
        await reply.chat("done")

    with anyio.fail_after(TIME):
        async with loopback(wait) as server:
            arguments = ("batch", str(source), "-o", str(target), "-m", "scripted", "--base-url", server.base_url, "--backend", anyio_backend)
            async with running(*arguments) as process:
                await server.busy(1)
                code, _, err = await headwater(*arguments, "--overwrite")
                assert (code, err) == (2, f"headwater: {target} is being written by another run: wait for its end, or give another output\n")
                let_go.set()
                assert (await finished(process))[0] == 0
    assert json.loads(target.read_bytes())["text"] == "done"


async def test_bench(anyio_backend: str) -> None:
    """Warm-up requests are sent and not counted; failures are counted and kept apart; definitions come along."""

    async def every_third_fails(asked: Asked, reply: Reply) -> None:
        if len(server.asked) % 3 == 0:
            await reply.whole(400, b'{"error":{"message":"no"}}')
        else:
            await reply.chat("a", "b")

    async with loopback(every_third_fails) as server:
        options = ("-n", "6", "-c", "2", "--warmup", "1", "--unique", "--prompt", "p", "--base-url", server.base_url, "--backend", anyio_backend)
        code, out, _ = await headwater("bench", "scripted", "--json", *options)
        shown_code, shown, _ = await headwater("bench", "scripted", *options)
    figures = json.loads(out)
    assert (code, figures["requests"], figures["succeeded"], figures["failures"], figures["warm_up"]) == (1, 6, 4, {"invalid_request": 2}, 1)
    assert (figures["measures"]["first_token"]["n"], figures["measures"]["output_tokens"]["p50"]) == (4, 2)
    assert figures["definitions"]["gap"].startswith("between two reads")
    assert sorted(server.prompts[:7]) == [f"({number}) p" for number in range(7)]
    assert shown_code == 1
    for expected in (
        "time to first token",
        "4 of 6 requests succeeded (66.7%)",
        "time per output token: ",
        "warm-up is not in the figures: 1 earlier",
    ):
        assert expected in shown


async def test_reader_that_goes_away(anyio_backend: str) -> None:
    """A closed standard output ends the command without a traceback."""

    async def endless(asked: Asked, reply: Reply) -> None:
        await reply.begin()
        while True:
            await reply.send(delta("x" * 1000))

    with anyio.fail_after(TIME):
        async with loopback(endless) as server:
            options = ("-m", "scripted", "--base-url", server.base_url, "--backend", anyio_backend)
            ours, theirs = os.pipe()
            async with await anyio.open_process(command("generate", "x", *options), stdin=subprocess.DEVNULL, stdout=theirs) as process:
                os.close(theirs)
                await anyio.wait_readable(ours)
                os.close(ours)
                assert process.stderr is not None
                err = b"".join([piece async for piece in process.stderr])
                code = await process.wait()
    assert (code, err) == (1, b"")
