"""Which streamed item is which item of the terminal event. Rows AMB-33, ADK-OAI-FIN-07 to 09.

By the item's id, by the call's id, then by what the items are: some servers give them new ids, or leave one out. Events that are out cannot be taken
back, so that an item which is the same must be found, or its call would run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headwater_providers.event_translator import Json, list_of, object_of, text_of, word_of
from headwater_providers.openai_responses.items import CALLS, Item, arguments_of


def pair(items: Sequence[Item], stated: Sequence[Json]) -> list[Item | None]:
    """For every stated item the streamed one, each at most once; None for what is new."""
    pairs: list[Item | None] = [None] * len(stated)
    left = dict.fromkeys(items)

    def match(same: Callable[[Item, Json, int], bool]) -> None:
        for position, said in enumerate(stated):
            if pairs[position] is None and (found := next((item for item in left if same(item, said, position)), None)) is not None:
                pairs[position] = found
                del left[found]

    match(_same_id)
    match(_same_call_id)
    match(_same_place)
    match(_same_content)
    for type in {item.type for item in left}:
        streamed = [item for item in left if item.type == type]
        new = [position for position, said in enumerate(stated) if pairs[position] is None and said.get("type") == type]
        if len(streamed) == len(new):
            for item, position in zip(streamed, new, strict=True):
                if _may_be(item, stated[position]):
                    pairs[position] = item
    return pairs


def _same_id(item: Item, said: Json, position: int) -> bool:
    return item.id is not None and item.id == word_of(said.get("id")) and item.type in ("", said.get("type"))


def _same_call_id(item: Item, said: Json, position: int) -> bool:
    return item.call_id is not None and item.call_id == word_of(said.get("call_id")) and _may_be(item, said)


def _same_place(item: Item, said: Json, position: int) -> bool:
    """For an item that has no id on one side, or the same place in the list, and that agrees otherwise."""
    if not _may_be(item, said) or not _agrees(item, said):
        return False
    return item.output_index == position or item.id is None or word_of(said.get("id")) is None


def _same_content(item: Item, said: Json, position: int) -> bool:
    return _may_be(item, said) and bool(item.text or item.arguments) and _agrees(item, said)


def _may_be(item: Item, said: Json) -> bool:
    return item.type == said.get("type") and (item.type not in CALLS or not item.name or item.name == (word_of(said.get("name")) or item.name))


def _agrees(item: Item, said: Json) -> bool:
    """Whether one has what the other begins with."""
    if item.type in CALLS:
        mine, other = item.arguments, arguments_of(said.get(CALLS[item.type]))
    else:
        mine, other = item.text, _text(said)
    return mine.startswith(other) or other.startswith(mine)


def _text(said: Json) -> str:
    parts = [object_of(part) for field in ("content", "summary") for part in list_of(said.get(field))]
    return "".join([text_of(part.get("text")) or text_of(part.get("refusal")) for part in parts])
