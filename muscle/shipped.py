"""Muscle networks by name: those that are shipped, or a file."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import ambulo.models
from ambulo.configs.errors import nearest
from ambulo.muscle.errors import MuscleError
from ambulo.muscle.muscle_nn import MuscleNN, load_muscle_nn


def shipped_muscle_nns() -> dict[str, Path]:
    """The file of every shipped muscle network by name."""
    found: dict[str, Path] = {}
    for package in ambulo.models.__path__:
        for file in sorted(Path(package).glob("muscle_nn_*/*.safetensors")):
            found.setdefault(file.parent.name, file)
    return found


def find_muscle_nn(name: str | os.PathLike[str]) -> MuscleNN:
    """The network that is shipped as `name`, or in the file `name`.

    Raises:
        MuscleError: Neither, or no muscle network.
    """
    found, text = shipped_muscle_nns(), os.fspath(name)
    if text in found:
        return _loaded(str(found[text]), 0)
    path = Path(text)
    if not path.is_file():
        raise MuscleError(
            f"{text}: no such file or shipped muscle network{nearest(text, found)}"
        )
    return _loaded(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _loaded(path: str, stamp: int) -> MuscleNN:
    del stamp  # part of the key: a changed file is read again
    return load_muscle_nn(path)
