"""Headwater: raw provider bytes in, one typed event stream out, on asyncio and on trio.

    import headwater as hw

    async with hw.Engine() as engine:
        async with engine.stream(hw.Request(model="openai/gpt-4o-mini", messages=[hw.user("hi")])) as stream:
            async for text in stream.text_deltas():
                print(text, end="")
"""

from headwater.blocking import SyncStream, generate_sync, stream_sync
from headwater.decode import decode, decode_events
from headwater.engine import Engine
from headwater.fanout import Subscription
from headwater.mailbox import SubscriberStats
from headwater.retry import Retry
from headwater.stream import Stream
from headwater.transport import Transport
from headwater_codecs.neutral import *  # noqa: F403  # the vocabulary has its own sorted __all__
from headwater_codecs.neutral import __all__ as _vocabulary
from headwater_providers.resolve import Registries

__all__ = sorted(  # noqa: PLE0605
    [
        *_vocabulary,
        "Engine",
        "Registries",
        "Retry",
        "Stream",
        "SubscriberStats",
        "Subscription",
        "SyncStream",
        "Transport",
        "decode",
        "decode_events",
        "generate_sync",
        "stream_sync",
    ]
)
