"""The conversation as its next model takes it. Rows OR-TM-01 to -11, AMB-25 to -28, AMB-52; B269 to B273, B276, B277, B279."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from headwater_codecs.neutral.request import (
    FilePart,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from headwater_providers.adapter import Target
from headwater_providers.history.ids import fitted_ids
from headwater_providers.history.rules import Rules, rules_for
from headwater_providers.origin import same_origin
from headwater_providers.turns import ATTACHED, SEE_ATTACHED, with_object

NO_RESULT = "No result provided"  # OR-TM-07
NO_IMAGE = "(image omitted: model does not support images)"  # OR-TM-01
NO_TOOL_IMAGE = "(tool image omitted: model does not support images)"
NO_START = "(the beginning of this conversation is not shown)"
_ASKING = frozenset({"system", "developer", "user"})

Place = tuple[int, int]  # of a part: its message, and where it stands in it


class History(Struct, frozen=True):
    """How a conversation is handed on. `repair=False` sends it as it is given.

    thinking: what becomes of another model's reasoning, "drop" or "text" (AMB-25). failed: whether turns that broke off are left out, with
    their calls and results ("drop"), or kept ("keep").
    """

    repair: bool = True
    thinking: Literal["drop", "text"] = "drop"
    failed: Literal["drop", "keep"] = "drop"


DEFAULT = History()


def hand_off(
    messages: Sequence[Message], target: Target, history: History = DEFAULT, extra_body: Mapping[str, object] | None = None
) -> Sequence[Message]:
    """The messages for this target; the same ones where there is nothing to do.

    Every call is answered right behind its turn, in the order of the calls: by its result, wherever that stood, else by an error that says so.
    Results that answer nothing, and second ones, are left out; so are failed turns, cut calls, blank turns, and reasoning and items of another
    model. Ids are fitted to what the target takes. Where `extra_body` says that the provider holds the earlier turns, results without a call stay.
    """
    if not history.repair or all(map(_is_plain, messages)):
        return messages
    rules = rules_for(target)
    if rules is None:
        return messages
    continued = any((extra_body or {}).get(key) for key in rules.continued_by)
    return _HandOff(_whole_turns(messages, history), target, history, rules, continued).messages()


def _is_plain(message: Message) -> bool:
    content = message.content
    return type(content) is str and message.role in _ASKING and content != "" and not content.isspace()


class _HandOff:
    """One conversation on its way to one target."""

    def __init__(self, messages: Sequence[Message], target: Target, history: History, rules: Rules, continued: bool) -> None:
        self._messages = messages
        self._target = target
        self._thinking = history.thinking
        self._rules = rules
        self._continued = continued
        self._sees = target.modalities is None or "image" in target.modalities
        self._answers, self._orphans = _pair(messages)
        calls = list(_calls(messages))
        self._ids = dict(zip((place for place, _ in calls), fitted_ids((call.id for _, call in calls), rules.ids), strict=True))

    def messages(self) -> list[Message]:
        """What is sent."""
        out: list[Message] = []
        for number, message in enumerate(self._messages):
            if message.role == "assistant":
                out += self._made(number, message)
            elif (asked := self._asked(number, message)) is not None:
                out.append(asked)
        first = next((at for at, message in enumerate(out) if message.role not in ("system", "developer")), None)
        if self._rules.user_first and first is not None and out[first].role == "assistant":
            out.insert(first, Message("user", NO_START))
        return out

    def _made(self, number: int, message: Message) -> Iterator[Message]:
        """A turn of the model's, and behind it what its calls were answered."""
        own = same_origin(message.origin, self._target)
        parts: list[Part] = []
        results: list[ToolResultPart] = []
        for at, part in enumerate(message.parts):
            if isinstance(part, ToolCallPart):
                if part.complete:
                    id = self._ids[number, at]
                    sent = replace(part, id=id) if own else replace(part, id=id, signature=None, meta=None)
                    parts.append(with_object(sent) if self._rules.object_arguments else sent)
                    results.append(self._answer((number, at), part, id))
            elif (kept := self._kept(part, own)) is not None:
                parts.append(kept)
        if parts:
            yield replace(message, content=tuple(parts))
        if results:
            yield Message("tool", tuple(results) if self._rules.results_show else tuple(map(_in_words, results)))
            if not self._rules.results_show and (shown := [piece for result in results for piece in _pictures(result)]):
                yield Message("user", (TextPart(ATTACHED), *shown))

    def _kept(self, part: Part, own: bool) -> Part | None:
        """A part of the model's that is no call, as this target may see it."""
        if isinstance(part, TextPart):
            if own:
                return part if part.text.strip() or part.signature or part.meta else None
            return TextPart(part.text) if part.text.strip() else None
        if isinstance(part, ReasoningPart):
            if own:
                return part
            return TextPart(part.text) if self._thinking == "text" and part.text.strip() and not part.redacted else None
        return part if own or not isinstance(part, OpaquePart) else None

    def _answer(self, place: Place, call: ToolCallPart, id: str) -> ToolResultPart:
        found = self._answers.get(place)
        if found is None:
            return ToolResultPart(id, NO_RESULT, call.name, is_error=True)
        content = found.content if isinstance(found.content, str) else self._shown(found.content, NO_TOOL_IMAGE)
        return replace(found, id=id, name=found.name or call.name, content=content)

    def _asked(self, number: int, message: Message) -> Message | None:
        """A turn that is not the model's, without the results in it (they stand behind their calls) and what is blank."""
        if isinstance(message.content, str):
            return message if message.content.strip() else None
        rest = [
            part
            for at, part in enumerate(message.content)
            if (self._continued and (number, at) in self._orphans if isinstance(part, ToolResultPart) else not _is_blank(part))
        ]
        return replace(message, content=self._shown(rest, NO_IMAGE)) if rest else None

    def _shown(self, parts: Sequence[Part], instead: str) -> tuple[Part, ...]:
        """The parts, with a word in place of each run of images that the model cannot see."""
        if self._sees:
            return tuple(parts)
        shown: list[Part] = []
        for part in parts:
            seen: Part = TextPart(instead) if isinstance(part, ImagePart) else part
            if not (isinstance(part, ImagePart) and shown and shown[-1] == seen):
                shown.append(seen)
        return tuple(shown)


def _pictures(result: ToolResultPart) -> tuple[ImagePart | FilePart, ...]:
    """What a result shows beside its text."""
    return () if isinstance(result.content, str) else tuple(piece for piece in result.content if not isinstance(piece, TextPart))


def _in_words(result: ToolResultPart) -> ToolResultPart:
    """A result with its text alone; what else it shows stands behind it."""
    if not _pictures(result):
        return result
    return replace(result, content="\n".join(piece.text for piece in result.content if isinstance(piece, TextPart)) or SEE_ATTACHED)


def _is_blank(part: Part) -> bool:
    return isinstance(part, TextPart) and not part.text.strip()


def _whole_turns(messages: Sequence[Message], history: History) -> list[Message]:
    """Without the turns that failed; and what one turn made of calls, stored as several messages, in one again (AMB-52)."""
    turns: list[Message] = []
    for message in messages:
        if message.failed and history.failed == "drop":
            continue
        last = turns[-1] if turns else None
        if last is not None and _one_turn(last, message):
            turns[-1] = replace(last, content=(*last.parts, *message.parts))
        else:
            turns.append(message)
    return turns


def _one_turn(first: Message, second: Message) -> bool:
    """Whether these are pieces of one turn: of one model, with calls."""
    return first.role == second.role == "assistant" and first.origin == second.origin and (_has_calls(first) or _has_calls(second))


def _has_calls(message: Message) -> bool:
    return any(isinstance(part, ToolCallPart) for part in message.parts)


def _calls(messages: Sequence[Message]) -> Iterator[tuple[Place, ToolCallPart]]:
    """Every call that is sent, and where it stands."""
    for number, message in enumerate(messages):
        if message.role == "assistant":
            for at, part in enumerate(message.parts):
                if isinstance(part, ToolCallPart) and part.complete:
                    yield (number, at), part


def _pair(messages: Sequence[Message]) -> tuple[dict[Place, ToolResultPart], set[Place]]:
    """Which result answers which call, by the call's place; and the places of results that answer none.

    A result belongs to the newest call with its id that is not answered yet; within one turn to the first of them (ids may be empty, or used again).
    """
    calls = dict(_calls(messages))
    waiting: dict[str, list[Place]] = {}
    answers: dict[Place, ToolResultPart] = {}
    orphans: set[Place] = set()
    for number, message in enumerate(messages):
        for at, part in enumerate(message.parts):
            place = number, at
            if place in calls:
                waiting.setdefault(calls[place].id, []).append(place)
            elif isinstance(part, ToolResultPart):
                open_calls = waiting.get(part.id)
                if not open_calls:
                    orphans.add(place)
                    continue
                newest = open_calls[-1][0]
                call = next(call for call in open_calls if call[0] == newest)
                open_calls.remove(call)
                answers[call] = part
    return answers, orphans
