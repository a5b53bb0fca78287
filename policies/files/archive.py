"""Zip files of named members: read within bounds, written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ambulo.configs.atomic import replace_file
from ambulo.configs.errors import ModelFileError
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import open_regular

MAX_BYTES = 2**30
"""Largest archive, and largest sum of the sizes that its members declare, [bytes]."""
MAX_MEMBERS = 1000
"""Most members of an archive."""
MAX_DIRECTORY = 2**20
"""Longest list of members, [bytes]."""
MAX_EXPANSION, FREE_SIZE = 50, 2**20
"""Most bytes that a packed byte may become, beyond a size that is always allowed."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    KeyError,
    IndexError,
)


class Archive(Mapping[str, bytes]):
    """An open zip file as a mapping of its members; a member is unpacked when it is read.

    Refused: too many members, names that are repeated, absolute or contain `..`,
    encryption, compression other than stored or deflated, and members that declare more
    bytes than the limit or than `MAX_EXPANSION` times their packed size. Never more bytes
    are unpacked than a member declares.
    """

    def __init__(
        self, file: BinaryIO, source: str, budget: MemoryBudget | None = None
    ) -> None:
        """Check the directory of `file`.

        Args:
            file: The open file, at any position.
            source: Begins every error.
            budget: Shared with archives inside of archives; None for a new one.

        Raises:
            ModelFileError: No zip file, or one of the rules is broken.
        """
        self.source = source
        self.budget = budget or MemoryBudget()
        with self._damage():
            _check_directory(file, source)
            self._zip = zipfile.ZipFile(file)
            self._members = _checked_members(self._zip.infolist(), source)

    def __getitem__(self, name: str) -> bytes:
        """Return the bytes of a member; `ModelFileError` for more than the budget."""
        info = self._members[name]
        self.budget.spend(info.file_size, self.source)
        with self._damage():
            return self._zip.read(info)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._members)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a member, without unpacking it."""
        return name in self._members

    def size(self, name: str) -> int:
        """Return the number of bytes that a member declares."""
        return self._members[name].file_size

    def start(self, name: str, count: int) -> bytes:
        """Return the first `count` bytes of a member, or all if it has fewer."""
        with self._damage(), self._zip.open(self._members[name]) as member:
            return member.read(count)

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        """Turn what a damaged file makes zipfile raise into `ModelFileError`."""
        try:
            yield
        except ModelFileError:
            raise
        except _BROKEN as error:
            reason = str(error) or type(error).__name__
            raise ModelFileError(
                f"{self.source}: truncated, damaged or no model file ({reason})"
            ) from None


@dataclass
class MemoryBudget:
    """The bytes that may still be unpacked from one file, and from files inside it."""

    left: int = MAX_BYTES

    def spend(self, count: int, source: str) -> None:
        """Take `count` bytes; `ModelFileError` begins with `source` if too few are left."""
        if count > self.left:
            raise ModelFileError(
                f"{source}: unpacks to more than {MAX_BYTES} bytes, the most that is read"
            )
        self.left -= count


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open the zip file `path`; its members are unpacked when they are read.

    Raises:
        ModelFileError: Missing, no regular file, or it breaks a rule of `Archive`.
    """
    with open_model_file(path) as file:
        yield Archive(file, str(path))


@contextlib.contextmanager
def open_model_file(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file of at most `MAX_BYTES`; pipes and devices are never waited for.

    Raises:
        ModelFileError: Missing, unreadable, larger, or no regular file.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(open_regular(path, MAX_BYTES))
        except FileNotFoundError:
            raise ModelFileError(f"{path}: no such model file") from None
        except OSError as error:
            raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None
        yield file


def read_archive(path: Path, only: Container[str] | None = None) -> dict[str, bytes]:
    """Return the members of the zip file `path`, by name; see `open_archive`.

    Args:
        path: The file.
        only: Names of the members to unpack; None for all.
    """
    with open_archive(path) as archive:
        return {name: archive[name] for name in archive if only is None or name in only}


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip file with `members`, the same bytes for the same contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            kind = zipfile.ZIP_DEFLATED
            if len(data) > FREE_SIZE:  # `Archive` refuses members that expand further
                packed = len(zlib.compress(data, 1))
                if len(data) > FREE_SIZE + MAX_EXPANSION * packed:
                    kind = zipfile.ZIP_STORED
            archive.writestr(info, data, kind, compresslevel=1)
    return buffer.getvalue()


def write_atomic(path: Path, data: bytes) -> None:
    """Make `path` hold `data`, or leave it as it was and raise `ModelFileError`."""
    try:
        replace_file(path, data)
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be written: {error.strerror}") from None
    _sync_folder(path.parent)


def json_bytes(value: Any) -> bytes:
    """`value` as JSON; NaN and infinity raise `ValueError`."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def parse_json(data: bytes, source: str) -> Any:
    """JSON data from an untrusted file; `ModelFileError` begins with `source`."""
    try:
        return json_value(data)
    except ValueError as error:
        raise ModelFileError(f"{source}: not valid JSON: {error}") from None


def _check_directory(file: BinaryIO, source: str) -> None:
    """Refuse a list of members that would be large in memory, before it is read."""
    found = zipfile._EndRecData(file)  # type: ignore[attr-defined]
    # Its place among the fields, see `zipfile`; zip64 has it in the same one.
    if found and found[5] > MAX_DIRECTORY:
        raise ModelFileError(f"{source}: a list of members of {found[5]} bytes")


def _checked_members(
    members: list[zipfile.ZipInfo], source: str
) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name if they keep the rules of `Archive`."""
    if len(members) > MAX_MEMBERS:
        raise ModelFileError(f"{source}: {len(members)} members, at most {MAX_MEMBERS}")
    seen: dict[str, zipfile.ZipInfo] = {}
    for info in members:
        name = info.filename
        parts = name.replace("\\", "/").split("/")
        if not name or parts[0] == "" or ".." in parts or ":" in name:
            raise ModelFileError(f"{source}: unsafe member name {name!r}")
        if name in seen:
            raise ModelFileError(f"{source}: member {name!r} occurs twice")
        seen[name] = info
        if info.flag_bits & 0x1:
            raise ModelFileError(f"{source}: member {name!r} is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFileError(f"{source}: member {name!r}: compression not allowed")
        if info.file_size > MAX_BYTES:
            raise ModelFileError(
                f"{source}: {name!r} unpacks to {info.file_size} bytes, "
                f"at most {MAX_BYTES} are read"
            )
        if info.file_size > FREE_SIZE + MAX_EXPANSION * info.compress_size:
            raise ModelFileError(
                f"{source}: {name!r} unpacks to {info.file_size} bytes, more than "
                f"{MAX_EXPANSION} times its packed size"
            )
    return seen


def _sync_folder(folder: Path) -> None:
    """Make the renaming durable, where folders can be synchronised."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.fsync(handle)
    os.close(handle)
