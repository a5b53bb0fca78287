"""Stand: keep standing, also when pushed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.layout import Part
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.observation import PHASE, STANDING, Parts
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.walk_commands.walking import WalkingBatch

TERMS = ("standing", "alive", "costs")
"""Groups of reward terms."""


class StandBatch(LocomotionBatch):
    """N bodies that stand facing +X; see `LocomotionBatch`."""

    rewards = TERMS

    @classmethod
    def of_own(
        cls, config: LocomotionConfig, reference: Reference
    ) -> type[LocomotionBatch]:
        """As of `LocomotionBatch`: with gaits to step by, bodies step when pushed."""
        steps = config.environment.balance_law and len(reference.gaits) > 1
        return SteppingStandBatch if steps and cls is StandBatch else cls


class SteppingStandBatch(WalkingBatch):
    """N bodies that stand, and step on the spot when pushed or where they cannot stand."""

    rewards = TERMS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create the batch; see `LocomotionBatch`."""
        super().__init__(*args, **kwargs)
        self._fades = False  # its policies learn to stand

    def set_command(
        self, envs: Ints, speed: Floats, turning: Floats, side: Floats | float = 0.0
    ) -> None:
        """Refuse: the task takes no commands."""
        raise ConfigError("task = stand takes no commands: set task = walk_commands")

    @property
    def _fastest(self) -> float:
        return 0.0

    def _draw(self, index: int, now: float) -> None:
        self.goal[index], self.next_command[index] = 0.0, np.inf

    def _own_parts(self) -> tuple[Part, ...]:
        return PHASE, STANDING

    def _shown(self) -> Parts:
        return {"standing": super()._shown()["standing"]}


BATCH = StandBatch
