"""The results of a training: the agent beside baselines on held-out levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ambulo.common.paths import typed_command
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr import NavigationEnvironmentConfig as Environment
from ambulo.evaluate.shared.result import POLICY, AgentMetrics
from ambulo.evaluate.vr.command import MAP_FILM
from ambulo.evaluate.vr.evaluation import DEFAULT_NUM_ENVS
from ambulo.train.shared.final_evaluation import evaluate_best
from ambulo.train.shared.rl_results import print_results, training_facts
from ambulo.train.shared.rl_run import RLRun
from ambulo.train.shared.run_request import RunRequest
from ambulo.train.vr.training import NavigationTraining

NAIVE = ("stand", "random", "straight", "potential")
"""Baselines that neither plan nor remember."""
BASELINES = (*NAIVE, "dwa", "planner", "oracle")
"""Planners in the final evaluation, beside the agent."""
NOTES = (
    "dwa, planner: classical planners with the senses of the agent; oracle: knows the whole "
    "map.",
)
"""Lines below the table."""
FINAL_EPISODES = 60
"""Episodes of the final evaluation unless `--episodes` says otherwise."""
Request = RunRequest[NavigationConfig]


def finish(request: Request, run: RLRun[NavigationTraining]) -> None:
    """Evaluate the best model beside the baselines, write the report, print a summary."""
    args, folder, env = request.args, request.folder, request.config.environment
    model = folder.best_model
    arguments = [
        str(model), "--episodes", str(args.episodes or FINAL_EPISODES),
        "--baselines", ",".join(BASELINES), "--body", env.body, *_world(env),
    ]  # fmt: skip
    if not args.deterministic:
        arguments.append("--stochastic")
    evaluation = evaluate_best(
        request, arguments, training_facts(run), films=(MAP_FILM,)
    )
    drawn = {
        name: file.resolve().as_uri()
        for name, file in (
            ("curve", folder.path / "learning_curve.png"),
            ("film", folder.path / MAP_FILM),
        )
        if file.is_file()
    }
    again = ["--episodes", "100", *_world(env)]
    print_results(
        run,
        evaluation,
        args.json,
        steps="environment steps",
        files=[
            ("evaluate", f"{typed_command('ambulo')} eval {model} {' '.join(again)}"),
            *drawn.items(),
            ("report", folder.report.resolve().as_uri()),
        ],
        notes=(*NOTES, _verdict(evaluation.agents)),
    )


def _world(env: Environment) -> Iterator[str]:
    """Yield the flags of `ambulo eval` that play in the same world."""
    if env.world != "compiled":
        yield from ("--world", env.world)
    if env.world == "godot":
        for name in (*ENGINE_PLACES, "scene"):
            if getattr(env, name) is not None:
                yield from (f"--{name.replace('_', '-')}", str(getattr(env, name)))
        if env.godot_engines > 1:
            engines = min(env.godot_engines, DEFAULT_NUM_ENVS)
            yield from ("--godot-engines", str(engines))
    if env.agents > 1:
        yield from ("--agents", str(env.agents))


def _verdict(agents: Mapping[str, AgentMetrics]) -> str:
    """Return one sentence: the agent beside the best naive baseline."""
    rates = {
        name: 100.0 * agents[name]["success_rate"].number
        for name in (POLICY, *NAIVE)
        if name in agents
    }
    own = rates.pop(POLICY)
    best = max(rates, key=rates.__getitem__)
    return (
        f"\nThe trained agent solves {own:.0f} %, the best naive baseline ({best}) "
        f"{rates[best]:.0f} %."
    )
