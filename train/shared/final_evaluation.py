"""How a training ends: `ambulo eval` of its best model, with its results in the run folder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from ambulo.common.console import announce
from ambulo.common.files import write_atomic, write_or_print
from ambulo.common.run_folder import RunFolder
from ambulo.evaluate.command import main, publish, request_of
from ambulo.evaluate.shared.result import ModelEvaluation, Picture
from ambulo.evaluate.shared.tables import print_tables
from ambulo.train.shared.run_request import RunRequest
from ambulo.train.shared.supervised import SupervisedRun


def evaluate_best(
    request: RunRequest[Any],
    arguments: Sequence[str],
    training: Mapping[str, Any],
    pictures: Callable[[], Sequence[Picture]] = tuple,
    films: tuple[str, ...] = (),
) -> ModelEvaluation:
    """Evaluate the best model of a run; write scores and report to its folder.

    Args:
        request: the training.
        arguments: those of `ambulo eval`, the model first.
        training: facts of the training, for `details.training`.
        pictures: draws pictures that the report shows first.
        films: names of films that belong to the report.
    """
    args, folder = request.args, request.folder
    typed = f"{folder.typed or folder.program} {shlex.join(request.arguments)}"
    asked = request_of(main.parse(arguments), typed.rstrip())
    announce("evaluating the best model ...", args.progress)
    outcome = asked.kind.evaluate(asked)
    evaluation = write_scores(folder, outcome.evaluation, training)
    sizes = [
        f"{name} {v}" for name, v in training.items() if isinstance(v, int | float)
    ]
    quiet = Console(stderr=True, quiet=args.progress is False)
    drawn = replace(
        outcome,
        evaluation=evaluation,
        pictures=lambda: [*pictures(), *outcome.pictures()],
        facts={**outcome.facts, "training": ", ".join(sizes)},
        films=films,
    )
    announce("drawing the report ...", args.progress)
    publish(drawn, folder.path, None, quiet, title=f"{folder.path.name}: training")
    return evaluation


def write_scores(
    folder: RunFolder, evaluation: ModelEvaluation, training: Mapping[str, Any]
) -> ModelEvaluation:
    """Write the final evaluation to the run folder; return it with `details.training`.

    Its format is that of `ambulo eval --json`; its model is the best of the run.
    """
    details = {**evaluation.details, "training": dict(training)}
    written = replace(evaluation, model=str(folder.best_model), details=details)
    write_atomic(folder.scores, written.to_json())
    return written


def finish(
    request: RunRequest[Any],
    run: SupervisedRun[Any],
    result: str,
    *arguments: str,
) -> None:
    """Evaluate the best network of a supervised run and print the results.

    Args:
        request: the training.
        run: finished.
        result: its validation scores as text.
        arguments: those of `ambulo eval` behind the model.
    """
    progress, folder, target = run.progress, request.folder, request.args.json
    episodes = request.args.episodes
    if episodes is not None:
        arguments += ("--episodes", str(episodes))
    evaluation = evaluate_best(
        request,
        [str(folder.best_model), *arguments],
        {
            "run": str(folder.path),
            "steps": progress.step,
            "epochs": progress.epoch,
            "seconds": round(progress.seconds, 3),
            "validation": progress.scores,
        },
    )
    write_or_print(target, evaluation.to_json())
    if target == "-":
        return
    print_tables(evaluation, Console(highlight=False))
    print(
        f"{progress.step} steps, {progress.epoch} epochs, {progress.seconds:.0f} s: "
        f"{result}\nbest model: {folder.best_model}\nreport: {folder.report}"
    )
