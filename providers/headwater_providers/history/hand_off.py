"""The conversation as its next model takes it. Rows OR-TM-01 to -11, ADK-OAI-REQ-09 to -12, AMB-25 to -27; B269 to B273, B276, B277, B279."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from headwater_codecs.neutral.errors import ConfigurationError
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
from headwater_providers.history.pairing import Place, Turn, pair, places, whole_turns
from headwater_providers.history.rules import Rules, rules_for
from headwater_providers.origin import same_origin
from headwater_providers.turns import ATTACHED, SEE_ATTACHED, with_object

NO_RESULT = "No result provided"  # OR-TM-07
NO_IMAGE = "(image omitted: model does not support images)"  # OR-TM-01
NO_TOOL_IMAGE = "(tool image omitted: model does not support images)"
NO_START = "(the beginning of this conversation is not shown)"
_ASKING = frozenset({"system", "developer", "user"})


class History(Struct, frozen=True):
    """How a conversation is handed on. `repair=False` sends it as it is given.

    thinking: what becomes of another model's reasoning, "drop" or "text" (AMB-25). failed: whether turns that broke off are left out, with
    their calls and results ("drop"), or kept ("keep"). strays: whether results that answer no call, or one that is answered already, are left out
    ("drop") or are an error ("refuse": ConfigurationError, before anything is sent; ADK-OAI-REQ-10 and -11).
    """

    repair: bool = True
    thinking: Literal["drop", "text"] = "drop"
    failed: Literal["drop", "keep"] = "drop"
    strays: Literal["drop", "refuse"] = "drop"


DEFAULT = History()


def hand_off(
    messages: Sequence[Message], target: Target, history: History = DEFAULT, extra_body: Mapping[str, object] | None = None
) -> Sequence[Message]:
    """The messages for this target; the same ones where there is nothing to do.

    Every call is answered right behind its turn, in the order of the calls: by its result, wherever that stood behind the call, else by an error
    that says so. Results that answer nothing, and second ones, are left out (or refused: `History.strays`); so are failed turns, cut calls, blank
    turns, and reasoning and items of another model. Ids are fitted to what the target takes. Where `extra_body` says that the provider holds the
    earlier turns, results without a call stay. Raises ConfigurationError for what is refused.
    """
    if not history.repair or all(map(_is_plain, messages)):
        return messages
    rules = rules_for(target)
    if rules is None:
        return messages
    continued = any((extra_body or {}).get(key) for key in rules.continued_by)
    return _HandOff(whole_turns(messages), target, history, rules, continued).messages()


def _is_plain(message: Message) -> bool:
    content = message.content
    return type(content) is str and message.role in _ASKING and content != "" and not content.isspace()


class _HandOff:
    """One conversation on its way to one target."""

    def __init__(self, turns: Sequence[Turn], target: Target, history: History, rules: Rules, continued: bool) -> None:
        self._turns = [(number, message) for number, message in turns if history.failed == "keep" or not message.failed]
        self._target = target
        self._thinking = history.thinking
        self._rules = rules
        self._continued = continued
        self._sees = target.modalities is None or "image" in target.modalities
        self._pairs = pair(turns)  # of failed turns too: their results are nobody else's (AMB-26)
        if history.strays == "refuse" and not continued:
            _refuse(self._pairs.strays)
        made = [piece for turn in self._turns if turn[1].role == "assistant" for piece in places(*turn)]
        sent = {place: part.id for place, part in made if isinstance(part, ToolCallPart) and part.complete}
        self._ids = dict(zip(sent, fitted_ids(sent.values(), rules.ids), strict=True))

    def messages(self) -> list[Message]:
        """What is sent."""
        out: list[Message] = []
        for number, message in self._turns:
            if message.role == "assistant":
                out += self._made(number, message)
            elif (asked := self._asked(number, message)) is not None:
                out.append(asked)
        if not self._rules.reasoning_ends:
            out = _without_last_thoughts(out)
        first = next((at for at, message in enumerate(out) if message.role not in ("system", "developer")), None)
        if self._rules.user_first and first is not None and out[first].role == "assistant":
            out.insert(first, Message("user", NO_START))
        return out

    def _made(self, number: int, message: Message) -> Iterator[Message]:
        """A turn of the model's, and behind it what its calls were answered."""
        own = same_origin(message.origin, self._target)
        parts: list[Part] = []
        results: list[ToolResultPart] = []
        for place, part in places(number, message):
            if isinstance(part, ToolCallPart):
                if part.complete:
                    id = self._ids[place]
                    sent = replace(part, id=id) if own else replace(part, id=id, signature=None, meta=None)
                    parts.append(with_object(sent) if self._rules.object_arguments else sent)
                    results.append(self._answer(place, part, id))
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
                return part if part.text.strip() or part.signature or part.redacted or part.data or part.meta else None
            return TextPart(part.text) if self._thinking == "text" and part.text.strip() and not part.redacted else None
        return part if own or not isinstance(part, OpaquePart) else None

    def _answer(self, place: Place, call: ToolCallPart, id: str) -> ToolResultPart:
        found = self._pairs.answers.get(place)
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
            for place, part in places(number, message)
            if (self._continued and place in self._pairs.strays if isinstance(part, ToolResultPart) else not _is_blank(part) or _is_mark(part))
        ]
        return None if all(map(_is_blank, rest)) else replace(message, content=self._shown(rest, NO_IMAGE))

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


def _is_mark(part: Part) -> bool:
    """Whether it marks where it stands, as the breakpoints of Converse's prompt cache do."""
    return isinstance(part, TextPart) and part.text == "" and part.meta is not None


def _without_last_thoughts(messages: Sequence[Message]) -> list[Message]:
    """Without reasoning that nothing follows in its turn, as where the answer was cut: what is left of such a turn says nothing."""
    kept: list[Message] = []
    for message in reversed(messages):
        parts = message.parts
        if message.role == "assistant" and not (kept and kept[-1].role == "assistant" and kept[-1].origin == message.origin):
            while parts and isinstance(parts[-1], ReasoningPart):
                parts = parts[:-1]
            if len(parts) < len(message.parts):
                if not parts:
                    continue
                message = replace(message, content=parts)
        kept.append(message)
    return kept[::-1]


def _refuse(strays: Mapping[Place, ToolResultPart]) -> None:
    """Raise ConfigurationError, naming the first, where there is a result that answers nothing."""
    for (number, at), part in strays.items():
        where = f"messages[{number}].content[{at}]"
        if part.id.strip():
            raise ConfigurationError(f"{where}: the result {part.id!r} answers no call before it, or one that has its result: leave it out")
        name = f"of tool {part.name!r} " if part.name else ""
        raise ConfigurationError(f"{where}: the result {name}has no id, and no call waits for one: give it the id of its call, or leave it out")
