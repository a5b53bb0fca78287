"""A penalty on actions that leave the planned way, for agents that see one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_learning import check_guide

_TURN_GAIN = 3.0
"""Rotation speed that the guide asks for, of the error of the heading, [1/s]."""
_WEIGHTS = (1.0, 1.0, 0.3)
"""Weights of strafe, forward and rotation."""


@dataclass(frozen=True)
class PlanGuide:
    """What a walker would do that goes straight to the waypoint of its plan.

    The stick points at the waypoint with full length, and rotation turns the walker to it: an
    imitation of the planner in the observation, which keeps PPO from giving up short ways
    before it has learnt to walk them without touching anything.
    """

    at: int
    """Column of the waypoint (forward, left) in observations."""
    max_rotation_speed: float
    """[rad/s] at full stick."""
    first: float
    """Weight of the penalty at the start of a training."""
    last: float
    """Weight of the penalty at its end."""

    @classmethod
    def of(cls, config: NavigationConfig, at: int | None) -> PlanGuide | None:
        """The guide that a configuration asks for, or None.

        Args:
            config: all settings.
            at: see the class; None: the observation has no plan.

        Raises:
            ConfigError: the agent cannot learn from a guide.
        """
        first, last = config.ppo.plan_coef, config.ppo.plan_coef_final
        if first == 0.0:
            return None
        check_guide(
            config.ppo,
            memory=config.observations.memory,
            mode=config.actions.mode,
            recurrent=config.network.recurrent,
        )
        assert at is not None, "a planned way has points"
        speed = torch.pi / 180.0 * config.actions.max_rotation_speed
        return cls(at, speed, first, first if last is None else last)

    def weight(self, remaining: float) -> float:
        """Weight of the penalty while the fraction `remaining` of a training is left."""
        return self.last + (self.first - self.last) * min(max(remaining, 0.0), 1.0)

    def actions(self, obs: Tensor) -> Tensor:
        """Actions (B, 3) that walk to the waypoint in `obs` (B, size)."""
        ahead, left = obs[:, self.at], obs[:, self.at + 1]
        error = torch.atan2(left, ahead)
        turn = (-_TURN_GAIN / self.max_rotation_speed * error).clamp(-1.0, 1.0)
        return torch.stack([-torch.sin(error), torch.cos(error), turn], dim=1)

    def error(self, means: Tensor, obs: Tensor) -> Tensor:
        """Mean weighted squared distance of mean actions (B, 3) from `actions`: a scalar."""
        weights = torch.tensor(_WEIGHTS, device=means.device)
        return ((means - self.actions(obs)).square() * weights).mean()
