"""The simulator as a pytest fixture for everybody's tests: `pytest_plugins = ["headwater.sim.fixtures"]` in a conftest. It needs pytest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.sim.simulator import Simulator


@pytest.fixture
def headwater_sim() -> Iterator[Simulator]:
    """A simulator that serves while the test runs, for tests of any kind: it lives in a thread of its own."""
    with Simulator() as simulator:
        yield simulator
