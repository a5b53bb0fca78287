"""The MuJoCo world: envs moved by `mj_step` that see by `mj_multiRay`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import AmbuloError
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world import mujoco_kernels
from ambulo.envs.vr.world.actions import motion_of
from ambulo.envs.vr.world.kernel_world import PackedLevels, place
from ambulo.envs.vr.world.mujoco_scene import physics_model
from ambulo.envs.vr.world.state import WorldState


@dataclass(frozen=True, eq=False)
class _Scene:
    """A compiled level.

    Envs of one level share it: a tick writes all of the state that it reads.
    """

    model: mujoco.MjModel
    data: mujoco.MjData

    @classmethod
    def of(cls, level: Level, dt: float) -> _Scene:
        model = physics_model(level, dt)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        return cls(model, data)

    def addresses(self) -> tuple[int, int, int, int]:
        """Addresses of the model, its data, qpos and qvel."""
        data = self.data
        return (
            self.model._address,
            data._address,
            data.qpos.ctypes.data,
            data.qvel.ctypes.data,
        )


class MujocoWorld:
    """N envs in MuJoCo; see `World` for the interface.

    Levels are compiled when an env is first placed in them; the `cache_size` last
    used stay compiled (about 0.6 MB and 2 ms each).
    """

    def __init__(
        self, num_envs: int, spec: WorldSpec, cache_size: int | None = None
    ) -> None:
        """`num_envs` envs, not yet placed in any level."""
        self.spec = spec
        self.state = WorldState.zeros(num_envs, spec.num_rays)
        self._cache_size = max(num_envs, 64) if cache_size is None else cache_size
        self._levels: dict[int, Level] = {}
        self._packed = PackedLevels()
        self._cache: OrderedDict[int, _Scene] = OrderedDict()
        self._scenes: list[_Scene | None] = [None] * num_envs
        self._addresses = np.zeros((4, num_envs), np.uintp)
        self._slot = np.full(num_envs, -1, np.int64)
        self._falling = np.zeros(num_envs, np.bool_)

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`."""
        self._packed.set(slots, levels)
        for slot, level in zip(slots, levels, strict=True):
            self._levels[int(slot)] = level
            self._cache.pop(int(slot), None)

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Place `envs` at `poses` (x, y, yaw) in level `slots`, at rest."""
        envs = np.asarray(envs, np.int64)
        place(self.state, envs, poses)
        self._slot[envs] = slots
        self._falling[envs] = False
        self._bind(envs)
        mujoco_kernels.read_rays(
            envs, self._addresses[0], self._addresses[1], self._slot,
            self.state.position, self.state.yaw, self.state.rays,
            self.spec.rays_in_head_frame, self.spec.ray_length,
            self.spec.rays_see_edges, self._packed.arrays(),
        )  # fmt: skip

    def step(self, actions: NDArray[np.generic]) -> WorldState:
        """Advance every env by one environment step."""
        spec, state = self.spec, self.state
        motion = motion_of(actions, spec, len(self._slot))
        if not self._addresses[0].all():
            env = int(np.argmin(self._addresses[0]))
            raise AmbuloError(
                f"environment {env} is in no level: call reset before step"
            )
        state.moves[:] = motion.jump.any(axis=1)
        state.snaps[:] = motion.snap != 0.0
        mujoco_kernels.step_envs(
            *self._addresses, motion.target, motion.jump, motion.snap, self._slot,
            state.position, state.yaw, state.velocity, state.yaw_rate, state.command,
            state.rays, state.path, state.contact_ticks, state.collisions,
            state.since_contact, state.fell, self._falling, spec.ticks_per_decision,
            spec.dt, spec.tick_decay, spec.max_speed, spec.max_yaw_rate,
            spec.rearm_ticks, spec.fall_depth, spec.rays_in_head_frame,
            spec.ray_length, spec.rays_see_edges, self._packed.arrays(),
        )  # fmt: skip
        return state

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays that a bit-exact continuation needs.

        MuJoCo's own state is not among them: each tick starts from the position alone.
        """
        arrays = {**self.state.arrays(), "slot": self._slot, "falling": self._falling}
        return {name: array.copy() for name, array in arrays.items()}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; slots must hold the same levels."""
        for name, array in self.state.arrays().items():
            array[...] = arrays[name]
        self._slot[...] = arrays["slot"]
        self._falling[...] = arrays["falling"]
        self._bind(range(len(self._slot)))

    def close(self) -> None:
        """Free the compiled levels."""
        self._cache.clear()
        self._scenes = [None] * len(self._slot)
        self._addresses[:] = 0

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the compiled levels, whose addresses no copy can share."""
        left = ("_cache", "_scenes", "_addresses")
        return {name: v for name, v in self.__dict__.items() if name not in left}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._cache = OrderedDict()
        self._scenes = [None] * len(self._slot)
        self._addresses = np.zeros((4, len(self._slot)), np.uintp)
        self._bind(np.flatnonzero(self._slot >= 0))

    def _bind(self, envs: Iterable[int]) -> None:
        """Gives `envs` the compiled levels of their slots.

        An env keeps its scene alive, so an address never outlives its memory.
        """
        for env in envs:
            scene = self._scene(int(self._slot[env]))
            self._scenes[env] = scene
            self._addresses[:, env] = scene.addresses()

    def _scene(self, slot: int) -> _Scene:
        scene = self._cache.pop(slot, None)
        if scene is None:
            if slot not in self._levels:
                raise AmbuloError(f"slot {slot} holds no level: call set_levels first")
            scene = _Scene.of(self._levels[slot], self.spec.dt)
        self._cache[slot] = scene
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return scene
