"""Settings of the supervised training loop, and its learning-rate schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from ambulo.configs.base import Config


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
    def of(cls, training: Config, **changes: Any) -> FitSettings:
        """Return the settings of the group `training` of a configuration, with changes."""
        values = training.model_dump()
        values["ema"] = values["average"]
        known = {f.name for f in fields(cls)} - {"schedule", "final_rate"}
        return cls(**({k: v for k, v in values.items() if k in known} | changes))

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
