"""How bytes get to a provider and back: `Transport`, over sockets of our own or through httpx. httpx is imported when first used."""

from headwater.transport.base import Clock, Trace, Transport, TransportResponse
from headwater.transport.retry_reuse import open_with_fresh_retry, reuse_idle
from headwater.transport.select import AutoTransport, choose_transport
from headwater.transport.socket_transport import SocketTransport

__all__ = [
    "AutoTransport",
    "Clock",
    "SocketTransport",
    "Trace",
    "Transport",
    "TransportResponse",
    "choose_transport",
    "open_with_fresh_retry",
    "reuse_idle",
]
