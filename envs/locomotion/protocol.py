"""The interface of all locomotion batches: single, wrapped, or several as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.batch import TaskBatch
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.locomotion.body import BodyState
from ambulo.envs.locomotion.episode import EpisodeState
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.simulation.variants import Variant
from ambulo.envs.state_arrays import Arrays


class WalkerBatch(TaskBatch, Protocol):
    """N simulated bodies that follow references, stepped together without autoreset.

    Where several batches act as one, what they share is read from the first.
    """

    layout: ObservationLayout
    """Parts of an observation."""
    action_size: int
    """A: numbers of an action."""
    extra_actions: tuple[str, ...]
    """Names of actions after those that move joints."""

    @property
    def config(self) -> LocomotionConfig:
        """All settings."""

    @property
    def reference(self) -> Reference:
        """Reference that the bodies follow."""

    @property
    def character(self) -> Character:
        """The body."""

    @property
    def variant(self) -> Variant:
        """How the body differs from the nominal one."""

    @property
    def dofs(self) -> Ints:
        """Degrees of freedom that actions move, shape (A,) without extra actions."""

    @property
    def simulations(self) -> Sequence[CharacterSimulation]:
        """The physics of all bodies, in their order."""

    @property
    def simulation(self) -> CharacterSimulation:
        """The first of `simulations`."""

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One generator for each environment; an assigned one is used from then on."""

    @property
    def episode(self) -> EpisodeState:
        """Totals of the running episodes."""

    @property
    def state(self) -> BodyState:
        """The bodies after the last step."""

    @property
    def phase(self) -> Floats:
        """Phase in the gait cycle, [0, 1). Shape (N,)."""

    def reset(
        self, envs: Ints, /, *, phases: Floats | None = None
    ) -> NDArray[np.float32]:
        """Begin new episodes in `envs` (k,), at `phases` (k,) or as configured."""

    def start_info(self) -> Arrays:
        """Return the info of a reset, (N,) each: the keys of a step."""

    def followed_positions(self) -> Floats:
        """Positions of all joints in the followed pose, shape (N, nq), [m] and [rad]."""

    def teacher_actions(self) -> Floats:
        """Actions of the balance controller for the states now, not clipped. (N, A)."""

    def set_progress(self, share: float) -> None:
        """Set the fraction of the training that is over; schedules follow it."""

    def state_dict(self) -> Arrays:
        """Copies of all arrays that a bit-exact continuation needs (generators excluded)."""

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
