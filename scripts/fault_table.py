"""Write docs/faults.md anew from the table of faults that the tests hold: python scripts/fault_table.py"""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "faults.md"
HEAD = """# What comes of each fault

Made from the table in `tests/faults/table.py` by `python scripts/fault_table.py`; the tests beside it make every fault happen on real sockets and
compare. **told**: the kind of the error in the terminal event (*whole*: the answer is whole). **phase**, **deadline**: fields of the same error.
**sent**: how often the request is sent by an engine that retries once. **kept**: the text that was received before is in the response and in the
events.

A failed attempt is made again only before its first content, so that nobody reads the same text twice.

| fault | what happens | told | phase | deadline | sent | kept |
| --- | --- | --- | --- | --- | --- | --- |
"""
FOOT = """
- A stall and endless pings before the first content run into `idle` instead of `first_content` where a protocol opens an item or a block first, since
  that is progress: {opens}.
- A reset may make the kernel drop what came just before it. Then less of the text is kept; where all of it was lost, the request is made again.
- A fault behind the protocol's own end hurts nobody.

Tested are: every fault on every protocol, over sockets and over httpx; every fault in every topology on both transports for `openai-chat`; each of
them on asyncio and on trio.
"""


def page() -> str:
    """The whole page."""
    table = runpy.run_path(str(ROOT / "tests" / "faults" / "table.py"))
    lines = []
    for name, fault in table["FAULTS"].items():
        outcome = fault.outcome
        cells = [name, fault.says, outcome.kind or "*whole*", outcome.phase or "", outcome.deadline or "", outcome.attempts]
        kept = "yes" if outcome.text and outcome.kind else ""
        lines.append("| " + " | ".join(map(str, [*cells, kept])) + " |\n")
    return HEAD + "".join(lines) + FOOT.format(opens=", ".join(f"`{protocol}`" for protocol in sorted(table["OPENS"])))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
