"""Worlds and tasks as Gymnasium environments; importing this registers them."""

from __future__ import annotations

import gymnasium

from ambulo.configs.errors import AmbuloError
from ambulo.configs.tasks import TASKS, environment_id

__all__ = ["AmbuloError"]

gymnasium.register(
    id="ambulo/VRNavigation-v0",
    entry_point="ambulo.envs.vr.task.env:VRNavigationEnv",
    vector_entry_point="ambulo.envs.vr.task.env:VRNavigationVectorEnv",
)
gymnasium.register(
    id="ambulo/EmbodiedNavigation-v0",
    entry_point="ambulo.envs.vr.task.env:EmbodiedNavigationEnv",
    vector_entry_point="ambulo.envs.vr.task.env:EmbodiedNavigationVectorEnv",
)
gymnasium.register(
    id="ambulo/Godot-v0",
    entry_point="ambulo.envs.godot.agents.env:GodotEnv",
    vector_entry_point="ambulo.envs.godot.agents.env:GodotVectorEnv",
)
for _task in TASKS:
    gymnasium.register(
        id=environment_id(_task),
        entry_point="ambulo.envs.locomotion.env:LocomotionEnv",
        vector_entry_point="ambulo.envs.locomotion.env:LocomotionVectorEnv",
        kwargs={"task": _task},
    )
