"""What comes back of an answer that was written to a wire and read again.

`settled(decode(encode(events))) == project(events, protocol)`: what a wire cannot carry is declared in `wires.WIRES`, and here is what each of its
flags does. Wires with borders between blocks are projected block by block; on the others the order of the pieces decides (`runs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Raw
from msgspec.structs import replace

from headwater_codecs.event_encoder import Json, as_object, encode_json
from headwater_codecs.neutral.errors import RETRYABLE, ErrorInfo
from headwater_codecs.neutral.events import ChoiceEnd, Citation, Event, Finish, FinishReason, StreamFailed, StreamStart, UsageUpdate
from headwater_codecs.neutral.usage import Usage
from headwater_codecs.runs import Runs, one_line
from headwater_codecs.sequential import STARTS
from headwater_codecs.settle import Story, Told, written
from headwater_codecs.tolerant_json import is_json
from headwater_codecs.wires import WIRES, Wire


def project(events: Sequence[Event], protocol: str) -> list[Event]:
    """How these events come back from the wire of this protocol, settled. Lawful events give lawful events.

    `StreamStart` must name the model and the id that the encoder is given.
    """
    wire = WIRES[protocol]
    story = Story(events)
    failed = isinstance(story.terminal, StreamFailed)
    told = [block for block in story.blocks.values() if wire.choices or not block.choice]
    if wire.bounded:
        blocks = _bounded(wire, told, story.start, failed)
        begun = bool(told)
    else:
        runs = Runs(wire, events)
        blocks = runs.end(failed)
        begun = runs.wrote
    named = wire.identity == "always" or (wire.identity != "never" and (begun or not failed))
    start = StreamStart(story.start.model if named else None, story.start.response_id if named and wire.ids else None)
    if isinstance(story.terminal, StreamFailed):
        _cut_off(wire, told, blocks)
        return written(start, blocks, [], StreamFailed(_failure(wire, story.terminal.error), usage=_failed_counts(wire, events, story.terminal)))
    ends = [end for end in story.ends if wire.choices or not end.choice]
    ends = [_choice_end(wire, end, blocks, [block for block in told if block.choice == end.choice]) for end in ends]
    terminal = None
    if story.terminal is not None:
        first = next((end for end in ends if not end.choice), ChoiceEnd(0, "unknown"))
        detail = story.terminal.detail if wire.detail == "always" or wire.detail == first.raw_finish_reason else None
        terminal = Finish(first.finish_reason, first.raw_finish_reason, _counts(wire, story.terminal.usage), detail)
    return written(start, blocks, ends, terminal)


# --- blocks with borders


def _bounded(wire: Wire, told: Sequence[Told], start: StreamStart, failed: bool) -> list[Told]:
    """The blocks as they come back, whether their calls are complete left aside where the end decides that."""
    ids = _item_ids(told, wire.item_ids, start) if wire.item_ids is not None else {}
    if wire.placed_by_content:
        told = sorted(told, key=lambda block: block.began if block.kind == "tool_call" else block.spoke)
    blocks = []
    for block in told:
        back = _PROJECTED[block.kind](wire, block)
        if back is None:
            continue
        if back.index in ids:
            _identify(back, ids[back.index])
        _set_meta(wire, back)
        blocks.append(back)
    return blocks


def _text(wire: Wire, block: Told) -> Told | None:
    back = _like(block)
    if block.kind == "refusal" and not wire.refusals:
        back.kind = "text"
    elif "text" in wire.signatures:
        back.signature = block.signature
    back.pieces = block.pieces
    if wire.citations == "own" and back.kind == "text":
        back.citations = [_own(wire, citation) for citation in block.citations]
        if wire.each_source_once:
            back.citations = list({bytes(citation.raw or b""): citation for citation in back.citations}.values())
    return back if back.pieces or back.citations else None


def _reasoning(wire: Wire, block: Told) -> Told | None:
    back = _like(block)
    back.pieces = block.pieces
    hidden = block.redacted and block.data is not None and (not block.pieces or wire.data == "redacted")
    if wire.data == "always":
        back.data, back.redacted = block.data, bool(block.data) and not block.pieces
    elif hidden and wire.data:
        back.data, back.redacted = block.data, True
    elif "reasoning" in wire.signatures:
        back.signature = block.signature or None
    says = back.pieces or back.signature or back.redacted
    return back if says or wire.empty_reasoning else None


def _call(wire: Wire, block: Told) -> Told | None:
    back = _like(block)
    back.id, back.name = block.id, block.name
    back.pieces = block.pieces
    if block.call_kind == "custom" and not wire.custom:
        whole = encode_json({"input": block.text}).decode()
        back.pieces = [whole if block.complete else whole[:-2]]
    else:
        back.call_kind = block.call_kind
    back.complete = block.complete if wire.cut_calls else not back.text.strip() or back.call_kind == "custom" or is_json(back.text)
    return back


def _opaque(wire: Wire, block: Told) -> Told | None:
    item = as_object(block.raw)
    if item is None or not (block.complete or wire.cut_opaque) or wire.opaque != "typed" or item.get("type") != block.opaque_kind:
        return None
    back = _like(block)
    back.opaque_kind, back.raw = block.opaque_kind, one_line(block.raw)
    back.item_id = item.get("id") or None
    return back


_PROJECTED = {"text": _text, "refusal": _text, "reasoning": _reasoning, "tool_call": _call, "opaque": _opaque}


def _like(block: Told) -> Told:
    """A block of the same kind that says nothing yet; it knows whether its end came too early."""
    back = Told(block.kind, block.choice, block.index)
    back.broken = not block.complete
    return back


def _item_ids(told: Sequence[Told], prefixes: Mapping[str, str], start: StreamStart) -> dict[int, str]:
    """The id of each block's item: its own, or one that is made up where it has none, or that of another."""
    ids: dict[int, str] = {}
    taken: set[str] = set()
    for block in told:
        kind = block.call_kind if block.kind == "tool_call" else block.kind
        free = block.item_id and (kind == "opaque" or block.item_id not in taken)
        ids[block.index] = str(block.item_id) if free else f"{prefixes[kind]}_{start.response_id}_{block.index}"
        if kind != "opaque":
            taken.add(ids[block.index])
    return ids


def _identify(back: Told, id: str) -> None:
    """An opaque item has its own id, if it has one."""
    if back.item_id is None:
        back.item_id = id
        if back.kind == "opaque":
            back.raw = encode_json({"id": id, **(as_object(back.raw) or {})})


def _own(wire: Wire, citation: Citation) -> Citation:
    """A source as it came, where it came as an object; else what is known of it."""
    note = as_object(citation.raw and bytes(citation.raw))
    if note is None and wire.meta == "citations":
        note = {"type": "web_search_result_location", "url": citation.url, "title": citation.title, "cited_text": citation.cited_text or ""}
    elif note is None:
        note = {"type": citation.kind, "url": citation.url, "title": citation.title or ""}
    said = [_word(note, *names) for names in (("type",), ("url",), ("title", wire.title), ("cited_text",))]
    return Citation(0, 0, said[0] or "citation", said[1], said[2], said[3] if wire.meta == "citations" else None, Raw(encode_json(note)))


def _word(note: Json, *names: str) -> str | None:
    return next((value for name in names if isinstance(value := note.get(name), str) and value), None)


def _set_meta(wire: Wire, block: Told) -> None:
    """What the reader keeps beside the block, for replay."""
    if wire.meta == "citations" and block.citations:
        block.meta = Raw(b'{"citations":[%b]}' % b",".join([bytes(citation.raw or b"") for citation in block.citations]))
    elif wire.meta == "item" and block.kind in ("text", "tool_call"):
        block.meta = Raw(encode_json({"id": block.item_id}))
    elif wire.meta == "item" and block.kind == "reasoning":
        summary = [{"type": "summary_text", "text": block.text}] if block.pieces else []
        item: Json = {"id": block.item_id, "type": "reasoning", "summary": summary}
        if block.data is not None:
            item["encrypted_content"] = block.data
        block.meta = Raw(encode_json(item))


# --- the end


def _cut_off(wire: Wire, told: Sequence[Told], blocks: Sequence[Told]) -> None:
    """The stream failed: the last block that was written is cut, if it was."""
    if wire.bounded and wire.cut_at_failure and blocks and blocks[-1].index == _last_written(wire, told):
        blocks[-1].complete = blocks[-1].complete and not blocks[-1].broken


def _last_written(wire: Wire, told: Sequence[Told]) -> int:
    """The last block that is written at all, also one that says nothing and so does not come back."""
    return max((block.index for block in told if block.kind != "opaque" or _opaque(wire, block)), default=-1)


def _choice_end(wire: Wire, end: ChoiceEnd, blocks: Sequence[Told], told: Sequence[Told]) -> ChoiceEnd:
    """The end as it comes back. What was written decides, and not what was told: a stop behind calls that may be run means the calls."""
    mine = [block for block in blocks if block.choice == end.choice]
    reason, raw = wire.reasons[end.finish_reason]
    refusals = [block for block in told if block.kind == "refusal"]
    refused = any(block.pieces for block in refusals)
    if end.raw_finish_reason in wire.own_reasons:
        raw = end.raw_finish_reason
        reason = wire.own_reasons[raw]  # type: ignore[index]  # it is in there
    if wire.refused == "word" and refusals and end.finish_reason == "stop":
        reason, raw = "refusal", "refusal"
    elif wire.refused == "last" and refused and end.finish_reason == "refusal":
        reason, raw = "stop", "stop"
    last = mine[-1] if wire.bounded and mine and mine[-1].index == _last_written(wire, told) else None
    if reason in wire.breaking and last is not None and last.kind == "tool_call" and not last.text.strip():
        last.complete = last.complete and not last.broken
    calls = [block for block in mine if block.kind == "tool_call"]
    return ChoiceEnd(end.choice, _unified(wire, reason, calls, refused), raw)


def _unified(wire: Wire, reason: FinishReason, calls: Sequence[Told], refused: bool) -> FinishReason:
    if reason == "tool_calls" and wire.calls_needed and not calls:
        reason = "stop"
    if reason != "stop":
        return reason
    if wire.refused == "first" and refused:
        return "refusal"
    if any(call.complete for call in calls):
        return "tool_calls"
    return "refusal" if wire.refused == "last" and refused else "stop"


def _counts(wire: Wire, usage: Usage | None) -> Usage | None:
    if usage is None:
        if wire.no_counts:
            return None
        usage = Usage()
    counts: dict[str, int | None] = {name: getattr(usage, name) for name in wire.counts}
    counts = {name: 0 if count is None and name in wire.zero else count for name, count in counts.items()}
    if wire.within == "cache":
        counts["input_tokens"] = max(counts["input_tokens"] or 0, (usage.cached_input_tokens or 0) + (usage.cache_write_tokens or 0))
    elif wire.within == "thought":
        counts["output_tokens"] = max(counts["output_tokens"] or 0, usage.reasoning_tokens or 0)
    if not wire.zero and len(wire.counts) == 2 and all(count is None for count in counts.values()):
        return None
    return replace(Usage(), **counts)


def _failed_counts(wire: Wire, events: Sequence[Event], terminal: StreamFailed) -> Usage | None:
    if wire.failed_counts == "all":
        return _counts(wire, terminal.usage)
    if not wire.failed_counts:
        return None
    known: Usage | None = None
    for event in events:
        if isinstance(event, UsageUpdate):
            known = event.usage
        elif isinstance(event, STARTS) and (wire.choices or not event.choice):
            return _counts(wire, known)
    return None


def _failure(wire: Wire, error: ErrorInfo) -> ErrorInfo:
    back = wire.failures.get(error.kind, wire.failure)
    code = error.code if wire.codes and error.code is not None and error.kind != "context_overflow" else back.code
    return ErrorInfo(back.kind, error.message, code, back.status, retryable=back.kind in RETRYABLE)


__all__ = ["WIRES", "project"]
