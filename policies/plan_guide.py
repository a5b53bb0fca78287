"""A penalty on actions that leave the planned way, for agents that see one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_learning import VELOCITY_SCALE, check_guide

_TURN_GAIN = 3.0
"""Rotation speed that the guide asks for, of the error of the heading, [1/s]."""
_WEIGHTS = (1.0, 1.0, 0.3)
"""Weights of strafe, forward and rotation."""


@dataclass(frozen=True)
class PlanGuide:
    """Actions of a walker that follows its plan.

    The stick asks for the velocity of the planner in the observation, where it has one, and
    points with full length at the waypoint of the plan where it has not; rotation turns the
    walker to the waypoint. This imitation keeps PPO from giving up short ways before it has
    learnt to walk them without touching anything.
    """

    at: int
    """Column of the waypoint (forward, left) in observations."""
    velocity_at: int | None
    """Column of the planner's velocity (forward, left); None: it is not observed."""
    velocity_scale: float
    """Factor from an observed velocity to the stick."""
    max_rotation_speed: float
    """[rad/s] at full stick."""
    first: float
    """Weight of the penalty at the start of a training."""
    last: float
    """Weight of the penalty at its end."""

    @classmethod
    def of(
        cls, config: NavigationConfig, columns: Mapping[str, slice]
    ) -> PlanGuide | None:
        """The guide that a configuration asks for, or None.

        Args:
            config: all settings.
            columns: where the parts of the observation are.

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
        velocity = columns.get("route_velocity")
        return cls(
            columns["plan_points" if velocity is None else "waypoint"].start,
            None if velocity is None else velocity.start,
            1.0 / (VELOCITY_SCALE * config.actions.max_movement_speed),
            torch.pi / 180.0 * config.actions.max_rotation_speed,
            first,
            first if last is None else last,
        )

    def weight(self, remaining: float) -> float:
        """Weight of the penalty while the fraction `remaining` of a training is left."""
        return self.last + (self.first - self.last) * min(max(remaining, 0.0), 1.0)

    def actions(self, obs: Tensor) -> Tensor:
        """Actions (B, 3) that follow the plan in `obs` (B, size)."""
        ahead, left = obs[:, self.at], obs[:, self.at + 1]
        error = torch.atan2(left, ahead)
        turn = (-_TURN_GAIN / self.max_rotation_speed * error).clamp(-1.0, 1.0)
        if self.velocity_at is None:
            return torch.stack([-torch.sin(error), torch.cos(error), turn], dim=1)
        velocity = self.velocity_scale * obs[:, self.velocity_at : self.velocity_at + 2]
        stick = velocity.clamp(-1.0, 1.0)
        return torch.stack([-stick[:, 1], stick[:, 0], turn], dim=1)

    def error(self, means: Tensor, obs: Tensor) -> Tensor:
        """Mean weighted squared distance of mean actions (B, 3) from `actions`: a scalar."""
        weights = torch.tensor(_WEIGHTS, device=means.device)
        return ((means - self.actions(obs)).square() * weights).mean()
