"""The results of a locomotion training: its evaluation beside baselines, and curves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ambulo.common.metrics_file import read_evaluations, read_metrics
from ambulo.common.paths import typed_command
from ambulo.common.run_folder import RunFolder
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.reference import reference_bytes
from ambulo.evaluate.locomotion.cascades import composed
from ambulo.evaluate.shared.result import Picture
from ambulo.policies.agents.cascade import save_cascade
from ambulo.train.locomotion.training import LocomotionTraining
from ambulo.train.shared.final_evaluation import evaluate_best
from ambulo.train.shared.rl_results import print_results, training_facts
from ambulo.train.shared.rl_run import RLRun
from ambulo.train.shared.run_request import RunRequest

FINAL_EPISODES = 100
"""Episodes of the final evaluation of walkers unless `--episodes` says otherwise."""
Request = RunRequest[LocomotionConfig]
CURVES = {
    "survival_rate": "on their feet to the end, in evaluations",
    "rollout/ep_rew_mean": "return of an episode",
    "rollout/ep_len_mean": "length of an episode [control steps]",
    "train/approx_kl": "divergence of an update",
}
"""Titles of the curves: one of the evaluations, then columns of `metrics.csv`."""


def finish(request: Request, run: RLRun[LocomotionTraining]) -> None:
    """Evaluate the best model beside the baselines, draw curves, print a summary."""
    args, config, folder = request.args, request.config, request.folder

    def curves() -> list[Picture]:
        return [Picture("learning.png", "Learning", learning_curves(folder))]

    with TemporaryDirectory() as scratch:
        arguments = [*_evaluation(request, run.task, Path(scratch))]
        evaluation = evaluate_best(request, arguments, training_facts(run), curves)
    base = config.gait.base
    use = ("evaluate", f"eval {folder.best_model} --episodes 100")
    if base is not None:  # it does not act alone
        use = ("compose", f"gait compose {base} {folder.path} --out cascade.zip")
    print_results(
        run,
        evaluation,
        args.json,
        steps="control steps",
        files=[
            ("report", folder.report),
            (use[0], f"{typed_command('ambulo')} {use[1]}"),
        ],
    )


def _evaluation(
    request: Request, task: LocomotionTraining, scratch: Path
) -> Iterator[str]:
    """Yield the arguments of `ambulo eval`; what it reads besides goes to `scratch`."""
    config, model = request.config, request.folder.best_model
    env, base = config.environment, config.gait.base
    episodes = request.args.episodes
    if base is not None:
        model = scratch / "cascade.zip"
        save_cascade(model, *composed(base, [request.folder.best_model]))
    yield str(model)
    if not request.args.deterministic and base is None:
        yield "--stochastic"
    if env.traits.clips:  # episodes are those of each clip
        (reference,) = task.references
        if env.traits.trackers:
            yield from ("--baselines", "gaits,poses")
        else:
            clips = scratch / "clips.npz"
            clips.write_bytes(reference_bytes(reference))
            yield from ("--clips", str(clips))
        if episodes is not None:
            episodes = max(1, episodes // len(reference.gaits))
            yield from ("--episodes", str(episodes))
        return
    episodes = episodes or FINAL_EPISODES
    yield from ("--seconds", f"{config.training.eval_seconds:g}")
    yield from ("--episodes", str(episodes))
    if env.traits.parameters:
        return
    hardest = env.push_impulse[1]
    yield from ("--push-episodes", str(episodes if hardest > 0.0 else 0))
    if hardest > 0.0:
        yield from ("--impulses", f"{hardest:g}")


def learning_curves(folder: RunFolder) -> bytes:
    """Return survival, returns, lengths and divergence over time as a PNG.

    What was not measured, as survival without evaluations, has no panel.
    """
    from ambulo.common.figures import new_figure, png_of

    logged = read_metrics(folder.metrics)
    evaluated = read_evaluations(folder.evaluations)
    curves = {
        "survival_rate": [(r["timesteps"], r["survival_rate"]) for r in evaluated]
    }
    for name in logged.keys() & CURVES.keys():
        rows = np.column_stack([logged["timesteps"], logged[name]])
        curves[name] = rows[np.isfinite(rows[:, 1])].tolist()
    shown = [name for name in CURVES if curves.get(name)]
    rows_of_panels = max(1, -(-len(shown) // 2))
    figure: Any = new_figure((9.0, 2.5 * rows_of_panels))
    for position, name in enumerate(shown, start=1):
        axes = figure.add_subplot(rows_of_panels, min(2, len(shown)), position)
        steps, values = np.transpose(curves[name])
        axes.plot(steps / 1000.0, values, "o-" if name == "survival_rate" else "-")
        axes.set_title(CURVES[name], fontsize=10)
        axes.set_xlabel("thousand control steps")
    figure.tight_layout()
    return png_of(figure)
