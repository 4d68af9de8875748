"""A batch that has been counted: three answers and two failures."""

from __future__ import annotations

from headwater.batch import Result, Row, Statistics
from headwater.decode import decode
from headwater_codecs.neutral import Response, Timing, error_info
from loopback import delta, ending

ROW = Row(index=0, line=1)


def answer(first: float, finish: str = "stop", attempts: int = 1) -> Response:
    """A decoded answer of 2 tokens whose first content came after `first` seconds."""
    response = decode("openai-chat", [delta("a") + ending(finish)])
    response.timing = Timing(first_content=first)
    response.attempts = attempts
    return response


def filled() -> Statistics:
    """Three answers (one cut, one at the third attempt) and two failures, one of them with usage and a first content."""
    statistics = Statistics()
    statistics.add(Result(ROW, answer(1.0)))
    statistics.add(Result(ROW, answer(2.0, "length")))
    statistics.add(Result(ROW, answer(3.0, attempts=3)))
    statistics.add(Result(ROW, answer(99.0), error_info("truncated", "x")))
    statistics.add(Result(ROW, None, error_info("auth", "x")))
    return statistics
