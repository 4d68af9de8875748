"""The commands through click's runner: what is printed where, exit codes, and one readable line for everything that is wrong with the call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from headwater.cli.app import app
from headwater.cli.models import table, vendor_as_dict
from headwater_providers.builtin import new_registries
from headwater_providers.vendors import ProviderOverride
from loopback import delta, ending

SECRET = "sk-very-secret"


def headwater(*arguments: str, input: str | bytes | None = None, env: dict[str, str] | None = None) -> Result:
    """Run one command."""
    return CliRunner().invoke(app, arguments, input=input, env=env or {})


@pytest.mark.parametrize("command", [[], ["generate"], ["batch"], ["decode"], ["bench"], ["models"], ["sim"]])
def test_help(command: list[str]) -> None:
    """Every command says what it is for."""
    result = headwater(*command, "--help")
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")


def test_every_command_is_there() -> None:
    """The commands of the design, and no other."""
    assert sorted(app.commands) == ["batch", "bench", "decode", "generate", "models", "sim"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["batch", "{dir}/none.jsonl", "-o", "{dir}/out"], "cannot read {dir}/none.jsonl: No such file or directory"),
        (["batch", "{dir}/in.jsonl", "-o", "{dir}/no/out"], "cannot write {dir}/no/out: No such file or directory"),
        (["batch", "{dir}/in.jsonl", "-o", "{dir}/full"], "{dir}/full exists and is not empty: give another output, or --overwrite to replace it"),
        (["batch", "{dir}/in.jsonl", "-o", "{dir}/in.jsonl"], "{dir}/in.jsonl is the input: give another file for the output"),
        (["batch", "{dir}/in.jsonl", "-o", "{dir}/out", "-c", "0"], "concurrency is 0: give 1 or more"),
        (["batch", "{dir}/in.jsonl", "-o", "-", "--json"], "--json prints the summary on standard output, where the records go: give a file to -o"),
        (["batch", "{dir}/in.jsonl", "-o", "{dir}/out", "-m", "openai/gpt-4o"], "no API key for provider openai: set OPENAI_API_KEY"),
        (["batch", "{dir}/in.jsonl", "-o", "{dir}/out", "-m", "nobody-knows-it"], "nobody-knows-it"),
        (["generate", " "], "the prompt is empty"),
        (["generate", "hi", "-m", "openai/gpt-4o"], "no API key for provider openai: set OPENAI_API_KEY"),
        (["generate", "hi", "-m", "nobody-knows-it"], "nobody-knows-it"),
        (["bench", "openai/gpt-4o"], "no API key for provider openai: set OPENAI_API_KEY"),
        (["bench", "local/smollm2", "-n", "0"], "0 requests after 1 warm-up ones: give at least one request"),
        (["decode", "{dir}/in.jsonl", "-p", "telepathy"], "unknown protocol 'telepathy'"),
        (["decode", "{dir}/in.jsonl", "-p", "openai-chat", "--option", "telepathy"], "telepathy"),
        (["decode", "{dir}/in.jsonl", "-p", "openai-chat", "-H", "x"], "'x' is no header: write NAME:VALUE"),
        (["decode", "{dir}/none", "-p", "openai-chat"], "cannot read {dir}/none: No such file or directory"),
        (["sim", "--key", "{dir}/in.jsonl"], "--key without --cert: give the certificate too"),
        (["sim", "--cert", "{dir}/in.jsonl"], "the certificate cannot be used"),
        (["sim", "--script", "{dir}/in.jsonl"], "the file of scripts cannot be read"),
    ],
)
def test_wrong_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str) -> None:
    """What is wrong with the call is one line and exit code 2, before anything runs and without a new output file."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "in.jsonl").write_bytes(b'{"prompt": "a"}\n')
    (tmp_path / "full").write_bytes(b"x\n")
    result = headwater(*(argument.format(dir=tmp_path) for argument in arguments))
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("headwater: ")
    assert said.format(dir=tmp_path) in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [["generate", "hi"], ["batch", "{dir}/in.jsonl", "-o", "{dir}/out"], ["bench", "local/smollm2"]])
def test_local_model_without_its_weights(tmp_path: Path, arguments: list[str]) -> None:
    """What the local model lacks is said once, before anything runs, and a row never pays for it."""
    (tmp_path / "in.jsonl").write_bytes(b'{"prompt": "a"}\n' * 3)
    result = headwater(*(argument.format(dir=tmp_path) for argument in arguments), env={"HEADWATER_LOCAL_GGUF": str(tmp_path / "gone.gguf")})
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "cannot read" in line
    assert not (tmp_path / "out").exists()


def test_unknown_option() -> None:
    """A wrong option is explained by click, with the same exit code."""
    result = headwater("generate", "--telepathy", "x")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


def test_decode(tmp_path: Path) -> None:
    """The text on standard output; how it ended and what it cost on standard error."""
    path = tmp_path / "body"
    path.write_bytes(delta("hel") + delta("lo") + ending())
    result = headwater("decode", str(path), "--protocol", "openai-chat")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "hello\n", "finish reason: stop\nusage: input tokens 3, output tokens 2\n")


def test_decode_json() -> None:
    """The whole response as one line of JSON, from standard input."""
    result = headwater("decode", "-", "-p", "openai-chat", "--json", input=delta("hi") + ending("length"))
    response = json.loads(result.stdout)
    found = {name: response[name] for name in ("ok", "text", "finish_reason", "error", "model", "protocol", "tool_calls")}
    assert found == {
        "ok": False,
        "text": "hi",
        "finish_reason": "length",
        "error": None,
        "model": "scripted-1",
        "protocol": "openai-chat",
        "tool_calls": [],
    }
    assert response["usage"]["output_tokens"] == 2
    assert response["blocks"] == [{"kind": "text", "index": 0, "complete": True, "text": "hi"}]
    assert result.exit_code == 0


def test_decode_of_a_cut_body() -> None:
    """What had come is printed, the failure is one line with advice, the exit code is 1."""
    result = headwater("decode", "-", "-p", "openai-chat", input=delta("half"))
    assert (result.exit_code, result.stdout) == (1, "half\n")
    assert result.stderr.startswith("failed: truncated: ")
    assert result.stderr.endswith("the connection broke before the end: try again\n")


def test_decode_events() -> None:
    """The events, one a line."""
    result = headwater("decode", "-", "-p", "openai-chat", "--events", input=delta("hi") + ending())
    events = [json.loads(line)["type"] for line in result.stdout.splitlines()]
    assert events == ["stream_start", "text_start", "text_delta", "text_end", "usage_update", "choice_end", "finish"]


def test_decode_with_an_option_and_a_header() -> None:
    """Dialect flags and response headers reach the decoder."""
    options = ("--json", "--option", "think-tags", "-H", "Content-Encoding: identity")
    result = headwater("decode", "-", "-p", "openai-chat", *options, input=delta("<think>a</think>b") + ending())
    response = json.loads(result.stdout)
    assert (response["reasoning"], response["text"]) == ("a", "b")


def test_models_never_show_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is set is said to be set; it is nowhere in the output."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    for arguments in (["models"], ["models", "--json"]):
        result = headwater(*arguments)
        assert result.exit_code == 0
        assert SECRET not in result.output
    vendors = {vendor["id"]: vendor for vendor in json.loads(result.stdout)}
    assert (vendors["openai"]["key_set"], vendors["openai"]["key_from"]) == (True, "env:OPENAI_API_KEY")
    assert (vendors["groq"]["key_set"], vendors["groq"]["key_from"]) == (False, None)
    assert (vendors["local"]["needs_key"], vendors["local"]["launched_here"]) == (False, True)


def test_models_of_a_vendor() -> None:
    """Their windows and prices, with the day of these facts; as JSON all that is known; an alias is the vendor; one without any is told so."""
    result = headwater("models", "claude")
    head, *lines = result.stdout.splitlines()
    assert head.split("  ")[0] == "model"
    assert any(line.startswith("claude-sonnet-4-5 ") and "200000" in line for line in lines)
    assert lines[-1].startswith("As of 20")
    infos = {info["id"]: info for info in json.loads(headwater("models", "anthropic", "--json").stdout)}
    assert infos["claude-sonnet-4-5"]["prices"]["output"] == 15.0
    assert infos["claude-sonnet-4-5"]["reads"] == ["file", "image", "text"]
    empty = headwater("models", "local")
    assert (empty.exit_code, empty.stdout, empty.stderr) == (0, "", "the catalogue has no models of local\n")
    unknown = headwater("models", "nobody")
    assert (unknown.exit_code, unknown.stderr) == (2, "headwater: unknown provider 'nobody'\n")


def test_models_of_own_registries() -> None:
    """An override counts as set, whatever the environment says."""
    registries = new_registries(plugins=False)
    registries.providers.override("groq", ProviderOverride(api_key=SECRET))
    vendor = vendor_as_dict(registries.providers.get("groq"), registries)
    assert (vendor["key_set"], vendor["key_from"], SECRET in repr(vendor)) == (True, "override", False)


def test_table_is_aligned() -> None:
    """Columns are as wide as their widest cell, without trailing space."""
    lines = table([("a", "openai-chat", "set", "A_KEY", "http://x"), ("bbbbbbb", "p", "not needed", "-", "y")])
    assert lines == [
        "vendor   protocol     key         key variables  address",
        "a        openai-chat  set         A_KEY          http://x",
        "bbbbbbb  p            not needed  -              y",
    ]
