"""Kind of a model, for evaluation."""

from __future__ import annotations

from pathlib import Path

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.raw_headers import raw_header
from ambulo.policies.registry import kind_of

TASK_KINDS = {
    "gait": "gait_policy",
    "track": "track_policy",
    "track_body": "track_body_policy",
}
"""Kinds of locomotion policies whose tasks are evaluated in another way."""


def model_kind(file: Path) -> str:
    """Return the kind of a model file; policies of the tasks gait and track have their own.

    A file without a header has the kind "".
    """
    try:
        kind = kind_of(file)
    except ModelFileError:
        return ""
    if kind == "locomotion":
        config = raw_header(file)[0].get("config", {})
        environment = config.get("environment", {}) if isinstance(config, dict) else {}
        if isinstance(environment, dict):
            return TASK_KINDS.get(str(environment.get("task")), kind)
    return kind
