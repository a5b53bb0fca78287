"""How bodies of any maker stand, take a clip and track it.

Each file is one row: whether the body stands 10 s by itself and after pushes of 20 N s per
70 kg, how far `ambulo fit` leaves it from the clip in the world and how many bodies its
feedback holds after such a push, and how many episodes of Track reach the clip's end from
random frames: with actions of zero, with the feedback of the fitted clip, and, with `--train`,
by a policy of `ambulo train track --preset track_quick` (minutes of one core).

    python benchmarks/own_bodies.py robot.urdf hero.xml --clip 02_01.amc --frames 60:240

Without `--clip` the bodies walk a gait of the suite's. References (`NAME.npz`) and runs are
kept in `--out`, and used again.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from _harness import run

from ambulo.common.find_model import find_model
from ambulo.configs.errors import AmbuloError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.clips.clip_reference import clip_reference, fitted_body
from ambulo.envs.reference.reference import (
    Reference,
    load_reference_for,
    save_reference,
)
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.locomotion.body_check import check_body
from ambulo.evaluate.tracking.command import IMPULSE
from ambulo.evaluate.tracking.episodes import NEVER, Tracker, play, random_starts
from ambulo.motion.gaits.healthy_walk import healthy_walk
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.source import read_source
from ambulo.policies.agents.locomotion import load_locomotion_agent
from ambulo.train.train_track import main as train_track

TESTS = {"fit_survives": "survives 0.05", "fit_survives_pushed": "survives 20 N s"}
"""Beginnings of names in the report of a fit, by column."""


@dataclass(frozen=True)
class Trial:
    """Tasks of each body."""

    clip: Motion
    """Clip to follow."""
    frames: str | None
    """Part of the clip, "A:B"."""
    bodies: int
    """Bodies of each test of a fit, and episodes of Track."""
    seed: int
    """Seed of everything random."""
    train: bool
    """Whether a policy is trained."""
    folder: Path
    """Where references and runs go."""


def measure(
    files: tuple[str, ...],
    clip: Path | None = None,
    frames: str | None = None,
    bodies: int = 100,
    seed: int = 0,
    train: bool = False,
    out: Path | None = None,
) -> dict[str, Any]:
    """Every body of `files`, with a motion file or a walk of the suite's."""
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        motion = (
            healthy_walk(64).motion(2) if clip is None else read_source(clip).logged()
        )
        trial = Trial(motion, frames, bodies, seed, train, out or Path(folder))
        trial.folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            try:
                rows[Path(file).stem] = tried(file, trial)
            except AmbuloError as error:
                rows[Path(file).stem] = {"refused": str(error)}
    return {"clip": motion.label, "rows": rows}


def tried(file: str, trial: Trial) -> dict[str, Any]:
    """The row of one body."""
    began = time.perf_counter()
    check = check_body(file)
    row: dict[str, Any] = {
        "axes": check.axes,
        "mass": check.mass,
        "stands": 100.0 * check.standing.calm,
        "stands_pushed": 100.0 * (check.standing.pushed or 0.0),
    }
    reference, path = fitted(file, trial)
    report = reference.gaits[0].report
    row["fit_cm"] = 100.0 * report["error_world"]
    row["falls_at"] = report.get("falls_at")
    row |= {
        column: 100.0 * value
        for column, begin in TESTS.items()
        for name, value in report.items()
        if name.startswith(begin)
    }
    trackers: dict[str, Tracker] = {
        "track_zero": lambda batch: np.zeros((batch.num_envs, batch.action_size)),
        "track_feedback": lambda batch: batch.teacher_actions(),
    }
    config = LocomotionConfig().override("environment", task="track", character=file)
    row |= tracked(config, reference, trackers, trial)
    if trial.train:
        row |= trained(file, path, reference, trial)
    return row | {"minutes": (time.perf_counter() - began) / 60.0}


def fitted(file: str, trial: Trial) -> tuple[Reference, Path]:
    """The clip as the body does it, and its file; that of before if there is one."""
    body = fitted_body(file)
    path = trial.folder / f"{body.name}.npz"
    if not path.is_file():
        made = clip_reference(
            trial.clip, body, bodies=trial.bodies, seed=trial.seed, frames=trial.frames
        )
        save_reference(path, made.reference)
    return load_reference_for(path, body), path


def tracked(
    config: LocomotionConfig,
    reference: Reference,
    trackers: dict[str, Tracker],
    trial: Trial,
) -> dict[str, float]:
    """Percentages of episodes that reach the clip's end, also with one push."""
    quiet = config.override(
        "environment", captured_share=0.0, start_position_noise=0.01,
        start_velocity_noise=0.05, max_episode_steps=100_000, push_impulse=(1.0, 1.0),
        push_interval=(NEVER, NEVER),
    )  # fmt: skip
    body = fitted_body(config.environment.character)
    batch = TrackBatch(quiet, reference, body, num_envs=trial.bodies)
    starts = random_starts(batch, np.arange(1), trial.bodies, trial.seed)
    row: dict[str, float] = {}
    for name, tracker in trackers.items():
        for end, impulse in (("", 0.0), ("_pushed", IMPULSE)):
            done = play(batch, tracker, starts, seed=1000 * trial.seed, impulse=impulse)
            row[name + end] = 100.0 * float(done.success.mean())
    batch.close()
    return row


def trained(
    file: str, clip: Path, reference: Reference, trial: Trial
) -> dict[str, float]:
    """Return the scores of a policy that is trained on the fitted clip."""
    name = f"{clip.stem}_{trial.seed}"
    if not (trial.folder / name).is_dir():
        words = ["--preset", "track_quick", "--character", file, "--run-name", name]
        words += ["--seed", str(trial.seed), "--output", str(trial.folder)]
        train_track([str(clip), *words, "--no-progress"])
    agent = load_locomotion_agent(find_model(trial.folder / name))
    config = agent.config.override("environment", character=file, clips=())
    seeing = replace(trial, seed=trial.seed + 100)  # starts that no training chose by
    return tracked(
        config, reference, {"track_policy": lambda batch: agent.act(batch.obs)}, seeing
    )


if __name__ == "__main__":
    run(measure, {"bodies": 4})
