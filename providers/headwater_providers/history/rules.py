"""What the protocols demand of a conversation, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from headwater_providers.adapter import Target


class IdForm(Struct, frozen=True):
    """Which ids of calls are taken: those that `legal` matches whole. `other` are the characters that must go, `longest` bounds the rest.

    `exact`: every id has just that length.
    """

    legal: re.Pattern[str]
    other: re.Pattern[str]
    longest: int
    exact: bool = False


class Rules(Struct, frozen=True):
    """What a target demands. `continued_by`: keys of `extra_body` with which the provider holds earlier turns itself, calls too.

    `object_arguments`: the arguments of a call are an object on the wire, not the text of one. `results_show`: a result may hold more than text.
    `reasoning_ends`: a turn may end with its reasoning; elsewhere that is refused.
    """

    ids: IdForm
    user_first: bool = False
    object_arguments: bool = False
    results_show: bool = True
    reasoning_ends: bool = True
    continued_by: tuple[str, ...] = ()


_NO_WORD = re.compile(r"[^a-zA-Z0-9_-]")
WORD_64 = IdForm(re.compile(r"[a-zA-Z0-9_-]{1,64}"), _NO_WORD, 64)
FORMS: Mapping[str, IdForm] = {  # by the name in a dialect's `call_ids`; OR-TM-11, B272
    "any": IdForm(re.compile(r"[!-{}~]{1,64}"), re.compile(r"[^!-{}~]"), 64),
    "word-40": IdForm(re.compile(r"[a-zA-Z0-9_-]{1,40}"), _NO_WORD, 40),
    "nine": IdForm(re.compile(r"[a-zA-Z0-9]{9}"), re.compile(r"[^a-zA-Z0-9]"), 9, exact=True),
}
_RULES: Mapping[str, Rules] = {
    "openai-chat": Rules(FORMS["any"]),
    "openai-responses": Rules(WORD_64, reasoning_ends=False, continued_by=("previous_response_id", "conversation")),
    "anthropic-messages": Rules(WORD_64, user_first=True, object_arguments=True, reasoning_ends=False),
    "bedrock-converse": Rules(WORD_64, user_first=True, object_arguments=True, reasoning_ends=False),
    "bedrock-invoke": Rules(WORD_64, user_first=True, object_arguments=True, reasoning_ends=False),
    "gemini": Rules(FORMS["any"], user_first=True, object_arguments=True),
    "gemini-interactions": Rules(FORMS["any"], object_arguments=True, continued_by=("previous_interaction_id",)),
    "cohere-chat": Rules(FORMS["any"], results_show=False),
    "ollama-chat": Rules(FORMS["any"], object_arguments=True, results_show=False),
}


def rules_for(target: Target) -> Rules | None:
    """The rules of a target; None where the provider keeps the conversation, as Assistants' threads do, and for protocols that we do not know."""
    rules = _RULES.get(target.protocol)
    form = getattr(target.dialect, "call_ids", None)
    return replace(rules, ids=FORMS[form]) if rules is not None and isinstance(form, str) else rules
