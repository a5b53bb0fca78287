"""Track body on a walker's legs: steps move the body along, arms and head are tracked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.observation import Parts, pose_parts
from ambulo.envs.locomotion.reward import Terms
from ambulo.envs.reference.clips.clip_library import ClipSampler
from ambulo.envs.reference.configured import walker_gaits
from ambulo.envs.reference.crouches import DEEPEST
from ambulo.envs.reference.legs import ankle_places
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.frames import along_heading, from_frames
from ambulo.envs.tasks.track_body.arms import TrackedArms, quaternions_of, upper_body
from ambulo.envs.tasks.track_body.follower import (
    TrackerFollower,
    seen_trackers,
    tracked_clips,
)
from ambulo.envs.tasks.track_body.path import (
    advance_path,
    following_terms,
    leading_commands,
    steps_on,
    wrapped,
)
from ambulo.envs.tasks.walk_commands.batch import WalkCommandsBatch
from ambulo.envs.tasks.walk_commands.commands import Settling
from ambulo.envs.tasks.walk_commands.walking import WalkingBatch
from ambulo.ik.trackers.layout import HEAD_ROW, LEFT_HAND, RIGHT_HAND

QUICK = Settling((3.0, 6.0, 2.5), (4.0, 6.0, 2.5), 0.09)
"""How commands settle: a player starts and turns faster than a navigator commands."""
SLACK, LOW = 0.03, 0.12
"""Depth of the tracked pelvis below its standing height, [m], up to which there is no crouch,
and from which a body prefers standing to stepping."""
SINKING_RATE = 1.2
"""Fastest change of the depth of a crouch, [1/s]."""
START_HOLD = 0.3
"""Time of stepping on the spot after a start, [s]."""
WALKS = 0.25
"""Speed at a clip's first frame from which an episode begins in mid-step, [m/s]."""
PHASES = 32
"""Candidate phases of the first step."""


class WalkingBodyBatch(TrackerFollower, WalkCommandsBatch):
    """N bodies with a walker's steps that each follow the poses made of a clip's trackers.

    The walker is commanded along the path of the tracked pelvis (`path`), and its arms and head
    follow the tracked pose. A pose is observed only after its samples have arrived: after a
    step the body is `pose_delay` control steps behind the newest one. An episode is truncated
    at the end of its clip, and terminates on a fall of the walker or when joints are
    `max_joint_distance` from the tracked ones on average.
    """

    rewards = ("following", "alive", "touch", "costs")
    start_hold = START_HOLD
    settling = QUICK
    sinking_rate = SINKING_RATE

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        **kwargs: Any,
    ) -> None:
        """Create the batch to follow the clips of `reference`; see `LocomotionBatch`.

        Raises:
            ConfigError: A clip has another frame rate.
            IKError: The body tracker does not exist.
        """
        env, count = config.environment, int(kwargs["num_envs"])
        self.tracked = tracked_clips(config, reference, character)
        self.library = self.tracked.library
        everything = np.arange(len(self.library.names))
        self.sampler = ClipSampler([(everything, 1.0)], env.hard_clips_share)
        self.path: Floats = np.zeros((count, 3))
        """Smooth place, x, y, [m], and heading, [rad], of the tracked pelvis. (N, 3)."""
        self.pace: Floats = np.zeros((count, 3))
        """How fast these change. Shape (N, 3)."""
        self.stepping: Bools = np.zeros(count, np.bool_)
        """Mask of bodies that must step. Shape (N,)."""
        super().__init__(config, walker_gaits(env, character), character, **kwargs)
        self.reference = reference
        self._led_columns, self._led_dofs = upper_body(character)
        self.solved = TrackedArms(character, self.simulation)
        """Arms and heads that reach for where the trackers are."""

    _saved = (
        *WalkCommandsBatch._saved, "clip", "frame", "path", "pace", "stepping",
        "joint_distance", "captured_distance", "tracker_distance",
    )  # fmt: skip

    @property
    def _parts_with_state(self) -> dict[str, Any]:
        return super()._parts_with_state | {"solved": self.solved}

    def _newest_rows(self) -> Ints:
        """Rows of the newest poses that have arrived for the next step. Shape (N,)."""
        ahead = (self._late + 1) * self.library.substeps
        return self.library.rows(self.clip, self.frame + ahead)

    def _begin(self, envs: Ints) -> None:
        library = self.library
        self._draw_clips(envs)
        rows = library.rows(self.clip[envs], self.frame[envs])
        self.solved.follow(envs, library.qpos[rows])
        self.reference_frame[envs, :3] = library.frames[rows, :3]
        self.path[envs] = library.frames[rows, :3]
        slope = self.tracked.slope[library.knot_rows(self.clip[envs], self.frame[envs])]
        self.pace[envs, :2], self.pace[envs, 2] = slope[:, :2], 0.0
        self.stepping[envs] = np.hypot(slope[:, 0], slope[:, 1]) > WALKS
        super()._begin(envs)
        walks = envs[self.stepping[envs]]
        self.standing[envs] = ~self.stepping[envs]
        on_path = self.path[envs]
        self.goal[envs] = 0.0
        self.goal[walks] = leading_commands(
            on_path, self.pace[envs], on_path[:, :2], on_path[:, 2]
        )[self.stepping[envs]]
        self.command[envs] = self.mean[envs] = 0.0
        self.command[walks] = self.mean[walks] = self.goal[walks]
        if len(walks):
            self.phase[walks] = self._alike(library.rows(self.clip, self.frame))[walks]

    def _alike(self, rows: Ints) -> Floats:
        """Phases at which the gaits' ankles are nearest to those of `rows` (N,). (N,)."""
        self.blend = self._blend()
        legs, qpos = self._steering.legs, self.library.qpos[rows].copy()
        yaw = self.library.frames[rows, 2]
        seen = _between_ankles(ankle_places(legs, qpos), yaw)
        best, at = np.full(self.num_envs, np.inf), np.zeros(self.num_envs)
        for phase in np.arange(PHASES) / PHASES:
            gait = WalkingBatch._reference(self, np.full(self.num_envs, phase))[0]
            own = _between_ankles(ankle_places(legs, gait), np.zeros(self.num_envs))
            apart = np.square(own - seen).sum(axis=1)
            at, best = np.where(apart < best, phase, at), np.minimum(apart, best)
        return at

    def _draw(self, index: int, now: float) -> None:
        """Do nothing: commands come from the path alone."""
        self.next_command[index] = np.inf

    def _tick(self, advance: Floats) -> None:
        if self._support_force is not None:
            self._drag()
        super()._tick(advance)
        self._next_frame()

    def _drag(self) -> None:
        """Apply the support force towards the path, horizontal and about the vertical."""
        simulation = self.simulation
        apart, slower = np.zeros((self.num_envs, 6)), np.zeros((self.num_envs, 6))
        apart[:, :2] = self.path[:, :2] - simulation.qpos[:, :2]
        apart[:, 5] = wrapped(self.path[:, 2] - self._yaw)
        slower[:, :2] = self.pace[:, :2] - simulation.qvel[:, :2]
        slower[:, 5] = self.pace[:, 2] - simulation.qvel[:, 5]
        self._pull(apart, slower, level=True)

    def _advance(self) -> None:
        measured = self.library.frames[self._newest_rows(), :3]
        advance_path(self.path, self.pace, measured, self.simulation.dt)
        root = self.simulation.qpos[:, :2]
        self.stepping = steps_on(
            self.stepping, self.path, self.pace, root, self._yaw, self._lowered() > LOW
        )
        goal = leading_commands(self.path, self.pace, root, self.reference_frame[:, 2])
        self.goal[:] = np.where(self.stepping[:, None], goal, 0.0)
        WalkingBatch._advance(self)
        self._sink(self._ready(), self.simulation.dt)
        self._reach_out()

    def _reference(self, phase: Floats) -> tuple[Floats, Floats, Floats]:
        qpos, qvel, torque = super()._reference(phase)
        rows = self.library.rows(self.clip, self.frame)
        columns, dofs = self._led_columns, self._led_dofs
        qpos[:, columns] = self.library.qpos[np.ix_(rows, columns)]
        self.solved.bend(qpos)
        qvel[:, dofs] = self.library.qvel[np.ix_(rows, dofs)]
        return qpos, qvel, torque

    def _lowered(self) -> Floats:
        """Depth of the tracked pelvis below its standing height, [m]. Shape (N,)."""
        stand = float(self.gaits.qpos[-1, 0, 2])
        return stand - self.library.qpos[self._newest_rows(), 2]

    def _needed_depth(self, ready: Bools) -> Floats:
        depth = np.clip((self._lowered() - SLACK) / DEEPEST, 0.0, 1.0)
        return np.where(ready, depth, 0.0)

    def _reach_out(self) -> None:
        """Solve arms and heads for the newest samples from the present trunks."""
        tracked, rows = self.tracked, self._newest_rows()
        knots = self._knots(self._late + 1)
        there = self.library.frames[rows].copy()
        joints = from_frames(self.library.joints[knots], there)
        moved = there.copy()
        moved[:, :2], moved[:, 2] = self.simulation.qpos[:, :2], self._yaw
        beside = from_frames(self.library.joints[knots], moved)
        turns = quaternions_of(
            tracked.axes[knots][:, [LEFT_HAND, RIGHT_HAND, HEAD_ROW]]
        )
        self.solved.solve(
            self.library.qpos[rows], joints, beside, turns[:, :2], turns[:, 2]
        )

    def _knots(self, ahead: int) -> Ints:
        """Rows of the knot arrays `ahead` control steps from now. Shape (N,)."""
        library = self.library
        return library.knot_rows(self.clip, self.frame + ahead * library.substeps)

    def _led(self) -> Ints:
        return np.arange(self.num_envs)

    def _look(self) -> None:
        super()._look()
        frames = self.library.frames[self.library.rows(self.clip, self.frame)]
        tracked = from_frames(self.library.joints[self._knots(0)], frames)
        off = np.linalg.norm(self._bodies[:, self._parts] - tracked, axis=2)
        self.joint_distance[:] = off.mean(axis=1)

    def fell(self) -> Bools:
        """Mask of the bodies that fell or left their path. Shape (N,)."""
        far = self.joint_distance > self.config.environment.max_joint_distance
        return self._noted(np.asarray(super().fell() | far))

    def _reward_groups(
        self, power: Floats, actions: Floats
    ) -> dict[str, Callable[[], Terms]]:
        def following() -> Terms:
            simulation = self.simulation
            return following_terms(
                simulation.qpos[:, :2] - self.path[:, :2],
                simulation.qvel[:, :2] - self.pace[:, :2],
                wrapped(self._yaw - self.path[:, 2]),
                self.joint_distance,
                self.config.rewards,
            )

        return super()._reward_groups(power, actions) | {"following": following}

    def _shown(self) -> Parts:
        yaw, root = self._yaw, self.simulation.qpos[:, :3]
        away = along_heading(self.path[:, :2] - root[:, :2], yaw)
        turned = wrapped(self.path[:, 2] - yaw)[:, None]
        pace = along_heading(self.pace, yaw), self.pace[:, 2:]
        newest = self.frame + (self._late + 1) * self.library.substeps
        pose = self.library.qpos[self._newest_rows()]
        apart = self.simulation.tangent.difference(pose, self.simulation.qpos)
        return {
            **super()._shown(),
            **pose_parts(apart[:, None], yaw),
            "path": np.concatenate([away, turned, *pace], axis=1),
            **seen_trackers(self.tracked, self.clip, newest, root, yaw),
        }


def _between_ankles(ankles: Floats, yaw: Floats) -> Floats:
    """Vector from the right to the left ankle of (N, 2, 3), in headings (N,). (N, 3)."""
    away = ankles[:, 0] - ankles[:, 1]
    return np.concatenate([along_heading(away, yaw), away[:, 2:]], axis=1)
