"""Every fault of the table has its one outcome: on every protocol, both transports, both event loops, every topology."""

from __future__ import annotations

import pytest

from faults.asking import ask
from faults.table import expected
from headwater.sim.speech import BY_PROTOCOL

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("transport", ["socket", "httpx"])
@pytest.mark.parametrize("protocol", BY_PROTOCOL)
async def test_every_protocol(protocol: str, transport: str) -> None:
    """Fused."""
    assert await ask(transport, "fused", protocol) == expected(protocol)


@pytest.mark.parametrize("transport", ["socket", "httpx"])
@pytest.mark.parametrize("topology", ["fan-out", "staged"])
async def test_the_other_topologies(topology: str, transport: str) -> None:
    """Through a pump and through four actors."""
    assert await ask(transport, topology, "openai-chat") == expected("openai-chat")  # type: ignore[arg-type]
