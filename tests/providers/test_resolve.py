"""From a model's name to a target: names, addresses, keys, headers, dialects."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from headwater_codecs.neutral import ConfigurationError, Model, Secret
from headwater_providers import AuthStatus, Endpoint, ProviderOverride, ProviderSpec, Registries, new_registries, resolve
from headwater_providers.credentials import configured_names
from headwater_providers.openai_chat.dialect import ChatDialect

KEYS = {
    f"{name}_API_KEY": f"key-of-{name.lower()}" for name in ("OPENAI", "DEEPSEEK", "XAI", "MISTRAL", "PERPLEXITY", "ZAI", "MOONSHOT", "DASHSCOPE")
}
KEYS |= {"MINIMAX_API_KEY": "k", "GROQ_API_KEY": "k", "OPENROUTER_API_KEY": "k"}


def registries(env: Mapping[str, str] = KEYS) -> Registries:
    """Fresh registries with the built-in vendors."""
    made = new_registries(plugins=False)
    made.env = env
    return made


def test_provider_and_model_in_one_name() -> None:
    """The first slash parts them; a model's own slashes stay."""
    assert repr(registries().resolve("openai/gpt-4o-mini")) == "Target(openai/gpt-4o-mini, openai-chat, https://api.openai.com/v1)"
    target = registries().resolve("groq/openai/gpt-oss-120b")
    assert (target.provider, target.model) == ("groq", "openai/gpt-oss-120b")


def test_an_explicit_provider_leaves_the_name_alone() -> None:
    """With provider= given, a slash in the name is the vendor's own."""
    target = registries().resolve(Model("openai/gpt-oss-120b", provider="groq"))
    assert (target.provider, target.model) == ("groq", "openai/gpt-oss-120b")


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("gpt-4o-mini", "openai"),
        ("o1", "openai"),
        ("o3-mini", "openai"),
        ("o4-mini", "openai"),
        ("gpt-5.2", "openai"),
        ("deepseek-chat", "deepseek"),
        ("deepseek-reasoner", "deepseek"),
        ("grok-4", "xai"),
        ("mistral-large-latest", "mistral"),
        ("ministral-8b-latest", "mistral"),
        ("codestral-latest", "mistral"),
        ("sonar", "perplexity"),
        ("sonar-pro", "perplexity"),
        ("glm-4.6", "zai"),
        ("kimi-k2.5", "moonshot"),
        ("moonshot-v1-8k", "moonshot"),
        ("qwen-plus", "dashscope"),
        ("MiniMax-M2", "minimax"),
    ],
)
def test_names_that_one_vendor_serves(name: str, provider: str) -> None:
    """A name alone is enough where it is unambiguous."""
    target = registries().resolve(name)
    assert (target.provider, target.model) == (provider, name)


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("llama-3.3-70b-versatile", "cerebras/llama-3.3-70b-versatile or fireworks/llama-3.3-70b-versatile or groq/"),
        ("qwen3-32b", "cerebras/qwen3-32b or dashscope/qwen3-32b or "),
        ("gpt-oss-120b", "cerebras/gpt-oss-120b or fireworks/gpt-oss-120b or groq/gpt-oss-120b"),
        ("meta-llama/Llama-3.3-70B", "huggingface/meta-llama/Llama-3.3-70B or openrouter/meta-llama/Llama-3.3-70B or together/"),
    ],
)
def test_names_that_several_vendors_serve_name_them_all(name: str, candidates: str) -> None:
    """An ambiguous name is an error that gives the forms to write."""
    with pytest.raises(ConfigurationError) as caught:
        registries().resolve(name)
    assert f"the model name {name!r} is ambiguous" in str(caught.value)
    assert candidates in str(caught.value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gtp-4o", "unknown model 'gtp-4o' (did you mean gpt?): write provider/gtp-4o or give base_url=; the providers are ant-ling, "),
        ("nosuch", "unknown model 'nosuch': write provider/nosuch"),
        ("opnai/gpt-4o", "(did you mean openai?)"),
        ("", "the model's name is empty"),
        ("openai/", "the model name 'openai/' names a provider only: write openai/MODEL"),
        (Model("m", provider="acme"), "unknown provider 'acme': give its address with Model(base_url=...), or register it"),
        (Model("m", provider="grok"), "unknown provider 'grok' (did you mean groq?)"),
        (Model(" ", provider="openai"), "the model's name is empty"),
        (Model("gpt-4o", protocol="openai-chatt"), "unknown protocol 'openai-chatt' (did you mean openai-chat"),
        (Model("gpt-4o", dialect={"think_tag": True}), "openai-chat has no dialect flag 'think_tag': did you mean think_tags"),
        (Model("gpt-4o", dialect={"think_tags": "yes"}), "has the wrong type: Expected `bool`, got `str` - at `$.think_tags`"),
        (Model("gpt-4o", dialect={"unsupported": ["nn"]}), "names what is no field of Request: nn"),
        (Model("m", base_url="localhost:8080"), "base_url 'localhost:8080' is no address: it begins with http:// or https://"),
        (Model("m", base_url="https://"), "is no address"),
        (Model("m", base_url="http://h:port/v1"), "is no address"),
        (Model("m", base_url="http://h/v1#x"), "holds a fragment"),
        ("azure/dep", "provider azure has no address of its own: set AZURE_OPENAI_ENDPOINT, or pass Model(base_url=...)"),
        ("ant-ling/ling-1", "provider ant-ling has no address of its own: pass Model(base_url=...)"),
    ],
)
def test_what_cannot_be_resolved_says_what_to_do(model: Model | str, said: str) -> None:
    """Every mistake in a model is a readable ConfigurationError."""
    with pytest.raises(ConfigurationError) as caught:
        registries().resolve(model)
    assert said in str(caught.value)


def test_a_password_in_an_address_is_not_repeated() -> None:
    """Credentials in base_url are refused, and the error does not show them."""
    for url in ("https://me:geheim@h/v1", "ftp://me:geheim@h/v1"):
        with pytest.raises(ConfigurationError) as caught:
            registries().resolve(Model("m", base_url=url))
        assert "geheim" not in str(caught.value)


def test_any_address_works_without_a_known_provider() -> None:
    """An unknown provider id with an address needs no registration and no key (OR-PR-07, AMB-24)."""
    target = registries().resolve(Model("m", provider="acme", base_url="http://127.0.0.1:1/v1/"))
    assert (target.provider, target.model, target.base_url, target.api_key) == ("acme", "m", "http://127.0.0.1:1/v1", None)
    target = registries().resolve(Model("gpt-4o-mini", base_url="http://127.0.0.1:1/v1"))
    assert (target.provider, target.model, target.api_key) == ("custom", "gpt-4o-mini", None)


@pytest.mark.rows("OR-CMP-10")
def test_an_address_tells_its_vendor() -> None:
    """Without a provider, a known host names it, with its key and flags; the host's end counts, not a part of the address (OR-CMP-10)."""
    target = registries().resolve(Model("anthropic/claude-sonnet-4", base_url="https://openrouter.ai/api/v1"))
    assert (target.provider, target.model) == ("openrouter", "anthropic/claude-sonnet-4")
    target = registries().resolve(Model("deepseek-chat", base_url="https://evil.example/api.deepseek.com/v1"))
    assert (target.provider, target.api_key) == ("custom", None)


@pytest.mark.rows("OR-CMP-10")
def test_a_known_address_tells_the_dialect_of_another_provider_id() -> None:
    """`openai` pointed at another vendor speaks that vendor's dialect; variants keep their own."""
    target = registries().resolve(Model("deepseek-chat", provider="openai", base_url="https://api.deepseek.com/v1"))
    assert isinstance(target.dialect, ChatDialect)
    assert (target.provider, target.dialect.thinking_format, target.dialect.max_tokens_field) == ("openai", "deepseek", "max_tokens")
    target = registries().resolve(Model("dep", provider="azure-deployment", base_url="https://x.openai.azure.com", api_key="k"))
    assert isinstance(target.dialect, ChatDialect)
    assert target.dialect.path == "/openai/deployments/{model}/chat/completions"
    target = registries().resolve(Model("glm-4.6", provider="mine", base_url="https://open.bigmodel.cn/api/paas/v4"))
    assert isinstance(target.dialect, ChatDialect)
    assert (target.provider, target.dialect.thinking_format, target.api_key) == ("mine", "zai", None)


@pytest.mark.rows("OR-OPT-01")
def test_address_precedence() -> None:
    """Given with the model, then overridden, then the variable, then the vendor's own (OR-PR-05)."""
    made = registries({**KEYS, "OPENAI_BASE_URL": "http://env/v1"})
    assert made.resolve("gpt-4o").base_url == "http://env/v1"
    made.providers.override("openai", ProviderOverride(base_url="http://override/v1"))
    assert made.resolve("gpt-4o").base_url == "http://override/v1"
    assert made.resolve(Model("gpt-4o", provider="openai", base_url="http://given/v1")).base_url == "http://given/v1"
    made.providers.clear_override("openai")
    made.env = KEYS
    assert made.resolve("gpt-4o").base_url == "https://api.openai.com/v1"


def test_a_path_is_added_to_bare_addresses_where_the_vendor_has_one() -> None:
    """Azure's endpoint and a local server's address are taken as people write them."""
    made = registries({"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com", "AZURE_OPENAI_API_KEY": "k"})
    assert made.resolve("azure/dep").base_url == "https://x.openai.azure.com/openai/v1"
    assert made.resolve(Model("m", provider="vllm", base_url="http://gpu:8000")).base_url == "http://gpu:8000/v1"
    assert made.resolve(Model("m", provider="vllm", base_url="http://gpu:8000/llm/v1")).base_url == "http://gpu:8000/llm/v1"
    assert made.resolve(Model("m", provider="openai", base_url="http://gpu:8000", api_key="k")).base_url == "http://gpu:8000"


def test_key_precedence() -> None:
    """Given, overridden, then the variables by name and layer; white space is no key (OR-PR-03, OR-PR-04)."""
    made = registries({"PPLX_API_KEY": "second", "PERPLEXITY_API_KEY": " "})
    assert made.resolve("sonar").api_key == Secret("second")
    made.providers.override("perplexity", ProviderOverride(env={"PPLX_API_KEY": "layer"}))
    assert made.resolve("sonar").api_key == Secret("layer")
    made.env = {"PERPLEXITY_API_KEY": "first"}
    assert made.resolve("sonar").api_key == Secret("first")  # the first name in any layer before the second name
    made.providers.override("perplexity", ProviderOverride(api_key="override"))
    assert made.resolve("sonar").api_key == Secret("override")
    assert made.resolve(Model("sonar", api_key="given")).api_key == Secret("given")
    assert made.resolve(Model("sonar", api_key="  ")).api_key == Secret("override")


def test_the_environment_can_be_switched_off() -> None:
    """disable_env hides keys and addresses from the process's and the override's own variables."""
    made = registries({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://env/v1"})
    made.providers.override("openai", ProviderOverride(disable_env=True, env={"OPENAI_API_KEY": "k"}))
    with pytest.raises(ConfigurationError, match=r"^no API key for provider openai: pass Model\(api_key=\.\.\.\)$"):
        made.resolve("gpt-4o")
    assert made.resolve(Model("gpt-4o", api_key="k")).base_url == "https://api.openai.com/v1"


def test_a_missing_key_names_the_variables() -> None:
    """The error says what to set, in order (OR-KEY-04)."""
    made = registries({})
    with pytest.raises(
        ConfigurationError, match=r"^no API key for provider perplexity: set PERPLEXITY_API_KEY or PPLX_API_KEY, or pass Model\(api_key=\.\.\.\)$"
    ):
        made.resolve("sonar")


def test_a_callable_key_is_handed_on() -> None:
    """A token provider is not called while resolving."""

    def provide() -> str:
        raise AssertionError("called too early")

    assert registries({}).resolve(Model("gpt-4o", api_key=provide)).api_key is provide


@pytest.mark.parametrize("provider", ["vllm", "sglang", "llamacpp", "lmstudio", "ollama", "local"])
def test_servers_of_ones_own_need_no_key(provider: str) -> None:
    """Local servers work as they are."""
    target = registries({}).resolve(f"{provider}/m")
    assert (target.provider, target.api_key) == (provider, None)


def test_the_embedded_model_has_a_launcher_and_no_address() -> None:
    """The engine starts it on first use; an address given makes it an ordinary server."""
    target = registries({}).resolve("local/smollm2")
    assert (target.model, target.launcher, target.base_url) == ("smollm2", "local", "")
    target = registries({}).resolve("local//models/x.gguf")
    assert (target.model, target.launcher) == ("/models/x.gguf", "local")
    target = registries({}).resolve(Model("local/smollm2", base_url="http://127.0.0.1:1/v1"))
    assert (target.provider, target.launcher, target.base_url) == ("local", None, "http://127.0.0.1:1/v1")


def test_header_precedence() -> None:
    """The model's headers over the override's over the vendor's, whatever their case (OR-PR-06)."""
    made = registries({})
    made.providers.register(ProviderSpec(id="acme", base_url="http://a/v1", needs_key=False, headers={"X-A": "spec", "X-B": "spec", "X-C": "spec"}))
    made.providers.override("acme", ProviderOverride(headers={"x-b": "override", "x-c": "override"}))
    target = made.resolve(Model("acme/m", headers={"X-c": "model"}))
    assert target.headers == {"x-a": "spec", "x-b": "override", "x-c": "model"}


def test_what_is_registered_later_counts() -> None:
    """A vendor and its names can be added after registries were used, and replaced."""
    made = registries({})
    with pytest.raises(ConfigurationError):
        made.resolve("acme-1")
    made.providers.register(ProviderSpec(id="acme", base_url="http://a/v1", needs_key=False, models=("^acme-",)))
    assert made.resolve("acme-1").base_url == "http://a/v1"
    made.providers.register(ProviderSpec(id="acme", base_url="http://b/v1", needs_key=False, models=("^acme-",)), replace=True)
    assert made.resolve("acme-1").base_url == "http://b/v1"


def test_a_registered_name_comes_before_the_vendors_lists() -> None:
    """ModelRegistry says what a name means here; what is given with the model still has the last word."""
    made = registries()
    made.models.register("^fast$", lambda name: Model("groq/llama-3.1-8b-instant", dialect={"strict": True}))
    target = made.resolve(Model("fast", headers={"X": "1"}))
    assert (target.provider, target.model, target.headers) == ("groq", "llama-3.1-8b-instant", {"x": "1"})
    assert isinstance(target.dialect, ChatDialect)
    assert target.dialect.strict
    made.models.register("^gpt-4o$", lambda name: Model(name, provider="proxy", base_url="http://proxy/v1"))
    assert made.resolve("gpt-4o").base_url == "http://proxy/v1"
    made.models.register("^loop$", lambda name: Model(name))
    with pytest.raises(ConfigurationError, match="made a model without a provider"):
        made.resolve("loop")


def test_dialect_flags_of_single_models() -> None:
    """A vendor's data may differ by model, and Model(dialect=) comes on top."""
    made = registries()
    flags = [made.resolve(name).dialect for name in ("gpt-4o", "o3-mini", "gpt-5.2")]
    assert [flag.reasoning_model for flag in flags if isinstance(flag, ChatDialect)] == [False, True, True]
    dialect = made.resolve(Model("o3-mini", dialect={"reasoning_model": False})).dialect
    assert isinstance(dialect, ChatDialect)
    assert not dialect.reasoning_model


@pytest.mark.parametrize(
    ("env", "override", "expected"),
    [
        ({}, None, AuthStatus(False, missing=("PERPLEXITY_API_KEY", "PPLX_API_KEY"))),
        ({"PPLX_API_KEY": "k"}, None, AuthStatus(True, "env:PPLX_API_KEY", "PPLX_API_KEY")),
        ({"PPLX_API_KEY": "k"}, ProviderOverride(api_key="x"), AuthStatus(True, "override", "override for perplexity")),
        ({"PPLX_API_KEY": "k"}, ProviderOverride(disable_env=True), AuthStatus(False)),
    ],
)
def test_auth_status(env: dict[str, str], override: ProviderOverride | None, expected: AuthStatus) -> None:
    """Whether a key is at hand and from where, never the key (OR-PR-08)."""
    made = registries(env)
    if override is not None:
        made.providers.override("perplexity", override)
    assert made.auth_status("perplexity") == expected


def test_which_variables_are_set() -> None:
    """Those of a vendor's variables that hold a key, by name (OR-KEY-02)."""
    made = registries({"PPLX_API_KEY": "k", "PERPLEXITY_API_KEY": " "})
    spec = made.providers.get("perplexity")
    assert configured_names(spec, ProviderOverride(), made.env) == ["PPLX_API_KEY"]
    assert configured_names(spec, ProviderOverride(disable_env=True), made.env) == []
    assert made.auth_status("vllm") == AuthStatus(True, "none needed", "no key needed")


def test_resolving_by_the_default_registries() -> None:
    """Without registries of one's own, the default ones answer, also for names with a slash and no home."""
    assert resolve(Model("openai/gpt-4o", api_key="k")).base_url == "https://api.openai.com/v1"
    with pytest.raises(ConfigurationError, match="unknown model 'a/b': no provider is called 'a'; give base_url=, or use one of none"):
        resolve("a/b", Registries())


def test_another_protocol_of_a_vendor() -> None:
    """A vendor may speak more than one protocol, at addresses and in dialects of their own."""
    spec = ProviderSpec(
        id="acme",
        base_url="http://a/v1",
        dialect={"think_tags": True},
        model_dialect=(("^x", {"strict": True}),),
        also={"other": Endpoint(dialect={"a": 1}), "third": Endpoint(base_url="http://b")},
    )
    assert spec.endpoint("openai-chat") == Endpoint(base_url="http://a/v1", base_path="", dialect={"think_tags": True})
    assert spec.endpoint("other") == Endpoint(base_url="http://a/v1", base_path="", dialect={"a": 1})
    assert spec.endpoint("third") == Endpoint(base_url="http://b", base_path="")
    assert spec.endpoint("unheard-of") == Endpoint(base_url="http://a/v1", base_path="")
    assert (spec.flags("openai-chat", "x1"), spec.flags("other", "x1")) == ({"think_tags": True, "strict": True}, {"a": 1})


def test_a_target_shows_no_key() -> None:
    """Neither key nor headers are in a repr."""
    target = registries({}).resolve(Model("gpt-4o", api_key="geheim", headers={"x-key": "geheim"}))
    assert "geheim" not in repr(target)
    assert "geheim" not in repr(Model("gpt-4o", api_key="geheim", headers={"x-key": "geheim"}))
