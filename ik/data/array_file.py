"""Files of training data: an NPZ of plain arrays and a JSON header as bytes.

`numpy.load` opens them; they contain no code, and pickled objects are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.atomic import replace_file
from ambulo.configs.base import Config, parse
from ambulo.configs.errors import ConfigError, IKError, MotionFileError
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import read_regular
from ambulo.motion.formats.disk import MAX_BYTES
from ambulo.motion.formats.npz import BROKEN, packed, unpacked

Header = TypeVar("Header", bound=Config)
Shape = tuple[int, ...]


def save_arrays(path: str | Path, data: Any) -> None:
    """Write the header and the arrays of a dataclass atomically; equal data, equal bytes."""
    text = np.frombuffer(data.header.to_json().encode(), dtype=np.uint8)
    arrays = {field.name: getattr(data, field.name) for field in fields(data)[1:]}
    replace_file(Path(path), packed({"header": text, **arrays}))


def load_arrays(
    path: str | Path,
    header: type[Header],
    what: str,
    types: Mapping[str, str],
    shapes: Callable[[Header, Mapping[str, NDArray[Any]]], Mapping[str, Shape]],
) -> tuple[Header, dict[str, NDArray[Any]]]:
    """Return the header and the arrays of the file `path`.

    Args:
        path: The file.
        header: Class of its header.
        what: Content of the file, in the plural, for errors.
        types: Type of each array by name, as NumPy writes it ("f4"); `root` and
            `rotations` are positions and quaternions.
        shapes: Computes the shape of each array from the header and the arrays.

    Raises:
        IKError: The file is missing, damaged, or of another kind; the message names it.
    """
    file = Path(path)
    if not file.is_file():
        raise IKError(f"{file}: no such file of {what}")
    try:
        data = read_regular(file, MAX_BYTES)
        arrays = unpacked(file, data, {"header", *types}, what, types)
        text = json_value(arrays.pop("header").tobytes())
        parsed = parse(header, text, f"{file}: header")
    except (ConfigError, MotionFileError) as error:
        raise IKError(str(error)) from None
    except OSError as error:
        raise IKError(f"{file}: cannot be read: {error.strerror}") from None
    except BROKEN as error:
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise IKError(f"{file}: damaged, or no file of {what} ({reason})") from None
    expected = shapes(parsed, arrays)
    for name in sorted(expected.keys() | arrays.keys()):
        if name not in expected or name not in arrays:
            raise IKError(f"{path}: array {name!r} is missing or not expected")
        shape, kind = expected[name], np.dtype(types[name])
        if arrays[name].shape != shape or arrays[name].dtype != kind:
            raise IKError(
                f"{path}: array {name!r} is {arrays[name].dtype} {arrays[name].shape}, "
                f"expected {kind} {shape}"
            )
    lengths = np.linalg.norm(arrays["rotations"], axis=-1)
    if not (np.isfinite(arrays["root"]).all() and (np.abs(lengths - 1.0) < 1e-3).all()):
        raise IKError(f"{path}: positions must be finite and quaternions of length 1")
    return parsed, arrays
