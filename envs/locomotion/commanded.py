"""Bodies that walk as commanded: what the tasks with commands share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.task_hooks import in_phase


class CommandedBatch(LocomotionBatch):
    """N bodies that follow commands; see `LocomotionBatch`.

    A command is speed ahead, [m/s], turning rate, [rad/s], and, where `takes_side`, speed to
    the left, [m/s].
    """

    takes_side: ClassVar[bool] = False
    """Whether commands have a part to the side."""
    lateral: ClassVar[float | None] = None
    """Largest product of speed and turning rate, [m/s^2]; None: any."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As `LocomotionBatch`."""
        config, shape = args[0], (kwargs["num_envs"], 2 + self.takes_side)
        self.goal: Floats = np.zeros(shape)
        """Commands that are settled into. Shape (N, 2 or 3)."""
        self.change: Floats = np.zeros(shape)
        """How fast the commands change now, by second. Shape (N, 2 or 3)."""
        self.next_command: Floats = np.full(shape[0], np.inf)
        """Time of the next command, [s]. Shape (N,)."""
        self.reference_weight = config.rewards.reference_weight
        """Factor on the imitation terms."""
        super().__init__(*args, **kwargs)

    _kept = (*LocomotionBatch._kept, "goal", "change", "next_command")

    def order(
        self, envs: Ints, speed: Floats, turning: Floats, side: Floats | float = 0.0
    ) -> None:
        """Command a speed, [m/s], a turning rate, [rad/s], and a speed to the left, [m/s].

        Of `envs` (k,), for good: no others are drawn until the next reset. Shapes (k,).

        Raises:
            ConfigError: A command that the task does not take.
        """
        raise NotImplementedError

    def set_progress(self, share: float) -> None:
        """Lower the weight of the imitation terms, as `training.reference_weights` says."""
        weight = in_phase(self.config.training.reference_weights, share)
        self.reference_weight = self.reference_weight if weight is None else weight
