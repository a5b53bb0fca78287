"""Random pushes from each body's own generator, and delays of joint targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.state_arrays import Arrays, NamedState

CLOSE = 1e-6
"""Tolerance of equal times, [s]; the clock is a sum of steps."""


class Pushes(NamedState):
    """The push that acts on each body; arrays over N bodies."""

    saved = ("start", "force")

    def __init__(
        self, config: LocomotionEnvironmentConfig, count: int, scale: float = 1.0
    ) -> None:
        """No push yet; `scale` is a factor on the impulses."""
        self.scale = scale
        """Pushes over those that settings and callers give."""
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

    def plan(self, start: Floats, impulse: float, angle: Floats) -> None:
        """Let the next push of every body be this one.

        Args:
            start: When, [s]. Shape (N,).
            impulse: Of all, before it is scaled, [N s].
            angle: Directions from the world's X to its Y, [rad]. Shape (N,).
        """
        self.start[:] = start
        self.force[:] = self._force(impulse, angle)

    def at(self, time: Floats, rngs: Sequence[np.random.Generator]) -> Floats:
        """Forces at `time` (N,), [s]; draws the next push after each. Shape (N, 2), [N]."""
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
        impulse = low + impulse * (high - low)
        self.force[env] = self._force(impulse, 2.0 * np.pi * angle)

    def _force(self, impulse: float, angle: Floats | float) -> Floats:
        """Forces of impulses, [N s] before they are scaled, in directions (...), [rad]."""
        size = self.scale * impulse / self._duration
        return size * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


class DelayLine:
    """A delay line for the joint offsets of N bodies.

    Offsets chosen at the start of a control step act from its substep `delay` on, until later
    ones arrive. It is empty at the start of an episode: the offsets are 0.
    """

    def __init__(self, delay: int, substeps: int, shape: tuple[int, int]) -> None:
        """Create an empty delay line.

        Args:
            delay: Substeps from a choice to its effect.
            substeps: Substeps of a control step.
            shape: Bodies and degrees of freedom, (N, nv).
        """
        late = np.maximum(0, -((np.arange(substeps) - delay) // substeps))
        self._late: list[int] = late.tolist()
        """How many control steps old the offsets are that act in each substep."""
        count, width = shape
        self._sent: Floats = np.zeros((count, 1 + max(self._late), width))
        """The offsets of the last control steps, newest first. Shape (N, L, nv)."""

    def begin(self, envs: Ints) -> None:
        """Clear the delay line of `envs` (k,)."""
        self._sent[envs] = 0.0

    def send(self, offsets: Floats) -> None:
        """Send the offsets of a control step, (N, nv), [rad]."""
        self._sent[:, 1:] = self._sent[:, :-1]
        self._sent[:, 0] = offsets

    def arrived(self, substep: int) -> Floats:
        """Return the offsets that act in a substep, (N, nv), [rad]."""
        return np.ascontiguousarray(self._sent[:, self._late[substep]])

    def state_dict(self) -> Arrays:
        """Return a copy of the contents; empty without a delay."""
        return {name: array.copy() for name, array in self._saved().items()}

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        for name, array in self._saved().items():
            array[...] = arrays[name]

    def _saved(self) -> dict[str, Floats]:
        return {"sent": self._sent} if self._sent.shape[1] > 1 else {}
