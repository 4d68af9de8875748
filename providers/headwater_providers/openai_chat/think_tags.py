"""Reasoning that a model writes into its text between tags: `<think>...</think>`.

Incremental: text is held only while it may still become a tag, and released with the next piece or at the end. An answer that writes about
the tags quotes them: in code (spans and fences in backticks) and right behind a quotation mark a tag is text. So is a close tag with nothing
to close, except right at the start of an answer whose reasoning came in a field of its own.
"""

from __future__ import annotations

import re

_THINK = ("</think>", "</thinking>")
# The open tags and what closes each; letter case does not matter in those with angle brackets.
TAGS: dict[str, tuple[str, ...]] = {
    "<think>": _THINK,
    "<thinking>": _THINK,
    "<thought>": ("</thought>",),  # Gemini behind its compatible endpoint
    "<seed:think>": ("</seed:think>",),
    "[THINK]": ("[/THINK]",),  # Magistral
}
_CODE = re.compile(r"`+|\n")
_FENCE = 3  # backticks from which on a code span does not end with its line


class _Search:
    """Finds the first of some tags, and how much of a text's end may still become one."""

    def __init__(self, tags: tuple[str, ...]) -> None:
        self._tags = tuple((tag, tag.lower() if tag[0] == "<" else tag) for tag in tags)
        alternatives = [re.escape(tag) if tag[0] == "<" else f"(?-i:{re.escape(tag)})" for tag in tags]
        self.find = re.compile("|".join(alternatives), re.IGNORECASE | re.ASCII).search
        self._longest = max(map(len, tags))

    def held_back(self, text: str) -> int:
        """How many characters at the end may be the start of a tag."""
        start = max(0, len(text) - self._longest + 1)
        at = max(text.rfind("<", start), text.rfind("[", start))
        if at < 0:
            return 0
        tail = text[at:]
        low = tail.lower() if tail.isascii() else tail
        return len(tail) if any(tag.startswith(low if tag[0] == "<" else tail) for _, tag in self._tags) else 0


_OPEN = _Search(tuple(TAGS))
_CLOSE = {closing: _Search(closing) for closing in TAGS.values()}
_ANY_CLOSE = tuple(dict.fromkeys(tag for closing in TAGS.values() for tag in closing))
_IMPLICIT = _Search(_ANY_CLOSE)
_EITHER = _Search((*TAGS, *_ANY_CLOSE))


class ThinkTags:
    """Split text into answer and reasoning. With `implicit` it begins inside a tag (some chat templates open it themselves)."""

    def __init__(self, implicit: bool = False) -> None:
        self.inside = implicit
        self.seen_text = False
        self._implicit = implicit
        self._blank = True  # nothing but white space since the tag that we are inside of
        self._fed = False
        self._closing: _Search = _IMPLICIT
        self._held = ""
        self._code = _CodeSpans()

    def feed(self, piece: str, fields_seen: bool = False) -> list[tuple[bool, str]]:
        """Pieces as (is reasoning, text), none empty. With `fields_seen` the reasoning came in a field of its own.

        Then tagged text is a copy and is discarded, and a close tag without an open one before any answer is dropped.
        """
        if fields_seen and self._implicit and not self._fed:
            self.inside = False  # the server took the reasoning out already
        self._fed = True
        text = self._held + piece
        out: list[tuple[bool, str]] = []
        while text:
            search = self._search(fields_seen)
            found = search.find(text)
            if found is None:
                keep = search.held_back(text)
                self._emit(out, text[: len(text) - keep], fields_seen)
                self._held = text[len(text) - keep :]
                return out
            before, tag = text[: found.start()], found[0]
            self._emit(out, before, fields_seen)
            if not self._take(tag):
                self._emit(out, tag, fields_seen)
            text = text[found.end() :]
        self._held = ""
        return out

    def finish(self, fields_seen: bool = False) -> list[tuple[bool, str]]:
        """What was held as the start of a tag was none."""
        out: list[tuple[bool, str]] = []
        self._emit(out, self._held, fields_seen)
        self._held = ""
        return out

    def _search(self, fields_seen: bool) -> _Search:
        if self.inside:
            return _EITHER if self._implicit and self._blank else self._closing
        return _EITHER if fields_seen and not self.seen_text else _OPEN

    def _take(self, tag: str) -> bool:
        """Go in or out by this tag; False where it is only text."""
        if not self.inside and self._code.quoted():
            return False
        if tag[1] == "/":
            if not self.inside and self.seen_text:
                return False  # what stood before it was the answer's beginning
            self.inside = self._implicit = False
            return True
        if self.inside and not (self._implicit and self._blank):
            return False
        self.inside = True
        self._implicit = False
        self._closing = _CLOSE[TAGS[tag.lower() if tag[0] == "<" else tag]]
        return True

    def _emit(self, out: list[tuple[bool, str]], text: str, fields_seen: bool) -> None:
        if not text:
            return
        if self.inside:
            self._blank = self._blank and not text.strip()
            if fields_seen:
                return
        else:
            self.seen_text = self.seen_text or bool(text.strip())
            self._code.feed(text)
        out.append((self.inside, text))


class _CodeSpans:
    """Whether the end of a text stands in code or right behind a quotation mark."""

    def __init__(self) -> None:
        self._span = 0  # backticks that opened the code we are in
        self._run = 0  # backticks at the very end, which may get more
        self._last = ""

    def feed(self, text: str) -> None:
        """Text that was written; it may be cut anywhere."""
        if text[0] != "`":
            self._end_run()
        for mark in _CODE.finditer(text):
            if mark[0] == "\n":
                self._end_run()
                if self._span < _FENCE:
                    self._span = 0
            else:
                if mark.start() > 0:
                    self._end_run()
                self._run += len(mark[0])
        if text[-1] != "`":
            self._end_run()
        self._last = text[-1]

    def quoted(self) -> bool:
        """Whether a tag that comes next is only spoken of."""
        self._end_run()
        return self._span > 0 or self._last in ('"', "'")

    def _end_run(self) -> None:
        run, self._run = self._run, 0
        if run and not self._span:
            self._span = run
        elif run and (run == self._span or (run > self._span >= _FENCE)):
            self._span = 0
