"""Which model is meant, and of which kind it is, for evaluation."""

from __future__ import annotations

import os
from pathlib import Path

from ambulo.common.find_model import find_model
from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.raw_headers import raw_header
from ambulo.policies.registry import kind_of


def find_evaluated(name: str | os.PathLike[str] | None) -> Path:
    """Return the model file `name`, or of the shipped VR agent for None.

    Raises:
        ModelFileError: There is no such model.
    """
    return find_model("vr_navigation" if name is None else name)


def model_kind(file: Path) -> str:
    """Return the kind of a model file; policies of gait tasks are "gait_policy".

    A file without a header has the kind "".
    """
    try:
        kind = kind_of(file)
    except ModelFileError:
        return ""
    if kind == "locomotion":
        config = raw_header(file)[0].get("config", {})
        environment = config.get("environment", {}) if isinstance(config, dict) else {}
        if isinstance(environment, dict) and environment.get("task") == "gait":
            return "gait_policy"
    return kind
