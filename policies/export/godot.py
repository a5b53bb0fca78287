"""Trained agents for Godot: one file of data that the add-on's GDScript reads."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ambulo.configs.errors import ModelFileError
from ambulo.configs.twin import TwinConfig
from ambulo.configs.vr_bodies import USUAL_EYES
from ambulo.configs.vr_learning import PLANNED
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.export.export import (
    file_runner,
    navigation_graph,
    output_stage,
    state_row,
)
from ambulo.policies.export.graph import check_export
from ambulo.policies.export.network_layers import folded_layers, packed
from ambulo.policies.export.written import Written, pack_weights, unpack
from ambulo.policies.files.archive import write_atomic

MAGIC = b"AMBULOP1"
"""First bytes of the file; the last one is the version of the format."""
MEMORIES = ("none", "visits", "map", *PLANNED)
"""Kinds of memory that the add-on computes."""

NO_LIMITS = {
    "max_acceleration": 0.0, "max_yaw_acceleration": 0.0, "facing": math.pi,
    "snap_turn": 0.0, "snap_delay": 0.3, "teleport": 0.0, "teleport_delay": 0.5,
    "vignette": 0.0, "eye_height": USUAL_EYES, "comfort_speed": 0.0,
}  # fmt: skip
"""Settings of a world that change nothing, which files leave out."""

_RESPONSE = {"gain", "offset", "lag", "change", "delay"}
_TWIN: dict[str, Any] = {
    "walker": True, "radius": True, "envelope": True,
    "speed": _RESPONSE, "side": _RESPONSE, "turn": _RESPONSE,
}  # fmt: skip
"""Fields of a twin that the add-on reads: it plays without noise and falls."""


def export_godot(
    agent: Agent,
    path: str | os.PathLike[str],
    world: Mapping[str, float],
    twin: TwinConfig | None = None,
) -> Written:
    """Write `agent` as one file for the policy node of the add-on.

    Args:
        agent: trained with a memory of `MEMORIES`.
        path: of the file.
        world: the settings of the world it was trained in, named as in `WorldSpec`.
        twin: how the body answers its sticks that it was trained for; None: a capsule,
            which answers at once.

    Raises:
        ModelFileError: Godot cannot run this agent, the file cannot be written, or it
            does not act like the agent.
    """
    file = Path(path)
    header = _header(agent, file, world)
    if twin is not None:
        header["twin"] = twin.model_dump(mode="json", include=_TWIN)
    header["layers"], numbers = packed(folded_layers(agent))
    data = pack_weights(MAGIC, header, numbers, str(file))
    run = file_runner(*unpack(data))
    check_export(navigation_graph(agent), run, str(file))
    write_atomic(file, data)
    return Written((file,))


def _header(agent: Agent, file: Path, world: Mapping[str, float]) -> dict[str, Any]:
    metadata, config = agent.metadata, agent.config
    obs, env = config.observations, config.environment
    if obs.memory not in MEMORIES:
        raise ModelFileError(
            f"{file}: memory {obs.memory!r} does not run in Godot; "
            f"use one of {', '.join(MEMORIES)}, or the HTTP bridge"
        )
    if obs.motion != "none":
        raise ModelFileError(
            f"{file}: observations.motion = {obs.motion} does not run in Godot, except "
            "over the HTTP bridge"
        )
    senses: dict[str, Any] = {
        "frame": obs.frame,
        "memory": obs.memory,
        "num_rays": obs.num_ray_sensors,
        "ray_length": obs.ray_length,
    }
    if obs.memory in PLANNED:
        senses["plan_reach"] = obs.plan_reach
    if agent.config.actions.follow_plan:
        senses["follow_plan"] = True
    if agent.comfort is not None:
        senses["comfort"] = agent.comfort
    return {
        "kind": metadata.kind,
        "num_timesteps": metadata.num_timesteps,
        "observation_size": metadata.observation_size,
        "observation": [
            {"name": part.name, "start": part.start, "stop": part.stop}
            for part in agent.layout.parts
        ],
        "senses": senses,
        "world": {k: v for k, v in world.items() if NO_LIMITS.get(k) != v},
        "episode": {
            "tasks": list(env.tasks),
            "goal_radius": env.goal_radius,
            "max_steps": env.max_episode_steps,
            "goal_distance": list(env.goal_distance),
        },
        "output": output_stage(agent),
        "bound": agent.policy.action_bound,
        "layers": [],
        **state_row(agent),
    }
