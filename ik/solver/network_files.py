"""Files of pose networks: a header as JSON beside float32 weights as safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ambulo.configs.arrays import Singles
from ambulo.configs.atomic import replace_file
from ambulo.configs.base import Config
from ambulo.configs.errors import ModelFileError
from ambulo.configs.reading import read_regular

MAX_WEIGHTS = 256 * 1024 * 1024
"""A larger file is no network of poses, [byte]."""


def checked_tensors(
    tensors: Mapping[str, NDArray[Any]],
    shapes: Mapping[str, tuple[int, ...]],
    source: str,
) -> dict[str, Singles]:
    """Return the tensors in the order of `shapes`; `ModelFileError` names a bad one."""
    for name in sorted(shapes.keys() | tensors.keys()):
        if name not in tensors:
            raise ModelFileError(f"{source}: tensor {name!r} is missing")
        if name not in shapes:
            raise ModelFileError(f"{source}: unexpected tensor {name!r}")
        tensor = tensors[name]
        if tensor.shape != shapes[name] or tensor.dtype != np.float32:
            raise ModelFileError(
                f"{source}: tensor {name!r} is {tensor.dtype} {tensor.shape}, "
                f"expected float32 {shapes[name]}"
            )
        if not np.isfinite(tensor).all():
            raise ModelFileError(f"{source}: tensor {name!r} has values not finite")
    return {name: np.ascontiguousarray(tensors[name]) for name in shapes}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a safetensors file; `ModelFileError` if it cannot be read."""
    try:
        return load(read_regular(path, MAX_WEIGHTS))
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None
    except SafetensorError as error:
        raise ModelFileError(f"{path}: cannot be read: {first_line(error)}") from None


def write_network(
    header: Config, path: Path, tensors: dict[str, Singles], weights: str
) -> None:
    """Write the file `weights` beside the header's `path`; the header last, as its seal."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path.with_name(weights), save(tensors))
    replace_file(path, header.to_json().encode())


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
