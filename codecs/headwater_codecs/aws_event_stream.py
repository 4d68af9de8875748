"""The AWS event stream: binary messages."""

from __future__ import annotations

from headwater_codecs.neutral.errors import HeadwaterError
from headwater_codecs.sse import MAX_FRAME, Frame


class MessageFrames:
    """Messages as frames, for `framing`."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.fault: HeadwaterError | None = None

    def feed(self, data: bytes, /) -> list[Frame]:
        """The messages that these bytes complete."""
        return []

    def finish(self) -> list[Frame]:
        """What is left."""
        return []
