"""What all tests share: both event loops, and the fixture loader (`helpers.fixtures`)."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# In CI the same examples every time: what is found by chance is for whoever looks for it (`make fuzz`), not for who happens to push.
# How fast an example is on a busy machine is no property of the code: no deadline, and no complaint that making the examples was slow.
settings.register_profile("headwater", deadline=None, derandomize=bool(os.environ.get("CI")), suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("headwater")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Every test marked `anyio` runs on both event loops."""
    name: str = request.param
    return name
