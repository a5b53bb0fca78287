"""The files of a model as safetensors and JSON alone, and back.

| file of a model | plain files |
|---|---|
| `x.json`, `x.safetensors` | themselves |
| `x.zip` | `x.zip/MEMBER` for every member, archives inside it too |
| `x.npz` | its arrays as `x.npz.safetensors` |

Nothing else has a plain form, so nothing else can be shared.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import ModelFileError
from ambulo.motion.formats.npz import packed
from ambulo.policies.files.archive import (
    Archive,
    MemoryBudget,
    open_model_file,
    parse_json,
    zipped,
)
from ambulo.policies.files.headers import ARRAYS, VALUES
from ambulo.policies.files.weights import DAMAGED_TENSORS

PLAIN_ENDINGS = (".json", ".safetensors")
"""How plain files end."""
MAX_NESTING = 3
"""Most archives inside of archives."""
_ARRAYS_ENDING = ".npz.safetensors"
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_MAX_PARTS = 8


def plain_files(file: Path) -> dict[str, bytes]:
    """Return the plain files of the model whose main file is `file`, by relative path.

    The states of optimizers and environments in a checkpoint are left out.

    Raises:
        ModelFileError: It cannot be read, or holds what has no plain form.
    """
    names = [file.name]
    if file.suffix in PLAIN_ENDINGS:
        others = (file.with_suffix(ending) for ending in PLAIN_ENDINGS)
        names += [other.name for other in others if other != file and other.is_file()]
    files: dict[str, bytes] = {}
    for name in names:
        path = file.with_name(name)
        with open_model_file(path) as stream:
            files |= dict(_unpacked(name, stream.read(), str(path), MemoryBudget(), 0))
    return files


def packed_files(files: Mapping[str, bytes], source: str) -> dict[str, bytes]:
    """Return the files of a model from its plain files; the inverse of `plain_files`.

    Args:
        files: Plain files by relative path, in the order that archives shall have.
        source: Begins every error.

    Raises:
        ModelFileError: A path or a file that is not plain.
    """
    for path in files:
        check_plain_path(path, source)
    return _packed(files, source, 0)


def check_plain_path(path: str, source: str) -> None:
    """Refuse a path that is no relative path of a JSON file or a file of tensors."""
    parts = path.split("/")
    if (
        not path.endswith(PLAIN_ENDINGS)
        or len(parts) > _MAX_PARTS
        or not all(map(_PART.fullmatch, parts))
    ):
        raise ModelFileError(
            f"{source}: {path!r:.120}: expected a relative path of plain letters that ends in "
            f"{' or '.join(PLAIN_ENDINGS)}"
        )


def _unpacked(
    name: str, data: bytes, source: str, budget: MemoryBudget, depth: int
) -> Iterator[tuple[str, bytes]]:
    """Yield the plain files of one file."""
    if name.endswith(PLAIN_ENDINGS):
        check_plain_path(name, source)
        yield name, data
    elif name.endswith(".npz"):
        yield f"{name}.safetensors", _tensors_of(data, source, budget)
    elif name.endswith(".zip") and depth < MAX_NESTING:
        archive = Archive(io.BytesIO(data), source, budget)
        for member in archive:
            if member in (ARRAYS, VALUES):
                continue
            inside = f"{source}: {member}"
            for path, plain in _unpacked(
                member, archive[member], inside, budget, depth + 1
            ):
                yield f"{name}/{path}", plain
    else:
        raise ModelFileError(
            f"{source}: cannot be shared: models are shared as safetensors and JSON alone"
        )


def _packed(files: Mapping[str, bytes], source: str, depth: int) -> dict[str, bytes]:
    """Return the files that plain files stand for; archives by recursion."""
    if depth > MAX_NESTING:
        raise ModelFileError(
            f"{source}: archives in archives, more than {MAX_NESTING} deep"
        )
    whole: dict[str, bytes] = {}
    members: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        outer, inner = _split(path)
        if inner:
            members.setdefault(outer, {})[inner] = data
            whole.setdefault(outer, b"")  # keeps the order
        elif path.endswith(_ARRAYS_ENDING):
            whole[path.removesuffix(".safetensors")] = _npz_of(
                data, f"{source}: {path}"
            )
        else:
            if path.endswith(".json"):
                parse_json(data, f"{source}: {path}")
            whole[path] = data
    for outer, inside in members.items():
        whole[outer] = zipped(_packed(inside, f"{source}: {outer}", depth + 1))
    return whole


def _split(path: str) -> tuple[str, str]:
    """Return the outermost archive of a path and the rest; the path and "" without one."""
    head, mark, rest = path.partition(".zip/")
    return (head + ".zip", rest) if mark else (path, "")


def _tensors_of(data: bytes, source: str, budget: MemoryBudget) -> bytes:
    """Return the arrays of an NPZ file as a file of tensors."""
    import safetensors.numpy

    archive = Archive(io.BytesIO(data), source, budget)
    arrays: dict[str, NDArray[Any]] = {}
    try:
        for name in archive:
            array = np.lib.format.read_array(io.BytesIO(archive[name]))
            arrays[name.removesuffix(".npy")] = np.asarray(array, order="C")
        return bytes(safetensors.numpy.save(arrays))
    except (ValueError, EOFError, KeyError, TypeError) as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{source}: cannot be shared: {reason:.120}") from None


def _npz_of(data: bytes, source: str) -> bytes:
    """Return a file of tensors as an NPZ file."""
    import safetensors.numpy

    try:
        arrays = safetensors.numpy.load(data)
    except DAMAGED_TENSORS as error:
        raise ModelFileError(f"{source}: not a file of tensors: {error}") from None
    return packed(arrays)
