"""Bounded reading of user-given files: never pipes, never devices."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from importlib.resources import files
from io import BufferedReader
from pathlib import Path

MOST_TEXT = 64 * 2**20
"""Largest text file that is read unless the caller says otherwise, [bytes]."""
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


@contextlib.contextmanager
def open_regular(path: Path, most: int | None = None) -> Iterator[BufferedReader]:
    """Open a regular file for reading; never block on pipes or devices.

    Args:
        path: The file.
        most: Largest size that is accepted, [bytes]; None for any.

    Raises:
        OSError: Missing, unreadable, no regular file, or larger; `strerror` says which.
    """
    try:
        _check(os.stat(path), path, most)  # opening a device may have side effects
        file = open(path, "rb", opener=_open)  # noqa: SIM115 (closed below)
    except ValueError:  # a NUL byte, or a lone surrogate
        raise OSError(errno.EINVAL, "not a file name", repr(str(path))) from None
    with file:
        _check(os.fstat(file.fileno()), path, most)
        yield file


def read_regular(path: Path, most: int = MOST_TEXT) -> bytes:
    """Return the bytes of a regular file of at most `most`; see `open_regular`."""
    with open_regular(path, most) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def read_regular_text(path: Path, most: int = MOST_TEXT) -> str:
    """Return a regular file's UTF-8 text with line ends of one character; see `open_regular`.

    Raises:
        UnicodeDecodeError: Not UTF-8; a `ValueError`.
    """
    text = read_regular(path, most).decode()
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check(status: os.stat_result, path: Path, most: int | None) -> None:
    """Refuse anything but a regular file of at most `most` bytes."""
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if most is not None and status.st_size > most:
        rule = f"has {status.st_size} bytes; at most {most} are read"
        raise OSError(errno.EFBIG, rule, str(path))


def _open(path: str, flags: int) -> int:
    """Open a file without blocking on a pipe that has no writer."""
    return os.open(path, flags | _NO_WAIT)


def json_names(package: str) -> tuple[str, ...]:
    """Return the names of the JSON files of `package` without `.json`, in order."""
    names = (entry.name for entry in files(package).iterdir())
    return tuple(sorted(name[:-5] for name in names if name.endswith(".json")))
