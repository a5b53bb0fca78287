"""One episode of each environment of a batch: the loop that evaluations and validations play.

What is measured is what the caller does after each step. VR episodes, of which there are more
than environments and which engines may break off, are played by `vr.evaluation.run_episodes`;
episodes of Gymnasium's environments by `commands.minari_data.rollouts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.batch import TaskBatch

Batch = TypeVar("Batch", bound=TaskBatch)
Act = Callable[[Batch], NDArray[Any]]
"""Actions (N, A) for a batch, whose observations are `batch.obs`."""


@dataclass(frozen=True, eq=False)
class Step:
    """One step of all environments; arrays (N,) unless noted."""

    number: int
    """Steps before it."""
    actions: NDArray[Any]
    """Shape (N, A)."""
    rewards: Floats
    """Rewards of the step."""
    terminated: Bools
    """Whether the task ended by it."""
    truncated: Bools
    """Whether time ended by it."""
    info: dict[str, NDArray[Any]]
    """Info arrays of the batch."""
    running: Bools
    """Whether the step belongs to an environment's first episode, which alone counts."""

    @property
    def going(self) -> Bools:
        """Whether that episode goes on after the step."""
        return self.running & ~(self.terminated | self.truncated)


def rollout(
    batch: Batch,
    act: Act[Batch],
    steps: int | None = None,
    *,
    before: Callable[[int], None] | None = None,
    restarted: Callable[[Ints], None] | None = None,
) -> Iterator[Step]:
    """Yield each step of one episode of each environment.

    What has ended is reset and plays on, not scored: a body on its feet costs least.

    Args:
        batch: Environments that have just been reset.
        act: What acts.
        steps: Number of steps; None: until every episode has ended.
        before: Called before each step with its number.
        restarted: Called with the environments that were reset, shape (k,).
    """
    running = np.ones(batch.num_envs, np.bool_)
    for number in count() if steps is None else range(steps):
        if before is not None:
            before(number)
        actions = act(batch)
        _, rewards, terminated, truncated, info = batch.step(actions)
        step = Step(number, actions, rewards, terminated, truncated, info, running)
        running = step.going
        yield step
        if number + 1 == steps or (steps is None and not running.any()):
            return
        ended = np.flatnonzero(terminated | truncated)
        if len(ended):
            batch.reset(ended)
            if restarted is not None:
                restarted(ended)
