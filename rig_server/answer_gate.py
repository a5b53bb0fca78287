"""When a learned rig may answer: the switch from learning to answering."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.learner import Prediction, RigLearner


@dataclass(frozen=True)
class Thresholds:
    """Smoothed prequential errors below which answers start."""

    loss: float = 1e-3
    """Of the reference loss (`FrameScore.loss`), [cm^2]."""
    position: float = 0.02
    """Of the mean distance of a bone from where it was, in lengths of the limbs."""
    frames: int = 60
    """Frames that must have been scored."""
    slack: float = 3.0
    """Answers stop when an error is above this many times its threshold."""


class AnswerGate:
    """Answers for a learner, from when its prequential errors pass the thresholds.

    It starts by itself, and stops (a new rig, another character) when errors rise well
    above the thresholds again.
    """

    def __init__(
        self, learner: RigLearner, thresholds: Thresholds | None = None
    ) -> None:
        """Not started, unless `learner` comes with errors that are low enough."""
        self.learner = learner
        self.thresholds = thresholds or Thresholds()
        self.started = False
        self.started_at = 0
        """Frames that had been scored when it last started; 0 before."""
        self.update()

    def update(self) -> bool:
        """Compare the errors with the thresholds; whether answers are given."""
        errors, limits = self.learner.progress, self.thresholds
        if self.learner.anatomy is None or errors.frames < limits.frames:
            self.started = False
            return False
        slack = limits.slack if self.started else 1.0
        loss = errors.mean("loss")
        # Without any ground hit there is no loss; the positions decide then.
        good = not math.isfinite(loss) or loss < slack * limits.loss
        size = self.learner.size
        good &= errors.mean("position_error") < slack * limits.position * size
        if good and not self.started:
            self.started_at = errors.frames
        self.started = good
        return good

    def solve(self, frame: RigFrame) -> Prediction | None:
        """The pose for the targets that `frame` asks for; None before it has started."""
        return self.learner.predict(frame) if self.started else None
