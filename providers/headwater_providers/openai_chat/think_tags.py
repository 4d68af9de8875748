"""Reasoning that a model writes into its text between tags: `<think>...</think>`.

Incremental: text is held only while it may still become a tag, and released with the next piece or at the end.
"""

from __future__ import annotations

OPEN = ("<think>", "<thinking>")
CLOSE = ("</think>", "</thinking>")


class ThinkTags:
    """Split text into answer and reasoning. With `implicit` it begins inside a tag (some chat templates open it themselves)."""

    def __init__(self, implicit: bool = False) -> None:
        self.inside = implicit
        self.seen_text = False
        self._held = ""

    def feed(self, piece: str, fields_seen: bool = False) -> list[tuple[bool, str]]:
        """Pieces as (is reasoning, text), none empty. With `fields_seen` the reasoning came in a field of its own.

        Then tagged text is a copy and is discarded, and a close tag without an open one before any answer is dropped.
        """
        text = self._held + piece
        out: list[tuple[bool, str]] = []
        while text:
            tags = CLOSE if self.inside else (OPEN if self.seen_text or not fields_seen else OPEN + CLOSE)
            at, tag = _first(text, tags)
            if tag is None:
                keep = _possible_tag(text, tags)
                self._emit(out, text[: len(text) - keep], fields_seen)
                self._held = text[len(text) - keep :]
                return out
            self._emit(out, text[:at], fields_seen)
            self.inside = tag in OPEN
            text = text[at + len(tag) :]
        self._held = ""
        return out

    def finish(self, fields_seen: bool = False) -> list[tuple[bool, str]]:
        """What was held as the start of a tag was none."""
        out: list[tuple[bool, str]] = []
        self._emit(out, self._held, fields_seen)
        self._held = ""
        return out

    def _emit(self, out: list[tuple[bool, str]], text: str, fields_seen: bool) -> None:
        if not text or (self.inside and fields_seen):
            return
        if not self.inside and text.strip():
            self.seen_text = True
        out.append((self.inside, text))


def _first(text: str, tags: tuple[str, ...]) -> tuple[int, str | None]:
    """The first tag in the text and where."""
    found = [(at, tag) for tag in tags if (at := text.find(tag)) >= 0]
    return min(found) if found else (0, None)


def _possible_tag(text: str, tags: tuple[str, ...]) -> int:
    """How many characters at the end may be the start of a tag."""
    at = text.rfind("<", -max(map(len, tags)) + 1)
    if at < 0:
        return 0
    tail = text[at:]
    return len(tail) if any(tag.startswith(tail) for tag in tags) else 0
