"""Ids of calls that fit: legal, distinct, stable, and as they were where they could be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_providers.history.ids import fitted_ids
from headwater_providers.history.rules import FORMS, WORD_64, IdForm

LONG = "x" * 64
KNOWN = ["call_1", "call_2", "a.b", "a:b", "", LONG, LONG + "1", LONG + "2"]


@pytest.mark.rows("OR-TM-11", "OR-TM-09", "AMB-27")
@pytest.mark.parametrize(
    ("form", "given_ids", "expected"),
    [
        (WORD_64, ["call_1", "toolu_01-A"], ["call_1", "toolu_01-A"]),
        (WORD_64, ["functions.f:0", "a\nb", "call_1|fc_2"], ["functions_f_0", "a_b", "call_1"]),
        (WORD_64, ["call_" + "x" * 90], ["call_" + "x" * 59]),
        (WORD_64, [LONG + "1", LONG + "2"], [LONG, "x" * 55 + "_"]),
        (WORD_64, ["a.b", "a_b", "a:b"], ["a_b_", "a_b", "a_b_"]),
        (WORD_64, ["c", "c"], ["c", "c_"]),
        (WORD_64, [""], ["_"]),
        (FORMS["word-40"], ["call_" + "x" * 90], ["call_" + "x" * 35]),
        (FORMS["any"], ["functions.f:0", "ü", "a b"], ["functions.f:0", "_", "a_b"]),
        (FORMS["nine"], ["abcDEF123", "call_1"], ["abcDEF123", ""]),
    ],
)
def test_each_form(form: IdForm, given_ids: list[str], expected: list[str]) -> None:
    """What is expected is the beginning, where a hash follows: its eight characters are sha256's business."""
    found = fitted_ids(given_ids, form)
    assert [new.startswith(begin) for new, begin in zip(found, expected, strict=True)] == [True] * len(found)
    assert all(form.legal.fullmatch(new) for new in found)
    assert len(set(found)) == len(found)


@pytest.mark.rows("OR-TM-09", "AMB-27")
@given(
    st.lists(st.text(max_size=80) | st.sampled_from(["call_1", "call_2", "a.b", "a:b", "", LONG, LONG + "1", LONG + "2"])),
    st.sampled_from([WORD_64, *FORMS.values()]),
)
def test_any_ids(ids: list[str], form: IdForm) -> None:
    """Legal and distinct, always; the first use of a legal id is that id; and once is enough."""
    found = fitted_ids(ids, form)
    assert all(form.legal.fullmatch(new) for new in found)
    assert len(set(found)) == len(ids)
    for id in {id for id in ids if form.legal.fullmatch(id)}:
        assert found[ids.index(id)] == id
    assert fitted_ids(found, form) == found
