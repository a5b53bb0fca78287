"""Stages of agents that navigate in VR levels."""

from __future__ import annotations

from pathlib import Path

from ambulo.commands.viewing.flags import PlayFlags
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.envs.vr.task.build import make_batch
from ambulo.evaluate.vr.subjects import AgentController
from ambulo.policies.agents.navigation import load_agent
from ambulo.viz.viewer.navigation_stage import NavigationStage

LEVELS = 2
"""Levels of each family."""


def navigation_stage(file: Path, flags: PlayFlags) -> NavigationStage:
    """Return the stage of a navigator in held-out levels of its own families.

    Raises:
        ConfigError: No such levels.
        LevelError: A bad level file.
        ModelFileError: A damaged file.
    """
    import_mujoco()
    agent = load_agent(file)
    config = agent.config
    env = config.environment
    changes: dict[str, object] = {"levels_per_family": LEVELS, "world": "compiled"}
    if env.body == "twin":
        changes["body"] = "human23"
    if flags.level_file is not None:
        changes |= {"level_file": str(resolve_path(flags.level_file))}
        changes |= {"level_file_fraction": 1.0}
    elif flags.levels is not None:
        levels = tuple(flags.levels.split(","))
        changes |= {"levels": levels, "level_file": None}
    config = config.override("environment", **changes)
    batch = make_batch(config, 1, split="heldout", seed=flags.seed)
    agent.check_layout(batch.layout)
    controller = AgentController(agent, deterministic=True, seed=flags.seed)
    acting = controller.agent
    return NavigationStage(
        batch,
        controller,
        f"{file.stem}: navigates",
        lost=lambda: None if acting.lost is None else float(acting.lost[0]),
    )
