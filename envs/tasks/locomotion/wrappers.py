"""Batches whose observations say more: the last states of the body, or which gait it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.layout import ObservationLayout, Part
from ambulo.envs.tasks.locomotion.batch import Info, LocomotionBatch
from ambulo.envs.tasks.locomotion.body import BodyState
from ambulo.envs.tasks.locomotion.episode import EpisodeState
from ambulo.motion.human23 import N_POSITIONS

Arrays = dict[str, NDArray[Any]]
Arrayed = TypeVar("Arrayed", EpisodeState, BodyState)

STATE_SIZE = 2 * N_POSITIONS
"""Numbers of a state: 56 positions, 56 velocities of the human23 body."""
HISTORY, MODE = "motion_history", "mode"
"""Names of the observation's parts."""


class HistoryBatch:
    """A batch that also shows the last `frames` states of each body.

    A state is that of motion networks (see `ambulo.motion.human23`): 56 positions, then 56
    velocities, places in the world. After a reset all frames are the first state.
    """

    def __init__(self, batch: LocomotionBatch, frames: int) -> None:
        """Show `frames` states of `batch`, oldest first."""
        self._batch, self.frames = batch, frames
        self._columns = batch.character.position_columns
        size = frames * STATE_SIZE
        part = Part(HISTORY, size, "1", f"{frames} states of 112 numbers, oldest first")
        self.layout = ObservationLayout((*batch.layout.parts, part))
        self.history = np.zeros((batch.num_envs, frames, STATE_SIZE))
        self.obs = np.zeros((batch.num_envs, self.layout.size), np.float32)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the batch's."""
        return getattr(self._batch, name)

    def reset(self, envs: Ints, *, phases: Floats | None = None) -> NDArray[np.float32]:
        """Begin new episodes of `envs`."""
        self._batch.reset(envs, phases=phases)
        self.history[envs] = self._states()[envs, None]
        return self._shown()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], Floats, Bools, Bools, Info]:
        """One control step of the batch."""
        _, rewards, terminated, truncated, info = self._batch.step(actions)
        self.history[:, :-1] = self.history[:, 1:]
        self.history[:, -1] = self._states()
        return self._shown(), rewards, terminated, truncated, info

    def state_dict(self) -> Arrays:
        """The batch's, with the history."""
        return self._batch.state_dict() | {"history": self.history.copy()}

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        inner = {name: array for name, array in arrays.items() if name != "history"}
        self._batch.load_state_dict(inner)
        self.history[...] = arrays["history"]
        self._shown()

    def _shown(self) -> NDArray[np.float32]:
        size = self._batch.layout.size
        self.obs[:, :size] = self._batch.obs
        self.obs[:, size:] = self.history.reshape(len(self.history), -1)
        return self.obs

    def _states(self) -> Floats:
        """States (N, 112) now."""
        qpos, qvel = self._batch.simulation.qpos, self._batch.simulation.qvel
        columns = self._columns
        return np.concatenate(
            [columns.positions(qpos), columns.velocities(qvel)], axis=1
        )


class MultiReferenceBatch:
    """Several batches as one, whose observation also says which of them a body is in.

    The bodies of the first batch come first. All have the same body and observation, and
    follow references of their own.
    """

    def __init__(self, batches: Sequence[LocomotionBatch]) -> None:
        """Join `batches`; each is a mode."""
        layouts = [batch.layout.schema() for batch in batches]
        if len(batches) < 2 or any(layout != layouts[0] for layout in layouts):
            raise ConfigError("modes: two or more references of one body are needed")
        self.batches, first = list(batches), batches[0]
        """One a mode."""
        sizes = [batch.num_envs for batch in batches]
        self.num_envs = sum(sizes)
        self._edges = np.concatenate([[0], np.cumsum(sizes)])
        part = Part(MODE, len(batches), "1", "1 for the reference that is followed")
        self.layout = ObservationLayout((*first.layout.parts, part))
        self.obs = np.zeros((self.num_envs, self.layout.size), np.float32)
        for mode, rows in enumerate(self._rows()):
            self.obs[rows, first.layout.size + mode] = 1.0

    def __getattr__(self, name: str) -> Any:
        """What all batches share is the first one's."""
        return getattr(self.batches[0], name)

    @property
    def episode(self) -> EpisodeState:
        """Totals of the running episodes of all bodies."""
        return concatenated([batch.episode for batch in self.batches])

    @property
    def state(self) -> BodyState:
        """State of all bodies after the last step."""
        return concatenated([batch.state for batch in self.batches])

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One generator a body."""
        return [rng for batch in self.batches for rng in batch.rngs]

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generator of each body whose seed is not None."""
        for batch, rows in zip(self.batches, self._rows(), strict=True):
            batch.seed(seeds[rows])

    def reset(self, envs: Ints, *, phases: Floats | None = None) -> NDArray[np.float32]:
        """Begin new episodes of `envs` (k,), at `phases` (k,) or as configured."""
        for batch, rows in zip(self.batches, self._rows(), strict=True):
            mine = (envs >= rows.start) & (envs < rows.stop)
            at = None if phases is None else phases[mine]
            batch.reset(envs[mine] - rows.start, phases=at)
        return self._shown()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], Floats, Bools, Bools, Info]:
        """One control step of all."""
        steps = [
            batch.step(actions[rows])
            for batch, rows in zip(self.batches, self._rows(), strict=True)
        ]
        rewards, terminated, truncated = (
            np.concatenate([step[i] for step in steps]) for i in (1, 2, 3)
        )
        info: Info = {
            name: np.concatenate([step[4][name] for step in steps])
            for name in steps[0][4]
        }
        return self._shown(), rewards, terminated, truncated, info

    def teacher_actions(self) -> Floats:
        """Those of each batch's balance controller. (N, A)."""
        return np.concatenate([batch.teacher_actions() for batch in self.batches])

    def set_progress(self, share: float) -> None:
        """Tell all how much of the training is over, in [0, 1]."""
        for batch in self.batches:
            batch.set_progress(share)

    def state_dict(self) -> Arrays:
        """Those of the batches, `<mode>.<name>`."""
        return {
            f"{mode}.{name}": array
            for mode, batch in enumerate(self.batches)
            for name, array in batch.state_dict().items()
        }

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        for mode, batch in enumerate(self.batches):
            start = f"{mode}."
            batch.load_state_dict(
                {k[len(start) :]: v for k, v in arrays.items() if k.startswith(start)}
            )
        self._shown()

    def close(self) -> None:
        """Free all."""
        for batch in self.batches:
            batch.close()

    def _rows(self) -> list[slice]:
        """The bodies of each batch."""
        pairs = zip(self._edges[:-1], self._edges[1:], strict=True)
        return [slice(int(a), int(b)) for a, b in pairs]

    def _shown(self) -> NDArray[np.float32]:
        for batch, rows in zip(self.batches, self._rows(), strict=True):
            self.obs[rows, : batch.layout.size] = batch.obs
        return self.obs


def concatenated(parts: Sequence[Arrayed]) -> Arrayed:
    """Return the arrays of `parts` joined along their first axis, the bodies."""
    kind = type(parts[0])
    return kind(
        *(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(kind))
    )
