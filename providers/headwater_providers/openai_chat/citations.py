"""Sources of an answer: Perplexity's lists beside the text, and annotations in a delta. Each is sent once, for the newest text block."""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from headwater_codecs.neutral import Citation
from headwater_codecs.openai_chat.wire import Json
from headwater_codecs.tolerant_json import encode_json
from headwater_providers.writer import EventWriter


class Citations:
    """The sources of one choice."""

    def __init__(self, writer: EventWriter, choice: int, text: int | None) -> None:
        self.waiting: list[Citation] = []  # came before there was a text
        self._writer = writer
        self._choice = choice
        self._text = text  # the newest text block
        self._seen: set[tuple[str, str | bytes]] = set()

    def cite(self, sources: list[object]) -> None:
        """Sources as addresses, or as objects with `url` and `title`."""
        for source in sources:
            fields = source if isinstance(source, dict) else {"url": source}
            url, title, cited = (value if isinstance(value := fields.get(name), str) and value else None for name in ("url", "title", "snippet"))
            self._add(Citation(0, self._choice, "url", url, title, cited, Raw(encode_json(source))))

    def annotate(self, note: Json) -> None:
        """An annotation, whose fields stand in an object named like its type."""
        kind = note.get("type")
        kind = kind if isinstance(kind, str) and kind else "url_citation"
        body = note.get(kind)
        fields = body if isinstance(body, dict) else note
        url, title, cited = (value if isinstance(value := fields.get(name), str) else None for name in ("url", "title", "content"))
        self._add(Citation(0, self._choice, kind, url, title, cited, Raw(encode_json(note))))

    def text_opened(self, index: int) -> None:
        """A text block opened: it is the one that is cited from here on."""
        self._text = index
        waiting, self.waiting = self.waiting, []
        for source in waiting:
            self._write(source, index)

    def _add(self, source: Citation) -> None:
        raw = bytes(source.raw or b"")
        key = (source.kind, source.url if source.kind == "url" and source.url else raw)  # one place may be cited for several passages
        if key in self._seen:
            return
        self._seen.add(key)
        if self._text is None:
            self.waiting.append(source)
        else:
            self._write(source, self._text)

    def _write(self, source: Citation, index: int) -> None:
        self._writer.content(replace(source, index=index))
