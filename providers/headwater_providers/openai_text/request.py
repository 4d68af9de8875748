"""The body of a legacy completion: one prompt, made of the texts of the request."""

from __future__ import annotations

from headwater_codecs.neutral.errors import ConfigurationError
from headwater_codecs.neutral.request import Request
from headwater_providers.adapter import Target
from headwater_providers.body import Json
from headwater_providers.openai_text.dialect import TextDialect
from headwater_providers.turns import only_text

_PLAIN = (
    ("max_tokens", "max_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("n", "n"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("user", "user"),
    ("top_logprobs", "logprobs"),
)


def build_fields(request: Request, target: Target, dialect: TextDialect) -> Json:
    """The body as a dict. A conversation cannot be said here: one user message is the prompt."""
    if len(request.messages) != 1 or request.messages[0].role != "user":
        raise ConfigurationError("Request.messages: openai-text takes one user message, the prompt; for a conversation use a chat protocol")
    prompt = only_text(request.messages[0], "messages[0]")
    if not prompt:
        raise ConfigurationError("Request.messages: the prompt is empty")
    body: Json = {"model": target.model, "prompt": prompt, "stream": True, "stream_options": {"include_usage": True}}
    body.update({wire: value for name, wire in _PLAIN if (value := getattr(request, name)) is not None})
    if request.logprobs and request.top_logprobs is None:
        body["logprobs"] = 0
    if request.stop:
        body["stop"] = request.stop if isinstance(request.stop, str) else list(request.stop)
    if request.logit_bias is not None:
        body["logit_bias"] = dict(request.logit_bias)
    return body
