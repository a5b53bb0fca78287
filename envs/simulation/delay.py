"""Control delay: offsets of joint targets that reach the body some substeps late."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.state_arrays import Arrays


class DelayLine:
    """The offsets of N bodies on their way from the controller to the joints.

    The offsets chosen at the start of a control step act from its substep `delay` on, and
    until the later ones arrive. None is on its way when an episode begins: they are 0.
    """

    def __init__(self, delay: int, substeps: int, shape: tuple[int, int]) -> None:
        """Nothing on its way.

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
        """Forget what was on its way to `envs` (k,)."""
        self._sent[envs] = 0.0

    def send(self, offsets: Floats) -> None:
        """Send the offsets of a control step, (N, nv), [rad]."""
        self._sent[:, 1:] = self._sent[:, :-1]
        self._sent[:, 0] = offsets

    def arrived(self, substep: int) -> Floats:
        """Return the offsets that act in a substep, (N, nv), [rad]."""
        return np.ascontiguousarray(self._sent[:, self._late[substep]])

    def state_dict(self) -> Arrays:
        """Return a copy of what is on its way; nothing without a delay."""
        return {name: array.copy() for name, array in self._saved().items()}

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        for name, array in self._saved().items():
            array[...] = arrays[name]

    def _saved(self) -> dict[str, Floats]:
        return {"sent": self._sent} if self._sent.shape[1] > 1 else {}
