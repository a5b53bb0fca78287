"""The results of a training in a game: its evaluation beside the baselines."""

from __future__ import annotations

from collections.abc import Iterator

from ambulo.common.paths import typed_command
from ambulo.configs.godot import GodotConfig
from ambulo.train.godot.training import GodotTraining
from ambulo.train.shared.final_evaluation import evaluate_best
from ambulo.train.shared.rl_results import print_results, training_facts
from ambulo.train.shared.rl_run import RLRun
from ambulo.train.shared.run_request import RunRequest

Request = RunRequest[GodotConfig]


def finish(request: Request, run: RLRun[GodotTraining]) -> None:
    """Evaluate the best model beside the baselines, and print a summary."""
    args, folder = request.args, request.folder
    evaluation = evaluate_best(request, [*_evaluation(request)], training_facts(run))
    program = typed_command("ambulo")
    print_results(
        run,
        evaluation,
        args.json,
        steps="steps of agents",
        files=[
            ("report", folder.report),
            ("evaluate", f"{program} eval {folder.best_model} --episodes 100"),
            ("export", f"{program} export {folder.best_model} --out policy.ambulo"),
        ],
    )


def _evaluation(request: Request) -> Iterator[str]:
    """Yield the arguments of `ambulo eval`."""
    env, demos = request.config.environment, request.config.training.demonstrations
    yield str(request.folder.best_model)
    given = {
        "--episodes": request.args.episodes,
        "--godot-project": env.godot_project,
        "--godot-url": env.godot_url,
        "--godot-bin": env.godot_bin,
        "--demos": demos.folder,
    }
    for flag, value in given.items():
        if value is not None:
            yield from (flag, str(value))
    if not request.args.deterministic:
        yield "--stochastic"
