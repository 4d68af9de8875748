"""The simulator in a process of its own, for what measures this process: `with simulator() as sim`, or with TLS by a made-up authority."""

from __future__ import annotations

import pathlib
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from headwater.sim import Simulator

HERE = pathlib.Path(__file__).resolve()


@contextmanager
def simulator(*, tls: bool = False) -> Iterator[tuple[Simulator, ssl.SSLContext | None]]:
    """A simulator to make models with, and the context that trusts it (None without TLS)."""
    with tempfile.TemporaryDirectory() as folder:
        certificate = pathlib.Path(folder, "server.pem")
        context = _authority(certificate) if tls else None
        server = subprocess.Popen(
            [sys.executable, str(HERE), *([str(certificate)] if tls else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            sim = Simulator()
            sim.address, sim.refusing = server.stdout.readline().split()
            yield sim, context
        finally:
            server.communicate()


def _authority(certificate: pathlib.Path) -> ssl.SSLContext:
    import trustme

    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def serve(certificate: str | None) -> None:
    """Say where it is, and serve until the standard input ends."""
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    async with Simulator(ssl_context=context) as sim:
        print(sim.address, sim.refusing, flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)


if __name__ == "__main__":
    anyio.run(serve, *(sys.argv[1:] or [None]))
