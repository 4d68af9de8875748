"""AWS event streams as text that people can read: one JSON object a line, one message a line. Lines that start with `#` are comments.

    {"event": "messageStart", "payload": {...}}      the three usual headers; a payload that is a text is taken as it is
    {"exception": "throttlingException", "payload": {...}}
    {"headers": {...}, "payload": {...}}             headers as given
    {"chunk": {...}}                                 an event `chunk` of InvokeModel: this event in base64, with padding; a text is taken as it is
    {"bytes": "text"}                                bytes that are no message

Added to a line: `"flip": N` turns a bit of the message's byte N (from its end if negative), `"keep": N` keeps its first N bytes alone.
"""

from __future__ import annotations

import base64

import msgspec

from headwater_codecs.aws_event_stream import HeaderValue, encode_message

Json = dict[str, object]
_PADDING = "abcdefgh"


def aws_bytes(text: bytes) -> bytes:
    """The bytes of these lines."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(b"#")]
    return b"".join([_message(msgspec.json.decode(line, type=Json)) for line in lines])


def _message(line: Json) -> bytes:
    data = bytearray(_whole(line))
    if isinstance(at := line.get("flip"), int):
        data[at] ^= 1
    keep = line.get("keep")
    return bytes(data[:keep] if isinstance(keep, int) else data)


def _whole(line: Json) -> bytes:
    headers: dict[str, HeaderValue] = {}
    payload = line.get("payload", "")
    if "bytes" in line:
        return _text(line["bytes"])
    if "headers" in line:
        headers = msgspec.convert(line["headers"], dict[str, bool | int | str])  # type: ignore[assignment]  # a part of what headers can be
    elif "exception" in line:
        headers = {":exception-type": str(line["exception"]), ":content-type": "application/json", ":message-type": "exception"}
    else:
        headers = {":event-type": str(line.get("event", "chunk")), ":content-type": "application/json", ":message-type": "event"}
    if "chunk" in line:
        payload = {"bytes": base64.b64encode(_text(line["chunk"])).decode(), "p": _PADDING}
    return encode_message(headers, _text(payload))


def _text(value: object) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)
