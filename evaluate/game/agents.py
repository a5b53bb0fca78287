"""The agents of a game as a batch of rows: the interface that training and evaluation step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.batch import EpisodeTotals, TaskBatch


class AgentsBatch(TaskBatch, Protocol):
    """All agents of all engines; a row is an agent, as `KindsPolicy` has them."""

    kinds: tuple[AgentSpec, ...]
    """Specification of each kind of agent: its observation and action."""
    kind: Ints
    """Index of the kind of each agent, (N,)."""
    team: Ints
    """Number of its team among those of its kind, (N,)."""
    engine: Ints
    """Number of its engine, (N,)."""
    says_success: Bools
    """Whether the scripts of each kind have reported success, (kinds,)."""
    has_script: bool
    """Whether the game can move its agents itself: for rows of actions that are NaN."""

    @property
    def layout(self) -> Any:
        """Names of the parts of a row."""
        ...

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One generator of seeds for each agent."""
        ...

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return what is kept between steps; a game keeps its own state to itself."""
        ...

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from `state_dict`."""
        ...


class RowsOfEpisodes:
    """Some rows of the totals of running episodes."""

    def __init__(self, totals: EpisodeTotals, rows: Ints) -> None:
        """Choose `rows` of `totals`."""
        self._totals, self._rows = totals, rows

    @property
    def steps(self) -> Ints:
        """Steps so far, (k,)."""
        return self._totals.steps[self._rows]

    @property
    def reward(self) -> Floats:
        """Undiscounted return so far, (k,)."""
        return self._totals.reward[self._rows]

    @property
    def path(self) -> Floats:
        """Always 0."""
        return self._totals.path[self._rows]

    @property
    def start_distance(self) -> Floats:
        """Always 0."""
        return self._totals.start_distance[self._rows]


def random_actions(
    kinds: Sequence[AgentSpec], kind: Ints, width: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return uniformly random rows of actions (N, width) of agents of these kinds."""
    rows = np.zeros((len(kind), width), np.float32)
    for index, spec in enumerate(kinds):
        own = np.flatnonzero(kind == index)
        for part in spec.action:
            where = spec.action_slices()[part.name]
            if part.choices is None:
                drawn = rng.uniform(-1.0, 1.0, (len(own), part.width))
            else:
                drawn = rng.integers(part.choices, size=(len(own), 1)).astype(float)
            rows[own, where] = drawn
    return rows
