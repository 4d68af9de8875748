"""Write docs/support.md anew from the support tables of the adapters: python scripts/support_table.py"""

from __future__ import annotations

from pathlib import Path

from headwater_codecs.neutral import Request
from headwater_providers.adapter import Support
from headwater_providers.builtin import new_registries

PAGE = Path(__file__).parent.parent / "docs" / "support.md"
HEAD = """# What each protocol does with each field of a request

Made from the adapters' own tables by `python scripts/support_table.py`. **yes**: sent. **no**: refused with a `ConfigurationError`
that names the field, before a byte is sent. **ignored**: has no effect there, for the reason given. A vendor can refuse more; its
error says so.
"""
SHOWN = {"supported": "yes", "rejected": "no", "ignored": "ignored"}


def page() -> str:
    """The whole page."""
    adapters = new_registries().adapters
    tables = {protocol: adapters.get(protocol).supports for protocol in sorted(adapters.protocols)}
    lines = [HEAD, "| field | " + " | ".join(tables) + " |", "| --- |" + " --- |" * len(tables)]
    for field in Request.__struct_fields__:
        lines.append(f"| `{field}` | " + " | ".join(SHOWN[table[field].how] for table in tables.values()) + " |")
    for protocol, table in tables.items():
        lines += ["", f"## {protocol}", ""]
        lines += [f"- `{field}` {_said(support)}" for field, support in table.items() if support.reason] or ["Every field as it is."]
    return "\n".join(lines) + "\n"


def _said(support: Support) -> str:
    return f"({SHOWN[support.how]}): {support.reason}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
