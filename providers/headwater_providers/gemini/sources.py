"""Where a candidate's text comes from: what it is grounded in and what it cites, each told once.

A source (a chunk of the grounding, an attribution, a citation) is a Citation by itself, and one more for every part of the text that it supports;
`cited_text` of that one is the part. What is no source is kept for who shows the answer: the search's queries and entry point, what was retrieved,
the addresses that were read. It goes into `meta` of the text; of each field the last value counts (ADK-AGG-03).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw

from headwater_codecs.neutral import Citation
from headwater_codecs.tolerant_json import clean, encode_json
from headwater_providers.event_translator import Json, list_of, object_of, word_of
from headwater_providers.writer import EventWriter

_CITED = frozenset({"groundingChunks", "groundingSupports", "groundingAttributions"})  # of the grounding; the rest stays beside the text
_ADDRESSES = ("uri", "sourceUri", "imageUri")


class Sources:
    """The sources of one candidate. `meta` is what is kept beside the text, None while there is nothing new."""

    def __init__(self, choice: int, writer: EventWriter) -> None:
        self.meta: Raw | None = None
        self._choice = choice
        self._writer = writer
        self._chunks: list[object] = []  # of all grounding so far: supports count through it
        self._cited: set[tuple[bytes, str | None]] = set()
        self._beside: Json = {}

    def read(self, candidate: Json, index: Callable[[], int]) -> None:
        """What this candidate of a chunk says. `index` gives the number of the block that is cited."""
        grounding = object_of(candidate.get("groundingMetadata"))
        self._chunks_of(list_of(grounding.get("groundingChunks")), index)
        for attribution in list_of(grounding.get("groundingAttributions")):
            said = object_of(attribution)
            text = word_of(object_of(said.get("segment")).get("text")) or word_of(object_of(said.get("content")).get("text"))
            self._cite("attribution", object_of(said.get("web")), said, text, index)
        for support in list_of(grounding.get("groundingSupports")):
            self._support(object_of(support), index)
        cited = object_of(candidate.get("citationMetadata"))
        for source in [*list_of(cited.get("citationSources")), *list_of(cited.get("citations"))]:
            if isinstance(source, dict):
                self._cite("citation", source, source, None, index)
        self._keep("groundingMetadata", {name: value for name, value in grounding.items() if name not in _CITED})
        self._keep("urlContextMetadata", object_of(candidate.get("urlContextMetadata")))

    def _chunks_of(self, chunks: list[object], index: Callable[[], int]) -> None:
        """Some streams bring the chunks so far again and again, others each once."""
        if chunks[: len(self._chunks)] == self._chunks:
            self._chunks = chunks
        else:
            self._chunks = [*self._chunks, *chunks]
        for chunk in chunks:
            for kind, source in object_of(chunk).items():
                if isinstance(source, dict):
                    self._cite(kind, source, chunk, word_of(source.get("text")), index)

    def _support(self, support: Json, index: Callable[[], int]) -> None:
        text = word_of(object_of(support.get("segment")).get("text"))
        known = len(self._chunks)
        numbers = [number for number in list_of(support.get("groundingChunkIndices")) if type(number) is int and 0 <= number < known]
        for number in numbers:
            source = next((value for value in object_of(self._chunks[number]).values() if isinstance(value, dict)), {})
            self._cite("support", source, support, text, index)
        if support and not numbers:
            self._cite("support", {}, support, text, index)

    def _cite(self, kind: str, source: Json, whole: object, text: str | None, index: Callable[[], int]) -> None:
        url = next((address for name in _ADDRESSES if (address := word_of(source.get(name)))), None)
        key = (encode_json(clean(whole)), url)
        if key not in self._cited:
            self._cited.add(key)
            self._writer.content(Citation(index(), self._choice, str(clean(kind)), url, word_of(source.get("title")), text, Raw(key[0])))

    def _keep(self, name: str, value: Json) -> None:
        known = object_of(self._beside.get(name))
        said = {field: item for field, item in value.items() if item not in (None, "", [], {})}
        if said and (merged := {**known, **said}) != known:
            self._beside[name] = merged
            self.meta = Raw(encode_json(clean(self._beside)))
