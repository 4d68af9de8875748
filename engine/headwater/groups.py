"""A task group that lets a single exception leave as itself. Groups of several keep being groups."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup


@asynccontextmanager
async def open_task_group() -> AsyncGenerator[TaskGroup]:
    """As `anyio.create_task_group()`; what the block or one task raises arrives unwrapped. Cancellation passes through."""
    try:
        async with anyio.create_task_group() as group:
            yield group
    except BaseExceptionGroup as errors:
        only: BaseException = errors
        while isinstance(only, BaseExceptionGroup) and len(only.exceptions) == 1:
            only = only.exceptions[0]
        if only is errors:
            raise
        raise only from only.__cause__
