"""What a listener has not read yet: counting, merging without a loss, giving up; all without waiting."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headwater.mailbox import Mailbox, SubscriberStats
from headwater_codecs.neutral import (
    Citation,
    Event,
    Finish,
    RawFrame,
    ReasoningDelta,
    RefusalDelta,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    UsageUpdate,
)


def letters(text: str) -> list[Event]:
    """A delta for each letter."""
    return [TextDelta(0, letter) for letter in text]


def taken(mailbox: Mailbox) -> list[Sequence[Event]]:
    """All batches that wait."""
    batches = []
    while batch := mailbox.take():
        batches.append(batch)
    return batches


def test_block_is_full_at_its_bound() -> None:
    """At `buffer` unread events the source waits; one batch taken makes room."""
    mailbox = Mailbox("block", 4)
    states = []
    for _ in range(3):
        mailbox.put(letters("ab"))
        states.append((mailbox.waiting, mailbox.full))
    assert states == [(2, False), (4, True), (6, True)]
    mailbox.take()
    assert (mailbox.waiting, mailbox.full) == (4, True)
    mailbox.take()
    assert (mailbox.waiting, mailbox.full) == (2, False)
    assert mailbox.stats == SubscriberStats(delivered=4, most_waiting=6)


@pytest.mark.parametrize("policy", ["coalesce", "disconnect"])
def test_only_block_holds_the_source_back(policy: str) -> None:
    """The others see to themselves."""
    mailbox = Mailbox(policy, 1)  # type: ignore[arg-type]
    for _ in range(5):
        mailbox.put(letters("ab"))
    assert not mailbox.full


def test_disconnect_gives_up_beyond_its_bound() -> None:
    """What was buffered is still read, what came after it is not."""
    mailbox = Mailbox("disconnect", 4)
    mailbox.put(letters("ab"))
    mailbox.put(letters("cd"))
    assert not mailbox.lagged
    mailbox.put(letters("e"))
    assert mailbox.lagged
    mailbox.put(letters("f"))
    assert taken(mailbox) == [letters("ab"), letters("cd")]


@pytest.mark.parametrize("policy", ["block", "coalesce", "disconnect"])
def test_an_empty_mailbox_takes_any_batch(policy: str) -> None:
    """One read may bring more than the bound; that is no lag."""
    mailbox = Mailbox(policy, 2)  # type: ignore[arg-type]
    for _ in range(3):
        mailbox.put(letters("abcdef"))
        assert mailbox.take() == letters("abcdef")
    assert (mailbox.lagged, mailbox.stats.merged) == (False, 0)


@pytest.mark.parametrize("policy", ["block", "coalesce", "disconnect"])
def test_the_terminal_is_never_refused(policy: str) -> None:
    """However full it is."""
    mailbox = Mailbox(policy, 1)  # type: ignore[arg-type]
    mailbox.put(letters("a"))
    mailbox.put([Finish("stop")])
    assert taken(mailbox)[-1][-1] == Finish("stop")
    assert not mailbox.lagged


@pytest.mark.parametrize("policy", ["block", "coalesce", "disconnect"])
def test_what_was_before_does_not_count(policy: str) -> None:
    """Catching up is no lag, and reading it makes no room that there is not: the bound is the same before and after."""
    mailbox = Mailbox(policy, 2)  # type: ignore[arg-type]
    mailbox.catch_up(letters("abcdef"))
    mailbox.put(letters("gh"))
    assert (mailbox.waiting, mailbox.full, mailbox.lagged) == (2, policy == "block", False)
    assert mailbox.take() == letters("abcdef")
    assert (mailbox.waiting, mailbox.full) == (2, policy == "block")
    assert mailbox.take() == letters("gh")
    assert mailbox.waiting == 0


def test_coalesce_merges_the_deltas_of_each_block() -> None:
    """Nothing is lost: per block its text, its start and end; the rest in order; the newest usage."""
    mailbox = Mailbox("coalesce", 2)
    mailbox.put([StreamStart("m"), TextStart(0)])
    mailbox.put([*letters("ab"), UsageUpdate(Usage(output_tokens=1))])
    mailbox.put([ToolCallStart(1, "c", "f"), ToolCallDelta(1, "{"), *letters("c"), ReasoningDelta(2, "r"), RefusalDelta(3, "n")])
    mailbox.put([ToolCallDelta(1, "}"), ReasoningDelta(2, "s"), RefusalDelta(3, "o"), UsageUpdate(Usage(output_tokens=9))])
    mailbox.put([*letters("d"), TextEnd(0), ToolCallEnd(1), Finish("stop")])
    assert taken(mailbox) == [
        [
            StreamStart("m"),
            TextStart(0),
            TextDelta(0, "abcd"),
            UsageUpdate(Usage(output_tokens=9)),
            ToolCallStart(1, "c", "f"),
            ToolCallDelta(1, "{}"),
            ReasoningDelta(2, "rs"),
            RefusalDelta(3, "no"),
            TextEnd(0),
            ToolCallEnd(1),
            Finish("stop"),
        ]
    ]
    assert mailbox.stats == SubscriberStats(delivered=11, merged=7, most_waiting=11)


def test_merging_starts_anew_after_a_read() -> None:
    """What was read is not merged into; a listener that caught up gets single deltas again."""
    mailbox = Mailbox("coalesce", 1)
    mailbox.put(letters("a"))
    mailbox.put(letters("b"))
    assert mailbox.take() == [TextDelta(0, "ab")]
    mailbox.put(letters("cd"))
    assert mailbox.take() == letters("cd")
    mailbox.put(letters("e"))
    mailbox.put(letters("f"))
    assert mailbox.take() == [TextDelta(0, "ef")]
    assert mailbox.take() == ()


def test_a_citation_keeps_its_place_in_the_text() -> None:
    """Deltas are not merged across it."""
    mailbox = Mailbox("coalesce", 1)
    mailbox.put(letters("a"))
    mailbox.put([*letters("b"), Citation(0, url="u"), *letters("c")])
    mailbox.put([*letters("d"), RawFrame(b"{}")])
    assert mailbox.take() == [TextDelta(0, "ab"), Citation(0, url="u"), TextDelta(0, "cd")]


def test_a_slow_listener_costs_no_more_than_the_answer() -> None:
    """However many deltas come, few events wait (B246)."""
    mailbox = Mailbox("coalesce", 10)
    mailbox.put([StreamStart(), TextStart(0)])
    for _ in range(10_000):
        mailbox.put(letters("abc"))
    assert mailbox.waiting == 3
    assert mailbox.take()[-1] == TextDelta(0, "abc" * 10_000)
    assert mailbox.stats.most_waiting <= 11


@pytest.mark.parametrize("policy", ["block", "coalesce"])
def test_clear(policy: str) -> None:
    """Nothing is left, and nothing is held back."""
    mailbox = Mailbox(policy, 1)  # type: ignore[arg-type]
    mailbox.catch_up(letters("x"))
    for letter in "abc":
        mailbox.put(letters(letter))
    mailbox.clear()
    assert (mailbox.take(), mailbox.waiting, mailbox.full) == ((), 0, False)
    mailbox.put(letters("d"))
    assert mailbox.take() == letters("d")


def image(size: int) -> list[Event]:
    """One event of so many bytes: its strings, and 64 for itself."""
    return [TextDelta(0, "x" * (size - 64))]


def test_block_is_full_at_its_bytes() -> None:
    """Few events may be large ones: the source waits for room of either kind."""
    mailbox = Mailbox("block", 100, max_bytes=1000)
    states = []
    for size in (400, 500, 100):
        mailbox.put(image(size))
        states.append((mailbox.waiting, mailbox.full))
    assert states == [(1, False), (2, False), (3, True)]
    mailbox.take()
    assert (mailbox.waiting, mailbox.full, mailbox.lagged) == (2, False, False)


def test_disconnect_gives_up_beyond_its_bytes() -> None:
    """What was buffered is still read. The bound counts what is unread, not what was ever sent."""
    mailbox = Mailbox("disconnect", 100, max_bytes=1000)
    for _ in range(5):
        mailbox.put(image(900))
        assert taken(mailbox) == [image(900)]
    mailbox.put(image(600))
    mailbox.put(image(401))
    assert mailbox.lagged
    assert taken(mailbox) == [image(600)]


def test_coalesce_gives_up_beyond_its_bytes() -> None:
    """Merging loses nothing and so saves no memory: a listener that never reads is given up, with all that came until then."""
    mailbox = Mailbox("coalesce", 1, max_bytes=1000)
    for size in (400, 400, 200):
        mailbox.put([RawFrame(b"r" * 500), *image(size)] if size == 200 else image(size))
        assert not mailbox.lagged
    mailbox.put(image(65))
    assert mailbox.lagged
    assert taken(mailbox) == [[TextDelta(0, "x" * (336 + 336 + 136 + 1))]]


@pytest.mark.parametrize("policy", ["block", "coalesce", "disconnect"])
def test_one_batch_and_the_terminal_may_pass_the_bytes(policy: str) -> None:
    """An empty mailbox takes any batch, and the end of the stream is never refused."""
    mailbox = Mailbox(policy, 100, max_bytes=10)  # type: ignore[arg-type]
    mailbox.put(image(5000))
    mailbox.put([*image(5000), Finish("stop")])
    assert taken(mailbox)[-1][-1] == Finish("stop")
    assert not mailbox.lagged
