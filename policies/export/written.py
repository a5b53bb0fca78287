"""Files of an export, and the data files of the Godot add-on; without torch.

A data file is eight bytes, the length of a JSON header, the header and 32-bit floats
(docs/model_format.md). The same contents give the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.errors import ModelFileError

START = 12
"""Bytes before the header: eight that name the format, and the header's length."""
MAX_WEIGHT = 1e6
"""Largest weight of a policy that the add-on reads."""


@dataclass(frozen=True)
class Written:
    """The files of an export, and what the user must know about them."""

    files: tuple[Path, ...]
    """New files; the main one first."""
    left_out: tuple[str, ...] = ()
    """Steps of the original that are not in the files; one line each."""


def pack(magic: bytes, header: Mapping[str, Any], numbers: Singles) -> bytes:
    """Return a data file that begins with the eight bytes `magic`."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    data = numbers.astype("<f4").tobytes()
    return magic + struct.pack("<I", len(text)) + text + data


def pack_weights(
    magic: bytes, header: Mapping[str, Any], numbers: Singles, source: str
) -> bytes:
    """Return a data file of the weights of policies, with their checksum in its header.

    Raises:
        ModelFileError: A weight is not finite, or larger than `MAX_WEIGHT`.
    """
    if not (np.abs(numbers) <= MAX_WEIGHT).all():
        raise ModelFileError(
            f"{source}: a weight is not finite, or larger than {MAX_WEIGHT:g}, the most "
            "that the add-on reads"
        )
    weights = {"numbers": numbers.size, "sha256": digest(numbers)}
    return pack(magic, {**header, "weights": weights}, numbers)


def unpack(data: bytes) -> tuple[dict[str, Any], Singles]:
    """Return header and numbers of a data file; for tests and readers."""
    (size,) = struct.unpack_from("<I", data, START - 4)
    header: dict[str, Any] = json.loads(data[START : START + size])
    return header, np.frombuffer(data, "<f4", offset=START + size)


def pack_arrays(
    magic: bytes, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> bytes:
    """Return a data file of named arrays, with their places in its header.

    Raises:
        ModelFileError: A number is not finite.
    """
    rows, at = [], 0
    for name, array in arrays.items():
        rows.append({"name": name, "start": at, "shape": list(array.shape)})
        at += array.size
    numbers = np.concatenate([np.asarray(a, "<f4").ravel() for a in arrays.values()])
    if not np.isfinite(numbers).all():
        raise ModelFileError(f"numbers of a {header['kind']} must be finite")
    places = {"arrays": rows, "numbers": at, "sha256": digest(numbers)}
    return pack(magic, {**header, **places}, numbers)


def unpack_arrays(data: bytes) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Return header and arrays of a file of `pack_arrays`."""
    header, numbers = unpack(data)
    arrays = {}
    for row in header["arrays"]:
        count = int(np.prod(row["shape"]))
        flat = numbers[row["start"] : row["start"] + count].astype(np.float64)
        arrays[row["name"]] = flat.reshape(row["shape"])
    return header, arrays


def digest(numbers: Singles) -> str:
    """Return the SHA-256 of numbers as they stand in a file."""
    return hashlib.sha256(numbers.astype("<f4").tobytes()).hexdigest()
