"""Pushes at random times, drawn from each body's own generator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.state_arrays import NamedState

CLOSE = 1e-6
"""Times nearer than this are the same, [s]; the clock is a sum of steps."""


class Pushes(NamedState):
    """The push that acts on each body; arrays over N bodies."""

    saved = ("start", "force")

    def __init__(self, config: LocomotionEnvironmentConfig, count: int) -> None:
        """No push yet."""
        self._impulse, self._interval = config.push_impulse, config.push_interval
        self._duration = config.push_duration
        self.start = np.full(count, np.inf)
        """Time of the next or the running push, [s]. Shape (N,)."""
        self.force: Floats = np.zeros((count, 2))
        """Its force along the world's X and Y, [N]. Shape (N, 2)."""

    @property
    def on(self) -> bool:
        """Whether bodies are ever pushed."""
        return self._impulse[1] > 0.0

    def begin(self, envs: Ints, rngs: Sequence[np.random.Generator]) -> None:
        """Draw the first push of episodes that begin at time 0."""
        if self.on:
            for env in envs:
                self._draw(int(env), 0.0, rngs[int(env)])

    def at(self, time: Floats, rngs: Sequence[np.random.Generator]) -> Floats:
        """The forces at `time` (N,), [s]; what is over is drawn anew. Shape (N, 2), [N]."""
        now = time + CLOSE
        for env in np.flatnonzero(now >= self.start + self._duration):
            self._draw(int(env), float(time[env]), rngs[int(env)])
        forces: Floats = np.where((now >= self.start)[:, None], self.force, 0.0)
        return forces

    def _draw(self, env: int, now: float, rng: np.random.Generator) -> None:
        wait, impulse, angle = rng.random(3)
        low, high = self._interval
        self.start[env] = now + low + wait * (high - low)
        low, high = self._impulse
        size = (low + impulse * (high - low)) / self._duration
        angle *= 2.0 * np.pi
        self.force[env] = size * np.cos(angle), size * np.sin(angle)
