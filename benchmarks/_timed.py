"""Bodies that walk, and their physics timed in place."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.envs.locomotion.build import AnyBatch


class Timed:
    """A batch of simulations whose steps are timed."""

    def __init__(self, batch: Any) -> None:
        """Wrap `batch`."""
        self._batch, self.seconds = batch, 0.0

    def bind(self, field: str) -> Any:
        """As the batch's."""
        return self._batch.bind(field)

    def forward(self, ids: NDArray[Any], stage: int) -> None:
        """As the batch's."""
        self._batch.forward(ids, stage)

    def set_models(self, models: Any) -> None:
        """As the batch's."""
        self._batch.set_models(models)

    def step(self, **kwargs: Any) -> None:
        """As the batch's."""
        start = time.process_time()
        self._batch.step(**kwargs)
        self.seconds += time.process_time() - start


def random_steps(batch: AnyBatch) -> Callable[[], None]:
    """Control steps of `batch` with small random actions; a body that fell begins anew."""
    batch.reset(np.arange(batch.num_envs))
    rng = np.random.default_rng(0)

    def step() -> None:
        actions = rng.uniform(-0.1, 0.1, (batch.num_envs, batch.action_size))
        _, _, terminated, truncated, _ = batch.step(actions)
        done = terminated | truncated
        if done.any():
            batch.reset(np.flatnonzero(done))

    return step
