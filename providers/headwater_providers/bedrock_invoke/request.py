"""The body of InvokeModelWithResponseStream: each family of models has its own. Row WIRE-40.

Claude and Nova take conversations (the bodies of anthropic-messages and of Converse); Mistral's newer models take chat messages; Titan, Llama and
Mistral take one prompt, which is the one user message as it is: templates are the caller's.
"""

from __future__ import annotations

import re

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Request
from headwater_providers.adapter import Target
from headwater_providers.bedrock_converse.dialect import ConverseDialect
from headwater_providers.bedrock_converse.request import build_fields as converse_fields
from headwater_providers.bedrock_invoke.dialect import Family, InvokeDialect
from headwater_providers.body import Json
from headwater_providers.turns import only_text

ANTHROPIC_VERSION = "bedrock-2023-05-31"
_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"anthropic\.", "anthropic"),
    (r"amazon\.titan", "titan"),
    (r"amazon\.nova", "nova"),
    (r"meta\.llama", "llama"),
    (r"mistral\.(?:mistral-large-2407|mistral-large-3|pixtral|magistral|ministral)", "mistral-chat"),
    (r"mistral\.", "mistral"),
)
# Family -> Request field -> its name in the body; what is not there is refused.
_FIELDS: dict[Family, dict[str, str]] = {
    "titan": {"max_tokens": "maxTokenCount", "temperature": "temperature", "top_p": "topP", "stop": "stopSequences"},
    "llama": {"max_tokens": "max_gen_len", "temperature": "temperature", "top_p": "top_p"},
    "mistral": {"max_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "stop": "stop"},
}
_ALWAYS = frozenset({"model", "messages", "extra_body", "extra_headers", "timeouts"})


def family_of(model: str, dialect: InvokeDialect) -> Family:
    """Which body the model takes. Raises ConfigurationError where nothing tells."""
    if dialect.family is not None:
        return dialect.family
    for pattern, family in _FAMILIES:
        if re.search(pattern, model):
            return family
    raise ConfigurationError(f"bedrock-invoke does not know the body of {model!r}: set the dialect flag family, or use bedrock-converse")


def build_fields(request: Request, target: Target, dialect: InvokeDialect) -> Json:
    """The body as a dict."""
    family = family_of(target.model, dialect)
    if family == "anthropic":
        return _anthropic(request, target)
    if family == "nova":
        reasons = ConverseDialect()
        body = converse_fields(request, target, reasons)
        more = body.pop("additionalModelRequestFields", None)
        if isinstance(more, dict) and "top_k" in more:
            config = body.setdefault("inferenceConfig", {})
            assert isinstance(config, dict)
            config["topK"] = more["top_k"]
        return body
    if family == "mistral-chat":
        from headwater_providers.openai_chat.dialect import ChatDialect
        from headwater_providers.openai_chat.request import build_fields as chat_fields

        fields = chat_fields(request, target, ChatDialect(supports_reasoning_effort=False, usage_in_stream=False, reasoning_field=""))
        return {name: value for name, value in fields.items() if name not in ("model", "stream")}
    return _prompt(request, family)


def _anthropic(request: Request, target: Target) -> Json:
    """The body of anthropic-messages with the model and `stream` left out, since both stand in the address."""
    from headwater_providers.anthropic_messages.dialect import MessagesDialect
    from headwater_providers.anthropic_messages.request import build_fields as messages_fields

    body = messages_fields(request, target, MessagesDialect())
    kept = {name: value for name, value in body.items() if name not in ("model", "stream")}
    return {"anthropic_version": ANTHROPIC_VERSION, **kept}


def _prompt(request: Request, family: Family) -> Json:
    names = _FIELDS[family]
    for name in Request.__struct_fields__:
        if name not in names and name not in _ALWAYS and getattr(request, name) not in (None, (), [], {}):
            raise ConfigurationError(f"bedrock-invoke: models of the family {family} do not take the field `{name}`: leave it out")
    if len(request.messages) != 1 or request.messages[0].role != "user":
        raise ConfigurationError(f"Request.messages: models of the family {family} take one user message, the prompt; use bedrock-converse for more")
    prompt = only_text(request.messages[0], "messages[0]")
    config: Json = {}
    for name, wire in names.items():
        value = getattr(request, name)
        if value is not None:
            config[wire] = [value] if name == "stop" and isinstance(value, str) else list(value) if name == "stop" else value
    if family == "titan":
        return {"inputText": prompt, "textGenerationConfig": config} if config else {"inputText": prompt}
    return {"prompt": prompt, **config}
