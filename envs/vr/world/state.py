"""The state that every world returns: arrays over envs, and the world's interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import HAND_OFFSET, WorldSpec
from ambulo.envs.vr.geometry.sight_kernels import MOVER_COLUMNS
from ambulo.envs.vr.geometry.solid_ray_kernels import FLOOR_PARTS
from ambulo.envs.vr.levels.level import Level

if TYPE_CHECKING:
    from ambulo.envs.vr.world.moving import MovingThings

MOVERS_SEEN = 3
"""Largest number of reported movers."""
HANDS = np.array([HAND_OFFSET, (HAND_OFFSET[0], -HAND_OFFSET[1], HAND_OFFSET[2])])
"""The hands of a player who holds controllers: ahead, left, up, [m]. Shape (2, 3)."""


@dataclass(frozen=True)
class WorldState:
    """State of N envs after an environment step. World frame, SI units, float64.

    The arrays are the world's own and are overwritten by its next `step`.
    """

    position: Floats
    """XR origin (body axis at floor height), shape (N, 3), [m]."""
    yaw: Floats
    """Heading, counter-clockwise from +X, unwrapped, shape (N,), [rad]."""
    velocity: Floats
    """Displacement in the last tick / dt, shape (N, 3), [m/s]."""
    yaw_rate: Floats
    """Turn in the last tick / dt (snap turns excluded), shape (N,), [rad/s]."""
    command: Floats
    """Smoothed (strafe, forward, rotation), shape (N, 3), in [-1, 1]."""
    rays: Floats
    """Ray readings, shape (N, num_rays), [m]."""
    ray_ends: Ints
    """Kind of the end of each ray (`solid_ray_kernels`: NOTHING, WALL, DROP or MOVER), (N,
    num_rays); (N, 0) unless `spec.surroundings`."""
    ray_floors: Floats
    """Floor above the feet at 1/4, 1/2, 3/4 and the end of each ray, shape (N, num_rays, 4),
    [m]; (N, 0, 4) unless `spec.surroundings`."""
    movers: Floats
    """Nearest visible movers and people, nearest first, columns as in `sight_kernels`, of kind
    0 if unused, shape (N, 3, 13); (N, 0, 13) unless `spec.surroundings`."""
    path: Floats
    """Horizontal distance walked in this step, summed over ticks, shape (N,), [m]."""
    contact_ticks: Ints
    """Ticks of this step in contact with an obstacle, shape (N,)."""
    collisions: Ints
    """Collision events of this step, shape (N,)."""
    since_contact: Ints
    """Ticks since the last contact (large when there was none), shape (N,)."""
    people_ticks: Ints
    """Ticks of this step in contact with a person, shape (N,)."""
    people_collisions: Ints
    """Collision events of this step with a person, shape (N,)."""
    since_person: Ints
    """Ticks since the last contact with a person, as `since_contact`, shape (N,)."""
    moves: Ints
    """Discrete moves or teleports made in this step (0 or 1), shape (N,)."""
    snaps: Ints
    """Snap turns made in this step (0 or 1), shape (N,)."""
    cooldown: Ints
    """Steps until the next snap turn and teleport, shape (N, 2)."""
    fell: Bools
    """Whether the body is deeper than `fall_depth` below the floor, shape (N,)."""
    falling: Bools
    """Whether the body is in the air, shape (N,)."""
    fault: Bools
    """Whether the world lost this env in this step (an engine broke down): its state is
    unchanged, and its episode cannot continue; shape (N,)."""
    hands: Floats
    """Left and right hand from the XR origin: ahead, left, up, shape (N, 2, 3), [m]."""

    @classmethod
    def zeros(
        cls,
        num_envs: int,
        num_rays: int,
        hand: tuple[float, float, float] = HAND_OFFSET,
        *,
        surroundings: bool = False,
    ) -> WorldState:
        """A state of `num_envs` envs at the origin, with left hands at `hand`.

        With `surroundings`, it also has arrays for ray ends, floors and movers.
        """
        n = num_envs
        seen = num_rays if surroundings else 0
        ahead, left, up = hand
        return cls(
            position=np.zeros((n, 3)),
            yaw=np.zeros(n),
            velocity=np.zeros((n, 3)),
            yaw_rate=np.zeros(n),
            command=np.zeros((n, 3)),
            rays=np.zeros((n, num_rays)),
            ray_ends=np.zeros((n, seen), np.int64),
            ray_floors=np.zeros((n, seen, FLOOR_PARTS)),
            movers=np.zeros((n, MOVERS_SEEN if seen else 0, MOVER_COLUMNS)),
            path=np.zeros(n),
            contact_ticks=np.zeros(n, np.int64),
            collisions=np.zeros(n, np.int64),
            since_contact=np.full(n, 1 << 30, np.int64),
            people_ticks=np.zeros(n, np.int64),
            people_collisions=np.zeros(n, np.int64),
            since_person=np.full(n, 1 << 30, np.int64),
            moves=np.zeros(n, np.int64),
            snaps=np.zeros(n, np.int64),
            cooldown=np.zeros((n, 2), np.int64),
            fell=np.zeros(n, np.bool_),
            falling=np.zeros(n, np.bool_),
            fault=np.zeros(n, np.bool_),
            hands=np.tile([[ahead, left, up], [ahead, -left, up]], (n, 1, 1)),
        )

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays of the env's motion by name (not copied): all but fault and hands."""
        names = (f.name for f in fields(self) if f.name not in ("fault", "hands"))
        return {name: getattr(self, name) for name in names}


class World(Protocol):
    """N envs, each in one level of a shared list; they meet only where they `share`."""

    spec: WorldSpec
    state: WorldState
    comfort: Floats | None
    """Dials that scale the limits of `spec`, shape (N,), in [0, 1], owned by the caller, who
    may change them between steps; None: 1 everywhere."""
    moving: MovingThings
    """Movers in the levels."""

    @property
    def poses(self) -> Floats | None:
        """Positions of all joints after each tick of the last step, [m] and [rad].

        Shape (N, ticks, nq); None: bodies without joints.
        """
        ...

    @property
    def stochastic(self) -> bool:
        """Whether equal starts and actions can lead to different episodes."""
        ...

    def seed(self, envs: Ints, seeds: Ints) -> None:
        """Seed the random numbers of the next episodes of `envs` (k,), before their reset."""
        ...

    def details(self) -> dict[str, NDArray[np.generic]]:
        """Further `info` of the last step, arrays over envs by name."""
        ...

    def share(self, size: int) -> None:
        """Let every `size` consecutive envs share a level, where they meet.

        To be called before the first `set_levels`. An env obstructs the others from its reset
        until `leave`; those of one level begin together, and may restart alone.

        Raises:
            ConfigError: Envs of this world cannot meet.
        """
        ...

    def leave(self, envs: Ints) -> None:
        """Remove `envs` (k,) from the level that they share, until their reset."""
        ...

    def present(self) -> Bools:
        """Mask of the envs that are in a level and meet others there, shape (N,)."""
        ...

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`, for `reset`.

        Envs in a replaced slot continue in the new level with their next step.
        """
        ...

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Place `envs` (k,) at `poses` in level `slots` (k,).

        `poses`: x, y [m], yaw [rad], and the height of the floor [m], shape (k, 4); without a
        height, shape (k, 3), it is 0. All other state is as at rest; rays are read.
        """
        ...

    def reach(self, points: Floats) -> None:
        """Lead hands to `points` (N, 3) in the world, [m]; NaN: none.

        A capsule's hands hold controllers and do not move.
        """
        ...

    def step(self, actions: NDArray[np.generic]) -> WorldState:
        """Advance every env by one environment step.

        `actions`: shape (N, 3) floats (strafe, forward, rotation; + is right), clipped to
        [-1, 1], or shape (N,) integers 0..6 when `spec.discrete`.
        """
        ...

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays that a bit-exact continuation needs (levels excluded)."""
        ...

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; slots must hold the same levels."""
        ...

    def close(self) -> None:
        """Free the world's resources."""
        ...
