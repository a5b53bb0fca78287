"""Lookup of a model: a file, a run folder, or the name of an installed one."""

from __future__ import annotations

import os
from pathlib import Path

import ambulo.shipped
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import ModelFileError, nearest


def find_model(text: str | os.PathLike[str]) -> Path:
    """Return the main file of a model of any kind (see `ambulo.policies.registry`).

    For a run folder this is its best model, else the final one, else the newest checkpoint; for
    a folder with one model its main file. An existing path has priority over the name of a
    shipped or pulled model.

    Raises:
        ModelFileError: The model does not exist.
    """
    path = resolve_path(text)
    if path.is_dir():
        file = _in_run(RunFolder(path)) or ambulo.shipped.main_file(path)
        if file is None:
            raise ModelFileError(f"{path}: this folder holds no model of a run")
        return file
    if path.exists():
        return path
    if path.name != os.fspath(text):
        raise ModelFileError(f"{path}: no such model file")
    installed = ambulo.shipped.installed_models()
    if path.name in ambulo.shipped.ELSEWHERE and path.name not in installed:
        raise ModelFileError(
            f"{path.name}: this model comes with the package ambulo-models (folder models/ of "
            "the repository): pip install it"
        )
    if path.name not in installed:
        hint = nearest(path.name, installed) if installed else ""
        raise ModelFileError(f"{path}: no such model file or shipped model{hint}")
    return installed[path.name]


def _in_run(run: RunFolder) -> Path | None:
    """Return the best, final or newest model of a run; None if it has none."""
    for name in (run.best_model, run.final_model):
        for place in (name, *_other_forms(name)):
            file = ambulo.shipped.main_file(place) if place.is_dir() else place
            if file is not None and file.is_file():
                return file
    return run.newest_checkpoint() if run.checkpoints.is_dir() else None


def _other_forms(model: Path) -> tuple[Path, ...]:
    """Return other paths of `model`: in runs of pose networks, of muscle networks."""
    tensors = model.with_suffix(".safetensors")
    return model.with_suffix(""), model.with_name("ik_net"), tensors
