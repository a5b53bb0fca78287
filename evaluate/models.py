"""Which model is meant, and of which kind it is, for evaluation."""

from __future__ import annotations

import os
from pathlib import Path

from ambulo.common.find_model import find_model, shipped_model
from ambulo.configs.errors import ModelFileError
from ambulo.policies.cascade import is_cascade
from ambulo.policies.files.archive import parse_json, read_archive
from ambulo.policies.files.model_format import HEADER, kind_of

FOLDER_KINDS = {
    "ik_network.json": "ik_network",
    "*.safetensors": "muscle_nn",
    "*.npz": "gait_reference",
}
"""Kinds of models that are no zip, by a file of their folder."""


def find_evaluated(name: str | os.PathLike[str] | None) -> Path:
    """Return the model file `name`, or of the shipped VR agent for None.

    Raises:
        ModelFileError: There is no such model.
    """
    if name is None:
        return shipped_model()
    try:
        return find_model(name)
    except ModelFileError:
        import ambulo.models

        shipped = [Path(folder) / os.fspath(name) for folder in ambulo.models.__path__]
        for folder in (Path(name), *shipped):
            for pattern in FOLDER_KINDS:
                for file in sorted(folder.glob(pattern)) if folder.is_dir() else ():
                    return file
        raise


def model_kind(file: Path) -> str:
    """Return the kind of a model file; policies of gait tasks are "gait_policy"."""
    for pattern, kind in FOLDER_KINDS.items():
        if file.match(pattern):
            return kind
    if is_cascade(file):
        return "ambulo-cascade"
    kind = kind_of(file)
    if kind == "locomotion":
        header = parse_json(read_archive(file)[HEADER], str(file))
        environment = header.get("config", {}).get("environment", {})
        if isinstance(environment, dict) and environment.get("task") == "gait":
            return "gait_policy"
    return kind
