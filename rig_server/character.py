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

from ambulo.rig_server.answer_gate import AnswerGate, Thresholds
from ambulo.rig_server.frames import RigFrame, answer_floats
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.messages import Option, Status
from ambulo.rig_server.packets import Packet, ReplayWindow
from ambulo.rig_server.sequence import SequenceTrainee
from ambulo.rig_server.trainee import RigTrainee

Address = tuple[str, int]

QUEUE = 256
"""Most frames of a client that wait; the oldest go first."""
LESSONS = 256
"""Most frames of a client that wait to be learned from; the oldest are left out then.
Less than the newest frames that a model keeps (`memory.RECENT`)."""
RUNS = 4
"""Most free runs that a client may wait for."""
TIMED = 512
"""Frames over which times and shares are told."""


@dataclass(eq=False)
class Batch:
    """The frames of one datagram, and what has been answered of them."""

    sequence: int
    left: int
    """Frames that are still waiting."""
    learned: int = 0
    refused: int = 0
    reached: list[NDArray[np.bool_]] = field(default_factory=list)
    answers: list[NDArray[np.float32]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Waiting:
    """One frame in a queue."""

    batch: Batch
    frame: RigFrame
    options: Option
    follows: bool
    """Whether it is the one after the frame before it."""
    arrived: float
    """Clock of the server, [s]."""


class Lesson(NamedTuple):
    """A frame that was answered and is to be learned from."""

    number: int
    """Of the frame, as `RigTrainee.learn` counts them."""
    spent: float
    """Time that went into scoring and answering it, [s]."""


class Models:
    """All that is learned of one character."""

    def __init__(
        self,
        layout: RigLayout,
        thresholds: Thresholds,
        *,
        sequences: bool,
        seed: int = 0,
    ) -> None:
        """Models that know nothing."""
        self.trainee = RigTrainee(layout, seed=seed)
        self.solver = AnswerGate(self.trainee, thresholds)
        self.sequence = SequenceTrainee(layout, seed=seed) if sequences else None

    def answer(self, waiting: Waiting) -> bool:
        """Score a frame that is for learning, then answer it; True if it is to be learned.

        The answer is made, and can be sent, before anything is learned from the frame.
        """
        frame, batch = waiting.frame, waiting.batch
        if waiting.options & Option.LEARN:
            self.trainee.observe(frame)
            self.solver.update()
            if self.sequence is not None:
                self.sequence.add(frame, follows=waiting.follows)
        if waiting.options & Option.PREDICT:
            found = self.solver.solve(frame)
            if found is not None:
                batch.reached.append(found.reached)
                batch.answers.append(answer_floats(found.rotations))
        return bool(waiting.options & Option.LEARN)

    def learn(self, number: int) -> None:
        """Learn from the frame `number` of `RigTrainee.learn`, and from others again."""
        self.trainee.learn(number)
        if self.sequence is not None:
            self.sequence.learn()


class Character:
    """A client: where it is, what it sends, and its own models."""

    def __init__(
        self, address: Address, version: int, session: int, models: Models, path: Path
    ) -> None:
        """A client that has sent nothing yet."""
        self.address, self.version, self.session = address, version, session
        self.models, self.path = models, path
        self.layout = models.trainee.layout
        self.nonce = 0
        self.window = ReplayWindow()
        self.queue: deque[Waiting] = deque()
        self.lessons: deque[Lesson] = deque()
        self.runs: deque[Packet] = deque()
        """Requests for free runs."""
        self.last_frames = 0
        """Sequence number of the last datagram of frames."""
        self.sent = 0
        """Sequence number of the last datagram to the client."""
        self.heard = 0.0
        """When it last sent something, [s]."""
        self.saved_at = 0.0
        self.saved_learned = 0
        self.received = self.answered = self.dropped = self.refused = self.hurried = 0
        self.learned_lately: deque[bool] = deque(maxlen=TIMED)
        """Of the newest frames for learning, whether each was learned from."""
        self.work: deque[float] = deque(maxlen=TIMED)
        """Time to score, answer and learn from a frame, [s]."""
        self.waits: deque[float] = deque(maxlen=TIMED)
        """Time from a frame's arrival to its answer, [s]."""

    def enqueue(self, waiting: Waiting) -> list[Batch]:
        """Put a frame last; batches that became empty because the queue was full."""
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

    def postpone(self, lesson: Lesson) -> None:
        """Learn from a frame when there is time; the oldest is left out if too many wait."""
        self.lessons.append(lesson)
        if len(self.lessons) > LESSONS:
            self.hurried += 1
            self.learned_lately.append(False)
            self.work.append(self.lessons.popleft().spent)

    def learn(self) -> None:
        """Learn from the frame that has waited longest."""
        timer, lesson = Timer(), self.lessons.popleft()
        self.models.learn(lesson.number)
        self.learned_lately.append(True)
        self.work.append(lesson.spent + timer.read())

    @property
    def share(self) -> float:
        """Of the newest frames for learning, how many were learned from; 1 before any."""
        lately = self.learned_lately
        return sum(lately) / len(lately) if lately else 1.0

    def status(self) -> Status:
        """How well it is known."""
        progress = self.models.trainee.progress
        return Status(
            frames=progress.frames,
            learned=progress.learned,
            dropped=self.dropped,
            loss=progress.mean("loss"),
            network_loss=progress.mean("network_loss"),
            position_error=progress.mean("position_error"),
            angle_error=progress.mean("angle_error"),
            latency=float(np.median(self.work)) if self.work else 0.0,
            converged=self.models.solver.started,
            share=math.floor(100.0 * self.share),
            waiting=len(self.lessons),
        )


class Timer:
    """Seconds since it was made or last read."""

    def __init__(self) -> None:
        self._start = perf_counter()

    def read(self) -> float:
        """Seconds so far."""
        return perf_counter() - self._start
