"""The task `template_task`: walk ahead to a line.

Every hook that a task may change is here; what it leaves as it is can go. `--task
template_task.py` names this file, and `--set own.distance=3` one of its settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.base import Config
from ambulo.configs.tasks import TaskSpec, TaskTraits
from ambulo.configs.types import NonNegative, Positive
from ambulo.envs.layout import Part
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.observation import Parts
from ambulo.envs.locomotion.reward import Terms


class TemplateTaskConfig(Config):
    """Settings of the task, with bounds in their types, and weights of its rewards."""

    distance: Positive = 4.0
    """Distance to the line, [m]."""
    advance: NonNegative = 0.5
    """Weight of the reward for speed ahead."""


class TemplateTaskBatch(LocomotionBatch):
    """N bodies that walk to a line; the first axis of arrays is N."""

    rewards = ("imitation", "advance", "changes")
    """Groups of reward terms, of `_reward_groups`."""
    _saved = (*LocomotionBatch._saved, "line")
    """Arrays that a resumed training needs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the bodies; the task's own arrays come first."""
        self.line: Floats = np.zeros(kwargs["num_envs"])
        super().__init__(*args, **kwargs)

    @property
    def left(self) -> Floats:
        """Distance to the line, [m]. Shape (N,)."""
        return np.asarray(self.line - self.simulation.qpos[:, 0])

    def _begin(self, envs: Ints) -> None:
        """Begin new episodes of `envs` (k,); random numbers come from each body's own."""
        super()._begin(envs)
        for env in envs:
            self.line[env] = self.own.distance * self.rngs[env].uniform(0.8, 1.2)

    def _advance(self) -> None:
        """Move what is followed on by one control step."""
        super()._advance()

    def _stepped(self) -> None:
        """Take in a control step: `self.state` is known, ends and rewards are not yet."""

    def _own_parts(self) -> tuple[Part, ...]:
        """Name, size, unit, meaning and scale of what only this task shows."""
        return (Part("line", 1, "m", "distance to the line", 0.25),)

    def _shown(self) -> Parts:
        """Values of these parts, (N, size) each."""
        return {**super()._shown(), "line": self.left[:, None]}

    def _reward_groups(
        self, power: Floats, actions: Floats
    ) -> dict[str, Callable[[], Terms]]:
        """Weighted reward terms by group, (N,) each; they are logged by name."""
        speed = np.clip(self.simulation.qvel[:, 0], 0.0, 1.5)
        return super()._reward_groups(power, actions) | {
            "advance": lambda: {"advance": self.own.advance * speed}
        }

    def fell(self) -> Bools:
        """Which episodes end badly. Shape (N,)."""
        return super().fell()

    def timed_out(self) -> Bools:
        """Which episodes are over without a fall. Shape (N,)."""
        return np.asarray(super().timed_out() | (self.left <= 0.0))

    def succeeded(self, timeout: Bools) -> Bools:
        """Which of them have done the task. Shape (N,)."""
        return np.asarray(timeout & (self.left <= 0.0))


TASK = TaskSpec(
    TemplateTaskBatch,
    TaskTraits(clock=True, defaults={"max_episode_steps": 300}),
    settings=TemplateTaskConfig,
)
