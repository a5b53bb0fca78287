"""Bounded reading and atomic writing of motion files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ambulo.configs.atomic import replace_file
from ambulo.configs.errors import MotionError, MotionFileError, SkeletonError
from ambulo.configs.reading import read_regular

MAX_BYTES = 2**31
"""Largest accepted motion file, [bytes]."""


def read_bytes(path: Path) -> bytes:
    """All bytes of the regular file `path`; `MotionFileError` if it is none."""
    try:
        with file_errors(path):
            if path.is_dir():
                raise MotionFileError(path, 0, "is a folder; expected a motion file")
            if data := read_regular(path, MAX_BYTES):
                return data
    except ValueError:  # a zero byte in the name
        raise MotionFileError(path, 0, "cannot be read: not a file name") from None
    raise MotionFileError(path, 0, "is empty")


def read_lines(path: Path) -> bytes:
    r"""The bytes of a text file, without a byte order mark, lines ended by "\n".

    "\r\n" is kept (readers take "\r" as space); "\r" alone ends a line only if the file has no
    "\n".
    """
    data = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def read_text(path: Path, most: int) -> str:
    """The text of a file of at most `most` bytes, as of `read_lines`."""
    data = read_lines(path)
    if len(data) > most:
        raise MotionFileError(path, 0, f"has more than {most} bytes")
    return decoded(path, data)


def decoded(path: Path, data: bytes, first_line: int = 1) -> str:
    """`data` as text; `MotionFileError` names the line that is not UTF-8 text."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise MotionFileError(path, line, "is not UTF-8 text") from None
    if "\0" in text:
        line = first_line + text.count("\n", 0, text.index("\0"))
        raise MotionFileError(path, line, "is not text (a zero byte)")
    return text


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically; on failure raise `MotionFileError`."""
    with file_errors(path, "written"):
        replace_file(path, data)


@contextlib.contextmanager
def file_errors(path: Path, done: str = "read") -> Iterator[None]:
    """Convert operating system errors to `MotionFileError`; `done` is the verb."""
    try:
        yield
    except OSError as error:
        rule = f"cannot be {done}: {error.strerror or error}"
        raise MotionFileError(path, 0, rule) from None


@contextlib.contextmanager
def rules_of(path: Path) -> Iterator[None]:
    """Convert errors of skeletons and motions to errors of the file `path`."""
    try:
        yield
    except MotionFileError:
        raise
    except (MotionError, SkeletonError) as error:
        raise MotionFileError(path, 0, str(error)) from None
