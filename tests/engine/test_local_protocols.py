"""The embedded model answers over each protocol that its server speaks, through the whole engine."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.local import stop_local

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic-messages"])
async def test_the_local_model_over(protocol: str) -> None:
    """A real answer with its usage and its end, on a server that the engine starts by itself."""
    try:
        async with hw.Engine(transport="socket", timeouts=hw.Timeouts(total=120)) as engine:
            request = hw.Request(model=hw.Model("local/smollm2", protocol=protocol), messages=[hw.user("Name a colour.")], max_tokens=8)
            answer = await engine.generate(request, raise_on_error=False)
        assert answer.error is None
        assert answer.text.strip()
        assert answer.finish_reason in ("stop", "length")
        assert answer.usage is not None
        assert answer.usage.output_tokens
    finally:
        stop_local()
