"""`ambulo eval` of policies that track clips: every clip from several starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.arrays import Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.reference.clips.read_clips import read_clips
from ambulo.envs.reference.configured import check_reference, configured_character
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.locomotion.figures import draw_perturbations
from ambulo.evaluate.locomotion.perturbations import (
    Perturbation,
    chosen_groups,
    suite,
    suite_details,
    suite_notes,
)
from ambulo.evaluate.locomotion.pushes import chosen_impulses
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest, episode_bars
from ambulo.evaluate.shared.result import (
    POLICY,
    AgentMetrics,
    Breakdown,
    MetricColumn,
    Picture,
    column_notes,
    episode_rows,
    measured,
    measured_groups,
)
from ambulo.evaluate.tracking.episodes import (
    NEVER,
    Starts,
    Tracked,
    Tracker,
    first_starts,
    play,
    random_starts,
)
from ambulo.evaluate.tracking.figures import draw_clips, draw_errors, write_film_of
from ambulo.evaluate.tracking.perturbed import COLUMNS as PERTURBED_COLUMNS
from ambulo.evaluate.tracking.perturbed import joint_error_cm, perturbed, pushes
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion

BASELINES = {
    "poses": "stable PD on the shown poses, without an action",
    "feedback": "the feedback of each fitted clip; needs clips of `ambulo fit`",
}
"""Descriptions of the baselines."""
RANDOM = 8
"""Random starts of each clip, unless `--episodes` says otherwise."""
IMPULSE = 20.0
"""Push of the pushed episodes, [N s]."""
NUM_ENVS = 64
"""Bodies at once, unless `--num-envs` says otherwise."""
MOST_SHOWN = 6
"""Clips whose tables the terminal shows, from two on; the report has those of all."""
COLUMNS = (
    MetricColumn(
        "success", "to the end", 0, percent=True,
        of=lambda cases: cases["random"].success,
        meaning="episodes from a random frame that reach the end of their clip: the root at "
        "most 0.25 m (height) and 0.8 rad off, joints at most 0.5 m off on average",
    ),
    MetricColumn(
        "success_first", "from first frame", 0, percent=True,
        of=lambda cases: cases["first"].success,
        meaning="the same of episodes from the first frame",
    ),
    MetricColumn(
        "success_pushed", f"pushed {IMPULSE:g} N s", 0, percent=True,
        of=lambda cases: cases["pushed"].success,
        meaning="the same of episodes from a random frame with one push",
    ),
    MetricColumn(
        "joint_error_cm", "joints", 1,
        of=lambda cases: joint_error_cm(cases["random"]),
        meaning="mean distance of joints from the clip's in the world, of episodes from a "
        "random frame that reach the end",
    ),
    MetricColumn(
        "time_s", "time", 1, of=lambda cases: cases["random"].time.mean(),
        meaning="mean length of episodes from a random frame",
    ),
)  # fmt: skip
CLIP_COLUMNS = COLUMNS[:4]
NOTES = column_notes(COLUMNS)
"""Definitions, for the report."""

Cases = dict[str, Tracked]


def run(request: EvalRequest) -> EvalOutcome:
    """Play all clips with the policy and the baselines."""
    import_mujoco()
    impulses = chosen_impulses(request.args.impulses)
    groups = chosen_groups(request.args.perturb)
    count, first = _starts(request)
    model = load_locomotion(request.model_file)
    agent = LocomotionAgent(model, str(request.model_file))
    batch = _batch(request, agent)
    clips = _shown(batch, bool(request.args.as_captured))
    trackers = _trackers(request, agent, batch)
    runs = _play(request, trackers, batch, clips)
    changes = suite(groups, batch.config, batch.character)
    pushed = pushes(impulses)
    rows = _perturb(request, trackers, batch, clips, [*pushed, *changes])
    by_impulse, by_change = (
        {one.name: rows[one.name] for one in own} for own in (pushed, changes)
    )
    names = [batch.clip_names[clip] for clip in clips]
    evaluation = request.result(
        {name: measured(COLUMNS, cases) for name, cases in runs.items()},
        COLUMNS,
        evaluated_text(len(clips), count, first),
        headline=("success", "success_first", "success_pushed", "joint_error_cm"),
        breakdowns=[
            Breakdown(
                "clip",
                by_clip(runs, clips, names, COLUMNS),
                CLIP_COLUMNS,
                in_terminal=1 < len(clips) <= MOST_SHOWN,
            ),
            Breakdown(
                "impulse", by_impulse, PERTURBED_COLUMNS, "pushed / joint error [cm]"
            ),
            Breakdown(
                "perturbation",
                by_change,
                PERTURBED_COLUMNS,
                "to the end under perturbations / joint error [cm]",
            ),
        ],
        rows=episode_rows({n: _rows(cases, batch) for n, cases in runs.items()}),
        details={"clips": names, **suite_details(changes)},
        notes=[*NOTES, *suite_notes(changes)],
        episodes=(count + first) * len(clips),
    )
    tracker = trackers[POLICY]

    def pictures() -> list[Picture]:
        drawn = [
            Picture("clips.png", "Clips", draw_clips(runs, clips, names)),
            Picture("errors.png", "Error over time", draw_errors(runs)),
        ]
        if by_change:
            png = draw_perturbations(by_change, "success", "to the end of the clip")
            drawn.append(Picture("perturbations.png", "Perturbations", png))
        return drawn

    def film(path: Path, console: Console) -> None:
        write_film_of(path, batch, tracker, _longest(batch, clips))

    facts = {name: BASELINES[name] for name in runs if name in BASELINES}
    facts["clips"] = "as captured" if request.args.as_captured else "as given"
    return EvalOutcome(evaluation, pictures, facts, film)


def _starts(request: EvalRequest) -> tuple[int, int]:
    """Random starts of each clip (`--episodes`), and half as many at its first frame."""
    count = request.args.episodes or RANDOM
    return count, max(1, count // 2)


def evaluated_text(clips: int, random: int, first: int) -> str:
    """Clips and starts of the evaluation, as a sentence."""
    text = f"{_number(random, 'random start')} and {first} at the first frame"
    return f"{_number(clips, 'clip')}, {text}{' of each' if clips > 1 else ''}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _batch(request: EvalRequest, agent: LocomotionAgent) -> TrackBatch:
    """Bodies that follow the clips, or the clip of the model file."""
    args = request.args
    config = agent.config.override(
        "environment",
        captured_share=0.5 if args.as_captured else 0.0,
        start_position_noise=0.01,
        start_velocity_noise=0.05,
        max_episode_steps=100_000,
        push_impulse=(1.0, 1.0),
        push_interval=(NEVER, NEVER),
    )
    env = config.environment
    character = configured_character(env)
    if args.clips:
        paths = [resolve_path(path) for path in args.clips]
        reference = read_clips(paths, character, env.control_dt, frames=args.frames)
    elif args.frames:
        raise ConfigError(f"--frames {args.frames}: is for a file that --clips names")
    else:
        source = str(request.model_file)
        reference = reference_from_bytes(agent.references[0], source)
    check_reference(reference, character, env)
    most = len(reference.gaits) * _starts(request)[0]  # more would play nothing
    count = min(args.num_envs or NUM_ENVS, most)
    return TrackBatch(config, reference, character, num_envs=count)


def _shown(batch: TrackBatch, captured: bool) -> Ints:
    """Numbers of the clips that are played."""
    fitted = len(np.unique(batch.fitted))
    if not captured:
        return np.arange(fitted)
    if len(batch.fitted) == fitted:
        raise ConfigError(
            "--as-captured: none of the clips was kept as captured; give their motion files"
        )
    return np.arange(fitted, len(batch.fitted))


def _trackers(
    request: EvalRequest, agent: LocomotionAgent, batch: TrackBatch
) -> dict[str, Tracker]:
    """The policy, then the baselines."""
    deterministic = request.args.deterministic

    def policy(batch: TrackBatch) -> np.ndarray:
        return agent.act(batch.obs, deterministic=deterministic)

    found: dict[str, Tracker] = {POLICY: policy}
    if "poses" in request.baselines:
        found["poses"] = lambda batch: np.zeros((batch.num_envs, batch.action_size))
    has_feedback = all(gait.controller for gait in batch.reference.gaits)
    if "feedback" in request.baselines and has_feedback:
        found["feedback"] = lambda batch: batch.teacher_actions()
    elif "feedback" in request.baselines and request.args.baselines:
        raise ConfigError(
            "--baselines feedback: these clips have none: ambulo fit them"
        )
    return found


def _play(
    request: EvalRequest,
    trackers: Mapping[str, Tracker],
    batch: TrackBatch,
    clips: Ints,
) -> dict[str, Cases]:
    seed = request.seed
    count, first = _starts(request)
    starts: dict[str, tuple[Starts, float]] = {
        "random": (random_starts(batch, clips, count, seed), 0.0),
        "first": (first_starts(clips, first), 0.0),
        "pushed": (random_starts(batch, clips, count, seed + 1), IMPULSE),
    }
    total = sum(len(own) for own, _ in starts.values())
    with episode_bars(trackers, total) as progress:
        return {
            name: {
                case: play(
                    batch, tracker, own, seed=1000 * seed, impulse=impulse,
                    progress=partial(progress, name),
                )
                for case, (own, impulse) in starts.items()
            }
            for name, tracker in trackers.items()
        }  # fmt: skip


def _perturb(
    request: EvalRequest,
    trackers: Mapping[str, Tracker],
    batch: TrackBatch,
    clips: Ints,
    changes: Sequence[Perturbation],
) -> dict[str, dict[str, AgentMetrics]]:
    """Metrics by perturbation and agent, from random starts; nothing for no perturbation."""
    count = sum(not one.missing for one in changes)
    if not count:
        return {one.name: {} for one in changes}
    starts = random_starts(batch, clips, _starts(request)[0], request.seed)
    with episode_bars(trackers, count * len(starts)) as progress:
        return perturbed(
            batch,
            trackers,
            starts,
            changes,
            seed=1000 * request.seed,
            progress=progress,
        )


def by_clip(
    runs: Mapping[str, Cases],
    clips: Ints,
    names: Sequence[str],
    columns: Sequence[MetricColumn],
) -> dict[str, dict[str, AgentMetrics]]:
    """Return the metrics of each clip, by its name and agent."""
    return measured_groups(
        columns,
        {
            agent: {
                name: {c: t.only(t.clip == clip) for c, t in cases.items()}
                for clip, name in zip(clips, names, strict=True)
            }
            for agent, cases in runs.items()
        },
    )


def _rows(cases: Cases, batch: TrackBatch) -> list[dict[str, object]]:
    return [
        {
            "case": case,
            "clip": batch.clip_names[tracked.clip[i]],
            "start_s": float(tracked.step[i] * batch.simulation.dt),
            "success": bool(tracked.success[i]),
            "time_s": float(tracked.time[i]),
            "joint_error_cm": float(100.0 * tracked.error[i]),
        }
        for case, tracked in cases.items()
        for i in range(len(tracked.success))
    ]


def _longest(batch: TrackBatch, clips: Ints) -> int:
    """The clip of a film: the first of the longest ones."""
    return int(clips[np.argmax(batch.library.knots[clips])])
