"""Token counts of Gemini: thoughts are counted beside the answer, unless the total says that they are inside (B202)."""

from __future__ import annotations

from headwater_codecs.neutral import Usage
from headwater_codecs.tolerant_json import clean
from headwater_providers.counts import read_count


def read_usage(raw: dict[str, object], *, is_clean: bool = False) -> Usage:
    """The counts of a chunk's `usageMetadata`. What the provider's own tools put into the prompt is counted beside it, in `raw`.

    is_clean: no half characters are in it, and it is not nested deeply.
    """
    read, thoughts, total = read_count(raw.get("promptTokenCount")), read_count(raw.get("thoughtsTokenCount")), read_count(raw.get("totalTokenCount"))
    written = read_count(raw.get("candidatesTokenCount", raw.get("responseTokenCount")))
    if thoughts and not (written is not None and read is not None and total == read + written):
        written = (written or 0) + thoughts
    if written is None and read is not None and total is not None and total >= read:
        written = total - read - (read_count(raw.get("toolUsePromptTokenCount")) or 0)  # zero counts are left out on this wire
    kept = raw if is_clean else clean(raw)
    assert isinstance(kept, dict)
    return Usage(read, written, read_count(raw.get("cachedContentTokenCount")), None, thoughts, kept)
