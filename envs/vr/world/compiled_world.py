"""The compiled world: all envs of the contract stepped by one numba kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.actions import count_down, motion_of
from ambulo.envs.vr.world.base import BaseWorld
from ambulo.envs.vr.world.packed_solids import PackedSolids
from ambulo.envs.vr.world.state import WorldState
from ambulo.envs.vr.world.step_kernels import (
    Bodies,
    Commands,
    Rules,
    Sight,
    place_on_floor,
    read_rays,
    step_bodies,
)


class CompiledWorld(BaseWorld):
    """N envs in compiled levels; see `World` for the interface."""

    can_share = True

    def __init__(self, num_envs: int, spec: WorldSpec) -> None:
        """`num_envs` envs, not yet placed in any level."""
        super().__init__(num_envs, spec)
        self._packed = PackedSolids()
        self._takeoff = np.zeros(num_envs)
        self._carrier = np.full(num_envs, -1, np.int64)
        self._everyone = np.arange(num_envs)

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`."""
        self._packed.set(slots, levels)
        self.moving.set_levels(slots, levels)

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Place `envs` at `poses` (x, y, yaw, and height) in level `slots`, at rest."""
        envs = np.asarray(envs, np.int64)
        self._place(envs, slots, poses)
        self.moving.begin(envs, self._slot, self.state.position)
        place_on_floor(
            envs, self._slot, self._bodies(), self._shapes(), self.moving.state
        )
        self._read_rays(envs)

    def step(self, actions: NDArray[np.generic]) -> WorldState:
        """Advance every env by one environment step."""
        spec, state, moving = self.spec, self.state, self.moving
        motion = motion_of(actions, spec, state.command, self.comfort, state.cooldown)
        self._check_placed()
        state.moves[:] = motion.jump.any(axis=1)
        if spec.teleport > 0.0:
            state.moves[state.falling] = 0
        state.snaps[:] = motion.snap != 0.0
        count_down(state.cooldown, motion.jump, motion.snap, spec)
        state.yaw[:] += motion.snap
        envs, slot = self._everyone, self._slot
        moving.advance(
            envs, slot, state.position, state.velocity, self._packed.arrays()
        )
        step_bodies(
            envs, slot, self._bodies(), Commands(motion.target, motion.jump),
            self._rules(), self._shapes(), self.moving.state,
        )  # fmt: skip
        moving.settle(envs, state.position)
        self._read_rays(envs)
        return state

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        own = {"takeoff": self._takeoff, "carrier": self._carrier}
        return {**super()._arrays(), **own}

    def _bodies(self) -> Bodies:
        s = self.state
        return Bodies(
            s.position, s.yaw, s.velocity, s.yaw_rate, s.command, s.path,
            s.contact_ticks, s.collisions, s.since_contact, s.people_ticks,
            s.people_collisions, s.since_person, s.fell, s.falling, self._takeoff,
            self._carrier,
        )  # fmt: skip

    def _rules(self) -> Rules:
        spec = self.spec
        return Rules(
            spec.ticks_per_decision, spec.dt, spec.tick_decay, spec.max_speed,
            spec.max_yaw_rate, spec.rearm_ticks, spec.fall_depth, spec.teleport > 0.0,
        )  # fmt: skip

    def _shapes(self) -> tuple[NDArray[np.generic], ...]:
        return self._packed.arrays(self.spec.body_height)

    def _read_rays(self, envs: Ints) -> None:
        """Read the rays of `envs` (k,)."""
        self._look_from(envs, self._bodies())

    def _look_from(self, envs: Ints, bodies: Bodies) -> None:
        """Read the rays of `envs` (k,) for `bodies` that fall or do not."""
        spec, state = self.spec, self.state
        sight = Sight(
            state.ray_ends, state.ray_floors, state.movers, spec.eye_height,
            spec.decision_dt,
        )  # fmt: skip
        read_rays(
            envs, self._slot, bodies, state.rays, spec.rays_in_head_frame,
            spec.ray_length, spec.rays_see_edges, self._shapes(), self.moving.state, sight,
        )  # fmt: skip
