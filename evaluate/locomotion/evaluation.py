"""Play and record episodes of walkers, and of their built-in controllers alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.layout import ObservationLayout, Part
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.build import make_batch
from ambulo.envs.tasks.locomotion.batch import LocomotionBatch
from ambulo.envs.tasks.locomotion.wrappers import MODE, HistoryBatch
from ambulo.evaluate.locomotion.recording import Recorder, Recording, joined
from ambulo.muscle.muscle_nn import MuscleNN

Progress = Callable[[str, int], None]
"""Called with a subject's name and the number of its episodes that have just ended."""

SECONDS = 20.0
"""Length of an episode, [s]."""
NUM_ENVS = 64
"""Bodies at once."""
BASELINES: dict[str, str] = {
    "law": "the balance law alone: reference, its torque and the law, no network",
    "open_loop": "reference and its torque alone",
    "zero": "an action of 0 under the policy's own settings",
}
"""Baselines, which need no training."""
_SEED_STRIDE = 1_000_003
"""More episodes than this, and two evaluation seeds could share some."""


class ActingPolicy(Protocol):
    """A policy that acts on observations."""

    def act(
        self, obs: NDArray[np.float32], *, deterministic: bool = True
    ) -> NDArray[np.float32]:
        """Actions (N, A) for observations (N, size)."""
        ...


@dataclass(frozen=True)
class LocomotionSubject:
    """One agent to evaluate, with its settings."""

    config: LocomotionConfig
    """Body, task and built-in controllers."""
    references: tuple[Reference | None, ...]
    """References to follow, one per mode; None: that of the configuration."""
    actor: ActingPolicy | None = None
    """The policy; None: actions of 0, the built-in controllers alone."""
    deterministic: bool = True
    """Mean actions instead of samples."""
    muscles: MuscleNN | None = None
    """Muscle network for `resolver = nn`; None: that of the configuration."""


def undisturbed(config: LocomotionConfig, seconds: float) -> LocomotionConfig:
    """`config` for episodes of `seconds` without pushes and noise on targets."""
    steps = max(1, round(seconds * config.environment.control_rate))
    return config.override(
        "environment",
        max_episode_steps=steps,
        push_impulse=(0.0, 0.0),
        target_noise=0.0,
    )


def baseline(
    name: str, config: LocomotionConfig, references: tuple[Reference | None, ...]
) -> LocomotionSubject | None:
    """What is built in, beside a policy of `config`; None where there is no such thing.

    Raises:
        ConfigError: No baseline has this name.
    """
    if name not in BASELINES:
        raise ConfigError(f"unknown baseline {name!r}{nearest(name, BASELINES)}")
    env = config.environment
    if name == "zero":
        return LocomotionSubject(config, references)
    follows = env.task != "locomote" or env.base == "gait"
    lawless = any(known is not None and known.law is None for known in references)
    if not follows or (name == "law" and lawless):
        return None
    law = name == "law"
    own = config.override("environment", balance_law=law, feed_forward=True)
    return LocomotionSubject(own, references)


def baselines_of(
    names: Sequence[str],
    config: LocomotionConfig,
    references: tuple[Reference | None, ...],
) -> dict[str, LocomotionSubject]:
    """The named baselines, without those that do not exist or play as another does."""
    found: dict[str, LocomotionSubject] = {}
    played: list[LocomotionConfig] = []
    for name in names:
        subject = baseline(name, config, references)
        if subject is not None and subject.config not in played:
            found[name] = subject
            played.append(subject.config)
    return found


def evaluate(
    subjects: dict[str, LocomotionSubject],
    episodes: int,
    *,
    seconds: float = SECONDS,
    seed: int = 0,
    envs: int = NUM_ENVS,
    progress: Progress | None = None,
) -> dict[str, Recording]:
    """All subjects from the same starts; episode i depends on (`seed`, i) alone.

    Args:
        subjects: By name.
        episodes: Of each subject.
        seconds: Length of an episode, [s].
        seed: Of starts and commands.
        envs: Bodies at once, at most.
        progress: Called with finished episodes.
    """
    found = {}
    for name, subject in subjects.items():
        calm = undisturbed(subject.config, seconds)
        parts = []
        for mode, seeds in shares(subject, seed, episodes, envs):
            batch = bodies(subject, calm, seeds, mode)
            parts.append(play(batch, subject, calm.environment.max_episode_steps))
            batch.close()
            if progress is not None:
                progress(name, len(seeds))
        found[name] = joined(parts)
    return found


def shares(
    subject: LocomotionSubject, seed: int, episodes: int, envs: int
) -> Iterator[tuple[int, list[int]]]:
    """Modes and seeds of the episodes, in chunks of at most `envs`.

    Episode i plays mode i modulo the number of modes.
    """
    if episodes < 1 or envs < 1:
        raise ConfigError("an evaluation needs at least one episode and one body")
    seeds = [_SEED_STRIDE * seed + i for i in range(episodes)]
    modes = len(subject.references)
    for mode in range(modes):
        own = seeds[mode::modes]
        for first in range(0, len(own), envs):
            yield mode, own[first : first + envs]


def episode_numbers(
    subject: LocomotionSubject, seed: int, episodes: int, envs: int
) -> list[int]:
    """Return the number of the episode of each body of a recording of `evaluate`."""
    chunks = shares(subject, seed, episodes, envs)
    return [value - _SEED_STRIDE * seed for _, seeds in chunks for value in seeds]


class Bodies:
    """A batch, and the observations of it that an agent knows."""

    def __init__(self, batch: LocomotionBatch, subject: LocomotionSubject, mode: int):
        """Bodies of `subject` in one of its modes."""
        self.batch = batch
        modes, prior = len(subject.references), subject.config.network.prior
        told = (
            batch if modes == 1 else cast(LocomotionBatch, _OneMode(batch, mode, modes))
        )
        if prior is not None:
            told = cast(LocomotionBatch, HistoryBatch(told, prior.frames))
        self.told = told
        """Resets and steps `batch`, and shows what the agent was trained on."""

    def close(self) -> None:
        """Free the batch."""
        self.batch.close()


class _OneMode:
    """A batch that also observes which of several references it follows."""

    def __init__(self, batch: LocomotionBatch, mode: int, modes: int) -> None:
        part = Part(MODE, modes, "1", "1 for the reference that is followed")
        self._batch = batch
        self.layout = ObservationLayout((*batch.layout.parts, part))
        self.obs = np.zeros((batch.num_envs, self.layout.size), np.float32)
        self.obs[:, batch.layout.size + mode] = 1.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def reset(self, envs: Ints, *, phases: Floats | None = None) -> NDArray[np.float32]:
        self._batch.reset(envs, phases=phases)
        return self._shown()

    def step(self, actions: NDArray[Any]) -> tuple[Any, ...]:
        _, *rest = self._batch.step(actions)
        return self._shown(), *rest

    def _shown(self) -> NDArray[np.float32]:
        self.obs[:, : self._batch.layout.size] = self._batch.obs
        return self.obs


def bodies(
    subject: LocomotionSubject,
    config: LocomotionConfig,
    seeds: Sequence[int],
    mode: int,
) -> Bodies:
    """One body for each of `seeds`, not yet reset."""
    threads = min(len(os.sched_getaffinity(0)), len(seeds))
    batch = make_batch(
        config,
        len(seeds),
        threads=threads,
        reference=subject.references[mode],
        muscles=subject.muscles,
    )
    batch.seed(list(seeds))
    return Bodies(batch, subject, mode)


def play(
    envs: Bodies,
    subject: LocomotionSubject,
    steps: int,
    *,
    prepare: Callable[[LocomotionBatch], None] | None = None,
) -> Recording:
    """One episode of each body, of at most `steps` control steps.

    Args:
        envs: Seeded bodies.
        subject: Who plays.
        steps: Control steps.
        prepare: Called after the reset, to change what awaits the bodies.
    """
    batch, told = envs.batch, envs.told
    count = batch.num_envs
    obs = told.reset(np.arange(count))
    if prepare is not None:
        prepare(batch)
    recorder = Recorder(batch, steps)
    still = np.zeros((count, batch.action_size), np.float32)
    for _ in range(steps):
        actions: NDArray[np.float32] = still
        if subject.actor is not None:
            actions = subject.actor.act(obs, deterministic=subject.deterministic)
        recorder.begin_step()
        obs, rewards, terminated, truncated, info = told.step(actions)
        standing = recorder.add(actions, (rewards, terminated, info))
        if not standing.any():
            break
        ended = np.flatnonzero(terminated & ~truncated)
        if len(ended):  # begins anew, unseen: a body on its feet costs least
            obs = told.reset(ended)
    return recorder.recording()
