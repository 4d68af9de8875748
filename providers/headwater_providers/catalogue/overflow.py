"""Whether a conversation has outgrown its model's context. Rows OR-OV-01, OR-OV-04; the words of refusals are in `error_words`."""

from __future__ import annotations

from headwater_codecs.neutral.response import Response

_NEARLY = 0.99  # of the window: an answer without a token that ended for its length had no room


def overflowed(response: Response, window: int | None = None) -> bool:
    """Whether the prompt was too long: the provider said so, took it and read more than the window holds, or had no room left for an answer.

    `window` is the model's context in tokens; without it only the provider's word counts.
    """
    if response.error is not None:
        return response.error.kind == "context_overflow"
    usage = response.usage
    if window is None or usage is None or usage.input_tokens is None:
        return False
    if response.finish_reason == "stop":
        return usage.input_tokens > window
    return response.finish_reason == "length" and usage.output_tokens == 0 and usage.input_tokens >= _NEARLY * window
