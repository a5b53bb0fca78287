"""Track body without a walker: actions and poses alone move all joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.observation import AHEAD
from ambulo.envs.locomotion.world import World
from ambulo.envs.reference.clips.clip_library import named_clips
from ambulo.envs.reference.clips.tracked_library import tracked_library
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.support_force import SupportForce
from ambulo.envs.simulation.touch import PlacedBoxes
from ambulo.envs.state_arrays import Arrays
from ambulo.envs.tasks.track import TrackBatch
from ambulo.envs.tasks.track_body.samples import seen_trackers
from ambulo.envs.tasks.walk_commands.obstacles import place_around
from ambulo.envs.tasks.walk_commands.world import TouchWorld
from ambulo.ik.trackers.layout import TRACKED


class TrackBodyBatch(TrackBatch):
    """N bodies that each follow the poses that a body tracker makes of a clip's trackers.

    As `TrackBatch`, but no pose is shown before its samples have arrived: after a step, the
    body is `pose_delay` control steps behind the newest sample.
    """

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        **kwargs: Any,
    ) -> None:
        """As `LocomotionBatch`; the trackers are those of the clips as captured.

        Raises:
            ConfigError: A clip of another rate.
            IKError: There is no such body tracker.
        """
        env, count = config.environment, int(kwargs["num_envs"])
        clips = named_clips(reference, character, env.substeps)
        tables = {name: gait.captured or gait.table for name, gait in clips.items()}
        self.tracked = tracked_library(tables, character, env.substeps, config.trackers)
        """What is followed, and what was captured."""
        self._late = config.trackers.pose_delay
        self.captured_distance: Floats = np.zeros(count)
        """Mean distance of the bodies from the captured ones at the time of the newest
        sample, in the world, [m]. Shape (N,)."""
        self.tracker_distance: Floats = np.zeros(count)
        """The same of the tracked joints alone, [m]. Shape (N,)."""
        super().__init__(
            config, reference, character, library=self.tracked.library, **kwargs
        )
        self._turns = self.simulation.bind("xmat")
        most, mass = config.trackers.support, float(character.model.body_mass.sum())
        self._support_force: SupportForce | None = None
        if most > 0.0:
            self._support_force = SupportForce(character.model, mass, most)
        self._pushed: Floats | None = None
        self._led = np.array(TRACKED)[self.tracked.present]
        self._boxes = PlacedBoxes(self.simulation) if config.walk.obstacles else None

    _kept = (*TrackBatch._kept, "captured_distance", "tracker_distance")

    def episode_info(self) -> Arrays:
        """Return also how far the bodies are from what was captured, [m]."""
        return super().episode_info() | {
            "captured_distance": self.captured_distance.copy(),
            "tracker_distance": self.tracker_distance.copy(),
        }

    def state_dict(self) -> Arrays:
        """See `LocomotionBatch.state_dict`."""
        boxes = {} if self._boxes is None else self._boxes.state_dict()
        return super().state_dict() | boxes

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        super().load_state_dict(arrays)
        if self._boxes is not None:
            self._boxes.load_state_dict(arrays)

    def newest(self) -> Ints:
        """Rows of the knot arrays of the newest samples after a step. Shape (N,)."""
        library = self.library
        return library.knot_rows(self.clip, self.frame + self._late * library.substeps)

    def _world(self) -> World:
        env, obstacles = self.config.environment, self.config.walk.obstacles
        if not obstacles:
            return super()._world()
        return TouchWorld(env, self.character, self.variant, boxes=True)

    def _begin(self, envs: Ints) -> None:
        super()._begin(envs)
        if self._boxes is None:
            return
        for env in envs.tolist():
            place_around(
                self._boxes, env, self.anchor[env, :3], self.config.walk, self.rngs[env]
            )

    def _tick(self, advance: Floats) -> None:
        if self._support_force is not None:
            self._hold()
        super()._tick(advance)
        if self._boxes is not None:
            self._boxes.advance(self.simulation.dt / self.simulation.substeps)

    def _move(self, offsets: Floats) -> Floats:
        self._pushed = None  # pushes are set anew
        return super()._move(offsets)

    def _hold(self) -> None:
        """Apply the outside force on what is followed now."""
        simulation, force = self.simulation, self._support_force
        assert force is not None
        if self._pushed is None:
            self._pushed = simulation.push[:, self._pelvis, :2].copy()
        rows = self._rows()
        qpos, qvel = self.library.qpos[rows], self.library.qvel[rows]
        apart = simulation.tangent.difference(qpos, simulation.qpos)[:, :6]
        turn = self._turns[:, self._pelvis].reshape(-1, 3, 3)
        wrench = force.wrench(apart, (qvel - simulation.qvel)[:, :6], turn)
        wrench[simulation.fault > 0] = 0.0
        if self.pushes.on:
            wrench[:, :2] += self._pushed
        simulation.push[:, self._pelvis] = wrench

    def captured_distances(self) -> Floats:
        """Distance of each body from the captured one at the newest sample, [m]. (N, B)."""
        captured = self.tracked.captured[self.newest()]
        return np.asarray(
            np.linalg.norm(self._bodies[:, self._parts] - captured, axis=2)
        )

    def _look(self) -> None:
        super()._look()
        apart = self.captured_distances()
        self.captured_distance[:] = apart.mean(axis=1)
        self.tracker_distance[:] = apart[:, self._led].mean(axis=1)

    def _poses_ahead(self) -> Floats:
        """The poses `AHEAD`; those that have not arrived go on from the newest."""
        library, trackers = self.library, self.config.trackers
        known = self._late + 1
        steps = np.minimum(AHEAD, known) * library.substeps
        rows = library.rows(self.clip[:, None], self.frame[:, None] + steps)
        poses = library.qpos[rows.ravel()]
        if trackers.foresight <= 0.0:
            return poses
        beyond = np.maximum(np.array(AHEAD) - known, 0) * self.simulation.dt
        time = trackers.foresight * (1.0 - np.exp(-beyond / trackers.foresight))
        knots = library.knot_rows(self.clip, self.frame + known * library.substeps)
        moved = self.tracked.slope[knots][:, None] * time[:, None]
        return self.simulation.tangent.moved(poses, moved.reshape(len(poses), -1))

    def _shown(self) -> dict[str, Floats]:
        """The trackers' last samples from the body, in its heading frame."""
        return seen_trackers(
            self.tracked,
            self.clip,
            self.frame + (self._late + 1) * self.library.substeps,
            self.simulation.qpos[:, :3],
            self.anchor[:, 2] + self.state.yaw,
        )
