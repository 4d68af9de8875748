"""The two files of a batch: lines in, records out.

Lines end at the byte LF and nowhere else (U+2028 or a bare CR inside a text is content), are read when asked for, and are bounded. Every
record is written by one system call and is in the operating system's hands before the next row is counted; a killed process loses only the
rows in flight. The output is locked: a second run on it is refused instead of mixing its records in.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import anyio

from headwater_codecs.neutral import ConfigurationError, HeadwaterError, error_info

try:
    import fcntl
except ImportError:  # Windows: no lock there
    fcntl = None  # type: ignore[assignment]

MAX_LINE = 64 << 20  # bytes; images come inside of rows
_PIECE = 256 << 10  # bytes read at a time
STANDARD = "-"


class InputFile:
    """The lines of a file, or of standard input (`-`). Raises ConfigurationError when it cannot be opened."""

    def __init__(self, path: str, max_line: int = MAX_LINE) -> None:
        self.path = path
        self._max = max_line
        self.binary = _opened(path)

    def __enter__(self) -> InputFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.path != STANDARD:
            self.binary.close()

    def __iter__(self) -> Iterator[bytes]:
        return self.lines()

    @property
    def regular(self) -> bool:
        """Whether it is a file on a disk, which can be read twice."""
        return stat.S_ISREG(os.fstat(self.binary.fileno()).st_mode)

    @property
    def waits(self) -> bool:
        """Whether reading may wait for somebody: a pipe, a socket, a terminal. `arriving` is for these."""
        mode = os.fstat(self.binary.fileno()).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or self.binary.isatty()

    def lines(self) -> Iterator[bytes]:
        """Lines with their LF. Of one over the limit only the start is handed over, which is no JSON and so becomes an error row."""
        while line := self.binary.readline(self._max):
            yield line
            while len(line) == self._max and not line.endswith(b"\n"):
                line = self.binary.readline(self._max)

    def count(self) -> int | None:
        """How many lines are not blank, by a pass over the whole file; None for what cannot be read twice. The position stays."""
        if self.path == STANDARD or not self.regular:
            return None
        with Path(self.path).open("rb") as file:
            return sum(1 for line in file if not line.isspace())

    async def arriving(self) -> AsyncIterator[bytes]:
        """`lines` for a source that one has to wait for, without stopping the event loop meanwhile."""
        rest: list[bytes] = []
        while True:
            await anyio.wait_readable(self.binary.fileno())
            piece = os.read(self.binary.fileno(), _PIECE)
            *whole, last = piece.split(b"\n")
            if whole:
                yield b"".join(rest) + whole[0]
                rest.clear()
                for line in whole[1:]:
                    yield line
            if last:
                rest.append(last)
            if not piece:
                if rest:
                    yield b"".join(rest)
                return


class OutputFile:
    """Where records go: a new or empty file, or standard output (`-`).

    Raises ConfigurationError when the path cannot be written, holds something (unless `overwrite`), is the input, or is being written by
    another run.
    """

    def __init__(self, path: str, *, overwrite: bool = False, input: str | None = None) -> None:
        self.path = path
        if path == STANDARD:
            self._fd = sys.stdout.fileno()
            return
        if input is not None and input != STANDARD and _same_file(path, input):
            raise ConfigurationError(f"{path} is the input: give another file for the output")
        try:
            # Unbuffered and appending: one record, one write at the end of the file.
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise ConfigurationError(f"cannot write {path}: {error.strerror}") from error
        try:
            self._claim(overwrite)
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.path != STANDARD:
            os.close(self._fd)  # the lock goes with it

    def write(self, record: bytes) -> None:
        """Write one record. Raises HeadwaterError, naming the cause, when the disk does not take it."""
        rest = memoryview(record)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except OSError as error:
                raise HeadwaterError(error_info("internal", f"cannot write {self.path}: {error.strerror}")) from error

    def _claim(self, overwrite: bool) -> None:
        held = os.fstat(self._fd)
        if not stat.S_ISREG(held.st_mode):
            return
        if fcntl is not None:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.EACCES):
                    raise ConfigurationError(f"{self.path} is being written by another run: wait for its end, or give another output") from error
                # A file system without locks is no reason not to run.
        if os.fstat(self._fd).st_size == 0:
            return
        if not overwrite:
            raise ConfigurationError(f"{self.path} exists and is not empty: give another output, or --overwrite to replace it")
        os.ftruncate(self._fd, 0)


def _opened(path: str) -> BinaryIO:
    if path == STANDARD:
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error


def _same_file(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False
