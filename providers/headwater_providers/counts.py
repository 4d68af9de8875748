"""Token counts as vendors write them: integers, whole floats, digits, or nonsense."""

from __future__ import annotations

MOST = 1 << 53  # a count beyond is nonsense


def read_count(value: object) -> int | None:
    """The count that this value is, None where it is none: integral floats and digits are taken, negative and endless numbers are not."""
    number = value if type(value) is int else _number(value)
    return number if number is not None and 0 <= number <= MOST else None


def _number(value: object) -> int | None:
    """A float that is a whole number, or a number's digits, as an integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return None
