"""Kind of a model, for evaluation."""

from __future__ import annotations

from pathlib import Path

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.raw_headers import raw_header
from ambulo.policies.registry import kind_of


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
