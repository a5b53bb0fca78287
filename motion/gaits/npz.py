"""Bounded, checked reading and atomic writing of gait files (NPZ)."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import GaitDataError, MotionFileError
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import open_regular
from ambulo.motion.formats.disk import write_bytes
from ambulo.motion.formats.npz import BROKEN, check_stored, member_head, packed

BLOCK = 2**22
"""Bytes checked at once."""


@contextmanager
def errors_of(path: Path) -> Iterator[None]:
    """Convert errors of reading the file `path` to `GaitDataError` that names it."""
    try:
        yield
    except FileNotFoundError:
        raise GaitDataError(f"{path}: no such file") from None
    except GaitDataError as error:
        raise GaitDataError(f"{path}: {error}") from None
    except BROKEN as error:
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise GaitDataError(
            f"{path}: truncated, damaged or no shard of gait ({reason})"
        ) from None


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an NPZ file atomically."""
    try:
        write_bytes(path, packed(arrays))
    except MotionFileError as error:
        raise GaitDataError(str(error)) from None


def read_arrays(path: Path, members: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """The named arrays; each must be of its kind (letters of NumPy's `dtype.kind`)."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        size = path.stat().st_size
        check_stored(archive, size)
        there = set(archive.namelist())
        for name in members:
            rule(f"{name}.npy" in there, f"has no array {name!r}")
        result = {}
        for name, kind in members.items():
            info = archive.getinfo(f"{name}.npy")
            with archive.open(info) as stream:
                shape, dtype = member_head(stream, name)
                rule(dtype.kind == kind, f"{name}: is {dtype}")
                data = stream.read()
            result[name] = np.frombuffer(data, dtype).reshape(shape)
    return result


def check_motions(path: Path, expected: tuple[int, ...]) -> tuple[int, int]:
    """Check all motions of a refined shard in blocks; returns their offset and CRC-32."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        rule("motions.npy" in archive.namelist(), "has no array 'motions'")
        info = archive.getinfo("motions.npy")
        rule(info.compress_type == zipfile.ZIP_STORED, "motions: are compressed")
        with archive.open(info) as stream:  # compares the CRC at the end
            shape, dtype = member_head(stream, "motions")
            rule(shape == expected, f"motions: expected shape {expected}, got {shape}")
            rule(dtype == np.dtype("<f4"), f"motions: expected float32, got {dtype}")
            ahead = stream.tell()
            while data := stream.read(BLOCK):
                good = np.isfinite(np.frombuffer(data, dtype)).all()
                rule(bool(good), "motions: a number is not finite")
    return _data_start(path, info) + ahead, info.CRC


def _data_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Offset of a member's bytes; the local header ends with name and extra field."""
    with open_regular(path) as file:
        file.seek(info.header_offset + 26)
        sizes = np.frombuffer(file.read(4), "<u2")
    return info.header_offset + 30 + int(sizes.sum())


def rule(holds: bool, message: str) -> None:
    """Raise `GaitDataError` with `message` unless `holds`."""
    if not holds:
        raise GaitDataError(message)


def as_json(source: Mapping[str, Any]) -> NDArray[Any]:
    """Plain JSON as an array of one text."""
    try:
        return np.array([json.dumps(dict(source), allow_nan=False)])
    except (TypeError, ValueError) as error:
        raise GaitDataError(f"source: not plain JSON: {error}") from None


def parsed(text: NDArray[Any]) -> dict[str, Any]:
    """The JSON object in an array of one text."""
    source = json_value(str(text.reshape(-1)[0]))
    if not isinstance(source, dict):
        raise ValueError("source is no JSON object")
    return source
