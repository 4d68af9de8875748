"""The catalogue: `models.json`, made by scripts/catalogue.py, and what an application adds to it. Rows OR-MOD-01, OR-MOD-06, OR-MOD-07."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Effort
from headwater_providers.levels import levels_of

_REGIONS = ("us.", "eu.", "apac.", "global.", "jp.", "au.", "us-gov.")  # of Bedrock's inference profiles
_FORM = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d))?(?:-v\d+(?::\d+)?)?(?:-latest)?")
_LEVEL_NAMES = {"none": "off"}


class Prices(Struct, frozen=True):
    """US dollars for a million tokens; None where nobody says. `cache_read` and `cache_write` are for the cached part of the input.

    `above`: where the input has more tokens than the number, these prices count for all of it.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    above: tuple[tuple[int, Prices], ...] = ()


class ModelInfo(Struct, frozen=True, kw_only=True):
    """One model of one vendor. Tokens for the limits, None where they are not known.

    `reads` and `writes` hold `text`, `image`, `file`, `audio`, `video`.
    `retires` is the day on which the vendor takes it out of service, `as_of` the day of these facts (ISO 8601).
    """

    id: str
    provider: str
    context_window: int | None = None
    max_output_tokens: int | None = None
    reads: frozenset[str] = frozenset({"text"})
    writes: frozenset[str] = frozenset({"text"})
    reasoning: bool = False
    reasoning_levels: tuple[Effort, ...] = ("off",)
    prices: Prices | None = None
    retires: str | None = None
    as_of: str | None = None


_FourPrices = tuple[float | None, float | None, float | None, float | None]


class _Entry(Struct, array_like=True):
    """A model in the file."""

    context_window: int | None
    max_output_tokens: int | None
    reads: list[str]
    writes: list[str]
    reasoning: bool
    levels: dict[str, bool]
    prices: _FourPrices
    steps: list[tuple[int, _FourPrices]]
    retires: str | None


class _File(Struct):
    as_of: str
    models: dict[str, dict[str, _Entry]]


class Catalogue:
    """Models by vendor. What an application adds goes before what ships; infos are frozen, so what is handed out is nobody's to change."""

    def __init__(self, shipped: bool = True) -> None:
        self._own: dict[str, dict[str, ModelInfo]] = {}
        self._shipped = shipped
        self._found: dict[tuple[str, str], ModelInfo | None] = {}

    def add(self, info: ModelInfo) -> None:
        """Add a model, or replace what is known of it. Raises ConfigurationError without an id or a provider."""
        if not info.id.strip() or not info.provider.strip():
            raise ConfigurationError("a model of the catalogue needs an id and a provider")
        self._own.setdefault(info.provider, {})[info.id] = info
        self._found.clear()

    def lookup(self, provider: str, model: str) -> ModelInfo | None:
        """What is known of this model, None for one that is not here. A dated or regional form of a name is the model's."""
        key = provider, model
        if key not in self._found:
            if len(self._found) > 1024:
                self._found.clear()
            self._found[key] = self._find(provider, model)
        return self._found[key]

    def get(self, provider: str, model: str) -> ModelInfo:
        """The same. Raises ConfigurationError for a model that is not here."""
        found = self.lookup(provider, model)
        if found is None:
            raise ConfigurationError(f"the catalogue does not know {provider}/{model}: add it with catalogue.add(ModelInfo(...))")
        return found

    def models(self, provider: str) -> list[ModelInfo]:
        """All models of a vendor, by name."""
        known = {**(_shipped(provider) if self._shipped else {}), **self._own.get(provider, {})}
        return [known[name] for name in sorted(known)]

    def providers(self) -> list[str]:
        """The vendors whose models are here, by name."""
        return sorted({*self._own, *(_file().models if self._shipped else ())})

    def _find(self, provider: str, model: str) -> ModelInfo | None:
        for known in (self._own.get(provider, {}), _shipped(provider) if self._shipped else {}):
            name = _name_in(known, model)
            if name is not None:
                return known[name]
        return None


def _name_in(known: Mapping[str, ModelInfo], model: str) -> str | None:
    """The name under which a model stands: its own, without its region, or the longest that it is a version of; else its newest version."""
    if model in known:
        return model
    for region in _REGIONS:
        if model.startswith(region) and (bare := model.removeprefix(region)) in known:
            return bare
    names = [name for name in known if _is_form_of(model, name)]
    if names:
        return max(names, key=len)
    return max((name for name in known if _is_form_of(name, model)), default=None)


def _is_form_of(long: str, short: str) -> bool:
    """Whether it is the same model with a date, a revision or `latest` behind its name. Another number is another model, at another price."""
    return bool(short) and long.startswith(short) and _FORM.fullmatch(long, len(short)) is not None


@cache
def _file() -> _File:
    return msgspec.json.decode(files(__package__).joinpath("models.json").read_bytes(), type=_File)


@cache
def _shipped(vendor: str) -> Mapping[str, ModelInfo]:
    file = _file()
    return {name: _info(vendor, name, entry, file.as_of) for name, entry in file.models.get(vendor, {}).items()}


def _info(vendor: str, name: str, entry: _Entry, as_of: str) -> ModelInfo:
    above = tuple((step, Prices(*of)) for step, of in entry.steps)
    prices = Prices(*entry.prices, above) if any(price is not None for price in entry.prices) else None
    return ModelInfo(
        id=name,
        provider=vendor,
        context_window=entry.context_window,
        max_output_tokens=entry.max_output_tokens,
        reads=frozenset(("text", *entry.reads)),
        writes=frozenset(("text", *entry.writes)),
        reasoning=entry.reasoning,
        reasoning_levels=levels_of(entry.reasoning, {_LEVEL_NAMES.get(name, name): has for name, has in entry.levels.items()}),
        prices=prices,
        retires=entry.retires,
        as_of=as_of,
    )


@cache
def default_catalogue() -> Catalogue:
    """The one that is used unless another is given."""
    return Catalogue()
