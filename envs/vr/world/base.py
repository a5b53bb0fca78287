"""Common parts of all worlds: the state of N envs, their slots, and saving both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import AmbuloError, ConfigError, LevelError
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.moving import MovingThings
from ambulo.envs.vr.world.state import WorldState


def refuse_heights(levels: Sequence[Level], world: str) -> None:
    """Raise `LevelError` for a level whose heights `world` would ignore."""
    for level in levels:
        if level.heights:
            raise LevelError(
                f"level {level.name!r}: has heights, which {world} cannot climb: use the "
                "compiled world (environment.world = compiled, environment.body = capsule)"
            )


class BaseWorld:
    """Base of worlds: see `World` for the interface."""

    can_share: ClassVar[bool] = False
    """Whether envs of this kind of world can share levels."""

    def __init__(self, num_envs: int, spec: WorldSpec) -> None:
        """`num_envs` envs, not yet placed in any level."""
        self.spec = spec
        self.state = WorldState.zeros(
            num_envs,
            spec.num_rays,
            spec.hand_offset,
            surroundings=spec.surroundings,
        )
        self.comfort: Floats | None = None
        self.poses: Floats | None = None
        self.moving = MovingThings(num_envs, spec)
        self._slot = np.full(num_envs, -1, np.int64)

    @property
    def stochastic(self) -> bool:
        """Whether equal starts and actions can lead to different episodes."""
        return self.moving.is_random

    def seed(self, envs: Ints, seeds: Ints) -> None:
        """Seed the random numbers of the next episodes of `envs` (k,)."""
        self.moving.seed(envs, seeds)

    def share(self, size: int) -> None:
        """Let every `size` consecutive envs share a level, where they meet.

        Raises:
            ConfigError: Envs of this world cannot meet.
            ValueError: `size` does not divide the number of envs.
        """
        if size > 1 and not self.can_share:
            raise ConfigError(
                f"agents = {size}: they meet in world = compiled with body = capsule only"
            )
        if size > 1:
            self.moving.share(size)

    def leave(self, envs: Ints) -> None:
        """Remove `envs` (k,) from the level that they share, until their reset."""
        self.moving.leave(envs)

    def present(self) -> Bools:
        """Mask of the envs that are in a level and meet others there, shape (N,)."""
        return self.moving.state.present if self.moving.shared else self._placed()

    def reach(self, points: Floats) -> None:
        """Ignore the points: hands hold controllers."""

    def details(self) -> dict[str, NDArray[np.generic]]:
        """Return an empty dictionary: there are no details."""
        return {}

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays that a bit-exact continuation needs."""
        moving = self.moving.arrays() if self.moving.some else {}
        return {name: a.copy() for name, a in {**self._arrays(), **moving}.items()}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; slots must hold the same levels."""
        for name, array in self._arrays().items():
            if name in arrays:  # older states have fewer
                array[...] = arrays[name]
        self.moving.load(arrays, self._slot, self.state.position)

    def close(self) -> None:
        """Free the world's resources."""

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**self.state.arrays(), "slot": self._slot}

    def _place(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Set `envs` at rest at `poses` (k, 3 or 4) in `slots`."""
        for array in self.state.arrays().values():
            array[envs] = 0
        self.state.since_contact[envs] = 1 << 30
        self.state.since_person[envs] = 1 << 30
        self.state.position[envs, :2] = poses[:, :2]
        self.state.yaw[envs] = poses[:, 2]
        if poses.shape[1] > 3:
            self.state.position[envs, 2] = poses[:, 3]
        self._slot[envs] = slots

    def _placed(self) -> Bools:
        """Whether each env is in a level, shape (N,)."""
        return self._slot >= 0

    def _check_placed(self) -> None:
        """Raise `AmbuloError` unless all envs are in levels."""
        placed = self._placed()
        if not placed.all():
            env = int(np.argmin(placed))
            raise AmbuloError(
                f"environment {env} is in no level: call reset before step"
            )
