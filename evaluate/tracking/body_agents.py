"""Baselines of policies that follow trackers, and their bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.reference.clips.clip_library import clip_library
from ambulo.envs.reference.clips.raw_clip import plain_clip, raw_clip
from ambulo.envs.reference.clips.read_clips import clip_files
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.tasks.track import TrackBatch
from ambulo.envs.tasks.track_body.batch import AnyTrackBody, track_body
from ambulo.evaluate.tracking.episodes import NEVER
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.source import read_source
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion_agent

BASELINES = {
    "gaits": "the walker's gaits and balance controller, without an action",
    "walk_commands": "the shipped walker as it is, trained to follow commands",
    "poses": "stable PD on the tracked pose, without an action",
    "whole_body_control": "the same with whole-body control",
    "track": "the shipped tracker of clips, one control step behind the newest pose",
    "track_future": "the same, shown the true poses of the next third of a second, planted",
}
"""Descriptions of the baselines."""
Act = Callable[[Any], NDArray[np.floating]]
"""Actions (N, A) for a batch."""


class FutureBatch(TrackBatch):
    """Bodies that follow clips as `TrackBatch` and are compared with what was captured."""

    def __init__(
        self, config: LocomotionConfig, reference: Reference, character: Character, *,
        num_envs: int,
    ) -> None:  # fmt: skip
        """As `TrackBatch`; gaits hold what is shown, and what was captured."""
        substeps = config.environment.substeps
        shown = {gait.name: gait.table for gait in reference.gaits}
        truth = {gait.name: gait.captured or gait.table for gait in reference.gaits}
        self._truth = clip_library(truth, character, substeps)
        library = clip_library(shown, character, substeps)
        super().__init__(
            config, reference, character, library=library, num_envs=num_envs
        )

    def captured_distances(self) -> Floats:
        """Distance of each body from the captured one, [m]. Shape (N, B)."""
        truth = self._truth
        knots = truth.knot_rows(self.clip, self.frame)
        own = self.reference_frame.copy()
        self.reference_frame[:] = truth.frames[truth.rows(self.clip, self.frame)]
        apart = self.joint_distances(truth.joints[knots])
        self.reference_frame[:] = own
        return apart


@dataclass(frozen=True, eq=False)
class BodyAgent:
    """Bodies, and what moves them."""

    batch: AnyTrackBody | FutureBatch
    """Bodies that follow the clips."""
    act: Act
    """Controller of the bodies."""


def captured_clips(
    paths: Sequence[Path], character: Character, seconds: float | None
) -> tuple[Reference, list[str]]:
    """The clips as captured, and what was left out and why.

    Args:
        paths: Motion files and folders.
        character: The body.
        seconds: Only the first ones of each clip, [s]; None: all of it.

    Raises:
        MotionError: None can be followed.
        MotionFileError: A file cannot be read.
    """
    gaits, left_out = [], []
    for path in clip_files(paths):
        source = read_source(path, drop_tpose=True).logged()
        motion = retarget(source, character.skeleton).motion
        if seconds is not None:
            motion = motion[: round(seconds * motion.fps)]
        try:
            truth = plain_clip(motion, character)
            planted = raw_clip(motion, character).table
        except MotionError as error:
            left_out.append(str(error))
            continue
        gaits.append(ReferenceMotion(planted, None, {}, path.stem, truth))
    if not gaits:
        raise MotionError("; ".join(left_out) or "clips: there is none")
    found = Reference(
        "clips", character.name, 1.0 / 30.0, tuple(gaits), character.joint_names
    )
    return found, left_out


def policy_agent(
    agent: LocomotionAgent, reference: Reference, bodies: int, points: int | None,
    deterministic: bool = True,
) -> BodyAgent:  # fmt: skip
    """Bodies that a trained policy of the task `track_body` moves."""
    config = quiet(agent.config, points)
    batch = track_body(config, reference, _body(config), num_envs=bodies)
    return BodyAgent(
        batch, lambda batch: agent.act(batch.obs, deterministic=deterministic)
    )


def baseline_agent(
    name: str, config: LocomotionConfig, reference: Reference, bodies: int,
    points: int | None,
) -> BodyAgent:  # fmt: skip
    """Bodies that a baseline moves, with the trackers of `config`."""
    trackers = config.trackers
    if name in ("gaits", "walk_commands"):
        own = LocomotionConfig(trackers=trackers).override(
            "environment", task="track_body"
        )
        own = quiet(own, points)
        batch = track_body(own, reference, _body(own), num_envs=bodies)
        if name == "gaits":
            return BodyAgent(batch, _still)
        return BodyAgent(batch, _seen(load_locomotion_agent(find_model(name)), batch))
    tracker = load_locomotion_agent(find_model("track"))
    future, learned = name == "track_future", name.startswith("track")
    own = tracker.config.override(
        "environment", task="track" if future else "track_body", legs="poses", clips=(),
        captured_share=0.0, whole_body_control=name == "whole_body_control",
    )  # fmt: skip
    behind = trackers.replace(pose_delay=max(trackers.pose_delay, int(learned)))
    own = quiet(own.replace(trackers=behind), points)
    body = _body(own)
    if future:
        ahead = FutureBatch(own, reference, body, num_envs=bodies)
        return BodyAgent(ahead, lambda batch: tracker.act(batch.obs))
    batch = track_body(own, reference, body, num_envs=bodies)
    return BodyAgent(batch, _seen(tracker, batch) if learned else _still)


def quiet(config: LocomotionConfig, points: int | None) -> LocomotionConfig:
    """`config` for evaluations: from first frames, without pushes, ended by falls alone."""
    config = config.override(
        "environment", clips=(), start="first", start_position_noise=0.01,
        start_velocity_noise=0.05, max_episode_steps=10**6, max_joint_distance=1e3,
        push_impulse=(1.0, 1.0), push_interval=(NEVER, NEVER),
    )  # fmt: skip
    return config if points is None else config.override("trackers", points=points)


def _body(config: LocomotionConfig) -> Character:
    return configured_character(config.environment)


def _still(batch: LocomotionBatch) -> Floats:
    return np.zeros((batch.num_envs, batch.action_size))


def _seen(agent: LocomotionAgent, batch: LocomotionBatch) -> Act:
    """A policy of another task that sees the parts that it knows, in its own order."""
    parts = {part.name: part for part in batch.layout.parts}
    names = [row.name for row in agent.metadata.observation]
    layout = ObservationLayout(tuple(parts[name] for name in names))

    def act(batch: LocomotionBatch) -> Floats:
        return np.asarray(agent.act(batch.observation(layout)), np.float64)

    return act
