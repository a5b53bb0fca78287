"""Track: follow any of many clips, observed as poses of the next third of a second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.body import effector_bodies
from ambulo.envs.locomotion.observation import AHEAD, Parts, pose_parts
from ambulo.envs.reference.clips.clip_library import (
    ClipLibrary,
    ClipSampler,
    clip_library,
    named_clips,
)
from ambulo.envs.reference.clips.clip_teaching import ClipTeaching, clip_teaching
from ambulo.envs.reference.clips.whole_body_control import TrackSupport
from ambulo.envs.reference.gaits import Gaits, NoGaits
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.frames import into_frame, into_frames
from ambulo.envs.simulation.simulation import TorqueMotors
from ambulo.envs.state_arrays import Arrays

FIRST = 0.15
"""Fraction of random starts at a clip's first frame."""
LEAST_LEFT = 1.0
"""Shortest time from a random start to the clip's end, [s]."""


class ClipFollower(LocomotionBatch):
    """N bodies that each follow a clip of `library`: its choice, its start, and its end."""

    library: ClipLibrary
    """The clips to follow."""
    sampler: ClipSampler
    """Draws clips."""

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        **kwargs: Any,
    ) -> None:
        """Create the batch after `library` and `sampler` are set. See `LocomotionBatch`."""
        count = int(kwargs["num_envs"])
        self.clip: Ints = np.zeros(count, np.int64)
        """The clip of each body, a number in `library`. Shape (N,)."""
        self.frame: Ints = np.zeros(count, np.int64)
        """Elapsed physics steps of the clip. Shape (N,)."""
        self.joint_distance: Floats = np.zeros(count)
        """Mean distance of the bodies from the clip's, in the world, [m]. Shape (N,)."""
        self._fixed: Ints = np.full((count, 2), -1)
        super().__init__(config, reference, character, **kwargs)
        self._bodies = self.simulation.bind("xpos")
        self._parts = slice(1, int(character.model.nbody))

    @property
    def clip_names(self) -> tuple[str, ...]:
        """Names of the clips in `library`."""
        return self.library.names

    def choose(self, envs: Ints, clip: Ints, step: Ints) -> None:
        """Fix the clip and control step (k,) at which all further episodes of `envs` begin."""
        self._fixed[envs] = np.stack([clip, step], axis=1)

    @property
    def _parts_with_state(self) -> dict[str, Any]:
        return super()._parts_with_state | {"sampler": self.sampler}

    def episode_info(self) -> Arrays:
        """Return the clip of each body, and its completed fraction as `phase`."""
        share = self.frame / np.maximum(self.library.steps[self.clip], 1)
        return {"phase": share, "clip": self.clip.copy()}

    def _draw_clips(self, envs: Ints) -> None:
        """Draw the clips of `envs` (k,) and their start frames."""
        env = self.config.environment
        least = round(LEAST_LEFT / env.control_dt)
        for body in envs:
            clip, step = self._fixed[body]
            if clip < 0:
                draws = self.rngs[body].random(4)
                clip = self.sampler.draw(draws[:3])
                latest = max(int(self.library.knots[clip]) - least, 0)
                first = env.start == "first" or draws[3] < FIRST
                step = 0 if first else int(self.phase[body] * (latest + 1))
            self.clip[body], self.frame[body] = clip, step * env.substeps

    def _next_frame(self) -> None:
        """Move the clips on by one physics step."""
        self.frame[:] = np.minimum(self.frame + 1, self.library.steps[self.clip])

    def _rows(self) -> Ints:
        return self.library.rows(self.clip, self.frame)

    def _noted(self, fell: Bools) -> Bools:
        """Report the failed clips to the sampler; returns `fell` (N,)."""
        over = fell | (self.frame >= self.library.steps[self.clip])
        self.sampler.note(self.clip[over], fell[over])
        return fell

    def timed_out(self) -> Bools:
        """Mask of the bodies whose time or clip is over. Shape (N,)."""
        ended = self.frame >= self.library.steps[self.clip]
        return np.asarray(super().timed_out() | ended)


class TrackBatch(ClipFollower):
    """N bodies that each follow a clip at the clip's own position; see `LocomotionBatch`.

    The reference frame is the heading frame of the clip's root. An action of 1 moves the target
    of one joint axis by `action_scale` from the reference pose, in addition to whole-body
    control if the settings enable it; the clip's feedback does not act. An episode is truncated
    at the end of its clip, and terminates on a fall or when joints are `max_joint_distance`
    from the clip's on average.
    """

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        *,
        library: ClipLibrary | None = None,
        **kwargs: Any,
    ) -> None:
        """As `LocomotionBatch`.

        Args:
            config: All settings.
            reference: The clips.
            character: The body.
            library: Clips that replace those of `reference`.
            **kwargs: As `LocomotionBatch`.

        Raises:
            ConfigError: A clip has another frame rate.
        """
        env = config.environment
        self._clips = named_clips(reference, character, env.substeps)
        shown, fitted = _shown_tables(self._clips, captured=env.captured_share > 0.0)
        if library is not None:
            shown, fitted = {}, np.zeros(len(library.names), np.int64)
        self.library = library or clip_library(shown, character, env.substeps)
        """The clips as fitted, then those that are also shown as captured."""
        self.fitted: Ints = fitted
        """Number of the fitted clip of each clip in `library`. Shape (C,)."""
        self._support: TrackSupport | None = None
        if env.whole_body_control:
            own = [] if library else list(self._clips.values())
            self._support = TrackSupport(self.library, character, own)
        clips, whole = np.arange(len(fitted)), len(self._clips)
        share = env.captured_share if len(fitted) > whole else 0.0
        self.sampler = ClipSampler(
            [(clips[:whole], 1.0 - share), (clips[whole:], share)],
            env.hard_clips_share,
        )
        self._teaching: ClipTeaching | None = None
        super().__init__(config, reference, character, **kwargs)
        self._effectors = np.array(effector_bodies(character)) - 1

    rewards = ("imitation", "alive", "changes")
    _saved = (*LocomotionBatch._saved, "clip", "frame", "joint_distance")

    def teacher_actions(self) -> Floats:
        """Actions equivalent to the targets, torques and feedback of the fitted clips. (N, A).

        Raises:
            ConfigError: A clip has no feedback.
        """
        if self._teaching is None:
            gaits = list(self._clips.values())
            self._teaching = clip_teaching(
                gaits, self.library, self.fitted, self.character
            )
        taught, library, simulation = self._teaching, self.library, self.simulation
        rows = library.rows(taught.clip[self.clip], self.frame)
        apart = simulation.tangent.difference(simulation.qpos, library.qpos[rows])
        state = np.concatenate([apart, simulation.qvel - library.qvel[rows]], axis=1)
        targets = taught.targets(library, self.clip, self.frame, state)
        targets -= self._supporting()
        return np.asarray(targets[:, self.dofs] / self.config.environment.action_scale)

    def _offsets(self, wanted: Floats) -> Floats:
        return super()._offsets(wanted) + self._supporting()

    def _supporting(self) -> Floats:
        """Offsets of the joint targets by whole-body control, [rad]. Shape (N, nv)."""
        simulation = self.simulation
        if self._support is None:
            return np.zeros_like(simulation.qvel)
        return self._support.offsets(
            simulation.qpos, simulation.qvel, self.clip, self.frame
        )

    def _gaits(self) -> Gaits:
        return NoGaits(self.character.model)

    def _begin(self, envs: Ints) -> None:
        self._draw_clips(envs)
        self._follow_frames()

    def _tick(self, advance: Floats) -> None:
        self._next_frame()

    def _advance(self) -> None:
        self._follow_frames()

    def _follow_frames(self) -> None:
        """Put the reference frames under the clips' roots."""
        self.reference_frame[:] = self.library.frames[self._rows()]
        self.phase[:] = self.frame / np.maximum(self.library.steps[self.clip], 1)

    def _reference(self, phase: Floats) -> tuple[Floats, Floats, Floats]:
        rows = self._rows()
        qpos, qvel = self.library.qpos[rows], self.library.qvel[rows]
        into = self.library.frames[rows]
        into_frame(qpos, qvel, into)
        return qpos, qvel, np.zeros_like(qvel)

    def _start_controls(self, envs: Ints) -> Floats | None:
        """The clip's own torques: without them, a body would begin to fall."""
        simulation = self.simulation
        if not isinstance(simulation.actuation, TorqueMotors):
            return None
        out = np.empty((len(envs), int(simulation.model.nu)))
        torque = self.library.torque[self._rows()[envs]]
        simulation.actuation.apply(torque[:, simulation.driven], out)
        return out

    def _look(self) -> None:
        super()._look()
        knots = self.library.knot_rows(self.clip, self.frame)
        apart = self.joint_distances(self.library.joints[knots])
        self.joint_distance[:] = apart.mean(axis=1)

    def joint_distances(self, joints: Floats) -> Floats:
        """Distance of each body from points (N, B, 3) in the reference frame, [m]. (N, B)."""
        places = into_frames(self._bodies[:, self._parts], self.reference_frame)
        return np.asarray(np.linalg.norm(places - joints, axis=2))

    def fell(self) -> Bools:
        """Mask of the bodies that left their clips. Shape (N,)."""
        env = self.config.environment
        off = np.abs(self.state.deviation[:, 2]) > env.max_height_error
        rows = self._rows()
        upright = _up(self.library.qpos[rows])
        leaning = np.einsum("ni,ni->n", self.state.up, upright)
        tilted = leaning < np.cos(env.max_rotation_error)
        far = self.joint_distance > env.max_joint_distance
        return self._noted(np.asarray(off | tilted | far))

    def _followed_now(self) -> tuple[Floats, Floats]:
        knots = self.library.knot_rows(self.clip, self.frame)
        joints = self.library.joints[knots]
        return joints[:, self._effectors] - joints[:, :1], self.library.com[knots]

    def _poses_ahead(self) -> Floats:
        """The observed poses, `AHEAD` control steps ahead. (N len(AHEAD), nq)."""
        steps = np.array(AHEAD) * self.simulation.substeps
        rows = self.library.rows(self.clip[:, None], self.frame[:, None] + steps)
        return self.library.qpos[rows.ravel()]

    def _shown(self) -> Parts:
        """The poses ahead in the frames of the bodies."""
        own = np.repeat(self.simulation.qpos, len(AHEAD), axis=0)
        apart = self.simulation.tangent.difference(self._poses_ahead(), own)
        apart = apart.reshape(self.num_envs, len(AHEAD), -1)
        return pose_parts(apart, self.reference_frame[:, 2] + self.state.yaw)


def _shown_tables(
    clips: Mapping[str, ReferenceMotion], *, captured: bool
) -> tuple[dict[str, ReferenceTable], Ints]:
    """Reference tables by name, fitted clips before captured ones, and each clip's index."""
    tables = {name: gait.table for name, gait in clips.items()}
    numbers = list(range(len(tables)))
    for number, (name, gait) in enumerate(clips.items()):
        if captured and gait.captured is not None:
            tables[f"{name} as captured"] = gait.captured
            numbers.append(number)
    return tables, np.array(numbers)


def _up(qpos: Floats) -> Floats:
    """The world's vertical in the frame of roots (N, nq). Shape (N, 3)."""
    w, x, y, z = qpos[:, 3:7].T
    return np.stack(
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        axis=1,
    )


BATCH = TrackBatch
