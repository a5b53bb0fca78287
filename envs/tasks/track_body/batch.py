"""Track body: a body under gravity follows a player's head, hands and further trackers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.observation import AHEAD, Parts
from ambulo.envs.locomotion.world import World
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.touch import place_around
from ambulo.envs.tasks.track import TrackBatch
from ambulo.envs.tasks.track_body.follower import (
    TrackerFollower,
    seen_trackers,
    tracked_clips,
)
from ambulo.envs.tasks.track_body.walker import WalkingBodyBatch


class TrackBodyBatch(TrackerFollower, TrackBatch):
    """N bodies that each follow the poses that a body tracker makes of a clip's trackers.

    Only actions and poses move the joints. As in `TrackBatch`, but a pose is observed only
    after its samples have arrived: after a step, the body is `pose_delay` control steps behind
    the newest sample.
    """

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        **kwargs: Any,
    ) -> None:
        """Create the batch with the trackers of the captured clips; see `LocomotionBatch`.

        Raises:
            ConfigError: A clip has another frame rate.
            IKError: The body tracker does not exist.
        """
        self.tracked = tracked_clips(config, reference, character)
        super().__init__(
            config, reference, character, library=self.tracked.library, **kwargs
        )

    _saved = (*TrackBatch._saved, "captured_distance", "tracker_distance")

    def _world(self) -> World:
        boxes = self.config.walk.obstacles > 0.0
        env = self.config.environment
        return World(env, self.character, self.variant, boxes=boxes)

    def _begin(self, envs: Ints) -> None:
        super()._begin(envs)
        if self._boxes is None:
            return
        for env in envs.tolist():
            place_around(
                self._boxes,
                env,
                self.reference_frame[env, :3],
                self.config.walk,
                self.rngs[env],
            )

    def _tick(self, advance: Floats) -> None:
        if self._support_force is not None:
            self._hold()
        super()._tick(advance)

    def _hold(self) -> None:
        """Apply the support force for the present reference."""
        simulation, rows = self.simulation, self._rows()
        qpos, qvel = self.library.qpos[rows], self.library.qvel[rows]
        apart = simulation.tangent.difference(qpos, simulation.qpos)[:, :6]
        self._pull(apart, (qvel - simulation.qvel)[:, :6], level=False)

    def _poses_ahead(self) -> Floats:
        """The poses `AHEAD`; those that have not arrived are extrapolated from the newest."""
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

    def _shown(self) -> Parts:
        """The poses ahead, and the trackers' last samples in the heading frame of the body."""
        seen = seen_trackers(
            self.tracked,
            self.clip,
            self.frame + (self._late + 1) * self.library.substeps,
            self.simulation.qpos[:, :3],
            self.reference_frame[:, 2] + self.state.yaw,
        )
        return {**super()._shown(), **seen}


AnyTrackBody = TrackBodyBatch | WalkingBodyBatch
"""Bodies that follow trackers."""


def track_body(config: LocomotionConfig, *args: Any, **kwargs: Any) -> AnyTrackBody:
    """Bodies whose legs walk on their own, or follow the poses (`environment.legs`)."""
    walks = config.environment.legs == "walker"
    make = WalkingBodyBatch if walks else TrackBodyBatch
    return make(config, *args, **kwargs)


BATCH = track_body
