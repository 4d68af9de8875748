"""Print the first answers of a file that `headwater batch` wrote: `show_answers.py FILE [N]`."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path


def main() -> None:
    """Each row: its id and its text, folded; the error where it failed."""
    path = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for row in rows[:count]:
        text = row.get("text") or (row.get("error") or {}).get("message") or "(an answer without text)"
        name = row.get("id") or row.get("custom_id") or f"line {row.get('line', '?')}"
        print(textwrap.fill(f"{name}: {' '.join(text.split())}", width=110, subsequent_indent="    ", max_lines=4, placeholder=" ..."))
    print(f"... {len(rows)} answers in {path}")


if __name__ == "__main__":
    main()
