"""Token counts of Gemini: thoughts are counted beside the answer, unless the total says that they are inside (B202)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from headwater_codecs.neutral import Usage
from headwater_codecs.tolerant_json import clean
from headwater_providers.counts import MOST, read_count

FLAT = 64  # brackets: with fewer of them nothing is nested deeply
Count = Annotated[int, Meta(ge=0, le=MOST)] | None


class _Counts(Struct, gc=False, rename="camel"):
    """The counts of a `usageMetadata`; what the provider's own tools put into the prompt is counted beside it."""

    prompt_token_count: Count = None
    candidates_token_count: Count | msgspec.UnsetType = msgspec.UNSET
    response_token_count: Count = None  # its other name
    thoughts_token_count: Count = None
    total_token_count: Count = None
    cached_content_token_count: Count = None
    tool_use_prompt_token_count: Count = None

    def usage(self, raw: dict[str, object]) -> Usage:
        """The counts as ours."""
        read, thoughts, total = self.prompt_token_count, self.thoughts_token_count, self.total_token_count
        written = self.response_token_count if self.candidates_token_count is msgspec.UNSET else self.candidates_token_count
        if thoughts and not (written is not None and read is not None and total == read + written):
            written = (written or 0) + thoughts
        if written is None and read is not None and total is not None and total >= read:
            written = total - read - (self.tool_use_prompt_token_count or 0)  # zero counts are left out on this wire
        return Usage(read, written, self.cached_content_token_count, None, thoughts, raw)


_FIELDS = tuple(zip(_Counts.__struct_fields__, _Counts.__struct_encode_fields__, strict=True))
_decode_counts = msgspec.json.Decoder(_Counts).decode


def read_usage(raw: dict[str, object]) -> Usage:
    """The counts of a chunk's `usageMetadata`, however they are written."""
    kept = clean(raw)
    assert isinstance(kept, dict)
    return _Counts(**{name: read_count(raw[field]) for name, field in _FIELDS if field in raw}).usage(kept)


def read_plain_usage(data: bytes) -> Usage:
    """The same for JSON that the strict decoder has read: it has no half characters, and its counts are integers as a rule."""
    raw = msgspec.json.decode(data)
    if data.count(b"{") + data.count(b"[") < FLAT:
        try:
            return _decode_counts(data).usage(raw)
        except msgspec.ValidationError:
            pass
    return read_usage(raw)
