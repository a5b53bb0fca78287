"""Push recovery: rate of bodies on their feet after a push, by its impulse.

Each body is pushed once, at the pelvis, in a random horizontal direction, at a random
moment of a stride, and has to stay on its feet for some seconds more. Impulses of a user's own
body are those of a person of 70 kg, and go by its mass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    bodies,
    play,
    shares,
    undisturbed,
)
from ambulo.evaluate.shared.choices import chosen_numbers
from ambulo.evaluate.shared.intervals import wilson_interval

IMPULSES = (0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0)
"""Impulses that are tried, [N s]; 0 shows what falls without a push."""
DURATION = 0.2
"""Duration of a push, [s]."""
FIRST, SPREAD = 1.0, 1.2
"""A push begins at `FIRST` plus up to `SPREAD`, [s]; about a stride."""
AFTER = 4.0
"""Time to stay on the feet after a push, [s]."""
HOPELESS = 0.05
"""Larger impulses of `IMPULSES` are not tried after one that a smaller share survives."""
LARGEST = 1e4
"""Largest impulse that can be chosen, [N s]."""
SURE = 0.9
"""Rate of survival at the impulse that is reported as `impulse_90`."""
_NEVER = 1000.0
"""Longer than an episode, [s]."""
_PUSH_STREAM = 11
"""Random numbers of pushes, apart from those of starts."""


@dataclass(frozen=True)
class PushRecovery:
    """Survival by impulse."""

    impulses: tuple[float, ...]
    """[N s], ascending; a user's own body gets `scale` times as much."""
    survival: tuple[float, ...]
    """Share on their feet `AFTER` the push."""
    interval: tuple[tuple[float, float], ...]
    """95 % Wilson intervals of it."""
    episodes: int
    """Episodes of each impulse."""
    mass: float
    """Mass of the body, [kg]."""
    scale: float = 1.0
    """Pushes over `impulses` (`Pushes.scale`)."""

    @property
    def impulse_90(self) -> float:
        """Largest impulse that `SURE` survive, between samples linear, [N s].

        0 where not even no push is survived, NaN where that of the smallest impulse is not
        and it is above 0; the largest tried is the upper limit.
        """
        if self.survival[0] < SURE:
            return math.nan if self.impulses[0] else 0.0
        for k in range(1, len(self.impulses)):
            if self.survival[k] < SURE:
                drop = self.survival[k - 1] - self.survival[k]
                share = (self.survival[k - 1] - SURE) / drop
                step = self.impulses[k] - self.impulses[k - 1]
                return self.impulses[k - 1] + share * step
        return self.impulses[-1]

    @property
    def impulse_90_per_kg(self) -> float:
        """`impulse_90` as it was given, over the body's mass, [N s/kg]."""
        return self.impulse_90 * self.scale / self.mass

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "impulses": list(self.impulses),
            "survival": list(self.survival),
            "interval95": [list(row) for row in self.interval],
            "episodes": self.episodes,
            "duration_s": DURATION,
            "after_s": AFTER,
            "impulse_90": self.impulse_90,
            "impulse_90_per_kg": self.impulse_90_per_kg,
        }


def chosen_impulses(text: str | None) -> tuple[float, ...]:
    """Return the impulses in `--impulses`, ascending, [N s]; none for None.

    Raises:
        ConfigError: See `chosen_numbers`.
    """
    if text is None:
        return ()
    return tuple(sorted(set(chosen_numbers("--impulses", text, LARGEST))))


def push_recovery(
    subject: LocomotionSubject,
    episodes: int,
    *,
    impulses: Sequence[float] = IMPULSES,
    hopeless: float = HOPELESS,
    seed: int = 0,
    envs: int = 64,
    progress: Callable[[int], None] = lambda count: None,
) -> PushRecovery:
    """Push the bodies of `subject`; the same pushes for all subjects.

    Args:
        subject: Agent to push.
        episodes: Of each impulse.
        impulses: Ascending, [N s]; of a user's own body for 70 kg.
        hopeless: Larger ones are not tried after one that a smaller share survives.
        seed: Of starts, directions and moments.
        envs: Bodies at once, at most.
        progress: Called with finished episodes, including skipped impulses.
    """
    seconds = FIRST + SPREAD + DURATION + AFTER
    config = undisturbed(subject.config, seconds)
    steps = config.environment.max_episode_steps
    config = config.override(
        "environment",
        push_impulse=(1.0, 1.0),
        push_interval=(_NEVER, _NEVER),
        push_duration=DURATION,
    )
    survival: list[float] = []
    interval: list[tuple[float, float]] = []
    mass, scale = 0.0, 1.0
    for impulse in impulses:
        stood = []
        for mode, seeds in shares(subject, seed, episodes, envs):
            batch = bodies(subject, config, seeds, mode)
            mass = float(batch.simulation.model.body_mass.sum())
            scale = batch.pushes.scale
            prepare = _Pusher(impulse, seeds)
            stood.append(play(batch, subject, steps, prepare=prepare).survived)
            batch.close()
            progress(len(seeds))
        on_feet = np.concatenate(stood).astype(np.float64)
        survival.append(float(on_feet.mean()))
        interval.append(wilson_interval(int(on_feet.sum()), len(on_feet)))
        if survival[-1] < hopeless:
            progress(episodes * (len(impulses) - len(survival)))
            break
    return PushRecovery(
        tuple(impulses[: len(survival)]), tuple(survival), tuple(interval), episodes, mass,
        scale,
    )  # fmt: skip


@dataclass(frozen=True)
class _Pusher:
    """Gives each body of a batch its one push."""

    impulse: float
    seeds: Sequence[int]

    def __call__(self, batch: LocomotionBatch) -> None:
        """Set the pushes of a batch that has just been reset."""
        draws = np.array(
            [
                np.random.default_rng([seed, _PUSH_STREAM]).random(2)
                for seed in self.seeds
            ]
        )
        start, angle = FIRST + SPREAD * draws[:, 0], 2.0 * np.pi * draws[:, 1]
        batch.pushes.plan(start, self.impulse, angle)
