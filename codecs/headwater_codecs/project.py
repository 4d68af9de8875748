"""What a wire cannot carry: for every encoder, one declared table that says how its events look when they come back.

`decode(encode(events)) == project(events, protocol)`, after `settle` has put both into one form: deltas of a block joined, usage updates left out but
for the last one, made-up ids and provider names left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headwater_codecs.neutral.events import Event

Projection = Callable[[Sequence[Event]], list[Event]]
