"""Blocks of a ConverseStream that Headwater does not model: a server's tool and its result, an image, what may come next. They are kept for replay.

A block is an object under its kind, as in a message: `{"image": {"format": "png", "source": {"bytes": ...}}}`. Its start and its deltas hold pieces.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence

from headwater_codecs import tolerant_json
from headwater_codecs.tolerant_json import clean, encode_json, is_json

Json = dict[str, object]
_DEPTH = 20  # of objects in a block that are put together from pieces


class Item:
    """A block being put together. `whole` may be asked at any time."""

    __slots__ = ("_kind", "_pieces")

    def __init__(self, kind: str, start: object) -> None:
        self._kind = kind
        self._pieces: list[object] = []
        if start is not None:
            self.add(start)

    def add(self, piece: object) -> None:
        """Take the next piece. Pieces that are lists are parts of the content, as of a tool's result."""
        self._pieces.append({"content": piece} if isinstance(piece, list) else piece)

    def whole(self) -> tuple[bytes, bool]:
        """The block as one object, and whether its input is JSON: cut, it stays the text that it is."""
        value = _joined(self._pieces)
        complete = True
        if isinstance(value, dict) and isinstance(text := value.get("input"), str):
            given = str(clean(text))
            complete = is_json(given) or not given
            if complete:
                value["input"] = tolerant_json.decode(given.encode()) if given else {}
        return encode_json(clean({self._kind: value})), complete


def join_base64(pieces: Sequence[str]) -> str:
    """Bytes that came in pieces, each in base64 of its own; as they are where there is one, or where they are no base64."""
    if len(pieces) > 1 and any("=" in piece for piece in pieces[:-1]):
        try:
            return b64encode(b"".join([b64decode(piece, validate=True) for piece in pieces])).decode()
        except ValueError:
            pass
    return "".join(pieces)


def _joined(pieces: list[object], name: str = "", depth: int = _DEPTH) -> object:
    """One value of the pieces: texts, bytes and lists are joined, objects field by field; of anything else the last one counts."""
    if len(pieces) == 1 or depth == 0:
        return pieces[-1]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        return join_base64(texts) if name == "bytes" else "".join(texts)
    lists = [piece for piece in pieces if isinstance(piece, list)]
    if len(lists) == len(pieces):
        return [item for piece in lists for item in piece]
    fields: dict[str, list[object]] = {}
    for piece in pieces:
        if not isinstance(piece, dict):
            return pieces[-1]
        for field, value in piece.items():
            fields.setdefault(field, []).append(value)
    return {field: _joined(values, field, depth - 1) for field, values in fields.items()}
