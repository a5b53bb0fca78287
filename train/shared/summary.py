"""The last lines of a supervised training, as text or in the JSON of all evaluations."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Protocol

from ambulo.common.files import write_or_print
from ambulo.evaluate.shared.result import (
    POLICY,
    ModelEvaluation,
    metric,
    unit_of,
)
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
        scores: its validation scores by name, for JSON.
        more: further lines.
    """
    folder, config = request.folder, request.config
    evaluation = ModelEvaluation(
        model=str(folder.best_model),
        kind=folder.kind,
        episodes=0,
        seed=config.training.seed,
        command=shlex.join([folder.program, *request.arguments]),
        evaluated="validation part of the training's data",
        agents={POLICY: {n: metric(v, unit_of(n)) for n, v in scores.items()}},
        columns=(),
        details={
            "training": {
                "run": str(folder.path),
                "steps": progress.step,
                "epochs": progress.epoch,
                "seconds": round(progress.seconds, 3),
            }
        },
    )
    target: str | None = request.args.json
    write_or_print(target, evaluation.to_json())
    if target == "-":
        return
    print(
        f"{progress.step} steps, {progress.epoch} epochs, {progress.seconds:.0f} s: "
        f"{result}\nbest model: {folder.best_model}"
    )
    for line in more:
        print(line)
