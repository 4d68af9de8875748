"""Reading lines and writing records: what ends a line, what may be written, what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from headwater.batch import InputFile, OutputFile
from headwater_codecs.neutral import ConfigurationError


def test_only_lf_ends_a_line(tmp_path: Path) -> None:
    """U+2028, a bare CR and a form feed are content."""
    path = tmp_path / "in"
    path.write_bytes("a\u2028b\rc\x0cd\r\n\ne".encode())
    with InputFile(str(path)) as file:
        assert list(file) == ["a\u2028b\rc\x0cd\r\n".encode(), b"\n", b"e"]


def test_long_lines_are_cut(tmp_path: Path) -> None:
    """Of a line over the limit only the start is handed over; the next line is whole again."""
    path = tmp_path / "in"
    path.write_bytes(b"x" * 25 + b"\nab\n" + b"y" * 10 + b"\n")
    with InputFile(str(path), max_line=10) as file:
        assert list(file) == [b"x" * 10, b"ab\n", b"y" * 10]


def test_count(tmp_path: Path) -> None:
    """Blank lines do not count, a last line without LF does, and the position stays."""
    path = tmp_path / "in"
    path.write_bytes(b"a\n\r\n \nb")
    with InputFile(str(path)) as file:
        assert (file.count(), next(iter(file))) == (2, b"a\n")


@pytest.mark.parametrize(("name", "said"), [("missing", "No such file or directory"), (".", "Is a directory")])
def test_input_that_cannot_be_read(tmp_path: Path, name: str, said: str) -> None:
    """The error names the file and the reason."""
    path = str(tmp_path / name)
    with pytest.raises(ConfigurationError) as caught:
        InputFile(path)
    assert str(caught.value) == f"cannot read {path}: {said}"


@pytest.mark.anyio
async def test_lines_that_arrive(anyio_backend: str) -> None:
    """Lines of a pipe come as they arrive, in whatever pieces, the last one without LF."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb", buffering=0) as sink, anyio.fail_after(5):
        file = InputFile.__new__(InputFile)
        file.path, file.binary = "-", source
        assert file.waits
        lines = file.arriving()
        sink.write(b"a\nb")
        assert await anext(lines) == b"a"
        sink.write(b"c\n\nd")
        assert [await anext(lines), await anext(lines)] == [b"bc", b""]
        sink.close()
        assert [line async for line in lines] == [b"d"]


def test_records_are_appended(tmp_path: Path) -> None:
    """Every record is in the file as soon as it was written."""
    path = tmp_path / "out"
    with OutputFile(str(path)) as output:
        output.write(b"a\n")
        assert path.read_bytes() == b"a\n"
        output.write(b"b\n")
    assert path.read_bytes() == b"a\nb\n"


def test_output_with_content_is_kept(tmp_path: Path) -> None:
    """A file with content is refused and left alone, unless it may be replaced."""
    path = tmp_path / "out"
    path.write_bytes(b"precious\n")
    with pytest.raises(ConfigurationError, match="exists and is not empty: give another output, or --overwrite"):
        OutputFile(str(path))
    assert path.read_bytes() == b"precious\n"
    with OutputFile(str(path), overwrite=True) as output:
        output.write(b"new\n")
    assert path.read_bytes() == b"new\n"


def test_two_writers(tmp_path: Path) -> None:
    """A second run on the same output is refused, also with overwrite, and the first one's records stay."""
    path = str(tmp_path / "out")
    with OutputFile(path) as output:
        output.write(b"a\n")
        with pytest.raises(ConfigurationError, match="is being written by another run"):
            OutputFile(path, overwrite=True)
    assert Path(path).read_bytes() == b"a\n"


def test_output_is_input(tmp_path: Path) -> None:
    """The input is never overwritten, whatever it is called."""
    path = tmp_path / "in"
    path.write_bytes(b"x")
    with pytest.raises(ConfigurationError, match="is the input"):
        OutputFile(str(tmp_path / "." / "in"), overwrite=True, input=str(path))
    assert path.read_bytes() == b"x"


def test_unwritable_output(tmp_path: Path) -> None:
    """The error names the path and the reason."""
    path = str(tmp_path / "no" / "out")
    with pytest.raises(ConfigurationError) as caught:
        OutputFile(path)
    assert str(caught.value) == f"cannot write {path}: No such file or directory"


def test_full_disk() -> None:
    """A disk that takes no more is an error that says so."""
    with OutputFile("/dev/full") as output, pytest.raises(Exception, match="cannot write /dev/full: No space left on device"):
        output.write(b"a\n")
