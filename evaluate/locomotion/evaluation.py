"""Play and record episodes of walkers, and of their built-in controllers alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.cores import usable_cores
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.variation import VariationConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.locomotion.extra_parts import history_part, mode_part
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.envs.reference.reference import Reference, reference_from_bytes
from ambulo.envs.simulation.variants import NOMINAL, Variant
from ambulo.evaluate.locomotion.recording import Recorder, Recording, joined
from ambulo.evaluate.shared.rollout import rollout
from ambulo.muscle.muscle_nn import MuscleNN

if TYPE_CHECKING:
    from ambulo.policies.agents.locomotion import LocomotionModel

SECONDS = 20.0
"""Length of an episode, [s]."""
NUM_ENVS = 64
"""Bodies at once."""
BASELINES: dict[str, str] = {
    "law": "the balance controller alone: reference, its torque and the controller, no "
    "network",
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

    def act(self, batch: WalkerBatch) -> NDArray[np.float32]:
        """Return actions (N, A) for the observations of `batch`."""
        if self.actor is None:
            return np.zeros((batch.num_envs, batch.action_size), np.float32)
        return self.actor.act(batch.obs, deterministic=self.deterministic)


def stored_references(model: LocomotionModel, source: str) -> tuple[Reference, ...]:
    """Return the references in a model file; errors begin with `source`."""
    from ambulo.policies.agents.locomotion import references_of

    return tuple(reference_from_bytes(data, source) for data in references_of(model))


def episode_seconds(config: LocomotionConfig, seconds: float) -> float:
    """Return `seconds`, or the time limit that the task sets where that is shorter, [s]."""
    env = config.environment
    if "max_episode_steps" not in env.traits.defaults:
        return seconds
    return min(seconds, env.max_episode_steps * env.control_dt)


def undisturbed(config: LocomotionConfig, seconds: float) -> LocomotionConfig:
    """`config` for episodes of `seconds` of the nominal body, undisturbed.

    Without pushes, noise, and boxes in the way.
    """
    steps = max(1, round(seconds * config.environment.control_rate))
    return (
        config.replace(variation=VariationConfig())
        .override(
            "environment",
            max_episode_steps=steps,
            push_impulse=(0.0, 0.0),
            target_noise=0.0,
        )
        .override("walk", obstacles=0.0)
    )


def baseline(
    name: str, config: LocomotionConfig, references: tuple[Reference | None, ...]
) -> LocomotionSubject | None:
    """One of `BASELINES` to compare a policy of `config` with; None where there is none."""
    if name == "zero":
        return LocomotionSubject(config, references)
    uncontrolled = any(
        known is not None and known.controller is None for known in references
    )
    law = name == "law"
    if not config.environment.traits.controller or (law and uncontrolled):
        return None
    own = config.override("environment", balance_law=law, feed_forward=True)
    return LocomotionSubject(own, references)


def baselines_of(
    names: Sequence[str],
    config: LocomotionConfig,
    references: tuple[Reference | None, ...],
) -> dict[str, LocomotionSubject]:
    """The named baselines, without those that do not exist or play as another does."""
    found: dict[str, LocomotionSubject] = {}
    for name in names:
        subject = baseline(name, config, references)
        if subject and all(subject.config != one.config for one in found.values()):
            found[name] = subject
    return found


def recorded(
    subject: LocomotionSubject,
    episodes: int,
    *,
    seconds: float = SECONDS,
    settings: Mapping[str, Any] | None = None,
    variants: Sequence[Variant] = (NOMINAL,),
    seed: int = 0,
    envs: int = NUM_ENVS,
    progress: Callable[[int], None] = lambda count: None,
) -> Recording:
    """Undisturbed episodes of `subject`; episode i depends on (`seed`, i) alone.

    Args:
        subject: Agent to evaluate.
        episodes: Episodes played, divided among `variants`.
        seconds: Length of an episode, [s].
        settings: Settings of the environment that differ.
        variants: Bodies and worlds; episode i is that of variant i modulo their number.
        seed: Of starts and commands.
        envs: Bodies at once, at most.
        progress: Called with finished episodes.
    """
    config = undisturbed(subject.config, seconds)
    config = config.override("environment", **(settings or {}))
    parts = []
    for mode, chunk in shares(subject, seed, episodes, envs):
        for k, variant in enumerate(variants):
            seeds = [one for one in chunk if one % len(variants) == k]
            if not seeds:
                continue
            batch = bodies(subject, config, seeds, mode, variant)
            parts.append(play(batch, subject, config.environment.max_episode_steps))
            batch.close()
            progress(len(seeds))
    return joined(parts)


def shares(
    subject: LocomotionSubject, seed: int, episodes: int, envs: int
) -> Iterator[tuple[int, list[int]]]:
    """Modes and seeds of the episodes, in chunks of at most `envs`.

    Episode i plays mode i modulo the number of modes.
    """
    seeds = [_SEED_STRIDE * seed + i for i in range(episodes)]
    modes = len(subject.references)
    for mode in range(modes):
        own = seeds[mode::modes]
        for first in range(0, len(own), envs):
            yield mode, own[first : first + envs]


def episode_numbers(
    subject: LocomotionSubject, seed: int, episodes: int, envs: int
) -> list[int]:
    """Return the number of the episode of each body of a recording."""
    chunks = shares(subject, seed, episodes, envs)
    return [value - _SEED_STRIDE * seed for _, seeds in chunks for value in seeds]


def bodies(
    subject: LocomotionSubject,
    config: LocomotionConfig,
    seeds: Sequence[int],
    mode: int,
    variant: Variant = NOMINAL,
) -> LocomotionBatch:
    """One body for each of `seeds`, not yet reset; it shows what the agent observes."""
    threads = min(usable_cores(), len(seeds))
    batch = make_batch(
        config,
        len(seeds),
        threads=threads,
        reference=subject.references[mode],
        muscles=subject.muscles,
        variant=variant,
    )
    if not isinstance(batch, LocomotionBatch):
        raise ConfigError("gait policies have an evaluation of their own: ambulo eval")
    modes, prior = len(subject.references), subject.config.network.prior
    if modes > 1:
        batch.show(mode_part(mode, modes))
    if prior is not None:
        batch.show(history_part(prior.frames))
    batch.seed(list(seeds))
    return batch


def play(
    batch: LocomotionBatch,
    subject: LocomotionSubject,
    steps: int,
    *,
    prepare: Callable[[LocomotionBatch], None] | None = None,
) -> Recording:
    """One episode of each body, of at most `steps` control steps.

    Args:
        batch: Seeded bodies, see `bodies`.
        subject: Agent to evaluate.
        steps: Control steps.
        prepare: Called after the reset, to change what awaits the bodies.
    """
    batch.reset(np.arange(batch.num_envs))
    if prepare is not None:
        prepare(batch)
    recorder = Recorder(batch, steps)
    for step in rollout(
        batch, subject.act, steps, before=lambda _: recorder.begin_step()
    ):
        if not recorder.add(step).any():
            break
    return recorder.recording()
