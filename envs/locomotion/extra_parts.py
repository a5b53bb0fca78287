"""Parts that can be appended to the observation of a batch: its reference, its past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.layout import Part
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.human23 import N_POSITIONS

STATE_SIZE = 2 * N_POSITIONS
"""Numbers of a state: 56 positions, 56 velocities of the human23 body."""


class ObservedBodies(Protocol):
    """The attributes of a batch that extra observation parts read."""

    character: Character
    simulation: CharacterSimulation


class ExtraPart:
    """Numbers after the other parts of an observation; here the same at all times."""

    def __init__(self, name: str, meaning: str, values: NDArray[Any]) -> None:
        """Show `values`, (S,) for all bodies or (N, S), under `name`."""
        self.part = Part(name, values.shape[-1], "1", meaning)
        self.values = values
        self.saved: dict[str, Floats] = {}
        """Arrays that a bit-exact continuation needs, by name."""

    def begin(self, envs: Ints) -> None:
        """Note that episodes of `envs` (k,) begin."""

    def advance(self) -> None:
        """Note that a control step was made."""


MakePart = Callable[[ObservedBodies], ExtraPart]
"""Makes an extra part for a batch."""


def mode_part(mode: int, modes: int) -> MakePart:
    """The part that shows which of `modes` references a batch follows."""
    text = "1 for the reference that is followed"
    return lambda _: ExtraPart("mode", text, np.eye(modes)[mode])


def history_part(frames: int) -> MakePart:
    """The part with the last `frames` states of each body."""
    return lambda body: HistoryPart(body, frames)


class HistoryPart(ExtraPart):
    """The last `frames` states of each body.

    A state is that of motion networks (see `ambulo.motion.human23`): 56 positions, then 56
    velocities, places in the world. After a reset all frames are the first state.
    """

    def __init__(self, body: ObservedBodies, frames: int) -> None:
        """Show `frames` states of the bodies of `body`, oldest first."""
        self._simulation = body.simulation
        self._columns = body.character.position_columns
        self._history = np.zeros((body.simulation.count, frames, STATE_SIZE))
        super().__init__(
            "motion_history",
            f"{frames} states of 112 numbers, oldest first",
            self._history.reshape(len(self._history), -1),
        )
        self.saved["history"] = self._history

    def begin(self, envs: Ints) -> None:
        """Fill the history of `envs` with their first state."""
        self._history[envs] = self._states()[envs, None]

    def advance(self) -> None:
        """Append the states now."""
        self._history[:, :-1] = self._history[:, 1:]
        self._history[:, -1] = self._states()

    def _states(self) -> Floats:
        """States (N, 112) now."""
        qpos, qvel = self._simulation.qpos, self._simulation.qvel
        columns = self._columns
        return np.concatenate(
            [columns.positions(qpos), columns.velocities(qvel)], axis=1
        )
