"""Worlds and tasks as Gymnasium environments; importing this registers them."""

from __future__ import annotations

import gymnasium

from ambulo.configs.errors import AmbuloError

__all__ = ["AmbuloError"]

gymnasium.register(
    id="ambulo/VRNavigation-v0",
    entry_point="ambulo.envs.vr.task.env:VRNavigationEnv",
    vector_entry_point="ambulo.envs.vr.task.vector_env:VRNavigationVectorEnv",
)
gymnasium.register(
    id="ambulo/Imitate-v0",
    entry_point="ambulo.envs.tasks.env:ImitateEnv",
    vector_entry_point="ambulo.envs.tasks.env:ImitateVectorEnv",
)
gymnasium.register(
    id="ambulo/Locomote-v0",
    entry_point="ambulo.envs.tasks.env:LocomoteEnv",
    vector_entry_point="ambulo.envs.tasks.env:LocomoteVectorEnv",
)
gymnasium.register(
    id="ambulo/Gait-v0",
    entry_point="ambulo.envs.tasks.gait_env:GaitEnv",
    vector_entry_point="ambulo.envs.tasks.gait_env:GaitVectorEnv",
)
gymnasium.register(
    id="ambulo/Stand-v0",
    entry_point="ambulo.envs.tasks.env:StandEnv",
    vector_entry_point="ambulo.envs.tasks.env:StandVectorEnv",
)
