"""Give a navigation model a calibrated head that says when it is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np
import torch

from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families.level_sets import Split, resolve
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.lost.critic import critic_of
from ambulo.evaluate.vr.lost.labels import DEFINITION, lost_task
from ambulo.evaluate.vr.lost.rollouts import LostDecisions, Progress, play
from ambulo.policies.agents.navigation import Agent, NavigationModel
from ambulo.policies.files.lost_header import PREFIX, LostHeader
from ambulo.policies.files.raw_headers import STOCK
from ambulo.policies.networks.lost_head import HIDDEN, fit_head, platt

EVERY = 4
"""One in this many decisions is kept: neighbours are nearly equal."""
FIT_SEED, CALIBRATION_SEED = 0, 1
"""Evaluation seeds of the two parts; training validates on seed 0."""

Bars = Callable[[str, int], AbstractContextManager[Progress]]
"""Shows the progress of a named part of a number of episodes."""


@dataclass(frozen=True)
class CalibrationLevels:
    """Where a model is calibrated."""

    level_set: str | None = None
    """Families or sets with commas between; None: those of the model's training."""
    level_file: str | None = None
    """Level file or folder instead."""

    def source(self, config: NavigationConfig, split: Split, seed: int) -> LevelSource:
        """Return the levels of `split`.

        Raises:
            ConfigError: A set of tests alone or of another split, or set and file together.
        """
        if self.level_set is None:
            return LevelSource(
                config, level_file=self.level_file, seed=seed, split=split
            )
        if self.level_file is not None:
            raise ConfigError("--level-set and --level-file exclude each other")
        names = [name.strip() for name in self.level_set.split(",")]
        try:
            families = resolve(names, split)
        except ConfigError as error:
            raise ConfigError(f"--level-set: {error}") from None
        return LevelSource(config, level_set=",".join(families), seed=seed, split=split)

    def described(self, config: NavigationConfig) -> str:
        """Return the levels in words, without the path of a folder."""
        env = config.environment
        if self.level_file is not None:
            return "own levels"
        if self.level_set is not None:
            return self.level_set
        names = ", ".join(env.levels)
        if env.level_file is None:
            return names
        return "own levels" if env.file_fraction == 1.0 else f"own levels, {names}"


def calibrated(
    model: NavigationModel,
    *,
    bars: Bars,
    episodes: int,
    levels: CalibrationLevels | None = None,
) -> NavigationModel:
    """Return `model` with a head, fitted on training levels and calibrated on validation ones.

    The policy stays as it is, bit for bit. A head that the model has is replaced.

    Args:
        model: The contents of a model file.
        bars: Shows the progress.
        episodes: On training levels; half as many on validation levels.
        levels: None: the levels of its training.

    Raises:
        ConfigError: No levels to play in, or no decision of one of the two kinds.
        ModelFileError: A model that cannot have a head.
    """
    if episodes < 2:
        raise ConfigError(f"--episodes {episodes}: must be at least 2")
    _check(model)
    levels = levels or CalibrationLevels()
    agent = Agent(model)
    config = _config(agent.config, levels)
    task = lost_task(config)
    if task is None:
        named = ", ".join(config.environment.tasks)
        raise ModelFileError(
            f"an agent that was trained to {named} cannot be calibrated: lost is defined "
            "for goals that stay where they are, of the tasks navigate and reach"
        )
    critic = critic_of(model)

    def played(split: Split, seed: int, count: int) -> LostDecisions:
        source = levels.source(config, split, seed)
        with bars(f"{split} levels", count) as progress:
            found = play(
                agent, config, source, count,
                task=task, critic=critic, every=EVERY, progress=progress,
            )  # fmt: skip
        _check_both_kinds(found, split)
        return found

    fit = played("train", FIT_SEED, episodes)
    held = played("validation", CALIBRATION_SEED, max(episodes // 2, 1))
    head = fit_head(fit.values[:, 1:], fit.lost)
    logits = head(torch.as_tensor(held.values[:, 1:])).numpy()
    calibration = platt(logits, held.lost)
    head.calibrate(calibration)
    header = LostHeader(
        definition=DEFINITION,
        hidden=HIDDEN,
        levels=levels.described(config),
        episodes=episodes,
        calibration_episodes=max(episodes // 2, 1),
        base_rate=float(held.lost.mean()),
        calibration=calibration,
        stalled=platt(np.log1p(held.stalled), held.lost),
        critic=None if critic is None else platt(held.values[:, 0], held.lost),
    )
    bare = without_head(model)
    metadata = bare.metadata.model_copy(update={"lost": header})
    return replace(bare, metadata=metadata, weights=bare.weights | head.weights())


def without_head(model: NavigationModel) -> NavigationModel:
    """Return `model` without its head, as a training continues from it."""
    if model.metadata.lost is None:
        return model
    weights = {
        name: tensor
        for name, tensor in model.weights.items()
        if not name.startswith(f"{PREFIX}.")
    }
    metadata = model.metadata.model_copy(update={"lost": None})
    return replace(model, metadata=metadata, weights=weights)


def _check(model: NavigationModel) -> None:
    """Raise `ModelFileError` for a model of another library."""
    if model.metadata.extra.get("source") == STOCK:
        raise ModelFileError(
            "a zip of Stable-Baselines3 cannot hold a head: only model files of "
            "`ambulo train` can be calibrated"
        )


def _config(config: NavigationConfig, levels: CalibrationLevels) -> NavigationConfig:
    """Return the settings of the model alone in the compiled world, if it can be there."""
    env = config.environment
    if env.scene is not None and levels == CalibrationLevels():
        raise ConfigError(
            f"the model was trained in the scene {env.scene}, which only an engine has: "
            "name levels to calibrate in (--level-set or --level-file)"
        )
    world = env.world if env.character is not None else "kernel"
    return config.override("environment", world=world, scene=None, agents=1)


def _check_both_kinds(found: LostDecisions, split: Split) -> None:
    """Raise `ConfigError` where the agent was always lost, or never."""
    lost = int(found.lost.sum())
    if 0 < lost < len(found.lost):
        return
    kind = "no" if lost == 0 else "every"
    raise ConfigError(
        f"the agent was lost in {kind} decision on {split} levels: nothing to tell apart; "
        "play more episodes (--episodes) or harder levels (--level-set)"
    )
