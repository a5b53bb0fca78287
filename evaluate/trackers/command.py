"""`ambulo eval` of body trackers: captured clips, seen by a few trackers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ambulo.common.paths import resolve_path
from ambulo.configs.arrays import Bools
from ambulo.configs.errors import ConfigError, MotionError, MotionFileError
from ambulo.evaluate.shared.intervals import clip_interval
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest, episode_bars
from ambulo.evaluate.shared.result import (
    POLICY,
    AgentMetrics,
    Breakdown,
    Metric,
    MetricColumn,
    column_notes,
    episode_rows,
    metric,
    unit_of,
)
from ambulo.evaluate.trackers.baselines import (
    PolicyTrack,
    SolvedTrack,
    StandingTrack,
    Track,
    tracked,
)
from ambulo.evaluate.trackers.nearest import NearestTrack, Neighbours
from ambulo.evaluate.trackers.scores import MotionScores, errors_of, motion_scores
from ambulo.ik.data.sequences import load_sequences, sized_motion
from ambulo.ik.trackers.layout import LEFT_HAND, RIGHT_HAND
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracks import TrackerTrack, track_of
from ambulo.motion.datasets.clips import scan_clips
from ambulo.motion.gaits.generated_walks import SOURCE, generated_walks
from ambulo.motion.motion import Motion
from ambulo.policies.agents.body_tracker import load_tracker_network
from ambulo.policies.kinds.body_tracker import TrackerMetadata

RATE = 60.0
"""Samples per second by default."""
SETTLE = 0.5
"""Time at the beginning of a clip that does not count, [s]."""
LOSS_SECONDS, LOSS_EVERY = 1.0, 4.0
"""Length of a dropout, and time from one to the next, [s]."""
WALK_SECONDS = 8.0
"""Length of generated walks, [s]."""
COLUMNS = (
    MetricColumn("mpjpe_cm", "joints", 2, meaning="mean distance of all 23 joints"),
    MetricColumn("legs_cm", "legs", 1, meaning="the same of the joints of the legs"),
    MetricColumn("hands_cm", "hands", 2, meaning="the same of the wrists"),
    MetricColumn("mpjre_deg", "rotations", 1, meaning="mean angle of the joints' rotations"),
    MetricColumn(
        "skate_ratio", "skate", 2,
        meaning="mean horizontal speed of feet within 2.5 cm of the ground, over the true one",
    ),
    MetricColumn(
        "above_rate", "not sunk", 1, percent=True,
        meaning="frames without a foot more than 2 cm under the ground",
    ),
    MetricColumn(
        "pops_per_min", "pops a minute", 2,
        meaning="a joint's velocity changes by 3 m/s between two frames where the true one's "
        "does not",
    ),
    MetricColumn(
        "jerk_ratio", "jerk", 2,
        meaning="mean third derivative of the joints' positions, over the true one",
    ),
    MetricColumn("dropout_cost_cm", "a lost hand", 2, meaning="what a dropout adds to joints"),
    MetricColumn("step_us", "a frame [us]", 0, meaning="median time of a step, from Python"),
)  # fmt: skip
HEADLINE = ("mpjpe_cm", "legs_cm", "skate_ratio", "pops_per_min", "jerk_ratio")
NOTES = column_notes(COLUMNS)
SHORT_COLUMNS = COLUMNS[:3]


@dataclass(frozen=True)
class EvaluatedClip:
    """A captured clip, ready to be tracked."""

    name: str
    """Subject and trial."""
    subject: str
    """The person who moves."""
    activity: str
    """Label of the movement."""
    motion: Motion
    """On human23 with the performer's proportions."""
    shape: BodyShape
    """These proportions."""


MakeTrack = Callable[[BodyShape], Track]
"""Prepares a player of a shape."""


def run(request: EvalRequest) -> EvalOutcome:
    """Track every clip with the model and the baselines."""
    args = request.args
    rate, noise = args.rate or RATE, (args.noise_mm or 0.0) / 1000.0
    points = args.points or 3
    network, header = load_tracker_network(request.model_file)
    clips, refused = read_clips(args.clips or (), rate, request.args.episodes)
    agents = _agents(request, network, header)
    rows: dict[str, list[MotionScores]] = {name: [] for name in agents}
    with episode_bars(agents, len(clips)) as advance:
        for clip in clips:
            track = track_of(clip.motion, points, noise=noise, seed=request.seed)
            for name, make in agents.items():
                rows[name].append(_scores(make, clip, track, dropout=args.dropout))
                advance(name, 1)
    about = (
        f"{len(clips)} clips of {len({clip.subject for clip in clips})} people"
        if args.clips
        else f"{SOURCE} (no captured people: give --clips)"
    )
    noisy = f", noise of {1000 * noise:g} mm" if noise else ""
    shape = "found by the tracker" if args.uncalibrated else "known"
    labels = [
        {"clip": clip.name, "person": clip.subject, "activity": clip.activity}
        for clip in clips
    ]

    def by(label: str) -> dict[str, dict[str, AgentMetrics]]:
        values = [row[label] for row in labels]
        return {
            value: {
                name: _metrics(
                    [s for s, v in zip(own, values, strict=True) if v == value],
                    request.seed,
                )
                for name, own in rows.items()
            }
            for value in dict.fromkeys(values)
        }

    return EvalOutcome(
        request.result(
            {name: _metrics(scores, request.seed) for name, scores in rows.items()},
            COLUMNS,
            f"{about}, {points} trackers at {rate:g} Hz{noisy}, proportions {shape}",
            kind="body_tracker",
            episodes=len(clips),
            headline=HEADLINE,
            breakdowns=[
                Breakdown("person", by("person"), SHORT_COLUMNS, in_terminal=False),
                Breakdown("activity", by("activity"), SHORT_COLUMNS),
            ],
            rows=episode_rows(
                {
                    name: [label | s for label, s in zip(labels, scores, strict=True)]
                    for name, scores in rows.items()
                }
            ),
            details={"refused": refused},
            notes=NOTES,
        )
    )


def read_clips(
    paths: Sequence[str], rate: float, most: int | None = None
) -> tuple[list[EvaluatedClip], list[str]]:
    """Return the clips of files and folders at `rate`, and why others cannot be used.

    Args:
        paths: Files and folders; none: generated walks.
        rate: Frames per second.
        most: At most so many clips, evenly chosen; None: all.

    Raises:
        ConfigError: None can be used.
    """
    if not paths:
        walks = generated_walks(rate, WALK_SECONDS)
        shape = BodyShape()
        return [
            EvaluatedClip(w.name, "generated", "walk", w, shape)
            for w in walks[:: max(1, len(walks) // (most or len(walks)))]
        ], []
    found, errors = scan_clips([resolve_path(path) for path in paths], check=False)
    if most and len(found) > most:
        chosen = np.linspace(0, len(found) - 1, most).astype(int)
        found = [found[i] for i in chosen]
    refused = [str(error) for error in errors]
    clips = []
    for clip in found:
        try:
            motion, shape = sized_motion(clip.path, rate, asf=clip.asf)
        except (MotionFileError, MotionError) as error:
            refused.append(str(error))
            continue
        if len(motion) < (SETTLE + 0.5) * rate:
            refused.append(f"{clip.path}: shorter than a second")
            continue
        clips.append(
            EvaluatedClip(clip.name, clip.subject, clip.activity, motion, shape)
        )
    if not clips:
        reason = f": {refused[0]}" if refused else ""
        raise ConfigError(f"--clips: no motion file can be used{reason}")
    return clips, refused


def _agents(
    request: EvalRequest, network: TrackerNetwork, header: TrackerMetadata
) -> dict[str, MakeTrack]:
    """Return the model and the baselines, by name.

    Raises:
        ConfigError: The nearest poses of training people were asked for without them.
    """
    agents: dict[str, MakeTrack] = {
        POLICY: partial(PolicyTrack, network, known=not request.args.uncalibrated),
        "no_network": SolvedTrack,
        "standing": StandingTrack,
    }
    files = request.args.data or ()
    if "nearest" in request.baselines and files:
        if len(files) > 1:
            raise ConfigError("--data: one file of sequences")
        data = load_sequences(resolve_path(files[0]))
        people = list(header.extra.get("people", {}).get("train", []))
        agents["nearest"] = partial(NearestTrack, Neighbours(data, people))
    elif "nearest" in (request.args.baselines or ""):
        raise ConfigError(
            "--baselines nearest: needs --data, the file of `ambulo ik sequences` that "
            "the model was trained on"
        )
    names = (POLICY, *request.baselines)
    return {name: agents[name] for name in names if name in agents}


def _scores(
    make: MakeTrack, clip: EvaluatedClip, track: TrackerTrack, *, dropout: bool
) -> MotionScores:
    """Track one clip with one agent."""
    skip = round(SETTLE * track.fps)
    samples = (track.sample(frame) for frame in range(len(track)))
    motion, times = tracked(make(clip.shape), samples, clip.motion.fps)
    scores = motion_scores(motion, clip.motion, skip)
    scores["step_us"] = 1e6 * float(np.median(times))
    lost = lost_hands(len(track), track.fps)
    hands = lost.any(axis=1)
    if dropout and hands.any():
        part = replace(track, present=track.present & ~lost)
        samples = (part.sample(frame) for frame in range(len(part)))
        other, _ = tracked(make(clip.shape), samples, clip.motion.fps)
        far = errors_of(other, clip.motion) - errors_of(motion, clip.motion)
        scores["dropout_cost_cm"] = float(far[hands].mean())
    return scores


def lost_hands(frames: int, fps: float) -> Bools:
    """Frames (T, 6) in which one hand is lost, left and right in turn."""
    lost = np.zeros((frames, 6), dtype=np.bool_)
    start, hand = 2.0, LEFT_HAND
    while (start + LOSS_SECONDS) * fps < frames:
        lost[round(start * fps) : round((start + LOSS_SECONDS) * fps), hand] = True
        start, hand = start + LOSS_EVERY, LEFT_HAND + RIGHT_HAND - hand
    return lost


def _metrics(rows: Sequence[Mapping[str, float]], seed: int) -> AgentMetrics:
    """Return means over time with bootstrap intervals over clips."""
    seconds = np.array([row["seconds"] for row in rows])

    def mean(name: str, over: str | None = None) -> dict[str, Metric]:
        """Means of the clips that have it (short ones lose no hand), 0 divided by 0: none."""
        known = [row for row in rows if name in row]
        times = np.array([row["seconds"] for row in known])
        values = times * [row[name] for row in known]
        below = times * [1.0 if over is None else row[over] for row in known]
        if not known or below.sum() <= 0.0:
            return {name: metric(None, unit_of(name))}
        ends = clip_interval(values, np.arange(len(known)), seed, below)
        value = float(values.sum() / below.sum())
        return {name: metric(value, unit_of(name), ends)}

    result: dict[str, Metric] = {}
    for name in (
        "mpjpe_cm", "legs_cm", "hands_cm", "head_cm", "mpjre_deg", "dropout_cost_cm",
        "step_us",
    ):  # fmt: skip
        result |= mean(name)
    for name, part, whole in (
        ("skate_ratio", "skate_cm_s", "true_skate_cm_s"),
        ("jerk_ratio", "jerk", "true_jerk"),
    ):
        result[name] = replace(mean(part, whole)[part], unit="1")
    sunk = float((seconds * [row["sunk_rate"] for row in rows]).sum() / seconds.sum())
    pops = sum(row["pops"] for row in rows)
    result["above_rate"] = metric(1.0 - sunk)
    result["pops_per_min"] = metric(60.0 * pops / float(seconds.sum()))
    return result
