"""Tags in the text, at every cutting of it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_providers.openai_chat.think_tags import TAGS, ThinkTags

# The name of the row -> text, reasoning, answer.
EXPLICIT: dict[str, tuple[str, str, str]] = {
    "no tags": ("just text", "", "just text"),
    "one block": ("<think>plan</think>Answer", "plan", "Answer"),
    "white space is kept": (" <think>\nplan\n</think>\n\nAnswer\n", "\nplan\n", " \n\nAnswer\n"),
    "empty block": ("<think></think>Answer", "", "Answer"),
    "two blocks": ("<think>a</think>A<think>b</think>B", "ab", "AB"),
    "block after the answer began": ("A<think>a</think>B", "a", "AB"),
    "never closed": ("<think>plan and", "plan and", ""),
    "less than": ("if a < b: ok", "", "if a < b: ok"),
    "part of a tag at the end": ("1 < 2 <th", "", "1 < 2 <th"),
    "part of a close tag at the end": ("<think>a</thi", "a</thi", ""),
    "a tag after a part of one": ("<<think>a<</think>b", "a<", "<b"),
    "other tags": ("<b>x</b><thinks>y</thinks>", "", "<b>x</b><thinks>y</thinks>"),
    "thinking": ("<thinking>plan</thinking>Answer", "plan", "Answer"),
    "thinking closed by think": ("<thinking>plan</think>Answer", "plan", "Answer"),
    "thought": ("<thought>plan</thought>Answer", "plan", "Answer"),
    "think is not closed by thought": ("<think>a</thought>b</think>c", "a</thought>b", "c"),
    "seed": ("<seed:think>plan</seed:think>Answer", "plan", "Answer"),
    "square brackets": ("[THINK]plan[/THINK]Answer [1] [think]", "plan", "Answer [1] [think]"),
    "letter case": ("<Think>plan</THINK>Answer", "plan", "Answer"),
    "letters that look alike are no tag": ("<thin\u212a>x", "", "<thin\u212a>x"),
    "a tag inside is text": ("<think>a<think>b</think>c", "a<think>b", "c"),
    "orphan close tag": ("Answer</think>more", "", "Answer</think>more"),
    "orphan close tag first": ("</think>Answer", "", "</think>Answer"),
    "in a code span": ("Use `<think>` and `a </think>`.", "", "Use `<think>` and `a </think>`."),
    "in a code span of two": ("Use `` ` <think> `` so.", "", "Use `` ` <think> `` so."),
    "behind a code span": ("`a` <think>b</think>c", "b", "`a` c"),
    "a lone backtick ends with its line": ("5` long\n<think>b</think>c", "b", "5` long\nc"),
    "in a fence": ("```\n<think>\n`x`\n```\n<think>b</think>c", "b", "```\n<think>\n`x`\n```\nc"),
    "a longer fence closes": ("```\n<think>\n````\n<think>b</think>c", "b", "```\n<think>\n````\nc"),
    "in quotation marks": ('the "<think>" tag', "", 'the "<think>" tag'),
    "backticks inside do not count": ("<think>`</think>a<think>b</think>", "`b", "a"),
    "wide characters": ("é<think>🚀</think>é", "🚀", "éé"),
}
IMPLICIT: dict[str, tuple[str, str, str]] = {
    "closed": ("plan</think>Answer", "plan", "Answer"),
    "open tag all the same": ("<think>\nplan</think>Answer", "\nplan", "Answer"),
    "open tag behind white space": ("\n <think>plan</think>Answer", "\n plan", "Answer"),
    "open tag later is text": ("plan <think>more</think>Answer", "plan <think>more", "Answer"),
    "closed by any tag": ("plan</thought>Answer", "plan", "Answer"),
    "never closed": ("plan and", "plan and", ""),
    "opened again": ("a</think>A<think>b</think>B", "ab", "AB"),
    "closed twice": ("a</think>A</think>B", "a", "A</think>B"),
}
WITH_FIELDS: dict[str, tuple[str, str, str]] = {
    "a copy is discarded": ("<think>plan</think>Answer", "", "Answer"),
    "an orphan close tag is dropped": ("</think>\n\nAnswer", "", "\n\nAnswer"),
    "an orphan close tag behind white space": ("\n</think>Answer", "", "\nAnswer"),
    "a close tag in the answer is text": ("Answer</think>", "", "Answer</think>"),
    "no tags": ("Answer", "", "Answer"),
}


def cuttings(text: str) -> Iterator[list[str]]:
    """Whole, by character, in two at every place, and at random places."""
    yield [text]
    yield list(text)
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]
    for seed in range(20):
        generator = random.Random(seed)
        cuts = sorted(generator.randrange(len(text) + 1) for _ in range(4))
        yield [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def split(pieces: list[str], *, implicit: bool = False, fields: bool = False) -> tuple[str, str]:
    """Reasoning and answer. Checks that no piece is empty."""
    tags = ThinkTags(implicit)
    out = [part for piece in pieces for part in tags.feed(piece, fields)] + tags.finish(fields)
    assert all(text for _, text in out)
    return "".join(text for inside, text in out if inside), "".join(text for inside, text in out if not inside)


@pytest.mark.parametrize(("text", "reasoning", "answer"), EXPLICIT.values(), ids=EXPLICIT)
def test_explicit(text: str, reasoning: str, answer: str) -> None:
    """Text begins as an answer."""
    for pieces in cuttings(text):
        assert split(pieces) == (reasoning, answer)


@pytest.mark.parametrize(("text", "reasoning", "answer"), IMPLICIT.values(), ids=IMPLICIT)
def test_implicit(text: str, reasoning: str, answer: str) -> None:
    """Text begins as reasoning, whether the model writes the open tag or not."""
    for pieces in cuttings(text):
        assert split(pieces, implicit=True) == (reasoning, answer)


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize(("text", "reasoning", "answer"), WITH_FIELDS.values(), ids=WITH_FIELDS)
def test_with_fields(text: str, reasoning: str, answer: str, implicit: bool) -> None:
    """Where reasoning came in a field, tagged text is a copy, and text does not begin inside a tag."""
    for pieces in cuttings(text):
        assert split(pieces, implicit=implicit, fields=True) == (reasoning, answer)


@pytest.mark.parametrize("tag", [*TAGS, *sorted({tag for closing in TAGS.values() for tag in closing})])
def test_only_a_possible_tag_is_held(tag: str) -> None:
    """Each beginning of a tag is held back, and given up with the first character that does not fit."""
    opening = next(open for open, closing in TAGS.items() if tag == open or tag in closing)
    for length in range(1, len(tag)):
        tags = ThinkTags()
        if tag not in TAGS:
            tags.feed(opening)
        inside = tag not in TAGS
        assert tags.feed("a" + tag[:length]) == [(inside, "a")]
        assert tags.feed(" b") == [(inside, tag[:length] + " b")]
        assert tags.finish() == []


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<thinking>", "</thought>", "<", ">", "`", "```", "\n", '"', "a", " ", "[THINK]", "[/"]), max_size=12
    ),
    st.booleans(),
    st.booleans(),
)
def test_any_cutting(parts: list[str], implicit: bool, fields: bool) -> None:
    """Whatever the text, cutting it changes nothing, and without fields no character outside of tags is lost."""
    text = "".join(parts)
    whole = split([text], implicit=implicit, fields=fields)
    assert split(list(text), implicit=implicit, fields=fields) == whole
    for at in range(1, len(text)):
        assert split([text[:at], text[at:]], implicit=implicit, fields=fields) == whole
    if not fields:
        assert "".join(whole).count("a") == text.count("a")
