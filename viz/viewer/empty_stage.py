"""A stage without content: a training without a checkpoint, or without a body."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ambulo.viz.viewer.snapshot import Layer, Snapshot
from ambulo.viz.viewer.stage import PlainStage


class EmptyStage(PlainStage):
    """An empty floor, with a title that gives the reason."""

    dt = 0.1
    reach = 6.0

    def __init__(self, title: str) -> None:
        """Show `title` alone."""
        self.title = title
        self.layers: Mapping[str, Layer] = {}
        self._time = 0.0

    def reset(self) -> Snapshot:
        """Return an empty snapshot."""
        return Snapshot(self._time, np.zeros(3), {}, cut=True)

    def step(self) -> Snapshot:
        """Return an empty snapshot at the next time."""
        self._time += self.dt
        return Snapshot(self._time, np.zeros(3), {})
