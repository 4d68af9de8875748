"""The vendors that speak openai-chat, as data: address, key variables, names of models, dialect flags.

Sources: rows OR-KEY-01, OR-CMP-01 to 10, OR-THK-01 to 09, PI-CMP-11 and CK-UN-01; for the rest, what the vendors' own API pages say. A vendor
with a host list is recognised by its address too. Names that several vendors serve (open-weight families) are in the lists of all that do,
so that the error for such a name can say which they are.
"""

from __future__ import annotations

from headwater_providers.anthropic_messages.endpoints import messages_at
from headwater_providers.openai_chat.further_vendors import FURTHER_VENDORS
from headwater_providers.openai_chat.own_servers import OWN_SERVERS
from headwater_providers.vendors import Endpoint, ProviderSpec

_OPENAI = {
    "max_tokens_field": "max_completion_tokens",
    "supports_store": True,
    "supports_developer_role": True,
    "supports_custom_tools": True,
    "reasoning_field": "",  # the API neither shows reasoning nor takes it back
    "call_ids": "word-40",
}
# `none` and `xhigh` exist since 5.1 and 5.2; the earlier ones refuse them.
_OPENAI_MODELS = (
    (r"^(o\d|gpt-5|codex-)", {"reasoning_model": True}),
    (r"^gpt-5\.1", {"effort_map": {"off": "none", "minimal": None}}),
    (r"^gpt-5\.[2-9]", {"effort_map": {"off": "none", "minimal": None, "xhigh": "xhigh"}}),
)
_MOONSHOT = {"thinking_format": "xiaomi", "supports_reasoning_effort": False, "supports_strict": False}
_MOONSHOT_MODELS = (
    (r"^moonshot-v1", {"thinking_format": "none"}),
    (r"^kimi-k3", {"thinking_format": "openai", "supports_reasoning_effort": True, "effort_map": {"minimal": None, "medium": None, "max": "max"}}),
)
_DASHSCOPE = {"thinking_format": "qwen", "thinking_budget_field": "thinking_budget", "supports_top_k": True, "supports_video": True}
_MINIMAX = {"thinking_format": "none", "think_tags": True, "supports_strict": False, "unsupported": ("n", "logit_bias")}
_LLAMA = r"^(meta-)?llama[-_.]?\d"
_GPT_OSS = r"^gpt-oss"
_QWEN3 = r"^qwen[-_]?\d"
_HUB_NAME = r"^[\w.-]+/[\w.:-]+$"  # organisation/model

VENDORS: tuple[ProviderSpec, ...] = (
    ProviderSpec(
        id="openai",
        name="OpenAI",
        base_url="https://api.openai.com/v1",
        env_keys=("OPENAI_API_KEY",),
        env_base_url=("OPENAI_BASE_URL",),
        hosts=("api.openai.com",),
        models=(r"^(gpt-\d|gpt-audio|chatgpt-|o[134](-|$)|ft:gpt-)",),
        dialect=_OPENAI,
        model_dialect=_OPENAI_MODELS,
        also={"openai-responses": Endpoint(model_dialect=_OPENAI_MODELS), "openai-text": Endpoint(), "openai-assistants": Endpoint()},
    ),
    ProviderSpec(
        id="azure",
        name="Azure OpenAI",
        base_path="/openai/v1",
        env_keys=("AZURE_OPENAI_API_KEY",),
        env_base_url=("AZURE_OPENAI_ENDPOINT",),
        hosts=("openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"),
        aliases=("azure-openai",),
        dialect={**_OPENAI, "auth": "api-key-or-token"},
        model_dialect=_OPENAI_MODELS,
        also={"openai-responses": Endpoint(dialect={"auth": "api-key-or-token"}, model_dialect=_OPENAI_MODELS)},
    ),
    ProviderSpec(
        id="azure-deployment",
        name="Azure OpenAI, addressed by deployment",
        env_keys=("AZURE_OPENAI_API_KEY",),
        env_base_url=("AZURE_OPENAI_ENDPOINT",),
        dialect={
            **_OPENAI,
            "auth": "api-key-or-token",
            "path": "/openai/deployments/{model}/chat/completions",
            "query": {"api-version": "2024-10-21"},
        },
        model_dialect=_OPENAI_MODELS,
    ),
    ProviderSpec(
        id="groq",
        name="Groq",
        base_url="https://api.groq.com/openai/v1",
        env_keys=("GROQ_API_KEY",),
        hosts=("api.groq.com",),
        models=(_LLAMA, _GPT_OSS, _QWEN3),
        dialect={
            "max_tokens_field": "max_completion_tokens",
            "reasoning_field": "reasoning",
            "supports_message_name": False,
            "unsupported": ("logprobs", "top_logprobs", "logit_bias", "n"),
        },
        model_dialect=((r"qwen", {"effort_map": {"off": "none", "minimal": None, "low": None, "medium": None, "high": "default"}}),),
        also={"openai-responses": Endpoint(dialect={"store": None})},
    ),
    ProviderSpec(
        id="deepseek",
        name="DeepSeek",
        base_url="https://api.deepseek.com",
        env_keys=("DEEPSEEK_API_KEY",),
        hosts=("deepseek.com",),
        models=(r"^deepseek-(chat|reasoner|v\d)",),
        dialect={
            "thinking_format": "deepseek",
            "requires_reasoning_content": True,
            "supports_json_schema": False,
            "unsupported": ("n", "logit_bias"),
        },
        model_dialect=((r"^deepseek-(reasoner|r\d)", {"reasoning_model": True}),),
        also={**messages_at("https://api.deepseek.com/anthropic", auth="x-api-key"), "openai-text": Endpoint()},
    ),
    ProviderSpec(
        id="mistral",
        name="Mistral",
        base_url="https://api.mistral.ai/v1",
        env_keys=("MISTRAL_API_KEY",),
        hosts=("api.mistral.ai",),
        models=(r"^(mistral|ministral|codestral|magistral|devstral|pixtral|open-mi[sx]tral)-",),
        dialect={  # unknown fields are refused with 422
            "usage_in_stream": False,  # it sends usage unasked
            "reasoning_field": "",
            "rename": {"seed": "random_seed"},
            "call_ids": "nine",
            "unsupported": ("logprobs", "top_logprobs", "logit_bias", "user", "store", "service_tier", "verbosity"),
        },
    ),
    ProviderSpec(
        id="together",
        name="Together",
        base_url="https://api.together.xyz/v1",
        env_keys=("TOGETHER_API_KEY",),
        hosts=("api.together.xyz", "api.together.ai"),
        models=(_HUB_NAME, _LLAMA, _GPT_OSS, _QWEN3),
        dialect={
            "thinking_format": "together",
            "supports_reasoning_effort": False,
            "supports_strict": False,
            "supports_top_k": True,
            "reasoning_field": "reasoning",
        },
        also={"openai-text": Endpoint()},
    ),
    ProviderSpec(
        id="fireworks",
        name="Fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        env_keys=("FIREWORKS_API_KEY",),
        hosts=("api.fireworks.ai",),
        models=(r"^accounts/", _LLAMA, _GPT_OSS, _QWEN3),
        dialect={"supports_top_k": True, "effort_map": {"off": "none"}},
        also={"openai-text": Endpoint()},
    ),
    ProviderSpec(
        id="openrouter",
        name="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        env_keys=("OPENROUTER_API_KEY",),
        hosts=("openrouter.ai",),
        models=(_HUB_NAME,),
        dialect={
            "thinking_format": "openrouter",
            "effort_map": {"off": "none", "xhigh": "xhigh"},
            "reasoning_field": "reasoning",
            "supports_top_k": True,
            "supports_file_urls": True,
            "supports_video": True,
        },
        also={**messages_at("https://openrouter.ai/api", compatible=False), "openai-responses": Endpoint(dialect={"store": None})},
    ),
    ProviderSpec(
        id="xai",
        name="xAI",
        base_url="https://api.x.ai/v1",
        env_keys=("XAI_API_KEY",),
        hosts=("api.x.ai",),
        models=(r"^grok-",),
        dialect={"max_tokens_field": "max_completion_tokens", "supports_reasoning_effort": False, "unsupported": ("logit_bias",)},
        model_dialect=((r"^grok-3-mini", {"supports_reasoning_effort": True, "effort_map": {"minimal": None, "medium": None}}),),
        also={"openai-responses": Endpoint(dialect={"store": None})},
    ),
    ProviderSpec(
        id="cerebras",
        name="Cerebras",
        base_url="https://api.cerebras.ai/v1",
        env_keys=("CEREBRAS_API_KEY",),
        hosts=("api.cerebras.ai",),
        models=(_LLAMA, _GPT_OSS, _QWEN3),
        dialect={
            "max_tokens_field": "max_completion_tokens",
            "reasoning_field": "reasoning",
            "unsupported": ("presence_penalty", "frequency_penalty", "logit_bias"),
        },
    ),
    ProviderSpec(
        id="perplexity",
        name="Perplexity",
        base_url="https://api.perplexity.ai",
        env_keys=("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
        hosts=("api.perplexity.ai",),
        models=(r"^sonar(-|$)",),
        dialect={
            "usage_in_stream": False,  # every chunk carries it
            "supports_top_k": True,
            "reasoning_field": "",
            "unsupported": ("tools", "tool_choice", "parallel_tool_calls", "n", "logit_bias"),
        },
    ),
    ProviderSpec(
        id="nvidia",
        name="NVIDIA",
        base_url="https://integrate.api.nvidia.com/v1",
        env_keys=("NVIDIA_API_KEY",),
        hosts=("integrate.api.nvidia.com",),
        models=(r"^nemotron",),
        dialect={"supports_reasoning_effort": False, "supports_strict": False},
        model_dialect=((r"gpt-oss", {"supports_reasoning_effort": True}),),
    ),
    ProviderSpec(
        id="moonshot",
        name="Moonshot",
        base_url="https://api.moonshot.ai/v1",
        env_keys=("MOONSHOT_API_KEY",),
        hosts=("api.moonshot.ai", "api.moonshot.cn"),
        aliases=("moonshotai", "kimi"),
        models=(r"^(kimi|moonshot)-",),
        dialect=_MOONSHOT,
        model_dialect=_MOONSHOT_MODELS,
        also=messages_at("https://api.moonshot.ai/anthropic"),
    ),
    ProviderSpec(
        id="moonshot-cn",
        name="Moonshot, China",
        base_url="https://api.moonshot.cn/v1",
        env_keys=("MOONSHOT_API_KEY",),
        aliases=("moonshotai-cn",),
        dialect=_MOONSHOT,
        model_dialect=_MOONSHOT_MODELS,
    ),
    ProviderSpec(
        id="zai",
        name="Z.ai",
        base_url="https://api.z.ai/api/paas/v4",
        env_keys=("ZAI_API_KEY",),
        hosts=("api.z.ai", "open.bigmodel.cn"),
        aliases=("z.ai", "zhipu"),
        models=(r"^glm-",),
        dialect={
            "thinking_format": "zai",
            "supports_reasoning_effort": False,
            "supports_json_schema": False,
            "supports_video": True,
            "rename": {"user": "user_id"},
            "unsupported": ("n", "logprobs", "top_logprobs", "logit_bias"),
        },
        also=messages_at("https://api.z.ai/api/anthropic"),
    ),
    ProviderSpec(
        id="zai-coding-cn",
        name="Z.ai coding plan, China",
        base_url="https://open.bigmodel.cn/api/coding/paas/v4",
        env_keys=("ZAI_CODING_CN_API_KEY",),
        dialect={"thinking_format": "zai", "supports_reasoning_effort": False, "supports_json_schema": False, "rename": {"user": "user_id"}},
    ),
    ProviderSpec(
        id="dashscope",
        name="Qwen (DashScope, compatible mode)",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        env_keys=("DASHSCOPE_API_KEY",),
        hosts=("dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com", "dashscope.aliyuncs.com"),
        aliases=("qwen", "alibaba"),
        models=(r"^(qwen-|qwq-|qvq-)", _QWEN3),
        dialect=_DASHSCOPE,
    ),
    ProviderSpec(
        id="dashscope-cn",
        name="Qwen (DashScope, compatible mode), China",
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        env_keys=("DASHSCOPE_API_KEY",),
        dialect=_DASHSCOPE,
    ),
    ProviderSpec(
        id="minimax",
        name="MiniMax",
        base_url="https://api.minimax.io/v1",
        env_keys=("MINIMAX_API_KEY",),
        hosts=("api.minimax.io", "api.minimaxi.com"),
        models=(r"^MiniMax-",),
        dialect=_MINIMAX,
        also=messages_at("https://api.minimax.io/anthropic"),
    ),
    ProviderSpec(
        id="minimax-cn",
        name="MiniMax, China",
        base_url="https://api.minimaxi.com/v1",
        env_keys=("MINIMAX_CN_API_KEY",),
        dialect=_MINIMAX,
    ),
    ProviderSpec(
        id="sambanova",
        name="SambaNova",
        base_url="https://api.sambanova.ai/v1",
        env_keys=("SAMBANOVA_API_KEY",),
        hosts=("api.sambanova.ai",),
        models=(r"^Meta-Llama-", _GPT_OSS),
        dialect={"supports_top_k": True, "unsupported": ("n", "logit_bias", "presence_penalty", "frequency_penalty")},
    ),
    ProviderSpec(
        id="huggingface",
        name="Hugging Face router",
        base_url="https://router.huggingface.co/v1",
        env_keys=("HF_TOKEN",),
        hosts=("router.huggingface.co",),
        aliases=("hf",),
        models=(_HUB_NAME,),
    ),
    ProviderSpec(
        id="unify",
        name="Unify",
        base_url="https://api.unify.ai/v0",
        env_keys=("UNIFY_API_KEY",),
        hosts=("api.unify.ai",),
        models=(r"^[\w.-]+@[\w.-]+$",),
        dialect={"reasoning_field": ""},
    ),
    *FURTHER_VENDORS,
    *OWN_SERVERS,
)
