"""Stages of simulated bodies: policies of all locomotion tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ambulo.commands.viewing.flags import PlayFlags
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.clips.read_clips import read_clips
from ambulo.envs.reference.configured import check_reference, configured_character
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.joint_state import joint_states
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    bodies,
    stored_references,
    undisturbed,
)
from ambulo.policies.agents.cascade import load_cascade_agent
from ambulo.policies.agents.locomotion import (
    LocomotionAgent,
    check_alone,
    load_locomotion,
)
from ambulo.viz.viewer.walker_stage import WalkerStage

EPISODE_SECONDS = 600.0
"""Length of an episode, [s]."""


def walker_stage(file: Path, flags: PlayFlags) -> WalkerStage:
    """Return the stage of a walker of any task with one reference a body.

    Raises:
        ConfigError: Settings that this body cannot have.
        ModelFileError: A damaged file, or a correction without its base.
    """
    import_mujoco()
    model = load_locomotion(file)
    agent = LocomotionAgent(model, str(file))
    check_alone(agent, file)
    references = stored_references(model, str(file)) or (None,)
    config = undisturbed(agent.config, EPISODE_SECONDS)
    seeds = [flags.seed + k for k in range(flags.bodies)]
    if config.environment.traits.parameters:
        batch = make_batch(
            config, flags.bodies, seed=flags.seed, reference=references[0],
            muscles=agent.muscles,
        )  # fmt: skip
    else:
        subject = LocomotionSubject(config, references, agent, True, agent.muscles)
        batch = bodies(subject, config, seeds, 0)
    task = config.environment.task.replace("_", " ")
    return WalkerStage(batch, agent.act, f"{_name(file)}: {task}")


def cascade_stage(file: Path, flags: PlayFlags) -> WalkerStage:
    """Return the stage of a cascade of gait policies."""
    import_mujoco()
    agent = load_cascade_agent(file)
    config = undisturbed(agent.config, EPISODE_SECONDS)
    settings = agent.env_settings()
    follow = settings["follow"]
    reference = (
        reference_from_bytes(follow, str(file)) if isinstance(follow, bytes) else follow
    )
    batch = make_batch(
        config, flags.bodies, seed=flags.seed, reference=reference,
        muscles=settings["muscles"],
    )  # fmt: skip
    if not isinstance(batch, GaitBatch):
        raise ConfigError(f"{file}: a cascade acts on bodies of the task gait")
    gait: GaitBatch = batch
    agent.connect(lambda values: joint_states(gait, values))
    return WalkerStage(batch, agent.act, f"{_name(file)}: gait")


def tracker_stage(file: Path, flags: PlayFlags) -> WalkerStage:
    """Return the stage of a policy that tracks clips: its own, or `flags.clips`."""
    import_mujoco()
    model = load_locomotion(file)
    agent = LocomotionAgent(model, str(file))
    config = agent.config.override(
        "environment", captured_share=0.0, push_impulse=(0.0, 0.0), target_noise=0.0,
        max_episode_steps=100_000,
    )  # fmt: skip
    env = config.environment
    character = configured_character(env)
    if flags.clips:
        paths = [resolve_path(path) for path in flags.clips]
        reference = read_clips(paths, character, env.control_dt)
    else:
        result = stored_references(model, str(file))
        if not result:
            raise ConfigError(f"{file}: holds no clip; --clips FILE names one")
        reference = result[0]
    check_reference(reference, character, env)
    batch = TrackBatch(config, reference, character, num_envs=flags.bodies)
    everyone, first = np.arange(flags.bodies), np.zeros(flags.bodies, np.int64)
    batch.choose(everyone, first, first)

    return WalkerStage(batch, agent.act, f"{_name(file)}: tracks clips")


def _name(file: Path) -> str:
    return file.stem
