"""Kind of a model, for evaluation."""

from __future__ import annotations

from pathlib import Path

from ambulo.configs.errors import ModelFileError
from ambulo.configs.task_registry import find_task, task_fault
from ambulo.policies.files.raw_headers import raw_header
from ambulo.policies.registry import kind_of


def model_kind(file: Path) -> str:
    """Return the kind of a model file; that of a locomotion policy is its task's.

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
            task = str(environment.get("task"))
            return kind if task_fault(task, None) else find_task(task).traits.evaluation
    return kind
