"""`ambulo eval` of motion networks: windows of captured clips, or of generated walks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.common.console import bars
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, MotionError
from ambulo.evaluate.motion.baselines import SIMPLE
from ambulo.evaluate.motion.evaluation import evaluate
from ambulo.evaluate.motion.metrics import HORIZONS_MS
from ambulo.evaluate.motion.pictures import FILMS, MotionPictures
from ambulo.evaluate.motion.results import (
    COLUMNS,
    HEADLINE,
    NOTES,
    agent_metrics,
    breakdowns,
    details,
    window_rows,
)
from ambulo.evaluate.motion.windows import EvalClip, EvalData, WindowPlan
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest
from ambulo.motion import human23
from ambulo.motion.datasets.clips import Clip
from ambulo.motion.datasets.prepare import prepare_clips
from ambulo.motion.datasets.splits import SPLIT_FILE, Split, load_split
from ambulo.motion.gaits.generated_walks import SOURCE, generated_walks

if TYPE_CHECKING:
    from ambulo.policies.networks.motion_nn import MotionNN

HISTORY = 10
"""States that baselines are given when there is no model."""
FPS = 25.0
"""Frames a second when there is no model, [Hz]."""
MAX_HORIZON_MS = 60_000
"""Longest horizon, [ms]."""
WALK_SECONDS = 8.0
"""Length of a generated walk, [s]."""
WALKS = "generated walks"
"""Part of the data that generated walks are."""


def run(request: EvalRequest) -> EvalOutcome:
    """Predict the same windows with the network and the baselines."""
    args, file = request.args, request.file
    horizons = _horizons(args.horizons)
    network = None if file is None else _network(file, args.device)
    plan = plan_of(network, horizons, args)
    split = _split(request)
    fits = not set(request.baselines) <= set(SIMPLE)
    data = (
        generated_data(plan)
        if split is None
        else load_data(split, plan, args, fits=fits)
    )
    measured = evaluate(data, network, plan, args.device, request.baselines)
    part = WALKS if split is None else _part(args)
    facts = {
        "part": part,
        "split_by": None if split is None else split.by,
        "fps": plan.fps,
        "history": plan.history,
        "num_frames": args.num_frames,
        "stride": args.stride,
    }
    numbers, windows = details(measured, facts), measured.windows
    about = f"{len(windows)} windows of {len(windows.names)}"
    notes = list(NOTES)
    if split is None:
        about = f"{about} {SOURCE} (no captured clips: give --data)"
        notes.append(
            "Generated walks are periodic and without noise: ridge regression, fitted to "
            "other such walks, is hard to beat there. The network has never seen them."
        )
    else:
        about = f"{about} {part} clips"
    evaluation = request.result(
        {name: agent_metrics(s) for name, s in measured.scores.items()},
        COLUMNS,
        about,
        episodes=len(windows),
        headline=HEADLINE,
        breakdowns=breakdowns(measured.scores),
        rows=window_rows(measured),
        details=numbers,
        notes=[*notes, *_target_notes(numbers["targets"])],
    )
    drawn = MotionPictures(measured)
    shown = {key: str(value) for key, value in facts.items() if value is not None}
    films = () if args.no_video else FILMS
    return EvalOutcome(evaluation, drawn.pictures, shown, drawn.film, films)


def _target_notes(targets: Sequence[dict[str, object]]) -> Iterator[str]:
    for target in targets:
        reached = "reached" if target["met"] else "missed"
        yield f"Target {reached}: {target['name']}: {target['value']} ({target['limit']})"


def load_data(
    split: Split, plan: WindowPlan, args: Any, *, fits: bool = True
) -> EvalData:
    """Read, filter, resample and retarget clips; `MotionError` if a part is empty.

    Those that baselines are fitted to are left out unless `fits`.
    """
    part = _part(args)
    judged = split.part(part)
    needed = {part: judged} | ({"train": split.train} if fits else {})
    for name, clips in needed.items():
        if not clips:
            raise MotionError(f"the split has no {name} clips")
    arrays = [
        EvalClip(clip.name, clip.activity, clip.positions[: args.num_frames])
        for clip in _prepared(judged, plan.fps, f"{part} clips")
    ]
    if not fits:
        return EvalData(arrays, [], [])
    train = list(_prepared(split.train, plan.fps, "training clips"))
    if part == "test" and split.validation:
        chosen = list(_prepared(split.validation, plan.fps, "validation clips"))
        return EvalData(arrays, train, chosen)
    # Strengths are never chosen on what is judged: hold out some training clips.
    return EvalData(arrays, *_held_out(train))


def generated_data(plan: WindowPlan) -> EvalData:
    """Return generated walks at several speeds; baselines are fitted to other ones."""
    seconds = max(WALK_SECONDS, 2.0 * (plan.history + plan.steps) / plan.fps)

    def clips(strides: Sequence[float], cadences: Sequence[float]) -> list[EvalClip]:
        return [
            EvalClip(motion.name, "walk", human23.to_positions(motion))
            for motion in generated_walks(plan.fps, seconds, strides, cadences)
        ]

    judged = clips((0.8, 0.95, 1.1), (0.9, 1.1))
    return EvalData(judged, *_held_out(clips((0.75, 0.9, 1.0, 1.2), (0.85, 1.0, 1.2))))


def _held_out(train: list[EvalClip]) -> tuple[list[EvalClip], list[EvalClip]]:
    """Return clips to fit on, and every fifth to choose strengths on."""
    chosen = train[::5]
    return [clip for k, clip in enumerate(train) if k % 5] or chosen, chosen


def plan_of(
    network: MotionNN | None, horizons: tuple[int, ...], args: Any
) -> WindowPlan:
    """Return what is predicted from what; refuses `--num_frames` that hold no window."""
    history = HISTORY if network is None else max(HISTORY, network.config.history)
    fps = FPS if network is None else network.config.fps
    plan = WindowPlan(history, fps, horizons, args.stride, args.episodes, args.seed)
    need = history + 1 + plan.steps
    if args.num_frames is not None and args.num_frames < need:
        raise ConfigError(
            f"--num_frames {args.num_frames}: a window has {need} frames, "
            f"{history + 1} known and {plan.steps} to predict"
        )
    return plan


def _network(file: Path, device: str) -> MotionNN:
    from ambulo.policies.agents.motion import load_motion_nn

    try:
        return load_motion_nn(file, device)
    except RuntimeError as error:  # torch's word for a device that is not there
        raise ConfigError(f"--device {device}: {error}") from None


def _split(request: EvalRequest) -> Split | None:
    """Return the split with its clips; None for a model without clips nor `--data`."""
    args, file = request.args, request.file
    folders = [resolve_path(folder) for folder in args.data or ()]
    if args.split_file is not None:
        return load_split(resolve_path(args.split_file), folders)
    places = [] if file is None else [file.parent, file.parent.parent]
    known = [place / SPLIT_FILE for place in places if (place / SPLIT_FILE).is_file()]
    in_run = any(path.parent != places[0] for path in known)
    if known and (folders or in_run or request.requires_data):
        return load_split(known[0], folders)
    if folders or request.requires_data:
        raise ConfigError(f"no {SPLIT_FILE} beside the model: give --split_file")
    return None


def _prepared(clips: Sequence[Clip], fps: float, label: str) -> Iterator[EvalClip]:
    """Yield the poses of each clip, with a progress bar on a terminal."""
    with bars(18) as progress:
        task = progress.add_task(label, total=len(clips))
        for clip, states in prepare_clips(clips, fps):
            progress.advance(task)
            poses = states[:, : human23.N_POSITIONS].astype(np.float64)
            yield EvalClip(clip.name, clip.activity, poses)


def _horizons(texts: str | None) -> tuple[int, ...]:
    """Return the horizons, [ms]."""
    if texts is None:
        return HORIZONS_MS
    horizons = set()
    for text in texts.split(","):
        if not text.strip().isdecimal() or not 1 <= int(text) <= MAX_HORIZON_MS:
            raise ConfigError(
                f"--horizons: {text.strip()!r} is no time in ms from 1 to {MAX_HORIZON_MS}"
            )
        horizons.add(int(text))
    return tuple(sorted(horizons))


def _part(args: Any) -> str:
    return "test" if args.use_test_set else "validation"
