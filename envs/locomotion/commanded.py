"""Bodies that walk as commanded: what the tasks with commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.reward import Terms, command_terms
from ambulo.envs.reference.foot_steering import COM_HEIGHT, FootSteering, leaning
from ambulo.envs.reference.legs import ankle_places
from ambulo.motion.roles import roles_of


def in_phase(values: Sequence[float], share: float) -> float | None:
    """The one of `values` for phases of equal length that holds at `share`; None of none."""
    return values[min(int(share * len(values)), len(values) - 1)] if values else None


class CommandedBatch(LocomotionBatch):
    """N bodies that follow commands; see `LocomotionBatch`.

    A command is speed ahead, [m/s], turning rate, [rad/s], and, where `takes_side`, speed to
    the left, [m/s].
    """

    rewards: ClassVar[tuple[str, ...]] = ("command", "alive", "costs", "likeness")
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
        self._steering: FootSteering | None = None
        """Bends the gaits into turns; None where no gait is followed."""
        super().__init__(*args, **kwargs)

    _saved = (*LocomotionBatch._saved, "goal", "change", "next_command")

    def set_command(
        self, envs: Ints, speed: Floats, turning: Floats, side: Floats | float = 0.0
    ) -> None:
        """Command a speed, [m/s], a turning rate, [rad/s], and a speed to the left, [m/s].

        Of `envs` (k,), for good: no others are drawn until the next reset. Shapes (k,).

        Raises:
            ConfigError: A command that the task does not take.
        """
        raise NotImplementedError

    def _followed_command(self) -> Floats:
        """Speed ahead, turning rate, speed to the left of the frames. Shape (N, 3)."""
        raise NotImplementedError

    @property
    def _fastest(self) -> float:
        return self.config.environment.speed[1]

    def _lean(self) -> Floats:
        """Lean of the bodies to the left, [rad]. Shape (N,)."""
        command = self._followed_command()
        return leaning(command[:, 0], command[:, 1])

    def _reference(self, phase: Floats) -> tuple[Floats, Floats, Floats]:
        if self._steering is None:
            return super()._reference(phase)
        return self._steering.bend(
            self.gaits, phase, self.blend, self._followed_command(), self._lean()
        )

    def _followed_now(self) -> tuple[Floats, Floats]:
        effectors, com = super()._followed_now()
        if self._steering is not None:
            bent = self._reference(self.phase)[0]
            ankles = ankle_places(self._steering.legs, bent)
            if "left_foot" in roles_of(self.character.skeleton):
                # The feet are the first two end effectors.
                effectors[:, :2] = ankles - bent[:, None, :3]
            com[:, 1] += COM_HEIGHT * self._steering.legs.size * self._lean()
        return effectors, com

    def _rewarded_command(self) -> Floats:
        """Commands that are rewarded. Shape (N, 2 or 3)."""
        return self.command

    def _reward_groups(
        self, power: Floats, actions: Floats
    ) -> dict[str, Callable[[], Terms]]:
        groups, weights = super()._reward_groups(power, actions), self.config.rewards

        def likeness() -> Terms:
            if self._steering is None:
                return {}
            terms = groups["imitation"]()
            return {n: self.reference_weight * term for n, term in terms.items()}

        def nearness() -> Terms:
            return command_terms(self.state, self._rewarded_command(), weights)

        return groups | {"command": nearness, "likeness": likeness}

    def set_progress(self, share: float) -> None:
        """Lower the weight of the imitation terms, as `training.reference_weights` says."""
        weight = in_phase(self.config.training.reference_weights, share)
        self.reference_weight = self.reference_weight if weight is None else weight
