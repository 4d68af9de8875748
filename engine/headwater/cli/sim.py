"""`headwater sim`: the scripted provider, until Ctrl-C."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import anyio
from msgspec import Struct

from headwater.cli.console import DONE, TERMINATED, Interrupt, write_out
from headwater.sim import Simulator, read_scripts
from headwater.sim.speech import SPEECHES
from headwater_codecs.neutral import ConfigurationError


class Options(Struct, frozen=True, kw_only=True):
    """The command's options."""

    port: int = 0
    strict: bool = False
    max_concurrent: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    script: str | None = None
    cert: str | None = None
    key: str | None = None
    backend: str = "asyncio"


def sim(options: Options) -> int:
    """Serve until Ctrl-C; the exit code."""
    simulator = Simulator(
        scripts=None if options.script is None else read_scripts(Path(options.script).read_bytes()),
        strict=options.strict,
        max_concurrent=options.max_concurrent,
        rpm=options.rpm,
        tpm=options.tpm,
        port=options.port,
        ssl_context=_context(options),
    )
    try:
        return anyio.run(_serve, simulator, backend=options.backend)
    except KeyboardInterrupt:  # where the platform has no other way
        return DONE
    except OSError as error:
        raise ConfigurationError(
            f"port {options.port} cannot be listened on: {error.strerror or error}; give another one, or 0 for a free one"
        ) from error


async def _serve(simulator: Simulator) -> int:
    interrupt = Interrupt()
    async with interrupt.watch(), simulator:
        lines = [f"headwater sim at {simulator.address} (Ctrl-C ends it); connections to {simulator.refusing} are refused; base URLs:"]
        lines += [f"  {speech.protocol:20} {speech.base_url(simulator.address)}" for speech in SPEECHES]
        write_out("\n".join(lines) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()
    return TERMINATED if interrupt.exit_code == TERMINATED else DONE


def _context(options: Options) -> ssl.SSLContext | None:
    if options.cert is None:
        if options.key is not None:
            raise ConfigurationError("--key without --cert: give the certificate too")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(options.cert, options.key)
    except (ssl.SSLError, OSError) as error:
        raise ConfigurationError(f"the certificate cannot be used: {error}") from error
    return context
