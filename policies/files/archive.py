"""Zip files of named members: read within bounds, written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from ambulo.configs.atomic import replace_file
from ambulo.configs.errors import ModelFileError

MAX_BYTES = 2**30
"""Largest archive, and largest sum of the sizes that its members declare, [bytes]."""
MAX_MEMBERS = 1000
"""Most members of an archive."""
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


def read_archive(path: Path, only: Container[str] | None = None) -> dict[str, bytes]:
    """Return the members of the zip file `path`, by name.

    Args:
        path: The file.
        only: Names of the members to unpack; None for all.

    Raises:
        ModelFileError: Missing, or it breaks a rule of `unzip`.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ModelFileError(f"{path}: not a regular file")
            if status.st_size > MAX_BYTES:
                raise ModelFileError(f"{path}: larger than {MAX_BYTES} bytes")
            return unzip(file, str(path), only)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such model file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None


def unzip(
    file: BinaryIO, source: str, only: Container[str] | None = None
) -> dict[str, bytes]:
    """Return the members of an open zip file; `source` begins every error.

    Refused: too many members, declared sizes above the limit, names that are repeated,
    absolute or contain `..`, encryption, and compression other than stored or deflated.
    Never more bytes are unpacked than a member declares.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(members, source)
            return {
                info.filename: archive.read(info)
                for info in members
                if only is None or info.filename in only
            }
    except _BROKEN as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(
            f"{source}: truncated, damaged or not a zip file ({reason})"
        ) from None


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip file with `members`, the same bytes for the same contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, compresslevel=1)
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
        return json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{source}: not valid JSON: {reason}") from None


def _check_members(members: list[zipfile.ZipInfo], source: str) -> None:
    if len(members) > MAX_MEMBERS:
        raise ModelFileError(f"{source}: {len(members)} members, at most {MAX_MEMBERS}")
    seen: set[str] = set()
    for info in members:
        name = info.filename
        parts = name.replace("\\", "/").split("/")
        if not name or parts[0] == "" or ".." in parts or ":" in name:
            raise ModelFileError(f"{source}: unsafe member name {name!r}")
        if name in seen:
            raise ModelFileError(f"{source}: member {name!r} occurs twice")
        seen.add(name)
        if info.flag_bits & 0x1:
            raise ModelFileError(f"{source}: member {name!r} is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelFileError(f"{source}: member {name!r}: compression not allowed")
    total = sum(info.file_size for info in members)
    if total > MAX_BYTES:
        raise ModelFileError(
            f"{source}: unpacks to {total} bytes, at most {MAX_BYTES} are read"
        )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _sync_folder(folder: Path) -> None:
    """Make the renaming durable, where folders can be synchronised."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.fsync(handle)
    os.close(handle)
