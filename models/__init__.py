"""Shipped models (`ambulo.shipped`): a folder each, with a card, in safe formats.

The single place that lists them. It needs the standard library alone, so that every
layer may ask it. A checkout holds all; the wheel of Ambulo holds the smaller ones, and the
distribution ambulo-models (the same folder, as `ambulo_models`) holds the others. Models
of `ambulo pull` are found in the user's own folder.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

ELSEWHERE = (
    "embodied_navigation",
    "gait_cascade", "gait_estimator", "gait_net_impaired", "imitate_run",
    "imitate_walk_network", "imitate_walk_pure", "locomote", "motion_nn",
    "track", "walk_commands",
)  # fmt: skip
"""Models of the distribution ambulo-models."""
MODEL_FILES = (
    "*.zip",
    "ik_network.json",
    "ik_published.json",
    "*.safetensors",
    "*.npz",
)
"""How the main file of a model's folder is called; the first pattern that fits counts."""
PULLED_VARIABLE = "AMBULO_MODELS"
"""Environment variable that names another folder for pulled models."""


def pulled_folder() -> Path:
    """Return the folder of pulled models, a folder each; it need not exist.

    That is the folder that `AMBULO_MODELS` names, else `ambulo/models` in `XDG_DATA_HOME`,
    or in `~/.local/share`.
    """
    named = os.environ.get(PULLED_VARIABLE)
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home, "ambulo", "models")


def pulled_models() -> dict[str, Path]:
    """Return the main file of every pulled model by name, without names of shipped ones."""
    try:
        folders = sorted(pulled_folder().iterdir())
    except OSError:
        return {}
    shipped = shipped_models()
    models: dict[str, Path] = {}
    for folder in folders:
        if folder.name in shipped or folder.name.startswith(".") or not folder.is_dir():
            continue
        file = main_file(folder)
        if file is not None:
            models[folder.name] = file
    return models


def installed_models() -> dict[str, Path]:
    """Return the main file of every shipped and every pulled model by name."""
    return shipped_models() | pulled_models()


def shipped_models() -> dict[str, Path]:
    """Return the main file of every installed model by name."""
    models: dict[str, Path] = {}
    found = find_spec("ambulo_models")
    more = [] if found is None else found.submodule_search_locations or []
    for package in (*__path__, *more):
        for folder in sorted(Path(package).iterdir()):
            file = main_file(folder) if folder.is_dir() else None
            if file is not None:
                models.setdefault(folder.name, file)
    return models


def main_file(folder: Path) -> Path | None:
    """Return the main file of a folder that holds one model; None if it is not clear."""
    for pattern in MODEL_FILES:
        files = sorted(folder.glob(pattern))
        if files:
            return files[0] if len(files) == 1 else None
    return None


def locate(name: str | os.PathLike[str]) -> Path | None:
    """Return the main file of a file, a model's folder, a shipped or a pulled model.

    A path that exists goes before a name. None if there is nothing of the kind.
    """
    path = Path(name)
    if path.is_dir():
        return main_file(path) or installed_models().get(os.fspath(name))
    return path if path.exists() else installed_models().get(os.fspath(name))
