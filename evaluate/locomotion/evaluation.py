"""Play episodes with locomotion agents and with what is built in, and record them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.layout import ObservationLayout, Part
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.build import make_batch
from ambulo.envs.tasks.locomotion.batch import LocomotionBatch
from ambulo.envs.tasks.locomotion.wrappers import MODE, HistoryBatch
from ambulo.evaluate.locomotion.recording import Recorder, Recording, joined
from ambulo.muscle.muscle_nn import MuscleNN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[str, int], None]
"""Called with a contestant's name and the episodes that it has just finished."""

SECONDS = 20.0
"""Length of an episode, [s]."""
PLAYERS = 64
"""Bodies at once."""
BASELINES: dict[str, str] = {
    "law": "the balance law alone: reference, its torque and the law, no network",
    "open_loop": "reference and its torque alone",
    "zero": "an action of 0 under the policy's own settings",
}
"""What needs no training, and what it is."""
_SEED_STRIDE = 1_000_003
"""More episodes than this, and two evaluation seeds could share some."""


class Actor(Protocol):
    """Whoever acts on observations."""

    def act(
        self, obs: NDArray[np.float32], *, deterministic: bool = True
    ) -> NDArray[np.float32]:
        """Actions (N, A) for observations (N, size)."""
        ...


@dataclass(frozen=True)
class EvalSubject:
    """Who plays, under which settings."""

    config: LocomotionConfig
    """The body, the task and what is built in."""
    references: tuple[Reference | None, ...]
    """What is followed, one a mode; None: what the configuration says."""
    actor: Actor | None = None
    """Who acts; None plays actions of 0: what is built in alone."""
    deterministic: bool = True
    """Mean actions instead of samples."""
    muscles: MuscleNN | None = None
    """What resolves torques with `resolver = nn`; None: what the configuration says."""


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
) -> EvalSubject | None:
    """What is built in, beside a policy of `config`; None where there is no such thing.

    Raises:
        ConfigError: No baseline has this name.
    """
    if name not in BASELINES:
        raise ConfigError(f"unknown baseline {name!r}{nearest(name, BASELINES)}")
    env = config.environment
    if name == "zero":
        return EvalSubject(config, references)
    follows = env.task != "locomote" or env.base == "gait"
    lawless = any(known is not None and known.law is None for known in references)
    if not follows or (name == "law" and lawless):
        return None
    law = name == "law"
    own = config.override("environment", balance_law=law, feed_forward=True)
    return EvalSubject(own, references)


def baselines_of(
    names: Sequence[str],
    config: LocomotionConfig,
    references: tuple[Reference | None, ...],
) -> dict[str, EvalSubject]:
    """The named baselines, without those that do not exist or play as another does."""
    found: dict[str, EvalSubject] = {}
    played: list[LocomotionConfig] = []
    for name in names:
        contestant = baseline(name, config, references)
        if contestant is not None and contestant.config not in played:
            found[name] = contestant
            played.append(contestant.config)
    return found


def evaluate(
    contestants: dict[str, EvalSubject],
    episodes: int,
    *,
    seconds: float = SECONDS,
    seed: int = 0,
    players: int = PLAYERS,
    progress: Progress | None = None,
) -> dict[str, Recording]:
    """All contestants from the same starts; episode i depends on (`seed`, i) alone.

    Args:
        contestants: By name.
        episodes: Of each contestant.
        seconds: Length of an episode, [s].
        seed: Of starts and commands.
        players: Bodies at once, at most.
        progress: Told of finished episodes.
    """
    found = {}
    for name, contestant in contestants.items():
        calm = undisturbed(contestant.config, seconds)
        parts = []
        for mode, seeds in shares(contestant, seed, episodes, players):
            batch = bodies(contestant, calm, seeds, mode)
            parts.append(play(batch, contestant, calm.environment.max_episode_steps))
            batch.close()
            if progress is not None:
                progress(name, len(seeds))
        found[name] = joined(parts)
    return found


def shares(
    contestant: EvalSubject, seed: int, episodes: int, players: int
) -> Iterator[tuple[int, list[int]]]:
    """Modes and seeds of the episodes, in chunks of at most `players`.

    Episode i plays mode i modulo the number of modes.
    """
    if episodes < 1 or players < 1:
        raise ConfigError("an evaluation needs at least one episode and one body")
    seeds = [_SEED_STRIDE * seed + i for i in range(episodes)]
    modes = len(contestant.references)
    for mode in range(modes):
        own = seeds[mode::modes]
        for first in range(0, len(own), players):
            yield mode, own[first : first + players]


def episode_numbers(
    contestant: EvalSubject, seed: int, episodes: int, players: int
) -> list[int]:
    """Return the number of the episode of each body of a recording of `evaluate`."""
    chunks = shares(contestant, seed, episodes, players)
    return [value - _SEED_STRIDE * seed for _, seeds in chunks for value in seeds]


class Bodies:
    """A batch, and the observations of it that an agent knows."""

    def __init__(self, batch: LocomotionBatch, contestant: EvalSubject, mode: int):
        """Bodies of `contestant` in one of its modes."""
        self.batch = batch
        modes, prior = len(contestant.references), contestant.config.network.prior
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
        self.obs = np.zeros((batch.num_players, self.layout.size), np.float32)
        self.obs[:, batch.layout.size + mode] = 1.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def reset(
        self, players: Ints, *, phases: Floats | None = None
    ) -> NDArray[np.float32]:
        self._batch.reset(players, phases=phases)
        return self._shown()

    def step(self, actions: NDArray[Any]) -> tuple[Any, ...]:
        _, *rest = self._batch.step(actions)
        return self._shown(), *rest

    def _shown(self) -> NDArray[np.float32]:
        self.obs[:, : self._batch.layout.size] = self._batch.obs
        return self.obs


def bodies(
    contestant: EvalSubject, config: LocomotionConfig, seeds: Sequence[int], mode: int
) -> Bodies:
    """One body for each of `seeds`, not yet reset."""
    threads = min(len(os.sched_getaffinity(0)), len(seeds))
    batch = make_batch(
        config,
        len(seeds),
        threads=threads,
        reference=contestant.references[mode],
        muscles=contestant.muscles,
    )
    batch.seed(list(seeds))
    return Bodies(batch, contestant, mode)


def play(
    players: Bodies,
    contestant: EvalSubject,
    steps: int,
    *,
    prepare: Callable[[LocomotionBatch], None] | None = None,
) -> Recording:
    """One episode of each body, of at most `steps` control steps.

    Args:
        players: Seeded bodies.
        contestant: Who plays.
        steps: Control steps.
        prepare: Called after the reset, to change what awaits the bodies.
    """
    batch, told = players.batch, players.told
    count = batch.num_players
    obs = told.reset(np.arange(count))
    if prepare is not None:
        prepare(batch)
    recorder = Recorder(batch, steps)
    still = np.zeros((count, batch.action_size), np.float32)
    for _ in range(steps):
        actions: NDArray[np.float32] = still
        if contestant.actor is not None:
            actions = contestant.actor.act(obs, deterministic=contestant.deterministic)
        recorder.begin_step()
        obs, rewards, terminated, truncated, info = told.step(actions)
        standing = recorder.add(actions, (rewards, terminated, info))
        if not standing.any():
            break
        ended = np.flatnonzero(terminated & ~truncated)
        if len(ended):  # begins anew, unseen: a body on its feet costs least
            obs = told.reset(ended)
    return recorder.recording()
