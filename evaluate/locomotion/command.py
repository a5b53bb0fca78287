"""`ambulo eval` of walkers: play, score, push and film."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from ambulo.common.gl import import_mujoco
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.reference import Reference
from ambulo.evaluate.locomotion.evaluation import (
    BASELINES,
    NUM_ENVS,
    SECONDS,
    LocomotionSubject,
    baselines_of,
    episode_numbers,
    episode_seconds,
    recorded,
    stored_references,
)
from ambulo.evaluate.locomotion.figures import (
    draw_gait,
    draw_joint_errors,
    draw_perturbations,
    draw_pushes,
)
from ambulo.evaluate.locomotion.perturbations import (
    LONGEST,
    Perturbation,
    chosen_groups,
    perturbed,
    suite,
    suite_details,
    suite_notes,
)
from ambulo.evaluate.locomotion.pushes import (
    HOPELESS,
    IMPULSES,
    PushRecovery,
    chosen_impulses,
    push_recovery,
)
from ambulo.evaluate.locomotion.recording import Recording
from ambulo.evaluate.locomotion.scores import (
    HEADLINE,
    PERTURBED,
    TABLE,
    LocomotionScores,
    agent_metrics,
    breakdowns,
    details,
    notes,
    record_rows,
    score,
)
from ambulo.evaluate.locomotion.trials import (
    check_walker,
    run_trials,
    trial_breakdowns,
)
from ambulo.evaluate.locomotion.walk_trials import NOTE, chosen_trials
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest, episode_bars
from ambulo.evaluate.shared.result import (
    POLICY,
    AgentMetrics,
    Picture,
    episode_rows,
    measured_groups,
)
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion

MAX_PUSHES = 100
"""Pushes of each impulse, at most, unless `--push-episodes` says otherwise."""


def run(request: EvalRequest) -> EvalOutcome:
    """Play undisturbed, pushed and perturbed episodes with the policy and the baselines."""
    import_mujoco()
    args, episodes = request.args, request.episodes
    pushed = args.push_episodes
    pushed = min(episodes, MAX_PUSHES) if pushed is None else pushed
    impulses = chosen_impulses(args.impulses)
    if impulses and not pushed:
        raise ConfigError("--impulses: --push-episodes 0 leaves pushes out")
    groups, trials = chosen_groups(args.perturb), chosen_trials(args.trials)
    subjects = _subjects(request)
    if trials:
        check_walker(subjects[POLICY].config.environment.task)
    seconds = episode_seconds(subjects[POLICY].config, args.seconds or SECONDS)
    recordings = _play(request, subjects, seconds)
    scores = {name: score(r, args.seed) for name, r in recordings.items()}
    pushes = _push(request, subjects, pushed, impulses)
    config = subjects[POLICY].config
    tried_changes = suite(groups, config, configured_character(config.environment))
    changed = _perturb(request, subjects, tried_changes, min(seconds, LONGEST))
    tried = run_trials(trials, subjects, args.seed, args.episodes)
    envs = args.num_envs or NUM_ENVS
    rows = {
        name: record_rows(r, episode_numbers(subjects[name], args.seed, episodes, envs))
        for name, r in recordings.items()
    }
    evaluation = request.result(
        {name: agent_metrics(s, pushes.get(name)) for name, s in scores.items()},
        TABLE,
        f"{episodes} episodes of {seconds:g} s",
        headline=HEADLINE,
        breakdowns=[
            *breakdowns(scores, pushes, changed),
            *trial_breakdowns(trials, tried),
        ],
        rows=episode_rows(rows),
        details={
            "seconds": seconds,
            **details(scores, pushes),
            **suite_details(tried_changes),
            **({"trials": tried} if tried else {}),
        },
        notes=notes(scores) + suite_notes(tried_changes) + ([NOTE] if tried else []),
    )
    facts = {
        "actions": "mean" if args.deterministic else "sampled",
        **{name: BASELINES[name] for name in subjects if name in BASELINES},
    }

    def film(path: Path, console: Console) -> None:
        _film(recordings[POLICY], config.environment, path, console)

    return EvalOutcome(
        evaluation, lambda: _pictures(scores, pushes, changed), facts, film
    )


def _subjects(request: EvalRequest) -> dict[str, LocomotionSubject]:
    """Return the policy, then the baselines."""
    args, file = request.args, request.model_file
    model = load_locomotion(file)
    try:
        agent = LocomotionAgent(model, str(file))
        configured_character(agent.config.environment)
    except ConfigError as error:
        raise ModelFileError(f"{file}: {error}") from None
    references: tuple[Reference | None, ...] = stored_references(model, str(file))
    references = references or (None,)
    if not args.deterministic:
        import torch

        torch.manual_seed(args.seed)
    config = agent.config
    if args.backend is not None:
        config = config.override("environment", backend=args.backend)
    policy = LocomotionSubject(
        config, references, agent, args.deterministic, agent.muscles
    )
    baselines = baselines_of(request.baselines, config, references)
    return {
        POLICY: policy,
        **{n: replace(one, muscles=agent.muscles) for n, one in baselines.items()},
    }


def _play(
    request: EvalRequest, subjects: Mapping[str, LocomotionSubject], seconds: float
) -> dict[str, Recording]:
    """Play all undisturbed episodes."""
    with episode_bars(subjects, request.episodes) as progress:
        return {
            name: recorded(
                subject, request.episodes, seconds=seconds, seed=request.seed,
                envs=request.args.num_envs or NUM_ENVS, progress=partial(progress, name),
            )
            for name, subject in subjects.items()
        }  # fmt: skip


def _push(
    request: EvalRequest,
    subjects: Mapping[str, LocomotionSubject],
    episodes: int,
    chosen: Sequence[float],
) -> dict[str, PushRecovery]:
    """Return the push recovery of all agents; nothing for no episodes."""
    if not episodes:
        return {}
    impulses = chosen or IMPULSES
    with episode_bars(subjects, episodes * len(impulses), "push ") as progress:
        return {
            name: push_recovery(
                subject, episodes, impulses=impulses, hopeless=0.0 if chosen else HOPELESS,
                seed=request.seed, envs=request.args.num_envs or NUM_ENVS,
                progress=partial(progress, name),
            )
            for name, subject in subjects.items()
        }  # fmt: skip


def _perturb(
    request: EvalRequest,
    subjects: Mapping[str, LocomotionSubject],
    changes: Sequence[Perturbation],
    seconds: float,
) -> dict[str, dict[str, AgentMetrics]]:
    """Return the metrics by perturbation and agent; nothing for no perturbation."""
    args, total = request.args, request.episodes * len(changes)
    if not changes:
        return {}

    def metrics(name: str, change: Perturbation) -> AgentMetrics | None:
        scores = perturbed(
            subjects[name], change, request.episodes, seconds=seconds,
            seed=request.seed, envs=args.num_envs or NUM_ENVS,
            progress=partial(progress, name),
        )  # fmt: skip
        return None if scores is None else scores.metrics

    with episode_bars(subjects, total, "perturb ") as progress:
        rows = {n: {one.name: metrics(n, one) for one in changes} for n in subjects}
    return measured_groups(PERTURBED, rows)


def _pictures(
    scores: Mapping[str, LocomotionScores],
    pushes: Mapping[str, PushRecovery],
    rows: Mapping[str, Mapping[str, AgentMetrics]],
) -> list[Picture]:
    drawn, gait = [], scores[POLICY].gait
    if gait is not None:
        caption = f"Gait cycle of {POLICY}: {gait.strides} strides"
        drawn.append(Picture("gait.png", caption, draw_gait(gait, POLICY)))
    if pushes:
        drawn.append(Picture("pushes.png", "Push recovery", draw_pushes(pushes)))
    if rows:
        png = draw_perturbations(rows, "survival_rate", "on its feet to the end")
        drawn.append(Picture("perturbations.png", "Perturbations", png))
    errors = draw_joint_errors(scores)
    return [*drawn, Picture("joints.png", "Tracking error by joint", errors)]


def _film(
    recording: Recording,
    environment: LocomotionEnvironmentConfig,
    path: Path,
    console: Console,
) -> None:
    """Film the first episode until its end or a fall."""
    from ambulo.viz.body_film import write_gait_film

    character = configured_character(environment)
    last = max(1, int(recording.standing[:, 0].sum()))
    console.print(
        f"filming {last * recording.dt:.0f} s "
        "(minutes, where pictures are drawn without a graphics card)",
        markup=False,
    )
    poses = recording.poses[:last, 0]
    write_gait_film(path, character.model, character, poses, recording.dt)
