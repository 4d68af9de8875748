"""The shipped rows: all can be run, in all three forms, and the local model answers them."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from headwater.batch import InputFile, read_rows
from headwater.cli.app import app

PROMPTS = Path(__file__).parents[2] / "examples" / "prompts.jsonl"
LONGEST = 80  # tokens: the demonstration is to be over in seconds


def test_every_row_can_be_run() -> None:
    """Twenty rows or more, none with an error, each with a limit that suits a small model."""
    with InputFile(str(PROMPTS)) as lines:
        rows = list(read_rows(lines))
    assert len(rows) >= 20
    assert [row.error for row in rows if row.error is not None] == []
    assert {row.form for row in rows} == {"prompt", "messages", "openai"}
    limits = [row.request.max_tokens or 0 for row in rows if row.request is not None]
    assert all(0 < limit <= LONGEST for limit in limits)


def test_the_local_model_answers(tmp_path: Path) -> None:
    """The first rows through the command, with real tokens."""
    target = tmp_path / "answers.jsonl"
    result = CliRunner().invoke(app, ["batch", str(PROMPTS), "-o", str(target), "--limit", "2", "-c", "2"])
    records = sorted(map(json.loads, target.read_bytes().splitlines()), key=lambda record: int(record["index"]))
    assert (result.exit_code, [record["id"] for record in records]) == (0, ["capital-1", "capital-2"])
    assert "Paris" in records[0]["text"]
    assert all(record["usage"]["output_tokens"] > 0 for record in records)
