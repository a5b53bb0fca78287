"""Envs whose levels have heights: where they stand, and their compiled step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Ints
from ambulo.envs.vr.contract import BODY_HEIGHT, WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world import height_kernels, standing_kernels
from ambulo.envs.vr.world.actions import EnvMotion
from ambulo.envs.vr.world.moving import MovingThings
from ambulo.envs.vr.world.packed_solids import PackedSolids
from ambulo.envs.vr.world.state import WorldState

Engine = NDArray[np.int64] | None
"""What moves bodies, see `height_kernels`."""
_TALL = 2.0 * BODY_HEIGHT
"""Height of obstacles that nothing passes over or under, [m]."""


def walled(level: Level) -> Level:
    """A level with heights in which a body moves as in the flat `level`."""
    boxes, cylinders = level.box_prisms(), level.cylinder_prisms()
    tall = np.full(len(boxes), _TALL / 2)
    return dataclasses.replace(
        level,
        heights=True,
        boxes=np.column_stack(
            [
                boxes[:, :2],
                tall,
                boxes[:, 2:4],
                tall,
                np.arctan2(boxes[:, 5], boxes[:, 4]),
            ]
        ),
        cylinders=np.column_stack([cylinders, np.full(len(cylinders), _TALL)]),
    )


class Climbing:
    """Those envs of a world that are in levels with heights."""

    def __init__(self, state: WorldState, spec: WorldSpec) -> None:
        """None yet; `state` is the world's, and is written here."""
        self._state, self._spec = state, spec
        self._packed = PackedSolids()
        self._high = np.zeros(0, np.bool_)
        self._envs = np.zeros(0, np.int64)
        count = len(state.yaw)
        self.takeoff = np.zeros(count)
        """Height of the last floor, shape (N,), [m]."""
        self.carrier = np.full(count, -1, np.int64)
        """Mover that carries the env; -1: none, shape (N,)."""
        self.moving = MovingThings(count, spec)
        """What moves in the levels."""

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`; flat ones too where envs share levels."""
        if self.moving.shared:
            levels = [level if level.heights else walled(level) for level in levels]
        rows = max([len(self._high), *(slot + 1 for slot in slots)])
        self._high = np.pad(self._high, (0, rows - len(self._high)))
        self._high[list(slots)] = [level.heights for level in levels]
        if self._high.any():
            self._packed.set(slots, levels)
            self.moving.set_levels(slots, levels)

    def sort(self, slot: Ints) -> Ints:
        """Find out which envs are here, by their slots (N,); return the others."""
        high = np.append(self._high, False)[slot]  # slot -1: in no level yet
        self._envs = np.flatnonzero(high)
        return np.flatnonzero(~high)

    def place(self, envs: Ints, slot: Ints, falling: Bools) -> None:
        """Put those of `envs` that are here on the floor; their rays are read."""
        envs = np.intersect1d(envs, self._envs)
        if len(envs) == 0:
            return
        self.moving.begin(envs, slot, self._state.position)
        standing_kernels.place_on_floor(
            envs, slot, self._state.position, self.takeoff, falling, self.carrier,
            self._packed.arrays(self._spec.body_height), self.moving.after,
            self.moving.count,
        )  # fmt: skip
        self._read_rays(envs, slot, falling)

    def step(
        self, motion: EnvMotion, slot: Ints, falling: Bools, engine: Engine = None
    ) -> None:
        """Advance the envs that are here by one step of `engine` (`height_kernels`)."""
        envs, spec, state = self._envs, self._spec, self._state
        if len(envs) == 0:
            return
        state.yaw[envs] += motion.snap[envs]
        moving, packed = self.moving, self._packed.arrays(spec.body_height)
        moving.advance(
            envs, slot, state.position, state.velocity, self._packed.arrays()
        )
        height_kernels.step_heights(
            engine, envs, motion.target, motion.jump, slot, state.position, state.yaw,
            state.velocity, state.yaw_rate, state.command, state.path,
            state.contact_ticks, state.collisions, state.since_contact,
            state.people_ticks, state.people_collisions, state.since_person,
            state.fell, falling,
            self.takeoff, self.carrier, spec.ticks_per_decision, spec.dt,
            spec.tick_decay, spec.max_speed, spec.max_yaw_rate, spec.rearm_ticks,
            spec.fall_depth, spec.teleport > 0.0, packed, moving.before, moving.after,
            moving.count, moving.mates, moving.present,
        )  # fmt: skip
        moving.settle(envs, state.position)
        self._read_rays(envs, slot, falling)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """What a continuation needs beside the world's state."""
        return {
            "takeoff": self.takeoff,
            "carrier": self.carrier,
        }

    def _read_rays(self, envs: Ints, slot: Ints, falling: Bools) -> None:
        spec, state = self._spec, self._state
        standing_kernels.read_height_rays(
            envs, slot, state.position, state.yaw, state.rays,
            spec.rays_in_head_frame, spec.ray_length, spec.rays_see_edges, falling,
            self._packed.arrays(spec.body_height), self.moving.after,
            self.moving.count,
        )  # fmt: skip
