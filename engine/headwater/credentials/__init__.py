"""Keys and tokens at the moment they are needed: a callable is called (and awaited) once per attempt, so that a token may be renewed."""

from __future__ import annotations

from collections.abc import Awaitable

from headwater_codecs.neutral import ConfigurationError, Secret
from headwater_codecs.neutral.request import KeyProvider


async def reveal(key: Secret | str | KeyProvider | None) -> Secret | None:
    """The key as a Secret. Raises ConfigurationError when a token provider fails or gives anything but a non-empty string."""
    if key is None or isinstance(key, Secret):
        return key
    if isinstance(key, str):
        return Secret(key)
    try:
        token = key()
        if isinstance(token, Awaitable):
            token = await token
    except Exception as error:
        raise ConfigurationError(f"the token provider given as api_key failed: {type(error).__name__}") from error
    if isinstance(token, Secret):
        return token
    if not isinstance(token, str) or not token:
        raise ConfigurationError(f"the token provider given as api_key returned {type(token).__name__}, not a non-empty string")
    return Secret(token)


__all__ = ["reveal"]
