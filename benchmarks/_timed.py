"""The physics of a simulation, timed in place."""

from __future__ import annotations

import time
from typing import Any

from numpy.typing import NDArray


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

    def step(self, **kwargs: Any) -> None:
        """As the batch's."""
        start = time.process_time()
        self._batch.step(**kwargs)
        self.seconds += time.process_time() - start
