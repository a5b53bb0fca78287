"""Worlds and tasks as Gymnasium environments; importing this registers them."""

from __future__ import annotations

import gymnasium

from ambulo.configs.errors import AmbuloError
from ambulo.configs.task_registry import task_names
from ambulo.configs.tasks import environment_id

__all__ = ["AmbuloError", "register_tasks"]

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


def register_tasks() -> None:
    """Register the environments of all present tasks."""
    for task in task_names():
        if environment_id(task) not in gymnasium.registry:
            gymnasium.register(
                id=environment_id(task),
                entry_point="ambulo.envs.locomotion.env:LocomotionEnv",
                vector_entry_point="ambulo.envs.locomotion.env:LocomotionVectorEnv",
                kwargs={"task": task},
            )


register_tasks()
