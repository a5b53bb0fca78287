"""`ambulo eval` of bodies that follow a player's trackers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.arrays import Floats
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.reference import Reference, reference_from_bytes
from ambulo.envs.tasks.track_body.batch import AnyTrackBody
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest, episode_bars
from ambulo.evaluate.shared.result import (
    POLICY,
    Breakdown,
    MetricColumn,
    column_notes,
    episode_rows,
    measured,
)
from ambulo.evaluate.tracking.body_agents import (
    BASELINES,
    BodyAgent,
    FutureBatch,
    baseline_agent,
    captured_clips,
    policy_agent,
)
from ambulo.evaluate.tracking.command import MOST_SHOWN, Cases, by_clip
from ambulo.evaluate.tracking.episodes import Starts, Tracked, play
from ambulo.ik.trackers.layout import HEAD_ROW, LEFT_HAND, RIGHT_HAND, TRACKED
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion

EPISODES = 4
"""Episodes of each clip, unless `--episodes` says otherwise."""
IMPULSE = 20.0
"""Push of the pushed episodes, [N s]."""
PUSH = (0.5, 1.5)
"""Time from the start of an episode to its push, [s]."""
LED = np.array(TRACKED)[[HEAD_ROW, LEFT_HAND, RIGHT_HAND]]
"""Bodies of head and hands."""
FARTHEST = 0.5
"""Mean distance of joints from the tracked ones at which a body is lost, [m]."""
COLUMNS = (
    MetricColumn(
        "success", "to the end", 0, percent=True, of=lambda cases: cases["calm"].success,
        meaning="episodes from the first frame that reach the end of their clip, with joints "
        "at most 0.5 m off on average",
    ),
    MetricColumn(
        "on_feet", "no fall", 0, percent=True, of=lambda cases: cases["calm"].on_feet,
        meaning="episodes without a fall until the end of their clip, wherever they are",
    ),
    MetricColumn(
        "success_pushed", f"pushed {IMPULSE:g} N s", 0, percent=True,
        of=lambda cases: cases["pushed"].success,
        meaning="to the end with one push in the first 1.7 s",
    ),
    MetricColumn(
        "joint_error_cm", "joints", 1,
        of=lambda cases: 100.0 * cases["calm"].errors[:, 0].mean(),
        meaning="mean distance of all joints from the captured ones in the world at the time "
        "of the newest sample, of all episodes, up to a fall or 0.5 m",
    ),
    MetricColumn(
        "tracker_error_cm", "head, hands", 1,
        meaning="mean distance of head and hands from the captured ones",
        of=lambda cases: 100.0 * cases["calm"].errors[:, 1].mean(),
    ),
    MetricColumn(
        "time_s", "time", 1, meaning="mean time up to there",
        of=lambda cases: cases["calm"].time.mean(),
    ),
)  # fmt: skip
NOTES = column_notes(COLUMNS)
"""Definitions, for the report."""


def run(request: EvalRequest) -> EvalOutcome:
    """Play all clips with the policy and the baselines."""
    import_mujoco()
    model = load_locomotion(request.model_file)
    policy = LocomotionAgent(model, str(request.model_file))
    reference, left_out = _clips(request, policy)
    count = request.args.episodes or EPISODES
    bodies, points = count * len(reference.gaits), request.args.points
    names = (POLICY, *request.baselines)
    runs: dict[str, Cases] = {}
    with episode_bars(names, 2 * bodies) as progress:
        for name in names:
            agent = _agent(name, request, policy, reference, (bodies, points))
            runs[name] = _play(agent, request.seed, partial(progress, name))
    clips = [gait.name for gait in reference.gaits]
    evaluation = request.result(
        {name: measured(COLUMNS, cases) for name, cases in runs.items()},
        COLUMNS,
        f"{len(clips)} clips, {count} episodes from the first frame of each",
        headline=("success", "on_feet", "joint_error_cm", "tracker_error_cm"),
        breakdowns=[
            Breakdown(
                "clip",
                by_clip(runs, np.arange(len(clips)), clips, COLUMNS),
                COLUMNS,
                in_terminal=1 < len(clips) <= MOST_SHOWN,
            )
        ],
        rows=episode_rows({n: _rows(cases, clips) for n, cases in runs.items()}),
        details={"clips": clips, "left_out": left_out},
        notes=[*NOTES, *(f"Left out: {text}" for text in left_out)],
        episodes=bodies,
    )
    facts = {name: BASELINES[name] for name in runs if name in BASELINES}
    shown = policy.config.trackers.points if points is None else points
    facts["trackers"] = f"{shown}"
    return EvalOutcome(evaluation, facts=facts)


def _clips(
    request: EvalRequest, policy: LocomotionAgent
) -> tuple[Reference, list[str]]:
    """The clips of `--clips`, or the one in the model file."""
    args, character = request.args, configured_character(policy.config.environment)
    if args.clips:
        paths = [resolve_path(path) for path in args.clips]
        return captured_clips(paths, character, args.seconds)
    source = str(request.model_file)
    return reference_from_bytes(policy.references[0], source), []


def _agent(
    name: str,
    request: EvalRequest,
    policy: LocomotionAgent,
    reference: Reference,
    sizes: tuple[int, int | None],
) -> BodyAgent:
    """Return an agent of `sizes`: bodies at once, and points that the policy observes."""
    bodies, points = sizes
    if name == POLICY:
        mean = request.args.deterministic
        return policy_agent(policy, reference, bodies, points, deterministic=mean)
    return baseline_agent(name, policy.config, reference, bodies, points)


def play_body(
    agent: BodyAgent,
    *,
    seed: int,
    impulse: float = 0.0,
    progress: Callable[[int], None] = lambda count: None,
) -> Tracked:
    """One episode of each body, from the first frame of its clip.

    `errors` are those of all joints, and of head and hands, from the captured ones.

    Args:
        agent: The bodies, those of a clip a number of clips apart.
        seed: Of noise and pushes.
        impulse: Of one push at a random time within `PUSH`, [N s]; 0: none.
        progress: Called with numbers of finished episodes.
    """
    batch: Any = agent.batch
    clips = np.arange(batch.num_envs) % len(batch.library.names)
    return play(
        batch, agent.act, Starts(clips, np.zeros_like(clips)), seed=seed, impulse=impulse,
        push=PUSH, distances=_from_captured, farthest=FARTHEST, progress=progress,
    )  # fmt: skip


def _from_captured(batch: AnyTrackBody | FutureBatch) -> Floats:
    """Mean distances of all joints, and of head and hands, (N, 2)."""
    apart = batch.captured_distances()
    return np.stack([apart.mean(axis=1), apart[:, LED].mean(axis=1)], axis=1)


def _play(agent: BodyAgent, seed: int, progress: Callable[[int], None]) -> Cases:
    impulses = {"calm": 0.0, "pushed": IMPULSE}
    return {
        case: play_body(agent, seed=1000 * seed, impulse=impulse, progress=progress)
        for case, impulse in impulses.items()
    }


def _rows(cases: Cases, clips: list[str]) -> list[Mapping[str, object]]:
    return [
        {
            "case": case,
            "clip": clips[played.clip[i]],
            "success": bool(played.success[i]),
            "on_feet": bool(played.on_feet[i]),
            "time_s": float(played.time[i]),
            "joint_error_cm": float(100.0 * joints),
            "tracker_error_cm": float(100.0 * led),
        }
        for case, played in cases.items()
        for i, (joints, led) in enumerate(played.errors)
    ]
