"""Progress of a curriculum of activities: the labels used in each epoch."""

from __future__ import annotations

import math
from typing import Any

from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.motion import ActivityCurriculum
from ambulo.motion.datasets.activities import ACTIVITIES


class CurriculumProgress:
    """Progress of a training run in its curriculum; call `advance` after every epoch."""

    def __init__(self, config: ActivityCurriculum) -> None:
        """Start in the first stage; `ConfigError` for an unknown activity."""
        for stage in config.stages:
            for label in stage.activities:
                if label not in ACTIVITIES:
                    raise ConfigError(
                        f"curriculum: no activity {label!r}{nearest(label, ACTIVITIES)}"
                    )
        self.config = config
        self.index = 0
        """Number of the stage; len(config.stages) after the last one."""
        self._epochs = 0
        self._best = math.inf
        self._stale = 0

    @property
    def activities(self) -> tuple[str, ...] | None:
        """Present labels; None means all."""
        stages = self.config.stages
        if self.index >= len(stages):
            return None
        taken = [stage.activities for stage in stages[: self.index + 1]]
        return tuple(dict.fromkeys(label for labels in taken for label in labels))

    def advance(self, validation_loss: float) -> bool:
        """Record the validation loss of an epoch; return whether the next stage begins."""
        if self.index >= len(self.config.stages):
            return False
        self._epochs += 1
        if validation_loss < self._best * (1.0 - self.config.min_progress):
            self._best, self._stale = validation_loss, 0
        else:
            self._stale += 1
        patience = self.config.patience
        tired = patience is not None and self._stale >= patience
        if not tired and self._epochs < self.config.stages[self.index].epochs:
            return False
        self.index += 1
        self._epochs, self._best, self._stale = 0, math.inf, 0
        return True

    def state_dict(self) -> dict[str, Any]:
        """The state, ready for JSON."""
        return {
            "index": self.index,
            "epochs": self._epochs,
            "best": None if math.isinf(self._best) else self._best,
            "stale": self._stale,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of `state_dict`."""
        self.index, self._epochs = state["index"], state["epochs"]
        best = state["best"]
        self._best = math.inf if best is None else best
        self._stale = state["stale"]
