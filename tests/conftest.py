"""What all tests share: both event loops, and the fixture loader (`helpers.fixtures`)."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Every test marked `anyio` runs on both event loops."""
    name: str = request.param
    return name
