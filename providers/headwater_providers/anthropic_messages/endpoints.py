"""Where vendors whose first protocol is another one speak anthropic-messages too, as their own pages say.

Their models know no schema, no strict tools and no documents there; thinking without a signature goes back as it came.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater_providers.vendors import Endpoint

_FLAGS = {"supports_json_schema": False, "supports_strict": False, "supports_files": False, "unsigned_thinking": "thinking"}


def messages_at(base_url: str | None = None, *, auth: str = "bearer", compatible: bool = True) -> Mapping[str, Endpoint]:
    """The entry for a vendor's `also`. `compatible`: the models behind it are not Anthropic's own."""
    return {"anthropic-messages": Endpoint(base_url=base_url, dialect={**(_FLAGS if compatible else {}), "auth": auth})}
