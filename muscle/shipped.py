"""Muscle networks by the name of a shipped one, or by file."""

from __future__ import annotations

import os
from functools import lru_cache

import ambulo.shipped
from ambulo.configs.errors import nearest
from ambulo.muscle.errors import MuscleError
from ambulo.muscle.muscle_nn import MuscleNN, load_muscle_nn


def find_muscle_nn(name: str | os.PathLike[str]) -> MuscleNN:
    """Return the network that is shipped as `name`, or in the file `name`.

    Raises:
        MuscleError: Neither, or no muscle network.
    """
    file = ambulo.shipped.locate(name)
    if file is None:
        hint = nearest(os.fspath(name), ambulo.shipped.shipped_models())
        raise MuscleError(f"{name}: no such file or shipped muscle network{hint}")
    return _loaded(str(file), file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _loaded(path: str, stamp: int) -> MuscleNN:
    del stamp  # part of the key: a changed file is read again
    return load_muscle_nn(path)
