"""A curriculum of levels: stages that end by success or by budget. Only book-keeping."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from ambulo.configs.vr import CurriculumStage

WINDOW = 200
"""Recent episodes whose success rate decides about promotion."""


class LevelCurriculum:
    """The current stage of a training, and when the next one begins.

    A stage is left when its budget of environment steps is spent, or when the success rate of
    the last `WINDOW` episodes reaches its threshold after its minimum length. The last
    stage goes on until the end of the training.
    """

    def __init__(self, stages: Sequence[CurriculumStage]) -> None:
        """Begin with the first of `stages`."""
        self.stages = tuple(stages)
        self.index = 0
        self.began_at = 0
        self._recent: deque[bool] = deque(maxlen=WINDOW)

    @property
    def stage(self) -> CurriculumStage:
        """The current stage."""
        return self.stages[self.index]

    @property
    def success_rate(self) -> float | None:
        """Success rate of the window; None until it is full."""
        if len(self._recent) < WINDOW:
            return None
        return sum(self._recent) / WINDOW

    def add(self, successes: Iterable[bool]) -> None:
        """Count episodes that ended in this stage."""
        self._recent.extend(bool(success) for success in successes)

    def advance(self, num_timesteps: int) -> bool:
        """Enter the next stage if this one is over; return whether it was."""
        if self.index + 1 == len(self.stages):
            return False
        stage, spent = self.stage, num_timesteps - self.began_at
        rate = self.success_rate
        promoted = (
            stage.success_threshold is not None
            and rate is not None
            and rate >= stage.success_threshold
            and spent >= stage.min_timesteps
        )
        if not promoted and spent < stage.timesteps:
            return False
        self.index += 1
        self.began_at = num_timesteps
        self._recent.clear()
        return True

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON."""
        return {
            "index": self.index,
            "began_at": self.began_at,
            "recent": [int(success) for success in self._recent],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`."""
        self.index = int(state["index"])
        self.began_at = int(state["began_at"])
        self._recent.clear()
        self.add(state["recent"])
