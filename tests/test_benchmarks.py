"""The benchmarks run and say what they measured; their figures are nobody's business here."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize(
    ("script", "arguments", "rows"),
    [
        ("bench_decode.py", ["--events", "200"], 4),
        ("bench_fanout.py", ["--listeners", "20", "--events", "16"], 6),
        ("bench_idle.py", ["--streams", "10"], 4),
        ("bench_topologies.py", ["--workloads", "dense"], 8),
        ("bench_end_to_end.py", ["--workloads", "dense", "--clients", "headwater,headwater@trio"], 2),
    ],
)
def test_it_prints_one_json_object_with_its_rows_and_versions(script: str, arguments: list[str], rows: int) -> None:
    """Every row that needs no peer is there, and no stream was wrong."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments, "--repeat", "1", "--json"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["versions"]["headwater"]
    assert len(found["rows"]) >= rows
    assert all(row.get("wrong", 0) == 0 for row in found["rows"])
