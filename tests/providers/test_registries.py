"""The three registries: what they take, what they refuse, what they find."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headwater_codecs.neutral import ConfigurationError, Model, Secret
from headwater_providers import AdapterRegistry, ModelRegistry, ProviderOverride, ProviderRegistry, ProviderSpec, default_registries, new_registries
from headwater_providers.openai_chat.adapter import OpenAIChatAdapter
from headwater_providers.plugins import load_plugins


def test_an_adapter_is_found_by_its_protocol() -> None:
    """What was registered is what is found."""
    adapters, adapter = AdapterRegistry(), OpenAIChatAdapter()
    adapters.register(adapter)
    assert adapters.get("openai-chat") is adapter
    assert adapters.protocols == ["openai-chat"]


def test_a_loader_runs_once_when_its_protocol_is_asked_for() -> None:
    """An adapter is made on first use and kept."""
    made: list[OpenAIChatAdapter] = []

    def load() -> OpenAIChatAdapter:
        made.append(OpenAIChatAdapter())
        return made[-1]

    adapters = AdapterRegistry()
    adapters.register_loader("openai-chat", load)
    assert made == []
    assert adapters.get("openai-chat") is adapters.get("openai-chat") is made[0]
    assert len(made) == 1


def test_an_adapter_is_replaced_only_when_asked() -> None:
    """A second adapter for a protocol is an error without replace=True."""
    adapters, second = AdapterRegistry(), OpenAIChatAdapter()
    adapters.register(OpenAIChatAdapter())
    with pytest.raises(ConfigurationError, match="already registered: pass replace=True"):
        adapters.register(second)
    adapters.register(second, replace=True)
    assert adapters.get("openai-chat") is second


def test_an_unknown_protocol_names_the_close_ones() -> None:
    """The error of a mistyped protocol says what was meant."""
    adapters = AdapterRegistry()
    adapters.register(OpenAIChatAdapter())
    with pytest.raises(ConfigurationError, match=r"unknown protocol 'openai-caht' \(did you mean openai-chat\?\); known: openai-chat"):
        adapters.get("openai-caht")


def test_an_adapter_without_protocol_is_refused() -> None:
    """None and an empty protocol are errors (OR-AR-01)."""

    class Nameless(OpenAIChatAdapter):
        protocol = " "

    with pytest.raises(ConfigurationError, match="provider is None"):
        ProviderRegistry().register(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="adapter is None"):
        AdapterRegistry().register(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="protocol of an adapter is empty"):
        AdapterRegistry().register(Nameless())


def test_a_pattern_is_searched_not_matched_whole() -> None:
    """Patterns are unanchored (ADK-REG-01)."""
    models = ModelRegistry()
    models.register("mini", lambda name: Model(name, provider="p"))
    assert models.lookup("gpt-4o-mini-2024") == Model("gpt-4o-mini-2024", provider="p")
    assert models.lookup("gpt-4o") is None


def test_two_patterns_for_one_name_are_an_error() -> None:
    """Never the first of several (ADK-REG-02)."""
    models = ModelRegistry()
    models.register("^a", lambda name: Model(name, provider="p"))
    models.register("b$", lambda name: Model(name, provider="q"))
    with pytest.raises(ConfigurationError, match=r"'ab' matches several registered patterns \('\^a', 'b\$'\)"):
        models.lookup("ab")
    models.unregister("b$")
    assert models.lookup("ab") == Model("ab", provider="p")
    assert models.patterns == ["^a"]


@pytest.mark.parametrize(("pattern", "said"), [("(", "no regular expression"), ("^(?i)x", "no regular expression"), ("", "empty")])
def test_a_bad_pattern_is_refused_when_registered(pattern: str, said: str) -> None:
    """A pattern that no name could be looked up with is an error at once (ADK-REG-04)."""
    with pytest.raises(ConfigurationError, match=said):
        ModelRegistry().register(pattern, Model)


def test_an_equal_pattern_is_replaced_only_when_asked() -> None:
    """The same pattern again is an error without replace=True (ADK-REG-01)."""
    models = ModelRegistry()
    models.register("^a", lambda name: Model(name, provider="p"))
    with pytest.raises(ConfigurationError, match=r"'\^a' is already registered"):
        models.register("^a", Model)
    models.register("^a", lambda name: Model(name, provider="q"), replace=True)
    assert models.lookup("a") == Model("a", provider="q")


def test_providers_are_found_by_id_and_alias_in_any_case() -> None:
    """Ids and aliases name the same vendor."""
    providers, spec = ProviderRegistry(), ProviderSpec(id="acme", aliases=("acme-ai",))
    providers.register(spec)
    assert providers.get("acme") is providers.get("ACME-AI") is spec
    with pytest.raises(ConfigurationError, match=r"unknown provider 'acne' \(did you mean acme"):
        providers.get("acne")


def test_a_provider_is_replaced_only_when_asked() -> None:
    """An id or alias that is taken is an error without replace=True."""
    providers = ProviderRegistry()
    providers.register(ProviderSpec(id="acme", aliases=("x",)))
    for taken in (ProviderSpec(id="acme"), ProviderSpec(id="x"), ProviderSpec(id="other", aliases=("ACME",))):
        with pytest.raises(ConfigurationError, match="is already registered"):
            providers.register(taken)
    providers.register(ProviderSpec(id="acme", base_url="http://new/v1"), replace=True)
    assert providers.get("acme").base_url == "http://new/v1"
    assert providers.lookup("x") is None


@pytest.mark.parametrize("id", ["", "  ", "a/b"])
def test_a_provider_id_is_a_plain_word(id: str) -> None:
    """An empty id, and one with the slash that parts provider and model, are refused."""
    with pytest.raises(ConfigurationError):
        ProviderSpec(id=id)


@pytest.mark.rows("OR-PR-02")
def test_a_spec_is_a_snapshot() -> None:
    """What the caller changes later has no effect (OR-PR-01)."""
    headers = {"a": "1"}
    spec, override = ProviderSpec(id="acme", headers=headers), ProviderOverride(headers=headers)
    headers["a"] = "2"
    assert (spec.headers, override.headers) == ({"a": "1"}, {"a": "1"})


def test_providers_are_listed_by_id() -> None:
    """The list is sorted (OR-PR-09)."""
    providers = ProviderRegistry()
    for id in ("b", "c", "a"):
        providers.register(ProviderSpec(id=id))
    assert [spec.id for spec in providers.list()] == ["a", "b", "c"]


def test_an_override_shows_no_key() -> None:
    """Neither a spec's headers nor an override's key are in a repr."""
    assert "geheim" not in repr(ProviderOverride(api_key="geheim", headers={"x": "geheim"}))
    assert "geheim" not in repr(ProviderSpec(id="a", headers={"x": "geheim"}))
    assert ProviderOverride(api_key="geheim").api_key == Secret("geheim")


@pytest.mark.rows("OR-PR-10")
def test_the_default_registries_are_made_once() -> None:
    """Everybody who passes none uses the same; a fresh set is independent of it."""
    assert default_registries() is default_registries()
    assert new_registries(plugins=False).providers is not default_registries().providers


def test_nothing_registers_on_import() -> None:
    """Importing the package makes no registry and loads no adapter (ADK-REG-03)."""
    code = (
        "import sys, headwater_providers, headwater_providers.builtin as b;"
        "assert b._default is None; assert 'headwater_providers.openai_chat.adapter' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


class _Point:
    """An entry point."""

    def __init__(self, name: str, function: object) -> None:
        self.name, self.value, self._function = name, f"acme:{name}", function

    def load(self) -> object:
        """The function that registers."""
        return self._function


@pytest.mark.rows("OR-AR-02")
def test_an_entry_point_registers_what_it_brings() -> None:
    """A plugin is a function that takes the registry."""
    providers = ProviderRegistry()
    load_plugins("headwater.providers", providers, [_Point("acme", lambda registry: registry.register(ProviderSpec(id="acme")))])  # type: ignore[list-item]
    assert providers.get("acme").id == "acme"


def test_a_plugins_own_errors_pass() -> None:
    """A plugin that registers a name twice is told so in the registry's own words."""

    def twice(registry: ProviderRegistry) -> None:
        registry.register(ProviderSpec(id="acme"))
        registry.register(ProviderSpec(id="acme"))

    with pytest.raises(ConfigurationError, match="a provider called 'acme' is already registered"):
        load_plugins("headwater.providers", ProviderRegistry(), [_Point("acme", twice)])  # type: ignore[list-item]


def test_installed_plugins_are_loaded_by_new_registries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that declares entry points brings a vendor and a name, without being imported by anybody."""
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[headwater.providers]\nacme = acme_plugin:vendors\n[headwater.models]\nacme = acme_plugin:models\n")
    (tmp_path / "acme_plugin.py").write_text(
        "from headwater_codecs.neutral import Model\n"
        "from headwater_providers import ProviderSpec\n"
        "def vendors(registry): registry.register(ProviderSpec(id='acme', base_url='http://acme/v1', needs_key=False))\n"
        "def models(registry): registry.register('^acme-', lambda name: Model(name, provider='acme'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    target = new_registries().resolve("acme-1")
    assert (target.provider, target.model, target.base_url) == ("acme", "acme-1", "http://acme/v1")


def test_a_failing_plugin_is_named() -> None:
    """A plugin that breaks does not break in silence, nor as a raw exception."""

    def broken(registry: object) -> None:
        raise KeyError("oops")

    with pytest.raises(ConfigurationError, match=r"the plugin 'acme' \(acme:acme, group headwater.models\) failed: KeyError: 'oops'"):
        load_plugins("headwater.models", ModelRegistry(), [_Point("acme", broken)])  # type: ignore[list-item]
