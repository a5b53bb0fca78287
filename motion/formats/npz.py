"""The NPZ motion format of this package: exact and fast.

A zip file of `.npy` members, not compressed, that `numpy.load` opens too. `header.npy` holds
JSON as bytes (format, version, names, rate), the others hold arrays of float64 in metres and
our axes. Pickled objects are refused, so that no code in a file is run.
"""

from __future__ import annotations

import io
import json
import math
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ambulo.configs.errors import MotionFileError
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import open_regular
from ambulo.motion.formats.disk import read_bytes, rules_of, write_bytes
from ambulo.motion.formats.mending import unit_quats
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

FORMAT = "ambulo-motion"
"""Value of "format" in the header."""
VERSION = 1
"""Newest readable version of the format, which is also written."""
_SKELETON = ("offsets", "rest", "axes", "limits", "tips")
_MOTION = ("root_positions", "rotations")
_QUATS = ("rest", "axes", "rotations")
_MEMBERS = {"header", "joint_offsets", *_SKELETON, *_MOTION}
_NO_TYPES: Mapping[str, str] = {}
_EPOCH = (1980, 1, 1, 0, 0, 0)
BROKEN = (
    zipfile.BadZipFile,
    tokenize.TokenError,
    zlib.error,
    EOFError,
    IndexError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""Exceptions of `zipfile` and NumPy for a damaged file."""


def write_npz(path: Path, motion: Motion) -> None:
    """Write `motion` atomically; equal motions give equal bytes."""
    skeleton = motion.skeleton
    header = {
        "format": FORMAT,
        "version": VERSION,
        "name": motion.name,
        "fps": motion.fps,
        "skeleton": skeleton.name,
        "joints": skeleton.joints,
        "parents": skeleton.parents,
        "orders": skeleton.orders,
        "tip_parents": skeleton.tip_parents,
        **({"roles": skeleton.roles} if skeleton.roles else {}),
        **({"chains": skeleton.chains} if skeleton.chains else {}),
    }
    arrays: dict[str, NDArray[Any]] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    }
    arrays.update({name: getattr(skeleton, name) for name in _SKELETON})
    arrays.update({name: getattr(motion, name) for name in _MOTION})
    if motion.joint_offsets is not None:
        arrays["joint_offsets"] = motion.joint_offsets
    write_bytes(path, packed(arrays))


def read_npz(path: Path) -> Motion:
    """The motion in the NPZ file `path`; `MotionFileError` names the rule it breaks."""
    arrays = unpacked(path, read_bytes(path), _MEMBERS, "motion")
    header = _header(path, arrays)
    needed = (*_SKELETON, *_MOTION)
    missing = [n for n in needed if n not in arrays or not arrays[n].ndim]
    if missing:
        raise MotionFileError(path, 0, f"has no array {missing[0]!r}")
    notes = []
    for name in _QUATS:
        arrays[name], note = unit_quats(arrays[name], name, 1e-6)
        notes.append(note)
    with rules_of(path):
        skeleton = Skeleton(
            name=header["skeleton"],
            joints=tuple(header["joints"]),
            parents=tuple(header["parents"]),
            orders=tuple(header["orders"]),
            tip_parents=tuple(header["tip_parents"]),
            roles=header.get("roles", {}),
            chains={role: tuple(row) for role, row in header.get("chains", {}).items()},
            **{name: arrays[name] for name in _SKELETON},
        )
        return Motion(
            skeleton=skeleton,
            fps=header["fps"],
            name=header["name"],
            joint_offsets=arrays.get("joint_offsets"),
            notes=tuple(note for note in notes if note),
            **{name: arrays[name] for name in _MOTION},
        )


def is_motion_npz(path: Path) -> bool:
    """Whether an NPZ file declares itself a motion, or is too damaged to know."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            return "header.npy" in archive.namelist()
    except BROKEN:
        return True


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """An NPZ file of `arrays`: "header" uint8, all others float64; always the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def unpacked(
    path: Path,
    data: bytes,
    members: Collection[str],
    kind: str,
    types: Mapping[str, str] = _NO_TYPES,
) -> dict[str, NDArray[Any]]:
    """The arrays in the bytes of an NPZ file as `packed` makes them.

    Args:
        path: Its path, for errors.
        data: The file.
        members: Permitted names.
        kind: Expected kind of file, for errors.
        types: NumPy types of members that are not float64.

    The arrays take no more memory than the file: members are not compressed, and do not
    overlap.

    Raises:
        MotionFileError: Another member, compression, another type, or damage.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_stored(archive, len(data))
            result = {}
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name not in members or name in result:
                    raise ValueError(f"unexpected member {info.filename[:48]!r}")
                default = "u1" if name == "header" else "f8"
                dtype = np.dtype(types.get(name, default))
                result[name] = _array(archive.read(info), name, dtype)
            return result
    except BROKEN as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        rule = f"is damaged or no {kind} of the suite ({reason})"
        raise MotionFileError(path, 0, rule) from None


def check_stored(archive: zipfile.ZipFile, size: int) -> None:
    """Raise `ValueError` unless members are stored uncompressed within `size` bytes."""
    total = 0
    for info in archive.infolist():
        total += info.file_size
        if info.compress_type != zipfile.ZIP_STORED or total > size:
            raise ValueError(
                f"member {info.filename[:48]!r} is compressed, or overlaps"
            )


def _array(data: bytes, name: str, expected: np.dtype[Any]) -> NDArray[Any]:
    """The array in the bytes of a `.npy` file, as a view."""
    stream = io.BytesIO(data)
    shape, dtype = member_head(stream, name)
    if dtype != expected or any(size < 0 for size in shape):
        raise ValueError(f"{name}: expected {expected} in C order, got {dtype}")
    rest = len(data) - stream.tell()
    if math.prod(shape) * expected.itemsize != rest:
        raise ValueError(f"{name}: shape {shape} does not fit {rest} bytes")
    array = np.frombuffer(data, expected, offset=stream.tell()).reshape(shape)
    return array.astype(expected.newbyteorder("="), copy=False)


def member_head(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of the `.npy` data in `stream`, which is left at the data."""
    version = npy.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"{name}: npy version {version}")
    shape, fortran, dtype = npy.read_array_header_1_0(stream)
    if fortran or dtype.hasobject:
        raise ValueError(f"{name}: is {dtype}, or not in C order")
    return shape, dtype


def _header(path: Path, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    def fail(rule: str) -> MotionFileError:
        return MotionFileError(path, 0, rule)

    if "header" not in arrays:
        raise fail("is no motion of the suite: it has no header")
    try:
        header = json_value(arrays["header"].tobytes())
    except ValueError as error:
        raise fail(f"its header is not valid JSON: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise fail(f"is no motion of the suite: format is not {FORMAT!r}")
    if header.get("version") != VERSION:
        got = str(header.get("version"))[:24]
        raise fail(f"has version {got}; this program reads version {VERSION}")
    rules = (
        ("name", str, None),
        ("skeleton", str, None),
        ("joints", list, str),
        ("parents", list, int),
        ("orders", list, str),
        ("tip_parents", list, int),
    )
    for key, kind, inner in rules:
        value = header.get(key)
        good = isinstance(value, kind) and (
            inner is None or all(type(v) is inner for v in value)
        )
        if not good:
            raise fail(f"header: {key!r} is missing or of the wrong kind")
    roles = header.get("roles", {})
    if not isinstance(roles, dict) or any(type(v) is not int for v in roles.values()):
        raise fail("header: 'roles' is of the wrong kind")
    chains = header.get("chains", {})
    if not isinstance(chains, dict) or any(
        not isinstance(row, list) or any(type(joint) is not int for joint in row)
        for row in chains.values()
    ):
        raise fail("header: 'chains' is of the wrong kind")
    fps = header.get("fps")
    if not isinstance(fps, int | float) or not 0.0 < fps < 1e9 or fps is True:
        raise fail("header: 'fps' is missing or no rate")
    try:
        json.dumps(header, ensure_ascii=False).encode()
    except ValueError:
        raise fail("header: a name is not text") from None
    return header
