"""The MuJoCo world: envs moved by `mj_step` that see by `mj_multiRay`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import AmbuloError
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world import mujoco_kernels  # noqa: F401 - MuJoCo in `kernels`
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.mujoco_height_kernels import ENGINE
from ambulo.envs.vr.world.mujoco_heights import HeightScene
from ambulo.envs.vr.world.mujoco_scene import physics_model


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


class MujocoWorld(CompiledWorld):
    """N envs in MuJoCo; see `World` for the interface.

    Levels are compiled when an env is first placed in them; the `cache_size` last
    used stay compiled (about 0.6 MB and 2 ms each).
    """

    can_share = False

    def __init__(
        self, num_envs: int, spec: WorldSpec, cache_size: int | None = None
    ) -> None:
        """`num_envs` envs, not yet placed in any level."""
        super().__init__(num_envs, spec)
        self._cache_size = max(num_envs, 64) if cache_size is None else cache_size
        self._levels: dict[int, Level] = {}
        self._cache: OrderedDict[int, _Scene | HeightScene] = OrderedDict()
        self._scenes: list[_Scene | HeightScene | None] = [None] * num_envs
        self._addresses = np.zeros((4, num_envs), np.uintp)
        self._heights = np.zeros((num_envs, len(ENGINE)), np.int64)

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`."""
        super().set_levels(slots, levels)
        for slot, level in zip(slots, levels, strict=True):
            self._levels[int(slot)] = level
            self._cache.pop(int(slot), None)
        played = np.flatnonzero(np.isin(self._slot, list(slots)))
        self._bind(env for env in played.tolist() if self._scenes[env] is not None)

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; slots must hold the same levels."""
        super().load_state_dict(arrays)
        self._bind(range(len(self._slot)))

    def close(self) -> None:
        """Free the compiled levels."""
        self._cache.clear()
        self._scenes = [None] * len(self._slot)
        self._addresses[:] = 0
        self._heights[:] = 0

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the compiled levels, whose addresses no copy can share."""
        left = ("_cache", "_scenes", "_addresses", "_heights")
        return {name: v for name, v in self.__dict__.items() if name not in left}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._cache = OrderedDict()
        self._scenes = [None] * len(self._slot)
        self._addresses = np.zeros((4, len(self._slot)), np.uintp)
        self._heights = np.zeros((len(self._slot), len(ENGINE)), np.int64)
        self._bind(np.flatnonzero(self._slot >= 0))

    def _place(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        super()._place(envs, slots, poses)
        self._bind(envs)

    def _placed(self) -> Bools:
        return (self._addresses[0] != 0) | (self._heights[:, 0] != 0)

    def _engine(self) -> tuple[NDArray[np.uintp], ...]:
        return tuple(self._addresses)

    def _flat_scene(self, level: Level) -> _Scene:
        return _Scene.of(level, self.spec.dt)

    def _height_engine(self) -> NDArray[np.int64]:
        return self._heights

    def _bind(self, envs: Iterable[int]) -> None:
        """Gives `envs` the compiled levels of their slots.

        An env keeps its scene alive, so an address never outlives its memory.
        """
        for env in envs:
            scene = self._scene(int(self._slot[env]))
            self._scenes[env] = scene
            self._addresses[:, env], self._heights[env] = 0, 0
            if isinstance(scene, HeightScene):
                self._heights[env] = scene.addresses()
            else:
                self._addresses[:, env] = scene.addresses()

    def _scene(self, slot: int) -> _Scene | HeightScene:
        scene = self._cache.pop(slot, None)
        if scene is None:
            if slot not in self._levels:
                raise AmbuloError(f"slot {slot} holds no level: call set_levels first")
            level = self._levels[slot]
            if level.heights:
                scene = HeightScene.of(level, self.spec.body_height)
            else:
                scene = self._flat_scene(level)
        self._cache[slot] = scene
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return scene
