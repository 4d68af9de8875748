"""Handing a conversation on: to any protocol, and to another model at every turn.

`hand_off` reads the messages of a request and gives those that the target takes: every call answered, every result behind its call, ids that fit,
nothing that only another model could read. It never changes what it was given. How each protocol writes messages is its builder's business.
"""

from __future__ import annotations

from headwater_providers.history.hand_off import History, hand_off

__all__ = ["History", "hand_off"]
