"""When a learned rig may answer: the switch from learning alone to solving."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.model import Prediction
from ambulo.rig_server.trainee import RigTrainee


@dataclass(frozen=True)
class Thresholds:
    """What smoothed prequential errors must be below for answers to start."""

    loss: float = 1e-3
    """Of the published loss, [cm^2]."""
    position: float = 0.02
    """Of the mean distance of a bone from where it was, in lengths of the limbs."""
    frames: int = 60
    """Frames that must have been scored."""
    slack: float = 3.0
    """Answers stop when an error is above this many times its threshold."""


class AnswerGate:
    """Answers for a trainee, from when its prequential errors pass the thresholds.

    It starts by itself, and stops (a new rig, another character) when errors rise well
    above the thresholds again.
    """

    def __init__(
        self, trainee: RigTrainee, thresholds: Thresholds | None = None
    ) -> None:
        """Not started, unless `trainee` comes with errors that are low enough."""
        self.trainee = trainee
        self.thresholds = thresholds or Thresholds()
        self.started = False
        self.started_at = 0
        """Frames that had been scored when it last started; 0 before."""
        self.update()

    def update(self) -> bool:
        """Look at the errors again; whether it answers."""
        errors, limits = self.trainee.progress, self.thresholds
        if self.trainee.model.anatomy is None or errors.frames < limits.frames:
            self.started = False
            return False
        slack = limits.slack if self.started else 1.0
        loss = errors.mean("loss")
        # Without any ground hit there is no published loss; the positions decide then.
        good = not math.isfinite(loss) or loss < slack * limits.loss
        size = self.trainee.size
        good &= errors.mean("position_error") < slack * limits.position * size
        if good and not self.started:
            self.started_at = errors.frames
        self.started = good
        return good

    def solve(self, frame: RigFrame) -> Prediction | None:
        """The pose for the targets that `frame` asks for; None before it has started."""
        return self.trainee.predict(frame) if self.started else None
