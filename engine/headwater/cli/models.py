"""`headwater models`: the vendors that are known, and whether their key is set; or the models of one, and what they cost."""

from __future__ import annotations

import sys

from msgspec import to_builtins

from headwater.cli.console import DONE, say, write_out
from headwater.plain import PlainDict, json_line
from headwater_providers.builtin import default_registries
from headwater_providers.catalogue import ModelInfo, Prices, default_catalogue
from headwater_providers.resolve import Registries
from headwater_providers.vendors import ProviderSpec

_HEAD = ("vendor", "protocol", "key", "key variables", "address")
_MODEL_HEAD = ("model", "context", "output", "$ in", "$ out", "$ cached", "reads", "reasoning", "retires")


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


def of_vendor(vendor: str, as_json: bool, registries: Registries | None = None) -> int:
    """Print the models of one vendor; the exit code. Raises ConfigurationError for a vendor that is not known."""
    spec = (registries or default_registries()).providers.get(vendor)
    infos = default_catalogue().models(spec.id)
    if as_json:
        sys.stdout.buffer.write(json_line([info_as_dict(info) for info in infos]))
        sys.stdout.buffer.flush()
        return DONE
    if not infos:
        say(f"the catalogue has no models of {spec.id}")
        return DONE
    facts = f"As of {infos[0].as_of}, in US dollars for a million tokens; a long prompt may cost more (--json has all of it)."
    write_out("\n".join([*table([_model_row(info) for info in infos], _MODEL_HEAD), "", facts]) + "\n")
    return DONE


def info_as_dict(info: ModelInfo) -> PlainDict:
    """One model as plain values; null for what nobody says."""
    plain = to_builtins(info)
    plain["reads"], plain["writes"] = sorted(info.reads), sorted(info.writes)
    return plain  # type: ignore[no-any-return]  # a struct becomes a dict


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


def table(rows: list[tuple[str, ...]], head: tuple[str, ...] = _HEAD) -> list[str]:
    """The rows under their head, in aligned columns."""
    rows = [head, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _model_row(info: ModelInfo) -> tuple[str, ...]:
    prices = info.prices or Prices()
    limits = [_or_dash(info.context_window), _or_dash(info.max_output_tokens)]
    costs = [_or_dash(price) for price in (prices.input, prices.output, prices.cache_read)]
    return info.id, *limits, *costs, " ".join(sorted(info.reads)), " ".join(info.reasoning_levels) if info.reasoning else "-", info.retires or "-"


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _row(vendor: PlainDict) -> tuple[str, ...]:
    key = "set" if vendor["key_set"] else "missing" if vendor["needs_key"] else "not needed"
    address = vendor["base_url"] or (
        "started here on first use" if vendor["launched_here"] else "from " + _names(vendor["base_url_variables"], "--base-url")
    )
    return str(vendor["id"]), _names(vendor["protocols"], ""), key, _names(vendor["key_variables"], "-"), str(address)


def _names(value: object, none: str) -> str:
    return " ".join(map(str, value)) or none if isinstance(value, list) else none
