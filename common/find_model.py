"""Which model file is meant: a file, a run folder, or the name of a shipped agent."""

from __future__ import annotations

import os
from pathlib import Path

import ambulo.models
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import ModelFileError, nearest

DEFAULT_AGENT = "vr_navigation"
"""The shipped agent that is meant when nothing is said."""


def shipped_models() -> dict[str, Path]:
    """The model file of every shipped agent by name."""
    found: dict[str, Path] = {}
    for package in ambulo.models.__path__:
        for folder in sorted(Path(package).iterdir()):
            files = sorted(folder.glob("*.zip")) if folder.is_dir() else []
            if files:
                found.setdefault(folder.name, files[0])
    return found


def shipped_model(name: str = DEFAULT_AGENT) -> Path:
    """The model file of the shipped agent `name`.

    Raises:
        ModelFileError: no such agent is installed.
    """
    found = shipped_models()
    if not found:
        raise ModelFileError(
            "no trained agent is installed; name a model file or a run folder"
        )
    if name not in found:
        raise ModelFileError(f"no shipped agent {name!r}{nearest(name, found)}")
    return found[name]


def find_model(text: str | os.PathLike[str]) -> Path:
    """The model file behind a path of a file or run folder, or a shipped agent's name.

    Of a run, the best model is meant, else the final one, else the newest checkpoint.

    Raises:
        ModelFileError: nothing of the kind exists.
    """
    path = resolve_path(text)
    if path.is_dir():
        run = RunFolder(path)
        for file in (run.best_model, run.final_model):
            if file.is_file():
                return file
        newest = run.newest_checkpoint() if run.checkpoints.is_dir() else None
        if newest is not None:
            return newest
        files = sorted(path.glob("*.zip"))
        if len(files) == 1:
            return files[0]
        raise ModelFileError(f"{path}: this folder holds no model of a run")
    if path.exists() or path.name != os.fspath(text):
        if not path.exists():
            raise ModelFileError(f"{path}: no such model file")
        return path
    found = shipped_models()
    if path.name in found:
        return found[path.name]
    hint = nearest(path.name, found) if found else ""
    raise ModelFileError(f"{path}: no such model file or shipped agent{hint}")
