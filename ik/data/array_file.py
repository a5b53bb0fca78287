"""Files of training data: an NPZ of plain arrays and a JSON header as bytes.

`numpy.load` opens them; nothing in them is ever run: pickled objects are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def save_arrays(path: str | Path, header: Config, arrays: Mapping[str, Any]) -> None:
    """Write a header and arrays atomically; equal data give equal bytes."""
    text = np.frombuffer(header.to_json().encode(), dtype=np.uint8)
    replace_file(Path(path), packed({"header": text, **arrays}))


def load_arrays(
    path: str | Path, header: type[Header], types: dict[str, str], what: str
) -> tuple[Header, dict[str, NDArray[Any]]]:
    """Return the header and the arrays of the file `path`.

    Args:
        path: The file.
        header: Class of its header.
        types: Type of each array by name, as NumPy writes it ("f4").
        what: What is in it, in the plural, for errors.

    Raises:
        IKError: Missing, damaged, or of other contents; the message names the file.
    """
    file = Path(path)
    if not file.is_file():
        raise IKError(f"{file}: no such file of {what}")
    try:
        data = read_regular(file, MAX_BYTES)
        arrays = unpacked(file, data, {"header", *types}, what, types)
        text = json_value(arrays.pop("header").tobytes())
        return parse(header, text, f"{file}: header"), arrays
    except (ConfigError, MotionFileError) as error:
        raise IKError(str(error)) from None
    except OSError as error:
        raise IKError(f"{file}: cannot be read: {error.strerror}") from None
    except BROKEN as error:
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise IKError(f"{file}: damaged, or no file of {what} ({reason})") from None


def check_arrays(
    path: str | Path,
    arrays: Mapping[str, NDArray[Any]],
    expected: Mapping[str, tuple[tuple[int, ...], type]],
) -> None:
    """Raise `IKError` where arrays are missing, too many, or of another shape or type."""
    for name in sorted(expected.keys() | arrays.keys()):
        if name not in expected or name not in arrays:
            raise IKError(f"{path}: array {name!r} is missing or not expected")
        shape, kind = expected[name]
        if arrays[name].shape != shape or arrays[name].dtype != kind:
            raise IKError(
                f"{path}: array {name!r} is {arrays[name].dtype} {arrays[name].shape}, "
                f"expected {np.dtype(kind)} {shape}"
            )
