"""Settings of the supervised training loop, and its learning-rate schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol


class FitConfig(Protocol):
    """The fields that every supervised training has in its configuration."""

    @property
    def epochs(self) -> int:
        """Passes over the data, at most."""
        ...

    @property
    def learning_rate(self) -> float:
        """Step size at its highest."""
        ...

    @property
    def warmup_steps(self) -> int:
        """Updates over which it rises."""
        ...

    @property
    def gradient_clip(self) -> float:
        """Longest gradient."""
        ...

    @property
    def average(self) -> float:
        """Decay of the moving average of the weights."""
        ...

    @property
    def patience(self) -> int:
        """Epochs without a better validation, at most; 0: any."""
        ...

    @property
    def save_every(self) -> int:
        """Updates between checkpoints within an epoch; 0: none."""
        ...


@dataclass(frozen=True)
class FitSettings:
    """The part of a configuration that the training loop itself uses."""

    epochs: int
    """Passes over the data, at most."""
    learning_rate: float
    """Step size of the optimiser after the warm-up."""
    warmup_steps: int = 0
    """Updates over which the step size rises from 0."""
    schedule: str = "cosine"
    """`cosine` (down to `final_rate`) or `constant`."""
    final_rate: float = 0.01
    """Last step size of the cosine as a fraction of the first."""
    gradient_clip: float = 1.0
    """Longest gradient; longer ones are scaled down to it."""
    ema: float = 0.0
    """Decay of the moving average of the weights; 0: none."""
    patience: int = 0
    """Epochs without a better validation after which the run ends; 0: never."""
    save_every: int = 0
    """Updates between checkpoints within an epoch; 0: at the ends of epochs only."""

    @classmethod
    def of(cls, training: FitConfig, **changes: Any) -> FitSettings:
        """Return the settings of the group `training` of a configuration, with changes."""
        common = {
            "epochs": training.epochs,
            "learning_rate": training.learning_rate,
            "warmup_steps": training.warmup_steps,
            "gradient_clip": training.gradient_clip,
            "ema": training.average,
            "patience": training.patience,
            "save_every": training.save_every,
        }
        return cls(**(common | changes))

    def rate(self, step: int, total: int) -> float:
        """Return the step size at update `step` of `total`: a ramp, then the schedule."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        if self.schedule == "constant":
            return self.learning_rate
        left = max(total - self.warmup_steps, 1)
        fraction = min((step - self.warmup_steps) / left, 1.0)
        wave = 0.5 * (1.0 + math.cos(math.pi * fraction))
        return self.learning_rate * (self.final_rate + (1.0 - self.final_rate) * wave)
