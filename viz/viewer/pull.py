"""A mouse pull on a body: the farther the drag, the stronger the force."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.viz.viewer.snapshot import Layer, LineLayer, Lines, Part
from ambulo.viz.viewer.stage import Drag

STIFFNESS = 400.0
"""Force by the length of the drag, [N/m]."""
MOST_FORCE = 300.0
"""Largest force, [N]."""
PULL_LAYERS: dict[str, Layer] = {"pull/line": LineLayer(0.02, in_world=True)}
_COLOUR = np.array([[230, 120, 30]], np.uint8)


class Pull:
    """The body held by the mouse, and its pull; none at first."""

    def __init__(self) -> None:
        """Start without a body."""
        self.held: tuple[int, int] | None = None
        """Copy and body."""
        self._way = np.zeros(3)
        self._offset = np.zeros(3)

    def drag(self, held: tuple[int, int], drag: Drag, place: Floats) -> None:
        """Hold a body whose origin is at `place` (3,), [m], and pull it along the drag."""
        self.held = held
        self._way, self._offset = drag.end - drag.start, drag.start - place

    def let_go(self) -> None:
        """End the pull."""
        self.held = None

    def force(self) -> Floats:
        """Force on the body, at most `MOST_FORCE`, [N]. Shape (3,)."""
        force: Floats = STIFFNESS * self._way
        return force * min(1.0, MOST_FORCE / max(float(np.linalg.norm(force)), 1e-9))

    def parts(self, xpos: Floats) -> dict[str, Part]:
        """The pull as a line from bodies at `xpos` (N, nbody, 3), [m]; else of zero length."""
        start = xpos[0, 1] if self.held is None else xpos[self.held] + self._offset
        end = start if self.held is None else start + self._way
        return {"pull/line": Lines(np.array([[start, end]]), _COLOUR)}
