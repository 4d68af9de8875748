"""What the engine's tests share: every topology."""

from __future__ import annotations

import pytest

from engine.upstream import TOPOLOGIES
from headwater.stream import Topology


@pytest.fixture(params=TOPOLOGIES)
def topology(request: pytest.FixtureRequest) -> Topology:
    """Every test that asks for it runs on each."""
    chosen: Topology = request.param
    return chosen
