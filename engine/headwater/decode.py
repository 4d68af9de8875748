"""Bytes to events without a network: the same stages as a live stream, run on bytes that are already there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headwater.aggregate import Aggregator
from headwater_codecs.framing import Framing
from headwater_codecs.neutral import ConfigurationError, Event, Response, StreamFailed
from headwater_providers.adapter import Translator
from headwater_providers.builtin import default_registries
from headwater_providers.resolve import Registries


def decode(
    protocol: str,
    chunks: Iterable[bytes],
    *,
    content_type: str | None = None,
    headers: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
    registries: Registries | None = None,
) -> Response:
    """What a captured body says, as a Response.

    Never raises for the stream's faults: `response.error` tells. `content_type` and `headers` are the response's (a `content-encoding` counts);
    `options` are flags of the protocol's dialect. Raises ConfigurationError for an unknown protocol or option.
    """
    aggregator = Aggregator()
    translator = _decode(protocol, chunks, content_type, headers, options, registries, aggregator.feed)
    aggregator.response.protocol = protocol
    aggregator.response.diagnostics = translator.diagnostics
    return aggregator.response


def decode_events(
    protocol: str,
    chunks: Iterable[bytes],
    *,
    content_type: str | None = None,
    headers: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
    registries: Registries | None = None,
) -> list[Event]:
    """The same as `decode`, as the list of events."""
    events: list[Event] = []
    _decode(protocol, chunks, content_type, headers, options, registries, events.extend)
    return events


_Sink = Callable[[list[Event]], object]


def _decode(
    protocol: str,
    chunks: Iterable[bytes],
    content_type: str | None,
    headers: Mapping[str, str] | None,
    options: Mapping[str, object] | None,
    registries: Registries | None,
    sink: _Sink,
) -> Translator:
    adapter = (registries or default_registries()).adapter(protocol)
    dialect = adapter.dialect(options or {})
    lower = {name.lower(): value for name, value in (headers or {}).items()}
    translator = adapter.translator(dialect)
    framing = Framing(adapter.format, content_type or lower.get("content-type", "text/event-stream"), lower.get("content-encoding", ""))
    sent = received = 0

    def send(batch: list[Event]) -> None:
        nonlocal sent
        sent += len(batch)
        if batch and isinstance(failed := batch[-1], StreamFailed):
            batch[-1] = measured(failed, sent, received)
        sink(batch)

    for chunk in chunks:
        if not isinstance(chunk, bytes | bytearray | memoryview):
            raise ConfigurationError(f"decode takes an iterable of bytes; a chunk is {type(chunk).__name__}")
        received += len(chunk)
        send(translator.feed(framing.feed([bytes(chunk)])))
        if translator.done:
            return translator
    send(translator.feed(framing.finish()) + translator.finish())
    return translator


def measured(failed: StreamFailed, events: int, received: int, request_id: str | None = None) -> StreamFailed:
    """The failure with how far the stream got written into it."""
    error = failed.error.with_(events=events, bytes_received=received, request_id=failed.error.request_id or request_id)
    return StreamFailed(error, failed.raw_finish_reason, failed.usage)
