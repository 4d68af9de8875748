"""What the engine logs: a few events per stream, no content, no secrets, through structlog's synchronous methods.

Unconfigured structlog prints to standard output, so the engine is silent until the application configured it or passed a logger. Both are
looked at once per engine; structlog itself is imported by the application, never by us just to find out.
"""

from __future__ import annotations

import sys
from typing import Protocol

from headwater_codecs.neutral import ErrorInfo, Response


class Logger(Protocol):
    """The part of a structlog logger that is used."""

    def debug(self, event: str, **fields: object) -> object: ...

    def info(self, event: str, **fields: object) -> object: ...

    def warning(self, event: str, **fields: object) -> object: ...


def find_logger(log: Logger | None) -> Logger | None:
    """The logger to use: the one given, the application's if it configured structlog, else none."""
    if log is not None:
        return log
    structlog = sys.modules.get("structlog")
    if structlog is None or not structlog.is_configured():
        return None
    logger: Logger = structlog.get_logger("headwater")
    return logger


class StreamLog:
    """The log of one stream, or of a plain call. Without a logger every call is one comparison."""

    __slots__ = ("_finished", "_log", "_model", "_provider", "_what", "last_cause")

    def __init__(self, log: Logger | None, provider: str, model: str, what: str = "stream") -> None:
        self._log = log
        self._what = what
        self._provider = provider
        self._model = model
        self._finished = False
        self.last_cause: Exception | None = None

    def twin(self) -> StreamLog:
        """Of a second request for the same stream: it has its own cause."""
        return StreamLog(self._log, self._provider, self._model, self._what)

    def cause(self, error: Exception | None) -> None:
        """Keep the exception behind a failure: it is chained to what the conveniences raise. A new attempt starts with none."""
        self.last_cause = error

    def started(self) -> None:
        """The stream was asked for."""
        if self._log is not None:
            self._log.debug(f"headwater.{self._what}.started", provider=self._provider, model=self._model)

    def retried(self, error: ErrorInfo, attempt: int, wait: float) -> None:
        """An attempt failed and is made again."""
        if self._log is not None:
            self._log.info(
                f"headwater.{self._what}.retried",
                provider=self._provider,
                model=self._model,
                attempt=attempt,
                wait=round(wait, 3),
                kind=error.kind,
                status=error.status,
            )

    def fell_back(self, error: ErrorInfo, provider: str, model: str) -> None:
        """The model failed for good, and the next one is asked."""
        if self._log is not None:
            self._log.warning(
                f"headwater.{self._what}.fell_back",
                provider=self._provider,
                model=self._model,
                kind=error.kind,
                status=error.status,
                to_provider=provider,
                to_model=model,
            )
        self._provider, self._model = provider, model

    def hedged(self, after: float) -> None:
        """A second request was sent, since the first had no content after so many seconds."""
        if self._log is not None:
            self._log.info(f"headwater.{self._what}.hedged", provider=self._provider, model=self._model, after=after)

    def lagged(self, policy: str, buffer: int, blocked: float) -> None:
        """A listener was given up: it fell more than `buffer` events behind, or held the source back for `blocked` seconds."""
        if self._log is not None:
            self._log.warning(
                "headwater.subscriber.lagged", provider=self._provider, model=self._model, policy=policy, buffer=buffer, blocked=round(blocked, 3)
            )

    def finished(self, response: Response, events: int) -> None:
        """The stream is over. Said once."""
        if self._log is None or self._finished:
            return
        self._finished = True
        error = response.error
        if error is None:
            self._log.debug(
                f"headwater.{self._what}.finished",
                provider=self._provider,
                model=self._model,
                reason=response.finish_reason,
                events=events,
                seconds=response.timing.end,
            )
        else:
            level = self._log.info if error.kind == "aborted" else self._log.warning  # who leaves early need not be warned
            level(
                f"headwater.{self._what}.failed",
                provider=self._provider,
                model=self._model,
                kind=error.kind,
                status=error.status,
                deadline=error.deadline,
                phase=error.phase,
                request_id=error.request_id,
            )
