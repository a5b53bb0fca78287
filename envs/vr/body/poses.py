"""Poses of the bodies of a world: simulated ones, or avatars of discs and capsules."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.state_arrays import Arrays
from ambulo.envs.vr.body.body_world import BodyWorld
from ambulo.envs.vr.world.state import World
from ambulo.ik.avatar.crowd import AvatarCrowd
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.motion.human23 import local_rotations, positions_of
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.skeleton import Skeleton

AVATAR_RATE = 30.0
"""Approximate pose rate of an avatar, [Hz]; the shipped walkers' control rate."""


class Poses(Protocol):
    """Present and past joint poses of N human23 bodies."""

    skeleton: Skeleton
    """The bodies' skeleton."""
    frames: int
    """Poses in an environment step, K."""

    def begin(self, envs: Ints) -> Floats:
        """Positions (k, 56) of `envs` (k,), whose episodes begin."""
        ...

    def advance(self) -> Floats:
        """Positions (N, K, 56) during the world's last step; the last are the present ones."""
        ...

    def joints(self) -> tuple[Floats, Floats]:
        """World positions (N, 23, 3) [m] and orientations (N, 23, 4) of all joints now."""
        ...

    def arrays(self) -> Arrays:
        """The arrays that a bit-exact continuation needs, by name (not copied)."""
        ...


class SimulatedPoses:
    """The poses of simulated characters at every control step."""

    def __init__(self, world: BodyWorld) -> None:
        """Create it for the characters of `world`.

        Raises:
            ConfigError: A character is not human23.
        """
        self._world = world
        self.skeleton = world.batch.character.skeleton
        self._columns = world.batch.character.position_columns
        self.frames = world.spec.ticks_per_decision

    def begin(self, envs: Ints) -> Floats:
        """Positions (k, 56) of `envs` (k,) now."""
        return self._columns.positions(self._world.qpos[envs])

    def advance(self) -> Floats:
        """Positions (N, K, 56) after each control step."""
        return self._columns.positions(self._world.poses)

    def joints(self) -> tuple[Floats, Floats]:
        """World positions (N, 23, 3) [m] and orientations (N, 23, 4) of all joints now."""
        positions = self._columns.positions(self._world.qpos)
        places, turns = forward_kinematics(
            self.skeleton, positions[:, 3:6], local_rotations(positions)
        )
        return np.asarray(places), np.asarray(turns)

    def arrays(self) -> Arrays:
        """Return an empty dictionary: the world holds the state."""
        return {}


class AvatarPoses:
    """Poses of discs and capsules: avatars whose heads follow the bodies."""

    def __init__(self, world: World, count: int, avatar: AvatarPose) -> None:
        """Create copies of `avatar` for the `count` bodies of `world`."""
        self._state, self._dt = world.state, world.spec.decision_dt
        self.frames = max(round(self._dt * AVATAR_RATE), 1)
        self._crowd = AvatarCrowd(avatar, count)
        self.skeleton = self._crowd.skeleton
        self._everyone = np.arange(count)
        self._before: Floats = np.zeros((count, 4))

    def begin(self, envs: Ints) -> Floats:
        """Place standing avatars; positions (k, 56) of `envs` (k,)."""
        crowd, now = self._crowd, self._heads()
        crowd.reset(envs)
        self._before[envs] = now[envs]
        crowd.step(envs, now, now, self._dt, self.frames)
        found: Floats = positions_of(crowd.roots[envs, -1], crowd.rotations[envs, -1])
        return found

    def advance(self) -> Floats:
        """Walk to the present positions of the bodies; positions (N, K, 56) on the path."""
        crowd, now = self._crowd, self._heads()
        crowd.step(self._everyone, self._before, now, self._dt, self.frames)
        self._before[:] = now
        found: Floats = positions_of(crowd.roots, crowd.rotations)
        return found

    def joints(self) -> tuple[Floats, Floats]:
        """World positions (N, 23, 3) [m] and orientations (N, 23, 4) of all joints now."""
        return self._crowd.positions, self._crowd.orientations

    def arrays(self) -> Arrays:
        """Return the state of the avatars."""
        crowd = self._crowd
        return {"before": self._before, "avatar": crowd.state, "feet": crowd.feet}

    def _heads(self) -> Floats:
        """x, y, floor height [m] and yaw [rad] of all bodies. Shape (N, 4)."""
        return np.column_stack([self._state.position, self._state.yaw])
