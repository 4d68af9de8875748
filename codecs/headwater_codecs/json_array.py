"""A JSON array that arrives piece by piece: one frame for each element."""

from __future__ import annotations

from headwater_codecs.neutral.errors import HeadwaterError
from headwater_codecs.sse import MAX_FRAME, Frame


class JsonArrayParser:
    """Elements of a top-level array as frames."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.fault: HeadwaterError | None = None
        self._max = max_frame
        self._data = b""

    def feed(self, data: bytes, /) -> list[Frame]:
        """The elements that these bytes complete."""
        self._data += data
        return []

    def finish(self) -> list[Frame]:
        """What is left."""
        return [Frame(self._data, terminated=False)]
