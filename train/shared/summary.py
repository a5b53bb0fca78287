"""The last lines of a supervised training, as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from ambulo.common.files import without_nan, write_or_print
from ambulo.train.shared.run_request import RunRequest


class Counted(Protocol):
    """How far a training is."""

    step: int
    epoch: int
    seconds: float


def print_summary(
    request: RunRequest[Any, Any, Any],
    progress: Counted,
    result: str,
    scores: Mapping[str, float],
    *more: str,
) -> None:
    """Print how long a training took, its result and its best model; write `--json`.

    Args:
        request: the training.
        progress: how far it is.
        result: its scores as text.
        scores: its scores by name, for JSON.
        more: further lines.
    """
    data = {
        "model": str(request.folder.best_model),
        "run": str(request.folder.path),
        "steps": progress.step,
        "epochs": progress.epoch,
        "training_seconds": round(progress.seconds, 3),
        "scores": dict(scores),
    }
    target: str | None = request.args.json
    write_or_print(target, json.dumps(without_nan(data), indent=1) + "\n")
    if target == "-":
        return
    print(
        f"{progress.step} steps, {progress.epoch} epochs, {progress.seconds:.0f} s: "
        f"{result}\nbest model: {request.folder.best_model}"
    )
    for line in more:
        print(line)
