"""The JSON header of any model file, read without its weights and without torch."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.archive import open_archive, open_model_file, parse_json
from ambulo.policies.files.headers import HEADER, MAX_HEADER, header_bytes

EXPORTED = (".onnx", ".ambulo")
"""Endings of what `ambulo export` writes."""
CASCADE_HEADER = "cascade.json"
"""Header of a cascade, which holds the model files of its nodes."""
SB3_ZIP = "stable-baselines3"
"""Format of the zip files of Stable-Baselines3."""
REFERENCE = "header.npy"
"""Header of an NPZ file of the suite, JSON as bytes."""
MUSCLE_KEY = "ambulo"
"""Key of a header in the metadata of a file of tensors."""


def raw_header(path: Path) -> tuple[dict[str, Any], str]:
    """Return the JSON header of the model file `path`, and where it was found.

    Raises:
        ModelFileError: Missing, damaged, or no model file.
    """
    reader = _READERS.get(path.suffix.lower(), _of_zip)
    data, source = reader(path)
    header = parse_json(data, source)
    if not isinstance(header, dict):
        raise ModelFileError(f"{source}: not the header of a model")
    return header, source


def _of_zip(path: Path) -> tuple[bytes, str]:
    """Header of a zip file: ours, a cascade, or one of Stable-Baselines3."""
    suffix = path.suffix.lower()
    if suffix != ".zip" and _bytes(path, 2) != b"PK":
        rule = f"not a model file, which ends in .zip, {', '.join(_READERS)}"
        if suffix in EXPORTED:
            rule = (
                "is an export for other programs; name the model that it was made from"
            )
        raise ModelFileError(f"{path}: {rule}")
    with open_archive(path) as archive:
        for name in (CASCADE_HEADER, HEADER):
            if name in archive:
                return header_bytes(archive, name)
        sb3_zip = "data" in archive
    if sb3_zip:
        return f'{{"format": "{SB3_ZIP}"}}'.encode(), str(path)
    raise ModelFileError(f"{path}: no {HEADER} inside: not a model file")


def _of_reference(path: Path) -> tuple[bytes, str]:
    """Header of a reference that bodies follow: an array of bytes in an NPZ file."""
    import numpy as np

    with open_archive(path) as archive:
        data, _ = header_bytes(archive, REFERENCE)
    try:
        array = np.lib.format.read_array(io.BytesIO(data))
    except (ValueError, EOFError) as error:
        raise ModelFileError(f"{path}: {REFERENCE} is damaged: {error}") from None
    return array.tobytes(), f"{path}: {REFERENCE}"


def _of_json(path: Path) -> tuple[bytes, str]:
    """Header beside its weights; `.safetensors` of the same name has them."""
    return _bytes(path), str(path)


def _of_tensors(path: Path) -> tuple[bytes, str]:
    """Header in the metadata of a file of tensors, or in the JSON file beside it."""
    beside = path.with_suffix(".json")
    size, data = 8, _bytes(path, 8)
    length = int.from_bytes(data, "little")
    if len(data) < size or length > MAX_HEADER:
        raise ModelFileError(f"{path}: cannot be read: not a file of tensors")
    source = f"{path}: header"
    parts = parse_json(_bytes(path, size + length)[size:], source)
    metadata = parts.get("__metadata__", {}) if isinstance(parts, dict) else {}
    text = metadata.get(MUSCLE_KEY) if isinstance(metadata, dict) else None
    if isinstance(text, str):
        return text.encode(), source
    if beside.is_file():
        return _of_json(beside)
    raise ModelFileError(f"{path}: its header is of no kind of model")


def _bytes(path: Path, count: int = MAX_HEADER) -> bytes:
    """Return the first `count` bytes of a file."""
    with open_model_file(path) as file:
        return file.read(count)


_READERS: dict[str, Callable[[Path], tuple[bytes, str]]] = {
    ".json": _of_json,
    ".npz": _of_reference,
    ".safetensors": _of_tensors,
}
