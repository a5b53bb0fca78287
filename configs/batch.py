"""The interface of every batched task: N environments stepped together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints

BatchStep = tuple[
    NDArray[np.float32], Floats, Bools, Bools, dict[str, NDArray[np.generic]]
]
"""Observations (N, size), rewards, terminated, truncated and info arrays, each (N,)."""


class EpisodeTotals(Protocol):
    """Totals of the running episode of each environment; each array has shape (N,)."""

    @property
    def steps(self) -> Ints:
        """Environment steps so far."""

    @property
    def reward(self) -> Floats:
        """Undiscounted return so far."""

    @property
    def path(self) -> Floats:
        """Horizontal path length so far, [m]."""

    @property
    def start_distance(self) -> Floats:
        """Distance to the goal at the start, [m]; 0 where there is no goal."""


class TaskBatch(Protocol):
    """N environments of one task, stepped together without autoreset.

    Returned arrays belong to the batch and are overwritten by the next call.
    """

    num_envs: int
    """N."""
    obs: NDArray[np.float32]
    """Observations now, shape (N, size)."""

    @property
    def episode(self) -> EpisodeTotals:
        """Totals of the running episodes."""

    def seed(self, seeds: Sequence[int | None], /) -> None:
        """Seed the generator of each environment whose seed is not None."""

    def reset(self, envs: Ints, /) -> NDArray[np.float32]:
        """Begin new episodes in `envs`, shape (k,); return all observations."""

    def step(self, actions: NDArray[np.generic], /) -> BatchStep:
        """Advance every environment by one step; finished ones are not reset."""

    def close(self) -> None:
        """Free the simulation."""


class SeededBatch(TaskBatch, Protocol):
    """A task batch for Gymnasium: its generators can be replaced, and episodes described."""

    def episode_info(self) -> dict[str, NDArray[Any]]:
        """Return the running episode's values that are not in a step's info, (N,) each."""

    def start_info(self) -> dict[str, NDArray[Any]]:
        """Return the info of a reset, (N,) each: `episode_info` and the keys of a step."""

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One generator for each environment; assigning one replaces it."""
