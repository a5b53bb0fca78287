"""Several locomotion batches as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.batch import BatchStep
from ambulo.configs.errors import ActionError, ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.body import BodyState
from ambulo.envs.locomotion.episode import EpisodeState
from ambulo.envs.locomotion.extra_parts import MakePart, mode_part
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.simulation.variants import Variant
from ambulo.envs.state_arrays import Arrays, flattened, part_of

Totals = TypeVar("Totals", EpisodeState, BodyState)
Member = TypeVar("Member", bound=LocomotionBatch)


class JoinedBatch(Generic[Member]):
    """Several batches as one; the environments of the first batch come first.

    All have the same observation and actions, and bodies or references of their own.
    """

    def __init__(self, batches: Sequence[Member]) -> None:
        """Join `batches`."""
        self.batches, first = list(batches), batches[0]
        self.config, self.reference = first.config, first.reference
        self.dofs, self.layout = first.dofs, first.layout
        self.action_size, self.extra_actions = first.action_size, first.extra_actions
        edges = np.cumsum([0, *(batch.num_envs for batch in batches)]).tolist()
        self.num_envs: int = edges[-1]
        self._rows = [slice(*pair) for pair in pairwise(edges)]
        self.obs = np.zeros((self.num_envs, self.layout.size), np.float32)

    @property
    def character(self) -> Character:
        """The first body."""
        return self.batches[0].character

    @property
    def simulations(self) -> list[CharacterSimulation]:
        """The physics of all bodies, in their order."""
        return [batch.simulation for batch in self.batches]

    @property
    def variant(self) -> Variant:
        """The first of the variants."""
        return self.batches[0].variant

    @property
    def simulation(self) -> CharacterSimulation:
        """The first of `simulations`."""
        return self.batches[0].simulation

    @property
    def episode(self) -> EpisodeState:
        """Totals of the running episodes."""
        return concatenated([batch.episode for batch in self.batches])

    @property
    def state(self) -> BodyState:
        """The bodies after the last step."""
        return concatenated([batch.state for batch in self.batches])

    @property
    def phase(self) -> Floats:
        """Phase in the gait cycle, [0, 1). Shape (N,)."""
        return np.concatenate([batch.phase for batch in self.batches])

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One generator for each environment; an assigned one is used from then on."""
        return _Generators([batch.rngs for batch in self.batches])

    def show(self, make: MakePart) -> None:
        """Append a part to the observations; before the first reset."""
        for batch in self.batches:
            batch.show(make)
        self.layout = self.batches[0].layout
        self.obs = np.zeros((self.num_envs, self.layout.size), np.float32)

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generator of each environment whose seed is not None."""
        for batch, rows in zip(self.batches, self._rows, strict=True):
            batch.seed(seeds[rows])

    def episode_info(self) -> Arrays:
        """Return the phase of each body's reference as `phase`."""
        return {"phase": self.phase}

    def start_info(self) -> Arrays:
        """Return the info of a reset; see `LocomotionBatch.start_info`."""
        return joined_arrays([batch.start_info() for batch in self.batches])

    def reset(self, envs: Ints, *, phases: Floats | None = None) -> NDArray[np.float32]:
        """Begin new episodes of `envs` (k,), at `phases` (k,) or as configured."""
        for i, rows in enumerate(self._rows):
            chosen = (envs >= rows.start) & (envs < rows.stop)
            if chosen.any():
                at = None if phases is None else phases[chosen]
                self._reset_member(i, envs[chosen] - rows.start, at)
        return self._observed()

    def step(self, actions: NDArray[Any]) -> BatchStep:
        """One control step of all; see `LocomotionBatch.step`."""
        expected = (self.num_envs, self.action_size)
        if np.shape(actions) != expected:
            raise ActionError(
                f"actions: expected shape {expected}, got {np.shape(actions)}"
            )
        actions = self._transformed(actions)
        steps = [self._step_member(i, actions[r]) for i, r in enumerate(self._rows)]
        rewards, terminated, truncated = (
            np.concatenate([step[i] for step in steps]) for i in (1, 2, 3)
        )
        info = joined_arrays([step[4] for step in steps])
        return self._observed(), rewards, terminated, truncated, info

    def teacher_actions(self) -> Floats:
        """Those of each batch's balance controller. (N, A)."""
        return np.concatenate([batch.teacher_actions() for batch in self.batches])

    def followed_positions(self) -> Floats:
        """As `LocomotionBatch`. Shape (N, nq)."""
        return np.concatenate([b.followed_positions() for b in self.batches])

    def set_progress(self, share: float) -> None:
        """Set the fraction of the training that is over."""
        for batch in self.batches:
            batch.set_progress(share)

    def state_dict(self) -> Arrays:
        """Those of the batches, `<index>.<name>`."""
        return flattened({f"{i}": b.state_dict() for i, b in enumerate(self.batches)})

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        for i, batch in enumerate(self.batches):
            batch.load_state_dict(part_of(arrays, f"{i}"))
        self._observed()

    def close(self) -> None:
        """Free all."""
        for batch in self.batches:
            batch.close()

    def _transformed(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Actions of the bodies."""
        return actions

    def _reset_member(self, i: int, envs: Ints, phases: Floats | None) -> None:
        """Begin new episodes of `envs` of batch `i`."""
        self.batches[i].reset(envs, phases=phases)

    def _step_member(self, i: int, actions: NDArray[Any]) -> BatchStep:
        """One control step of batch `i`."""
        return self.batches[i].step(actions)

    def _observed(self) -> NDArray[np.float32]:
        """Collect the observations of all."""
        for batch, rows in zip(self.batches, self._rows, strict=True):
            self.obs[rows] = batch.obs
        return self.obs


class _Generators(list[np.random.Generator]):
    """The generators of all environments; an assigned one goes to its own batch."""

    def __init__(self, members: Sequence[list[np.random.Generator]]) -> None:
        super().__init__(rng for member in members for rng in member)
        self._owners = [(member, i) for member in members for i in range(len(member))]

    def __setitem__(self, index: Any, rng: Any) -> None:
        super().__setitem__(index, rng)
        member, i = self._owners[index]
        member[i] = rng


def several_references(
    batches: Sequence[LocomotionBatch | JoinedBatch[Any]],
) -> JoinedBatch[LocomotionBatch]:
    """Join batches of one body; the observation also shows which reference is followed.

    A batch may be of several variants of the body.

    Raises:
        ConfigError: Fewer than two batches, or different observations.
    """
    members = [
        batch.batches if type(batch) is JoinedBatch else [batch] for batch in batches
    ]
    single = [m for own in members for m in own if isinstance(m, LocomotionBatch)]
    layouts = [batch.layout.schema() for batch in batches]
    plain = len(single) == sum(len(own) for own in members)
    if len(batches) < 2 or not plain or layouts.count(layouts[0]) < len(batches):
        raise ConfigError("modes: two or more references of one body are needed")
    for mode, batch in enumerate(batches):
        batch.show(mode_part(mode, len(batches)))
    return JoinedBatch(single)


def joined_arrays(parts: Sequence[Arrays]) -> Arrays:
    """Return the arrays of the first part's names, joined along their first axis."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def concatenated(parts: Sequence[Totals]) -> Totals:
    """Return the arrays of `parts` joined along their first axis, the bodies."""
    kind = type(parts[0])
    return kind(
        *(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(kind))
    )
