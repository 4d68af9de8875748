"""What differs between the vendors of openai-chat, as flags: one struct, all data. `vendors` fills it, `Model(dialect=...)` overrides it.

The flags for requests follow rows OR-CMP, OR-THK and PI-CMP; those for reading, the field's faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from headwater_providers.flags import read_flags

ThinkingFormat = Literal[
    "openai", "deepseek", "xiaomi", "zai", "together", "qwen", "qwen-chat-template", "string-thinking", "ant-ling", "openrouter", "none"
]
Auth = Literal["bearer", "api-key", "api-key-or-token", "none"]


class ChatDialect(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """The flags. The defaults are OpenAI's own, kept to what every compatible server accepts."""

    # --- how requests are written
    path: str = "/chat/completions"  # behind the base URL; `{model}` in it is replaced by the model's name
    auth: Auth = "bearer"  # api-key-or-token: a key goes into `api-key`, a token (from a callable) is a bearer token
    query: Mapping[str, str] = {}
    supports_store: bool = False  # OR-CMP-01: `store` is known
    supports_developer_role: bool = False  # OR-CMP-02: the role `developer` is known
    reasoning_model: bool = False  # OR-CMP-02, OR-CMP-06: the model reasons whether asked to or not
    supports_reasoning_effort: bool = True  # OR-CMP-03
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"  # OR-CMP-04
    supports_strict: bool = True  # OR-CMP-05: a tool's `strict`
    supports_custom_tools: bool = False  # tools that take free text
    requires_reasoning_content: bool = False  # OR-CMP-06: replayed assistant turns carry it, "" if none
    thinking_as_text: bool = False  # OR-CMP-07: reasoning of earlier turns goes back as a leading text part
    thinking_format: ThinkingFormat = "openai"  # OR-CMP-08
    thinking_budget_field: str | None = None  # where `Reasoning.budget_tokens` goes, for formats without a place of their own
    tool_stream: bool = False  # OR-CMP-09: `tool_stream: true` beside tools
    usage_in_stream: bool = True  # PI-CMP-11: `stream_options.include_usage`
    tool_result_name: bool = False  # PI-CMP-11: tool messages carry the tool's name
    assistant_after_tool_result: bool = False  # PI-CMP-11
    call_ids: Literal["any", "word-40", "nine"] = "any"  # OR-TM-11: which ids of calls are taken; `nine`: nine letters and digits
    reasoning_field: str = "reasoning_content"  # where reasoning of earlier turns goes back; "" keeps it back
    effort_map: Mapping[str, str | None] = {}  # OR-MOD-02: level -> the vendor's word; None: not supported
    supports_top_k: bool = False
    supports_json_schema: bool = True  # structured output by a schema, not only by `json_object`
    supports_file_urls: bool = False  # a file given by address
    supports_video: bool = False  # `video_url` parts
    supports_message_name: bool = True  # `name` on messages other than tool results
    rename: Mapping[str, str] = {}  # OpenAI's field -> the vendor's name for it
    extra_body: Mapping[str, object] = {}  # sent with every request, under everything else
    unsupported: tuple[str, ...] = ()  # Request fields that this vendor refuses

    # --- how responses are read
    think_tags: bool = False  # inline <think>...</think> is reasoning
    think_open: Literal["explicit", "implicit"] = "explicit"  # implicit: the text begins inside the tag
    cumulative_deltas: bool = False  # each delta repeats the text so far
    eof_is_end: bool = False  # a clean end of the bytes ends the stream, without finish reason or [DONE]
    strict: bool = False  # odd frames are malformed, not skipped


DEFAULT = ChatDialect()


def chat_dialect(overrides: Mapping[str, object], base: object = None) -> ChatDialect:
    """`base` (the defaults if None) with some flags replaced. Raises ConfigurationError for an unknown flag or a wrong type."""
    return read_flags("openai-chat", DEFAULT, overrides, base)
