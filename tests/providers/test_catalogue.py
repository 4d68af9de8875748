"""The catalogue: facts with a date, found by the names that vendors use; levels, prices, and whether a prompt was too long."""

from __future__ import annotations

import re

import pytest

import headwater as hw
from headwater_codecs.neutral import ConfigurationError, Usage, error_info
from headwater_codecs.neutral.request import Effort
from headwater_providers.builtin import default_registries
from headwater_providers.catalogue import Catalogue, Cost, ModelInfo, Prices, cost_of, default_catalogue, overflowed
from headwater_providers.levels import LEVELS, clamp, levels_of

OWN = Catalogue(shipped=False)
OWN.add(ModelInfo(id="big-1", provider="acme", context_window=1000, reads=frozenset({"text", "image"}), prices=Prices(2.0, 8.0, 0.5, 2.5)))
OWN.add(ModelInfo(id="big-1-mini", provider="acme"))
OWN.add(ModelInfo(id="old-20250101", provider="acme"))
OWN.add(ModelInfo(id="old-20250601", provider="acme"))


@pytest.mark.rows("OR-MOD-06")
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("big-1", "big-1"),
        ("big-1-20260101", "big-1"),
        ("us.big-1", "big-1"),
        ("big-1-mini", "big-1-mini"),
        ("big-1-mini-latest", "big-1-mini"),
        ("old", "old-20250601"),
        ("big-1-maxi", None),
        ("big", None),
        ("big-1-5", None),
        ("big-1-v1:0", "big-1"),
        ("", None),
    ],
)
def test_names(name: str, found: str | None) -> None:
    """A dated, versioned or regional form is the model's; a longer name is another model."""
    info = OWN.lookup("acme", name)
    assert (info and info.id) == found
    assert OWN.lookup("other", name) is None


@pytest.mark.rows("OR-MOD-06")
def test_what_an_application_adds() -> None:
    """It replaces what is known; models and vendors are told in order; one that is not there is an error that says what to do."""
    catalogue = Catalogue()
    mine = ModelInfo(id="gpt-5", provider="openai", context_window=7)
    before = catalogue.lookup("openai", "gpt-5")
    catalogue.add(mine)
    assert before is not None
    assert before.context_window == 272_000
    assert catalogue.get("openai", "gpt-5") is mine
    assert default_catalogue().lookup("openai", "gpt-5") == before
    assert mine in catalogue.models("openai")
    assert [info.id for info in OWN.models("acme")] == ["big-1", "big-1-mini", "old-20250101", "old-20250601"]
    assert OWN.providers() == ["acme"]
    with pytest.raises(ConfigurationError, match=r"does not know acme/nobody: add it with catalogue.add\(ModelInfo"):
        OWN.get("acme", "nobody")
    with pytest.raises(ConfigurationError, match="needs an id and a provider"):
        OWN.add(ModelInfo(id=" ", provider="acme"))


@pytest.mark.rows("OR-MOD-01", "OR-MOD-07")
def test_what_ships() -> None:
    """Hundreds of models of vendors that we know, each with sane facts and the day of them."""
    catalogue, registries = default_catalogue(), default_registries()
    infos = [info for provider in catalogue.providers() for info in catalogue.models(provider)]
    assert len(infos) > 1000
    assert {registries.providers.get(info.provider).id for info in infos} == set(catalogue.providers())
    for info in infos:
        assert info.as_of is not None
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", info.as_of)
        assert info.context_window is None or info.context_window > 0
        assert "text" in info.reads
        assert set(info.reasoning_levels) <= set(LEVELS)
        prices = info.prices
        assert prices is None or all(price is None or price >= 0 for price in (prices.input, prices.output, prices.cache_read, prices.cache_write))


@pytest.mark.rows("OR-MOD-03")
@pytest.mark.parametrize(
    ("reasoning", "said", "levels"),
    [
        (False, {"high": True}, ("off",)),
        (True, {}, ("off", "minimal", "low", "medium", "high")),
        (True, {"off": False, "minimal": False}, ("low", "medium", "high")),
        (True, {"xhigh": True, "max": False}, ("off", "minimal", "low", "medium", "high", "xhigh")),
    ],
)
def test_levels(reasoning: bool, said: dict[str, bool], levels: tuple[Effort, ...]) -> None:
    """All that a reasoning model is not said to lack, and the two above `high` where they are said."""
    assert levels_of(reasoning, said) == levels


@pytest.mark.rows("OR-MOD-04")
@pytest.mark.parametrize(
    ("level", "supported", "meant"),
    [
        ("high", ("off", "low", "high"), "high"),
        ("medium", ("off", "low", "high"), "high"),
        ("max", ("off", "low", "high"), "high"),
        ("off", ("low", "high"), "low"),
        ("strong", ("low", "high"), "low"),
        ("high", (), "off"),
        ("high", ("off",), "off"),
    ],
)
def test_clamp(level: str, supported: tuple[Effort, ...], meant: str) -> None:
    """The next higher one, else the next lower; the lowest for a word that is no level."""
    assert clamp(level, supported) == meant


TIERED = Prices(1.0, 4.0, 0.1, 1.25, above=((200_000, Prices(2.0, 6.0, 0.2)),))


@pytest.mark.rows("OR-MOD-05")
@pytest.mark.parametrize(
    ("usage", "prices", "expected"),
    [
        (Usage(1_000_000, 500_000), Prices(2.0, 8.0), Cost(2.0, 4.0)),
        (Usage(1_000_000, 0, 400_000, 100_000), Prices(2.0, 8.0, 0.5, 2.5), Cost(1.0, 0.0, 0.2, 0.25)),
        (Usage(1_000_000, 0, 400_000, 100_000), Prices(2.0, 8.0), Cost(1.0, 0.0, 0.8, 0.2)),
        (Usage(0, 0), Prices(2.0, 8.0), Cost()),
        (Usage(100_000, 1000, reasoning_tokens=900), TIERED, Cost(0.1, 0.004)),
        (Usage(300_000, 1000, 100_000, 100_000), TIERED, Cost(0.2, 0.006, 0.02, 0.125)),
        (Usage(None, 5), Prices(2.0, 8.0), None),
        (Usage(5, None), Prices(2.0, 8.0), None),
        (Usage(5, 5), Prices(2.0, None), None),
    ],
)
def test_cost(usage: Usage, prices: Prices, expected: Cost | None) -> None:
    """Each category by its price, cached tokens apart from the others, the dearer prices of a long prompt; unknown is not zero."""
    found = cost_of(usage, prices)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        values = (found.input, found.output, found.cache_read, found.cache_write)
        assert values == pytest.approx((expected.input, expected.output, expected.cache_read, expected.cache_write))
        assert found.total == pytest.approx(sum(values))


def answer(**fields: object) -> hw.Response:
    """A response with these fields."""
    response = hw.Response()
    choice = response.choice(0)
    for name, value in fields.items():
        setattr(choice if name == "finish_reason" else response, name, value)
    return response


@pytest.mark.rows("OR-OV-01", "OR-OV-04")
@pytest.mark.parametrize(
    ("response", "window", "expected"),
    [
        (answer(error=error_info("context_overflow", "too long")), None, True),
        (answer(error=error_info("rate_limit", "too many tokens")), 10, False),
        (answer(finish_reason="stop", usage=Usage(1001, 5)), 1000, True),
        (answer(finish_reason="stop", usage=Usage(1000, 5)), 1000, False),
        (answer(finish_reason="stop", usage=Usage(1001, 5)), None, False),
        (answer(finish_reason="length", usage=Usage(990, 0)), 1000, True),
        (answer(finish_reason="length", usage=Usage(989, 0)), 1000, False),
        (answer(finish_reason="length", usage=Usage(995, 1)), 1000, False),
        (answer(finish_reason="stop"), 1000, False),
    ],
)
def test_overflow(response: hw.Response, window: int | None, expected: bool) -> None:
    """By the provider's word, by more than the window holds, by an answer that had no room."""
    assert overflowed(response, window) is expected


@pytest.mark.rows("OR-MOD-01", "OR-MOD-05")
def test_by_the_names_of_requests() -> None:
    """`openai/gpt-5`, the bare name, an alias of the vendor; the cost is that of the model which answered, else of the one that was asked."""
    info = hw.model_info("openai/gpt-5")
    assert info is not None
    assert hw.model_info("gpt-5") == hw.model_info(hw.Model("gpt-5", provider="openai")) == info
    assert hw.model_info("claude/claude-sonnet-4-5") == hw.model_info("anthropic/claude-sonnet-4-5")
    assert hw.model_info("openai/never-heard-of") is None
    with pytest.raises(ConfigurationError, match="unknown model"):
        hw.model_info("never-heard-of")
    response = answer(provider="openai", model="gpt-5-2099-01-01", requested_model="gpt-5", usage=Usage(1_000_000, 0))
    cost = hw.cost(response)
    assert cost is not None
    assert cost.total == pytest.approx(1.25)
    assert hw.cost(answer(provider="openai", model="tuned-7", requested_model="gpt-5", usage=Usage(1_000_000, 0))) == cost
    assert hw.cost(answer(provider="openai", model="gpt-5")) is None
    assert hw.cost(answer(provider="nobody", model="gpt-5", usage=Usage(1, 1))) is None
