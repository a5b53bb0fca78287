"""The compiled world: all envs of the contract stepped by one numba kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world import kernels
from ambulo.envs.vr.world.actions import motion_of
from ambulo.envs.vr.world.base import BaseWorld
from ambulo.envs.vr.world.climbing import Climbing
from ambulo.envs.vr.world.leaps import count_down
from ambulo.envs.vr.world.moving import MovingThings
from ambulo.envs.vr.world.state import WorldState

A = TypeVar("A", bound=NDArray[Any])


class PackedLevels:
    """Levels in padded arrays, one row a slot, that grow when a level needs more room."""

    def __init__(self) -> None:
        """No slots."""
        self.boxes = np.zeros((0, 1, 6))
        self.cylinders = np.zeros((0, 1, 3))
        self.holes = np.zeros((0, 1, 4))
        self.bounds = np.zeros((0, 4))
        self.counts = np.zeros((0, 3), np.int64)

    def set(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Write `levels[i]` into row `slots[i]`."""
        parts = [
            (level.box_prisms(), level.cylinder_prisms(), level.holes)
            for level in levels
        ]
        rows = max([len(self.bounds), *(slot + 1 for slot in slots)])
        self.boxes = _grown(self.boxes, rows, max(len(p[0]) for p in parts))
        self.cylinders = _grown(self.cylinders, rows, max(len(p[1]) for p in parts))
        self.holes = _grown(self.holes, rows, max(len(p[2]) for p in parts))
        self.bounds = _grown(self.bounds[:, None], rows, 1)[:, 0]
        self.counts = _grown(self.counts[:, None], rows, 1)[:, 0]
        for slot, level, part in zip(slots, levels, parts, strict=True):
            for array, values in zip(
                (self.boxes, self.cylinders, self.holes), part, strict=True
            ):
                array[slot, : len(values)] = values
            self.counts[slot] = [len(values) for values in part]
            self.bounds[slot] = level.bounds

    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """boxes, cylinders, holes, bounds, counts, as the kernels take them."""
        return self.boxes, self.cylinders, self.holes, self.bounds, self.counts


def _grown(array: A, rows: int, columns: int) -> A:
    """`array` (S, M, K), zero-padded to at least (rows, columns, K)."""
    missing = (max(rows - array.shape[0], 0), max(columns - array.shape[1], 0))
    if missing == (0, 0):
        return array
    return np.pad(array, ((0, missing[0]), (0, missing[1]), (0, 0)))  # type: ignore[return-value]


class KernelWorld(BaseWorld):
    """N envs in compiled levels; see `World` for the interface."""

    can_share = True

    def __init__(self, num_envs: int, spec: WorldSpec) -> None:
        """`num_envs` envs, not yet placed in any level."""
        super().__init__(num_envs, spec)
        self._packed = PackedLevels()
        self._climbing = Climbing(self.state, spec)
        self._flat = np.arange(num_envs)

    @property
    def moving(self) -> MovingThings:
        """What moves in the levels."""
        return self._climbing.moving

    @property
    def stochastic(self) -> bool:  # type: ignore[override]
        """Whether episodes differ that begin alike and have the same actions."""
        return self.moving.chancy

    def seed(self, envs: Ints, seeds: Ints) -> None:
        """Seed what is random in the next episodes of `envs` (k,)."""
        self.moving.seed(np.asarray(envs, np.int64), seeds)

    def share(self, size: int) -> None:
        """Put every `size` envs in a row into one level, where they meet.

        Raises:
            ConfigError: Envs of this world cannot meet.
            ValueError: `size` does not divide the number of envs.
        """
        super().share(size)
        if size > 1:
            self.moving.share(size)

    def leave(self, envs: Ints) -> None:
        """Take `envs` (k,) out of the level that they share, until their reset."""
        self.moving.leave(envs)

    def present(self) -> Bools:
        """Whether each env is in a level, where its mates meet it, shape (N,)."""
        return self.moving.present if self.moving.shared else self._placed()

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`."""
        self._packed.set(slots, levels)
        self._climbing.set_levels(slots, levels)

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Place `envs` at `poses` (x, y, yaw, and height) in level `slots`, at rest."""
        envs = np.asarray(envs, np.int64)
        self._place(envs, slots, poses)
        self._flat = self._climbing.sort(self._slot)
        self._climbing.place(envs, self._slot, self._falling)
        self._read_rays(np.intersect1d(envs, self._flat))

    def step(self, actions: NDArray[np.generic]) -> WorldState:
        """Advance every env by one environment step."""
        spec, state = self.spec, self.state
        motion = motion_of(actions, spec, state.command, self.comfort, state.cooldown)
        self._check_placed()
        state.moves[:] = motion.jump.any(axis=1)
        if spec.teleport > 0.0:
            state.moves[self._falling] = 0
        state.snaps[:] = motion.snap != 0.0
        count_down(state.cooldown, motion.jump, motion.snap, spec)
        self._climbing.step(motion, self._slot, self._falling, self._height_engine())
        kernels.step_envs(
            self._engine(), self._flat, motion.target, motion.jump, motion.snap,
            self._slot, state.position, state.yaw, state.velocity, state.yaw_rate,
            state.command, state.rays, state.path, state.contact_ticks, state.collisions,
            state.since_contact, state.fell, self._falling, spec.ticks_per_decision,
            spec.dt, spec.tick_decay, spec.max_speed, spec.max_yaw_rate,
            spec.rearm_ticks, spec.fall_depth, spec.rays_in_head_frame,
            spec.ray_length, spec.rays_see_edges, spec.teleport > 0.0,
            self._packed.arrays(),
        )  # fmt: skip
        return state

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; slots must hold the same levels."""
        super().load_state_dict(arrays)
        self._flat = self._climbing.sort(self._slot)
        self.moving.load(arrays, self._slot, self.state.position)

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super()._arrays(), **self._climbing.arrays()}

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays that a bit-exact continuation needs."""
        moving = self.moving.arrays() if self.moving.some else {}
        copies = {name: array.copy() for name, array in moving.items()}
        return {**super().state_dict(), **copies}

    def _read_rays(self, envs: Ints) -> None:
        """Read the rays of `envs` (k,) in flat levels."""
        kernels.read_rays(
            self._engine(), envs, self._slot, self.state.position,
            self.state.yaw, self.state.rays, self.spec.rays_in_head_frame,
            self.spec.ray_length, self.spec.rays_see_edges, self._packed.arrays(),
        )  # fmt: skip

    def _engine(self) -> tuple[NDArray[np.uintp], ...] | None:
        """What pushes bodies out of obstacles and casts rays: see `kernels`."""
        return None

    def _height_engine(self) -> NDArray[np.int64] | None:
        """What does so in levels with heights: see `height_kernels`."""
        return None
