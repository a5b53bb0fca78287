"""`ambulo eval` of gait policies and references: drawn bodies, calm and pushed."""

from __future__ import annotations

from collections.abc import Mapping

from ambulo.common.console import bars
from ambulo.common.gl import import_mujoco
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.presets import LOCOMOTION_PRESETS
from ambulo.envs.reference.reference import (
    Reference,
    load_reference,
    reference_from_bytes,
)
from ambulo.evaluate.gait.policy_scores import (
    GaitPolicyScores,
    drawn_bodies,
    play_bodies,
)
from ambulo.evaluate.locomotion.cascades import (
    BASE,
    GaitPolicy,
    last_agent,
    load_gait_policy,
    varied,
)
from ambulo.evaluate.locomotion.evaluation import undisturbed
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest
from ambulo.evaluate.shared.result import POLICY, Breakdown, MetricColumn
from ambulo.policies.agents.cascade import Cascade

SECONDS = 10.0
"""Length of an episode, [s], unless `--seconds` says otherwise."""
CONTROLLER = "law"
BASELINES = {CONTROLLER: "the balance controller alone, with actions of 0"}
CALM = "undisturbed"
COLUMNS = (
    MetricColumn("survival_rate", "on feet", 0, percent=True),
    MetricColumn("survival_s", "time", 1),
    MetricColumn("joint_error_deg", "joints"),
    MetricColumn("stride_error", "stride off", 1, percent=True),
    MetricColumn("cadence_error", "cadence off", 1, percent=True),
    MetricColumn("speed_error", "speed off", 1, percent=True),
    MetricColumn("return_mean", "return", 0),
)
HEADLINE = ("survival_rate", "joint_error_deg", "speed_error", "return_mean")
NOTE = (
    "On feet: rate at the end. Off: mean absolute errors of those that did not fall, "
    "after the first second. Return: until a fall."
)

Actors = Mapping[str, tuple[LocomotionConfig, GaitPolicy | None]]
"""By agent: settings, and the policy; None plays actions of 0."""
Scores = Mapping[str, Mapping[str, GaitPolicyScores]]
"""By disturbance, then by agent."""


def run(request: EvalRequest) -> EvalOutcome:
    """Let policy, its base and the balance controller walk with the same bodies."""
    import_mujoco()
    args, file = request.args, request.model_file
    if args.push_episodes not in (None, 0):
        raise ConfigError(
            f"--push-episodes {args.push_episodes}: of a gait policy every body is "
            "pushed; 0 leaves pushes out"
        )
    policy = load_gait_policy(file)
    if isinstance(policy, Cascade) and not args.deterministic:
        raise ConfigError("--stochastic: a cascade acts with mean actions only")
    agent = last_agent(policy)
    if not agent.references:
        raise ModelFileError(f"{file}: holds no healthy gait")
    healthy = reference_from_bytes(agent.references[0], file)
    config = agent.config.override("gait", vary=varied(policy))
    if not args.deterministic:
        import torch

        torch.manual_seed(args.seed)
    actors: dict[str, tuple[LocomotionConfig, GaitPolicy | None]] = {
        POLICY: (config, policy)
    }
    if isinstance(policy, Cascade) and request.baselines:
        actors[BASE] = (config, policy.nodes[0].agent)
    actors |= dict.fromkeys(request.baselines, (config, None))
    return evaluate_bodies(request, config, healthy, actors)


def run_reference(request: EvalRequest) -> EvalOutcome:
    """Walk with bodies drawn for the preset `gait`, with and without balance controller."""
    import_mujoco()
    file = request.model_file
    reference = load_reference(file)
    config = LOCOMOTION_PRESETS.load("gait")
    body = config.environment.character
    if reference.character != body or reference.controller is None:
        raise ModelFileError(f"{file}: no balance controller of {body}")
    open_loop = config.override("environment", balance_law=False, feed_forward=True)
    configs = {"open_loop": open_loop}
    actors: Actors = {
        POLICY: (config, None),
        **{name: (configs[name], None) for name in request.baselines},
    }
    return evaluate_bodies(request, config, reference, actors)


def evaluate_bodies(
    request: EvalRequest, config: LocomotionConfig, healthy: Reference, actors: Actors
) -> EvalOutcome:
    """Return the scores of all `actors` on the same drawn bodies, calm and pushed."""
    bodies, seconds = request.episodes, request.args.seconds or SECONDS
    values = drawn_bodies(undisturbed(config, seconds), healthy, request.seed, bodies)
    disturbances = {CALM: (0.0, 0.0)}
    low, high = config.environment.push_impulse
    if high > 0.0 and request.args.push_episodes != 0:
        disturbances[f"pushed with {low:g} to {high:g} N s"] = (low, high)
    steps = undisturbed(config, seconds).environment.max_episode_steps
    scores: dict[str, dict[str, GaitPolicyScores]] = {}
    with bars(10) as shown:
        for title, impulse in disturbances.items():
            scores[title] = {}
            for name, (own, actor) in actors.items():
                task = shown.add_task(f"{name}, {title}", total=steps)
                scores[title][name] = play_bodies(
                    undisturbed(own, seconds).override(
                        "environment", push_impulse=impulse
                    ),
                    healthy,
                    values,
                    actor,
                    request.seed,
                    deterministic=request.args.deterministic,
                    progress=lambda task=task: shown.advance(task),  # type: ignore[misc]
                )
    return EvalOutcome(
        request.result(
            {name: s.metrics for name, s in scores[CALM].items()},
            COLUMNS,
            f"{bodies} bodies, {seconds:g} s, {CALM}",
            headline=HEADLINE,
            breakdowns=[_breakdown(scores, bodies, seconds)],
            rows=[
                {"agent": name, "disturbance": title, **row}
                for title, agents in scores.items()
                for name, s in agents.items()
                for row in s.per_body
            ],
            details={"seconds": seconds},
            notes=[NOTE],
        ),
        facts={
            "actions": "mean" if request.args.deterministic else "sampled",
            "bodies": f"{bodies}, parameters of seed {request.seed}",
        },
    )


def _breakdown(scores: Scores, bodies: int, seconds: float) -> Breakdown:
    """Return the scores by disturbance, without those of the main table."""
    pushed = {
        title: {name: s.metrics for name, s in agents.items()}
        for title, agents in scores.items()
        if title != CALM
    }
    title = f"{bodies} bodies, {seconds:g} s, "
    return Breakdown("disturbance", pushed, COLUMNS, title)
