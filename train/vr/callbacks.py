"""Callbacks of navigation between roll-outs: scores, curriculum, levels."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.common.console import Display
from ambulo.envs.vr.task.metrics import optimal_length, spl
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.train.shared.callbacks import BoundaryCallback, Metrics
from ambulo.train.vr.curriculum import LevelCurriculum
from ambulo.train.vr.level_curriculum import TrainingLevels

log = logging.getLogger(__name__)


class NavigationMetrics(Metrics):
    """Also logs success weighted by path length (SPL), comfort and the curriculum."""

    logged = ("comfort", "collisions")

    def __init__(
        self,
        file: Path,
        display: Display,
        curriculum: LevelCurriculum | None,
        goal_radius: float = 0.0,
    ) -> None:
        """Write rows to `file`, and count episodes for `curriculum`.

        Paths end at `goal_radius` from the goal, [m], for SPL.
        """
        super().__init__(file, display)
        self._goal_radius, self._curriculum = goal_radius, curriculum
        self._return: float | None = None

    def episode_numbers(self, info: dict[str, Any]) -> dict[str, float]:
        """Return the numbers of an episode, with its SPL."""
        shortest = optimal_length(info["start_distance"], self._goal_radius)
        ratio = float(spl(info["is_success"], shortest, info["path"]))
        return {**super().episode_numbers(info), "rollout/spl": ratio}

    def more(self, row: dict[str, Any], env: Sb3BatchEnv) -> None:
        """Add faults of the engines and the stage; count the episodes for the curriculum."""
        if env.info_sums.get("bridge_fault"):
            row["rollout/bridge_faults"] = env.info_sums["bridge_fault"]
        if row["rollout/ep_rew_mean"] is not None:
            self._return = row["rollout/ep_rew_mean"]
        if self._curriculum is not None:
            done = [bool(e["rollout/success_rate"]) for e in self._episodes]
            self._curriculum.add(done)
            row["curriculum/stage"] = self._curriculum.index

    def stage(self) -> str:
        """Return the stage of the curriculum and the mean return of recent episodes."""
        parts = [] if self._curriculum is None else [self._curriculum.stage.name]
        if self._return is not None:
            parts.append(f"return {self._return:.0f}")
        return ", ".join(parts)


class LevelUpdates(BoundaryCallback):
    """Promotes the curriculum and puts new levels into the bank."""

    def __init__(
        self, levels: TrainingLevels | None, curriculum: LevelCurriculum | None
    ) -> None:
        """Update `levels` (None: workers have them) from `curriculum` and the settings."""
        super().__init__()
        self._levels, self._curriculum = levels, curriculum

    def at_boundary(self, before: int, now: int) -> None:
        """Enter the next stage if it is due, and replace levels."""
        curriculum = self._curriculum
        if curriculum is not None and curriculum.advance(now):
            log.info("curriculum: stage %r after %d", curriculum.stage.name, now)
            if self._levels and self._levels.enter(curriculum.stage):
                self.model._last_obs = self._levels.restart()
                self.model._last_episode_starts = np.ones(
                    self.training_env.num_envs, np.bool_
                )
        if self._levels is not None:
            self._levels.refresh()
