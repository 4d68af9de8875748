"""`headwater models`: the vendors that are known, and whether their key is set."""

from __future__ import annotations

import sys

from headwater.cli.console import DONE, write_out
from headwater.plain import PlainDict, json_line
from headwater_providers.builtin import default_registries
from headwater_providers.resolve import Registries
from headwater_providers.vendors import ProviderSpec

_HEAD = ("vendor", "protocol", "key", "key variables", "address")


def models(as_json: bool, registries: Registries | None = None) -> int:
    """Print the vendors; the exit code."""
    registries = registries or default_registries()
    vendors = [vendor_as_dict(spec, registries) for spec in registries.providers.list()]
    if as_json:
        sys.stdout.buffer.write(json_line(vendors))
        sys.stdout.buffer.flush()
    else:
        write_out("\n".join(table([_row(vendor) for vendor in vendors])) + "\n")
    return DONE


def vendor_as_dict(spec: ProviderSpec, registries: Registries) -> PlainDict:
    """One vendor as plain values. `key_from` names where the key comes from; the key itself appears nowhere."""
    status = registries.auth_status(spec.id)
    return {
        "id": spec.id,
        "name": spec.name,
        "aliases": list(spec.aliases),
        "protocols": [spec.protocol, *spec.also],
        "base_url": spec.base_url,
        "base_url_variables": list(spec.env_base_url),
        "key_variables": list(spec.env_keys),
        "needs_key": spec.needs_key,
        "key_set": status.source not in (None, "none needed"),
        "key_from": status.source,
        "launched_here": spec.launcher is not None,
    }


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """The rows under their head, in aligned columns."""
    rows = [_HEAD, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _row(vendor: PlainDict) -> tuple[str, ...]:
    key = "set" if vendor["key_set"] else "missing" if vendor["needs_key"] else "not needed"
    address = vendor["base_url"] or (
        "started here on first use" if vendor["launched_here"] else "from " + _names(vendor["base_url_variables"], "--base-url")
    )
    return str(vendor["id"]), _names(vendor["protocols"], ""), key, _names(vendor["key_variables"], "-"), str(address)


def _names(value: object, none: str) -> str:
    return " ".join(map(str, value)) or none if isinstance(value, list) else none
