"""Blocks that Headwater does not model: server tools, their results, containers. They are kept as they came, with what their deltas added."""

from __future__ import annotations

from msgspec import Raw

from headwater_codecs.anthropic_messages.wire import decode_fields
from headwater_codecs.tolerant_json import clean, encode_json, is_json

Json = dict[str, object]


class OpaqueBlock:
    """An opaque block being put together: its start, and what deltas added."""

    __slots__ = ("_added", "_start", "input")

    def __init__(self, start: bytes) -> None:
        self._start = start
        self.input: list[str] = []
        self._added: dict[str, list[object]] = {}

    def add(self, delta: Json) -> None:
        """Take the fields of a delta: pieces of text are joined, of anything else the last one counts."""
        for name, item in delta.items():
            if name != "type" and item is not None:
                self._added.setdefault(name, []).append(item)

    def whole(self) -> tuple[bytes, bool]:
        """The block as one object, byte-exact but for what was added, and whether its input is JSON."""
        if not self.input and not self._added:
            return self._start, True
        fields: dict[str, object] = dict(decode_fields(self._start))
        complete = True
        if self.input:
            text = str(clean("".join(self.input)))
            complete = is_json(text)
            fields["input"] = Raw(text.encode()) if complete else text  # cut: kept as the text that it is
        for name, items in self._added.items():
            texts = [item for item in items if isinstance(item, str)]
            fields[name] = clean("".join(texts) if len(texts) == len(items) else items[-1])
        return encode_json(fields), complete


def is_utf8(raw: bytes) -> bool:
    """Whether these are bytes of text, and any at all."""
    try:
        return bool(raw.decode())
    except UnicodeDecodeError:
        return False
