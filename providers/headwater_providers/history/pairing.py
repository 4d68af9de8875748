"""Which result answers which call. Rows OR-TM-07, OR-TM-10, ADK-OAI-REQ-09 to -12, AMB-26, AMB-52; B269, B270, B279."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from headwater_codecs.neutral.request import Message, Part, ToolCallPart, ToolResultPart

Place = tuple[int, int]  # of a part: the number of its message, and where it stands in it
Turn = tuple[int, Message]  # with the number of its message in the request


class Pairs(Struct, frozen=True):
    """The result of each call that has one, by the call's place; and the places of results that answer no call at all."""

    answers: dict[Place, ToolResultPart]
    strays: dict[Place, ToolResultPart]


def pair(turns: Sequence[Turn]) -> Pairs:
    """Results and the calls before them.

    A result belongs to the newest call with its id that is not answered yet; within one turn to the first of them (an id may be used again). One
    without an id belongs to the turn of calls before it: to the first call of its name that nothing else answers, without a name to the first call.
    Calls that are not sent (cut, or of a turn that failed) take their results as well, so that no other call gets them.
    """
    answers: dict[Place, ToolResultPart] = {}
    strays: dict[Place, ToolResultPart] = {}
    waiting: dict[str, list[Place]] = {}
    calls: dict[Place, ToolCallPart] = {}  # of the newest turn that has some
    nameless: list[tuple[Place, ToolResultPart, dict[Place, ToolCallPart]]] = []
    for number, message in turns:
        made: dict[Place, ToolCallPart] = {}
        for place, part in places(number, message):
            if isinstance(part, ToolCallPart) and message.role == "assistant":
                made[place] = part
                waiting.setdefault(part.id, []).append(place)
            elif isinstance(part, ToolResultPart):
                if not part.id.strip():
                    nameless.append((place, part, calls))
                elif open_calls := waiting.get(part.id):
                    newest = open_calls[-1][0]
                    call = next(call for call in open_calls if call[0] == newest)
                    open_calls.remove(call)
                    answers[call] = part
                else:
                    strays[place] = part
        calls = made or calls
    for place, part, asked in nameless:  # ids have the say, wherever their results stand
        found = next((at for at, call in asked.items() if at not in answers and part.name in (None, call.name)), None)
        if found is None:
            strays[place] = part
        else:
            answers[found] = part
    return Pairs(answers, strays)


def whole_turns(messages: Sequence[Message]) -> list[Turn]:
    """The messages with their numbers; what one turn made of calls, stored as several messages, is one again (AMB-52)."""
    turns: list[Turn] = []
    for number, message in enumerate(messages):
        if turns and _one_turn(turns[-1][1], message, messages[number + 1 : number + 2]):
            first, last = turns[-1]
            turns[-1] = first, replace(last, content=(*last.parts, *message.parts))
        else:
            turns.append((number, message))
    return turns


def places(number: int, message: Message) -> Iterator[tuple[Place, Part]]:
    """The parts of a message, and where each stands."""
    for at, part in enumerate(message.parts):
        yield (number, at), part


def _one_turn(first: Message, second: Message, behind: Sequence[Message]) -> bool:
    """Whether these are pieces of one turn: of one model, and the calls in them are answered together.

    Words behind a call are a turn of their own unless the results come behind the words: the model went on without them (OR-TM-07).
    """
    if not (first.role == second.role == "assistant" and first.origin == second.origin and first.failed == second.failed):
        return False
    return _holds(second, ToolCallPart) or (_holds(first, ToolCallPart) and any(_holds(message, ToolResultPart) for message in behind))


def _holds(message: Message, kind: type[Part]) -> bool:
    return any(isinstance(part, kind) for part in message.parts)
