"""From a configuration to worlds, level banks and batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.body.fitting import fitting_level, own_levels
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.families.level_sets import Split, resolve
from ambulo.envs.vr.levels.geodesic import EVALUATION_RESOLUTION, RESOLUTION
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.reward import RewardTerm
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.state import World

GOAL_DRAWS = 8
"""Number of drawn goals of level files that fix none; the episode's seed chooses."""


def make_world(
    config: NavigationConfig, num_envs: int, log_folder: Path | None = None
) -> World:
    """The world of `environment.body` and `.world`.

    Engines keep their logs in `log_folder`.

    Raises:
        BridgeError: A Godot engine is missing or cannot be started.
        ConfigError: A walker or twin is missing, or settings do not fit it.
    """
    spec = WorldSpec.from_config(config)
    if config.environment.body != "capsule":
        return make_body_world(config, num_envs, spec)
    if config.environment.world == "godot":
        from ambulo.envs.godot.settings import BridgeSettings
        from ambulo.envs.godot.world import GodotWorld

        settings = BridgeSettings.from_config(config.environment, log_folder)
        return GodotWorld(num_envs, spec, settings)
    if config.environment.world == "mujoco":
        from ambulo.envs.vr.world.mujoco_world import MujocoWorld

        return MujocoWorld(num_envs, spec)
    return CompiledWorld(num_envs, spec)


def make_body_world(config: NavigationConfig, num_envs: int, spec: WorldSpec) -> World:
    """A world of bodies with legs, or of their twin."""
    env = config.environment
    if env.body == "twin":
        from ambulo.configs.twin import find_twin
        from ambulo.envs.vr.body.twin_world import TwinWorld

        return TwinWorld(num_envs, spec, find_twin(env.twin or env.walker))
    from ambulo.envs.vr.body.body_world import BodyWorld
    from ambulo.envs.vr.body.walker import find_walker

    return BodyWorld(num_envs, spec, find_walker(env.walker, env.body))


def scene_of(config: NavigationConfig) -> Level:
    """The scene `environment.scene` as a level; an engine is queried once.

    Raises:
        BridgeError: The engine or scene is missing or cannot be opened.
        LevelError: The scene has no walkable floor, or its markers are not connected.
    """
    from ambulo.envs.godot.scene_map import scene_level
    from ambulo.envs.godot.settings import BridgeSettings

    return scene_level(BridgeSettings.from_config(config.environment))


def make_bank(config: NavigationConfig, split: Split, seed: int) -> LevelBank:
    """The level bank of a training run (`train`) or of evaluation (other splits).

    Levels of the configured file or folder, `levels_per_family` of each family, or both.
    """
    env, training = config.environment, split == "train"
    own: list[Level] = []
    if env.scene is not None:
        own = [scene_of(config)]
    elif env.level_file is not None:
        own = own_levels(env.level_file, env.body)
    if any(level.goal is None for level in own):
        own = own * GOAL_DRAWS  # a slot holds one drawn goal
    made: list[Level] = []
    if not own or (training and env.file_fraction < 1.0):
        families = resolve(env.levels, split, repeats=training)
        made = [
            fitting_level(
                family, split, index * families.count(family) + turn, env.body
            )
            for index in range(env.levels_per_family)
            for family, turn in _turns(families)
        ]
    return LevelBank(
        own + made,
        np.random.default_rng([seed, 1]),
        designed=env.designed_start if training else 1.0,
        goal_distance=env.goal_distance,
        resolution=RESOLUTION if training else EVALUATION_RESOLUTION,
        jitter=env.start_jitter if training else (0.0, 0.0),
        own=len(own),
        own_fraction=env.file_fraction,
    )


def _turns(families: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield each family, with the number of its earlier occurrences."""
    for place, family in enumerate(families):
        yield family, families[:place].count(family)


def make_batch(
    config: NavigationConfig,
    num_envs: int,
    *,
    split: Split = "train",
    seed: int = 0,
    privileged: bool = False,
    bank: LevelBank | None = None,
    custom_terms: Sequence[RewardTerm] = (),
    log_folder: Path | None = None,
) -> NavigationBatch:
    """`num_envs` envs with their own bank (or `bank`), each with its own generator.

    Env i is seeded with (seed, i), so runs of different sizes share their first envs. Engines
    in other processes keep their logs in `log_folder`.
    """
    bank = bank if bank is not None else make_bank(config, split, seed)
    batch = NavigationBatch(
        config,
        bank,
        make_world(config, num_envs, log_folder),
        num_envs=num_envs,
        privileged=privileged and config.network.privileged_critic,
        custom_terms=custom_terms,
    )
    batch.rngs = [np.random.default_rng([seed, 2, i]) for i in range(num_envs)]
    return batch
