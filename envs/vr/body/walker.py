"""Walkers: policies that move the legs of a character as commanded.

A walker is a locomotion policy whose task takes commands (`CommandedBatch`). Environments do
not import policies: `find_walker` loads the class of a model file by its dotted name, as
Gymnasium loads environments.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import ambulo.shipped
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.twin import Envelope
from ambulo.envs.locomotion.build import batch_class, make_batch
from ambulo.envs.locomotion.commanded import CommandedBatch
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.envs.simulation.variants import Variant
from ambulo.envs.vr.body.blocks import in_blocks
from ambulo.envs.vr.body.level_window import LevelGround

LOADER = "ambulo.policies.agents.locomotion:load_walker"
"""Loader of the policy in a model file."""
_FOREVER = 10**9
"""Episode length of the walker's task, which never ends an episode, [control steps]."""


class WalkerPolicy(Protocol):
    """A locomotion policy, as `ambulo.load` returns it."""

    config: LocomotionConfig
    references: tuple[bytes, ...]

    def act(self, obs: NDArray[np.float32], /) -> NDArray[np.float32]:
        """Actions (N, A) in [-1, 1] for observations (N, size)."""
        ...


@dataclass(frozen=True, eq=False)
class Walker:
    """A policy that follows commands, with its range of commands."""

    name: str
    """Shipped name or file."""
    policy: WalkerPolicy
    """Policy on the observations of its own task."""
    envelope: Envelope
    """Range of commands in its training."""

    @property
    def character(self) -> str:
        """Name of the character that it moves."""
        return self.policy.config.environment.character

    @property
    def control_rate(self) -> int:
        """Control steps per second, [Hz]."""
        return self.policy.config.environment.control_rate

    def make_batch(
        self, count: int, ground: LevelGround, threads: int = 1
    ) -> CommandedBatch:
        """`count` bodies of its task on `ground`, which begin at their lowest speed."""
        slowest = self.envelope.nearest_speed(0.0)
        config = self.policy.config.override(
            "environment",
            max_episode_steps=_FOREVER,
            speed=(slowest, slowest),
            turn=(0.0, 0.0),
            push_impulse=(0.0, 0.0),
            fault_folder=None,
        ).override("walk", obstacles=0.0, stand_start=1.0)
        reference = reference_from_bytes(
            self.policy.references[0], f"the reference of {self.name}"
        )
        batch = make_batch(
            config,
            count,
            threads=threads,
            reference=reference,
            variant=Variant(ground=ground),
        )
        assert isinstance(batch, CommandedBatch)  # see `walker_of`
        return batch

    def act(self, obs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Actions (N, A) for observations (N, size), bit for bit the same for any N."""
        return in_blocks(lambda rows: (self.policy.act(rows),), obs)[0]


def find_walker(name: str | os.PathLike[str], character: str) -> Walker:
    """The shipped walker `name`, or that of the file `name`, for `character`.

    Raises:
        ConfigError: The walker is missing, is of another body, or takes no commands.
        ModelFileError: The file is damaged, or holds no locomotion policy.
    """
    text, file = os.fspath(name), walker_file(name)
    try:
        policy = _loaded(str(file), file.stat().st_mtime_ns)
    except ImportError as error:
        raise ConfigError(
            f"walker = {text}: needs the package {error.name}, which is not installed: "
            "pip install 'ambulo[train]'"
        ) from None
    return walker_of(text, policy, character)


def walker_file(name: str | os.PathLike[str]) -> Path:
    """The file of the shipped walker `name`, or the file `name` itself.

    Raises:
        ConfigError: The file is missing.
    """
    text = os.fspath(name)
    file = ambulo.shipped.locate(text)
    if file is None:
        hint = nearest(text, ambulo.shipped.shipped_models())
        raise ConfigError(f"walker = {text}: no such model file or shipped model{hint}")
    return file


@lru_cache(maxsize=4)
def _loaded(path: str, stamp: int) -> WalkerPolicy:
    del stamp  # part of the cache key: a changed file is read again
    module, _, function = LOADER.partition(":")
    policy: WalkerPolicy = getattr(import_module(module), function)(path)
    return policy


def walker_of(name: str, policy: WalkerPolicy, character: str) -> Walker:
    """`policy` as a walker of `character`; see `find_walker` for the errors."""
    environment = policy.config.environment
    if environment.character != character:
        raise ConfigError(
            f"walker = {name}: was trained for {environment.character}, not for "
            f"body = {character}"
        )
    task = batch_class(environment.task)
    if (
        not isinstance(task, type)
        or not issubclass(task, CommandedBatch)
        or not policy.references
    ):
        raise ConfigError(
            f"walker = {name}: its task, {environment.task}, takes no commands to walk"
        )
    envelope = Envelope(
        speed=environment.speed,
        side=policy.config.walk.side if task.takes_side else (0.0, 0.0),
        turn=environment.turn,
        lateral=task.lateral,
    )
    return Walker(name, policy, envelope)
