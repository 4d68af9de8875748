"""Token counts from every place and under every name."""

from __future__ import annotations

from typing import NoReturn

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater_codecs.neutral import Usage
from headwater_providers.openai_chat import usage
from headwater_providers.openai_chat.usage import read_usage

Json = dict[str, object]
THOUGHT: Json = {"completion_tokens_details": {"reasoning_tokens": 94}}


@pytest.mark.rows("OR-CCS-12", "AMB-30")
@pytest.mark.parametrize(
    ("raw", "input", "output", "cached", "written", "reasoning"),
    [
        ({}, None, None, None, None, None),
        ({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}, 3, 2, None, None, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, 0, 0, None, None, None),
        ({"prompt_tokens": None, "completion_tokens": 2}, None, 2, None, None, None),
        ({"prompt_tokens": 3.0, "completion_tokens": 2.5}, 3, None, None, None, None),
        ({"prompt_tokens": "3", "completion_tokens": "x"}, 3, None, None, None, None),
        ({"prompt_tokens": True, "completion_tokens": -1}, None, None, None, None, None),
        ({"prompt_tokens": 10**30, "completion_tokens": 1e30}, None, None, None, None, None),
        ({"prompt_tokens": [3], "completion_tokens": {}}, None, None, None, None, None),
        ({"input_tokens": 3, "output_tokens": 2}, 3, 2, None, None, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1}}, 9, None, 4, 1, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": None, "cached_tokens": 4}, 9, None, 4, None, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": None}, "cached_tokens": 4}, 9, None, 4, None, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": {}, "input_tokens_details": {"cached_tokens": 4}}, 9, None, 4, None, None),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5}, 9, None, 4, None, None),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2}, 9, None, 4, 2, None),
        ({"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 4}}, None, 9, None, None, 4),
        ({"completion_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}}, None, 9, None, None, 4),
        ({"completion_tokens": 9, "reasoning_tokens": 4, "completion_tokens_details": "odd"}, None, 9, None, None, 4),
        # reasoning counted beside the output: the total tells
        ({"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 106, **THOUGHT}, 3, 103, None, None, 94),
        ({"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12, **THOUGHT}, 3, 9, None, None, 94),
        ({"prompt_tokens": 3, "completion_tokens": 9, **THOUGHT}, 3, 9, None, None, 94),
        ({"prompt_tokens": 3, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 5}}, 3, 9, None, None, 5),
    ],
)  # fmt: skip
def test_counts(raw: Json, input: int | None, output: int | None, cached: int | None, written: int | None, reasoning: int | None) -> None:
    """The counts are found; what is no count is unknown, and never zero."""
    assert read_usage(raw) == Usage(input, output, cached, written, reasoning, raw)


_COUNT = st.none() | st.integers(-1, 9) | st.sampled_from([1 << 53, (1 << 53) + 1, 1 << 64, 3.0, 2.5, "3", "x", True, False])
_PARTS = st.none() | st.just("odd") | st.dictionaries(st.sampled_from(["cached_tokens", "cache_write_tokens", "reasoning_tokens", "x"]), _COUNT)
_REPORTS = st.builds(
    lambda counts, parts: {**counts, **parts},
    st.dictionaries(st.sampled_from(sorted(usage._COUNTS)), _COUNT),
    st.dictionaries(st.sampled_from(sorted(usage._DETAILS)), _PARTS),
)


def _refuse(*_: object) -> NoReturn:
    raise msgspec.ValidationError


@settings(max_examples=300)
@given(_REPORTS)
def test_the_usual_report_is_read_like_any(raw: Json) -> None:
    """The short way for a report as OpenAI writes it gives what the long way gives."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usage.msgspec, "convert", _refuse)
        any_way = read_usage(raw)
    assert read_usage(raw) == any_way
