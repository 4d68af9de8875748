"""Keys and tokens at the moment they are needed: a callable is called (and awaited) once per attempt, so that a token may be renewed."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import cache
from typing import cast

import anyio.to_thread

from headwater.credentials.aws import aws_keys
from headwater.credentials.tokens import CachedToken, azure_token, google_token
from headwater_codecs.neutral import ConfigurationError, HeadwaterError, Secret
from headwater_codecs.neutral.request import KeyProvider
from headwater_providers.adapter import Signer

# By the name that a vendor's spec gives: where a token comes from when there is no key.
AUTOMATIC: dict[str, Callable[[], KeyProvider]] = {"aws": cast("Callable[[], KeyProvider]", aws_keys), "google": google_token}


@cache
def automatic(name: str) -> KeyProvider:
    """The provider of this name, one for the whole process, so that its tokens are kept. Raises ConfigurationError for an unknown name."""
    if name not in AUTOMATIC:
        raise ConfigurationError(f"unknown credential {name!r}: pass Model(api_key=...)")
    return AUTOMATIC[name]()


async def reveal(key: Secret | str | KeyProvider | None) -> Secret | Signer | None:
    """The key as a Secret, or what signs the request. Raises ConfigurationError when a provider fails or gives anything else.

    A provider that is no coroutine function is called in a worker thread: it may block, and the event loop must not. A cancelled call is abandoned.
    """
    if key is None or isinstance(key, Secret):
        return key
    if isinstance(key, str):
        return Secret(key)
    try:
        token: object
        if inspect.iscoroutinefunction(key) or inspect.iscoroutinefunction(getattr(key, "__call__", None)):  # noqa: B004  # an object with an async call
            token = key()
        else:
            (token,) = await anyio.to_thread.run_sync(lambda: (key(),), abandon_on_cancel=True)  # in a tuple: it may be awaitable
        if isinstance(token, Awaitable):
            token = await token
    except HeadwaterError:
        raise
    except Exception as error:
        raise ConfigurationError(f"the token provider given as api_key failed: {type(error).__name__}") from error
    if isinstance(token, Secret):
        return token
    if callable(getattr(token, "sign", None)):
        return cast("Signer", token)
    if not isinstance(token, str) or not token:
        raise ConfigurationError(f"the token provider given as api_key returned {type(token).__name__}, not a non-empty string")
    return Secret(token)


__all__ = ["AUTOMATIC", "CachedToken", "automatic", "aws_keys", "azure_token", "google_token", "reveal"]
