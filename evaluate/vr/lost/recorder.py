"""Numbers of a controller at the decisions of the episodes that it plays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints, Singles
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.evaluate.vr.subjects import Controller

Measure = Callable[[NavigationBatch], Singles]
"""Numbers of all envs right after the controller acted. Shape (N, K)."""


@dataclass(frozen=True)
class RecordedSteps:
    """Numbers at decisions of several episodes."""

    episode: Ints
    """Index of the episode in its records. Shape (S,)."""
    step: Ints
    """Index of the decision in its episode. Shape (S,)."""
    values: Singles
    """Shape (S, K)."""


class StepRecorder:
    """A controller that also keeps numbers at one in `every` decisions.

    The first kept decision of each episode is drawn, so that the kept ones are a fair
    sample of all.
    """

    def __init__(
        self, inner: Controller, measure: Measure, *, every: int = 1, seed: int = 0
    ) -> None:
        """Act as `inner`, and keep what `measure` returns."""
        self._inner, self._measure, self._every = inner, measure, every
        self._rng = np.random.default_rng([seed, 11])
        self._rows: list[tuple[Ints, Ints, Singles]] = []
        self._seeds: list[int] = []
        self._attempt = np.zeros(0, np.int64)
        self._phase = np.zeros(0, np.int64)
        self._last = np.zeros(0, np.int64)

    @property
    def episodes(self) -> int:
        """Number of episodes that were begun, each counted once."""
        return len(set(self._seeds))

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Begin new episodes of `envs`; one that is begun again replaces the former."""
        self._inner.reset(envs, seeds)
        more = int(envs.max(initial=-1)) + 1 - len(self._attempt)
        if more > 0:
            self._attempt = np.append(self._attempt, np.full(more, -1))
            self._phase = np.append(self._phase, np.zeros(more, np.int64))
            self._last = np.append(self._last, np.zeros(more, np.int64))
        self._attempt[envs] = len(self._seeds) + np.arange(len(envs))
        self._phase[envs] = self._rng.integers(self._every, size=len(envs))
        self._last[envs] = -1
        self._seeds += np.asarray(seeds).tolist()

    def act(self, batch: NavigationBatch) -> NDArray[np.generic]:
        """Return the actions of the inner controller."""
        actions = self._inner.act(batch)
        steps = np.asarray(batch.episode.steps, np.int64)
        # Who waits for the others is put back to a start without a call of `reset`.
        self._attempt[steps <= self._last] = -1
        self._last = steps.copy()
        kept = (self._attempt >= 0) & (steps % self._every == self._phase)
        if kept.any():
            values = self._measure(batch)[kept].copy()
            self._rows.append((self._attempt[kept], steps[kept], values))
        return actions

    def steps(self, lengths: Sequence[int]) -> RecordedSteps:
        """Return the kept numbers of all episodes, in the order of their seeds.

        Args:
            lengths: Decisions of each episode; later ones are left out.
        """
        newest = {seed: attempt for attempt, seed in enumerate(self._seeds)}
        order = [newest[seed] for seed in sorted(newest)]
        index = np.full(len(self._seeds), -1, np.int64)
        index[order] = np.arange(len(order))
        attempt, step, values = (
            np.concatenate([row[k] for row in self._rows]) for k in range(3)
        )
        episode = index[attempt]
        limit = np.zeros(len(order) + 1, np.int64)  # the last row: begun again
        limit[: len(lengths)] = lengths
        kept = step < limit[episode]
        rows = np.flatnonzero(kept)
        rows = rows[np.lexsort((step[rows], episode[rows]))]
        return RecordedSteps(episode[rows], step[rows], values[rows])
