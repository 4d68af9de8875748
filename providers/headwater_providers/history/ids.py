"""Ids of calls as a target takes them: legal ones untouched, others fitted, no two calls with the same one. Rows OR-TM-05, -09, -11; AMB-27; B272."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from headwater_providers.history.rules import IdForm

_HASH = 8  # characters of it behind an id that would be another call's


def fitted_ids(ids: Iterable[str], form: IdForm) -> list[str]:
    """One id for each call, in the order of the calls. The same conversation always gets the same ids."""
    given = list(ids)
    legal = {id for id in given if form.legal.fullmatch(id)}
    taken: set[str] = set()
    fitted = []
    for number, id in enumerate(given):
        if id in legal and id not in taken:
            new = id
        else:
            new = _cut(id, form)
            turn = 0
            while not form.legal.fullmatch(new) or new in taken or new in legal:
                new = _hashed(id, f"{number}.{turn}" if id in legal or not id or turn else "", form)
                turn += 1
        taken.add(new)
        fitted.append(new)
    return fitted


def _cut(id: str, form: IdForm) -> str:
    """The id with what is not legal replaced. Of `call|item`, which one protocol's clients make, the call is meant."""
    if form.exact:
        return _hashed(id, "", form)
    return form.other.sub("_", id.partition("|")[0])[: form.longest]


def _hashed(id: str, salt: str, form: IdForm) -> str:
    """The id with a hash of all of it at its end: stable, and another one for every call."""
    digest = hashlib.sha256(f"{id}\0{salt}".encode("utf-8", "surrogatepass")).hexdigest()
    if form.exact:
        return digest[: form.longest]
    return f"{form.other.sub('_', id.partition('|')[0])[: form.longest - _HASH - 1]}_{digest[:_HASH]}"
