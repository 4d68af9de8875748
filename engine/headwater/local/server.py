"""The child process: one llama.cpp server, until whoever started it is gone.

It prints one JSON line, `{"port": 1234}` or `{"error": "..."}`, and nothing else. Its life hangs on its standard input: end of file means
that the parent has let go or died, however hard, and the child leaves at once. This file is run by its path and imports nothing of
Headwater, so starting it costs no more than the model does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from urllib.parse import urlsplit

# One thread of the HTTP server per open connection: with fewer, connections wait behind idle ones that a pool keeps open.
HTTP_THREADS = 256
ERRORS_ONLY = 1
INFO = 3
PARENT_CHECK = 2.0  # seconds


def main() -> None:
    """Serve until standard input ends. Exits with 1 when the model cannot be loaded."""
    parser = argparse.ArgumentParser(prog="headwater.local.server", description="Serve one GGUF model on loopback until standard input ends.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--parallel", type=int, required=True)
    parser.add_argument("--ctx", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True, help="process id of the parent")
    parser.add_argument("--log", action="store_true", help="log to standard error instead of staying silent")
    options = parser.parse_args()

    # Standard output belongs to the one line: what libraries print must not get between.
    announce = os.fdopen(os.dup(1), "w")
    _silence(1)
    threading.Thread(target=_leave_at_end_of_input, daemon=True).start()
    try:
        server, port = _serve(options)
    except Exception as error:
        print(json.dumps({"error": str(error)}), file=announce, flush=True)
        sys.exit(1)
    print(json.dumps({"port": port}), file=announce, flush=True)
    announce.close()
    if not options.log:
        _silence(2)
    # A process that the parent forked may hold the pipe open after the parent's death: look for that too.
    while os.name != "posix" or os.getppid() == options.parent:
        threading.Event().wait(PARENT_CHECK)
    del server
    os._exit(0)


def _serve(options: argparse.Namespace) -> tuple[object, int]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = options.parallel
    params.n_ctx = options.ctx
    params.cpuparams.n_threads = options.threads
    params.n_threads_http = HTTP_THREADS
    params.cache_ram_mib = 0  # else prompts of past answers are kept, up to 8 GiB over a long batch
    params.warmup = False
    params.ui = False
    params.verbosity = INFO if options.log else ERRORS_ONLY
    server = xllamacpp.Server(params)
    port = urlsplit(server.listening_address).port
    if port is None:
        raise RuntimeError(f"the server gave no port: {server.listening_address}")
    return server, port


def _leave_at_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def _silence(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


if __name__ == "__main__":
    main()
