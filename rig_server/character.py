"""One client's character on the server: its models, its queue of frames, its counters."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.rig_server.frames import RigFrame, answer_floats
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.learner import Prediction, RigLearner
from ambulo.rig_server.messages import Option, Status
from ambulo.rig_server.packets import Address, Packet
from ambulo.rig_server.sequence import SequenceLearner
from ambulo.rig_server.sessions import Session

QUEUE = 256
"""Largest number of queued frames of a client; the oldest are dropped first."""
MAX_PENDING = 256
"""Largest number of learning tasks of a client; beyond it the oldest are skipped. Less than the
number of newest frames that a model keeps (`memory.RECENT`)."""
OTHER = 0.02
"""Displacement of a bone on its parent, relative to the longest limb, from which it belongs to
another skeleton."""
RUNS = 4
"""Largest number of queued free runs of a client."""
TIMED = 512
"""Number of newest frames in reported times and fractions."""


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the smoothed prequential errors below which answers start."""

    loss: float = 1e-3
    """Threshold of the reference loss (`FrameScore.loss`), [cm^2]."""
    position: float = 0.02
    """Threshold of the mean position error of a bone, in lengths of the limbs."""
    frames: int = 60
    """Smallest number of scored frames."""
    slack: float = 3.0
    """Answers stop when an error exceeds this many times its threshold."""


class AnswerGate:
    """Opens answers of a learner once its prequential errors pass the thresholds.

    It closes again (a new rig, another character) when errors rise well above the thresholds.
    """

    def __init__(
        self, learner: RigLearner, thresholds: Thresholds | None = None
    ) -> None:
        """Create it closed, unless `learner` comes with errors that are low enough."""
        self.learner = learner
        self.thresholds = thresholds or Thresholds()
        self.started = False
        self.started_at = 0
        """Frames that had been scored when it last started; 0 before."""
        self.update()

    def update(self) -> bool:
        """Compare the errors with the thresholds; returns whether the gate is open."""
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
        """The pose for the targets of `frame`; None while the gate is closed."""
        return self.learner.predict(frame) if self.started else None


@dataclass(eq=False)
class FrameBatch:
    """The frames of one datagram, and their answers so far."""

    sequence: int
    left: int
    """Number of frames that are still waiting."""
    learned: int = 0
    refused: int = 0
    reached: list[NDArray[np.bool_]] = field(default_factory=list)
    answers: list[NDArray[np.float32]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Waiting:
    """One queued frame."""

    batch: FrameBatch
    frame: RigFrame
    options: Option
    follows: bool
    """Whether it directly follows the previous frame."""
    arrived: float
    """Arrival time on the server's clock, [s]."""


class LearningTask(NamedTuple):
    """An answered frame that the learner trains on."""

    number: int
    """Number of the frame, as `RigLearner.learn` counts them."""
    spent: float
    """Time spent on scoring and answering it, [s]."""


class Models:
    """The models of one character: pose, answer gate and sequence."""

    def __init__(
        self,
        layout: RigLayout,
        thresholds: Thresholds,
        *,
        sequences: bool,
        seed: int = 0,
    ) -> None:
        """Untrained models."""
        self.learner = RigLearner(layout, seed=seed)
        self.gate = AnswerGate(self.learner, thresholds)
        self.sequence = SequenceLearner(layout, seed=seed) if sequences else None

    def answer(self, waiting: Waiting) -> bool:
        """Score a frame and append its answer to the batch; return whether to learn from it.

        The answer can be sent before the model learns from the frame.
        """
        frame, batch = waiting.frame, waiting.batch
        if waiting.options & Option.LEARN:
            self.learner.observe(frame)
            self.gate.update()
            if self.sequence is not None:
                self.sequence.add(frame, follows=waiting.follows)
        if waiting.options & Option.PREDICT:
            prediction = self.gate.solve(frame)
            if prediction is not None:
                batch.reached.append(prediction.reached)
                batch.answers.append(answer_floats(prediction.rotations))
        return bool(waiting.options & Option.LEARN)

    def learn(self, number: int) -> None:
        """Learn from the frame `number` of `RigLearner.learn` and from replayed ones."""
        self.learner.learn(number)
        if self.sequence is not None:
            self.sequence.learn()


class ClientCharacter(Session):
    """A client: its address, its queues, its counters and its models."""

    def __init__(
        self, address: Address, version: int, session: int, models: Models, path: Path
    ) -> None:
        """Create a client that has sent nothing yet."""
        super().__init__(address, session)
        self.version, self.models, self.path = version, models, path
        self.layout = models.learner.layout
        self.same_skeleton = False
        """Whether its first frame was found to be of the model's skeleton."""
        self.queue: deque[Waiting] = deque()
        self.pending: deque[LearningTask] = deque()
        self.runs: deque[Packet] = deque()
        """Requests for free runs."""
        self.last_frames = 0
        """Sequence number of the last datagram of frames."""
        self.saved_at = 0.0
        self.saved_learned = 0
        self.received = self.answered = self.dropped = self.refused = self.hurried = 0
        self.learned_lately: deque[bool] = deque(maxlen=TIMED)
        """Whether each of the newest frames for learning was learned from."""
        self.work: deque[float] = deque(maxlen=TIMED)
        """Time to score, answer and learn from a frame, [s]."""
        self.waits: deque[float] = deque(maxlen=TIMED)
        """Time from a frame's arrival to its answer, [s]."""

    def enqueue(self, waiting: Waiting) -> list[FrameBatch]:
        """Queue a frame; returns batches that a full queue has emptied."""
        self.received += 1
        emptied = []
        while len(self.queue) >= QUEUE:
            old = self.queue.popleft()
            self.dropped += 1
            old.batch.left -= 1
            if not old.batch.left and old.batch is not waiting.batch:
                emptied.append(old.batch)
        self.queue.append(waiting)
        return emptied

    def postpone(self, task: LearningTask) -> None:
        """Queue a learning task; the oldest is skipped if there are too many."""
        self.pending.append(task)
        if len(self.pending) > MAX_PENDING:
            self.hurried += 1
            self.learned_lately.append(False)
            self.work.append(self.pending.popleft().spent)

    def learn(self) -> None:
        """Run the oldest learning task."""
        timer, task = Timer(), self.pending.popleft()
        self.models.learn(task.number)
        self.learned_lately.append(True)
        self.work.append(task.spent + timer.read())

    def free_run(self, count: int) -> NDArray[np.float32] | None:
        """The next `count` frames in the stream's units; None before a walk is learned.

        Shape (count, 7 + 4 (B - 1)).
        """
        model = self.models.sequence
        if model is None or not model.ready or not count:
            return None
        positions, rotations = model.run(count)
        values = np.empty((count, 7 + self.layout.output_size), np.float32)
        values[:, :3] = positions / self.layout.scale
        values[:, 3:] = rotations[:, :, [1, 2, 3, 0]].reshape(count, -1)
        return values

    def other_skeleton(self, frame: RigFrame) -> str:
        """Difference between the skeleton of `frame` and the model's; "" if there is none.

        A model is for one person: with another's it would answer poses of the first. Only the
        first frame of a client is compared: a stream may stretch its bones later.
        """
        anatomy = self.models.learner.anatomy
        if self.same_skeleton or anatomy is None:
            self.same_skeleton = True
            return ""
        away = np.linalg.norm(frame.offsets - anatomy.offsets, axis=1)
        away[0] = 0.0  # the root has no parent
        bone = int(np.argmax(away))
        self.same_skeleton = bool(away[bone] <= OTHER * float(anatomy.reach.max()))
        if self.same_skeleton:
            return ""
        return (
            f"the rig kept as {self.layout.name!r} has another skeleton: its "
            f"{self.layout.bones[bone]} is {100.0 * away[bone]:.1f} cm elsewhere on its "
            "parent; give this one a name of its own"
        )

    @property
    def share(self) -> float:
        """Fraction of the newest frames for learning that were used; 1 before any."""
        lately = self.learned_lately
        return sum(lately) / len(lately) if lately else 1.0

    def status(self) -> Status:
        """Counters and smoothed errors for a STATUS message."""
        progress = self.models.learner.progress
        return Status(
            frames=progress.frames,
            learned=progress.learned,
            dropped=self.dropped,
            loss=progress.mean("loss"),
            network_loss=progress.mean("network_loss"),
            position_error=progress.mean("position_error"),
            angle_error=progress.mean("angle_error"),
            latency=float(np.median(self.work)) if self.work else 0.0,
            converged=self.models.gate.started,
            share=math.floor(100.0 * self.share),
            waiting=len(self.pending),
        )


class Timer:
    """Stopwatch since creation or the last `read`."""

    def __init__(self) -> None:
        self._start = perf_counter()

    def read(self) -> float:
        """Return the elapsed seconds."""
        return perf_counter() - self._start
