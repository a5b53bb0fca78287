"""A tracked player in a layer stack: as its base pose, as an override, and as targets of IK."""

from __future__ import annotations

import math
from collections.abc import Callable

from ambulo.configs.errors import IKError
from ambulo.ik.layers.layer import Tick, TimedAnswer
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.rig_player import RigPlayer
from ambulo.ik.trackers.tracker import LONGEST_GAP, BodyFrame, BodyTracker, FrameStatus

Samples = Callable[[float], TrackerSample | None]
"""Readings of the trackers at a time of the ticks, [s]; None: none. Live: the newest sample."""

FIRST_STEP = 1.0 / 60.0
"""Time step of the first sample, [s]."""
LONGEST_STEP = 1.0 / 45.0
"""Longer ticks are divided, if there are samples in between, [s]."""


class TrackedBody:
    """One player as a provider of poses, and by `targets` as a provider of targets.

    The body advances once per tick, however many layers call it. An invalid sample never stops
    it: the problem is the note of the answer, which the trace shows as the layer's reason.
    Before the first head there is no pose, so the layer is skipped.
    """

    def __init__(
        self,
        tracker: BodyTracker,
        rig: Rig,
        samples: Samples,
        *,
        ground: float | Callable[[float], float] = 0.0,
    ) -> None:
        """Prepare a body that is placed by the first tick with a head.

        Args:
            tracker: Tracker of the player; only this object may step it.
            rig: A rig with the bones of `ik23`.
            samples: Readings of the trackers. It is called for times between two ticks too if
                these are far apart; the same object several times in a row is one sample.
            ground: Height of the ground, [m], or a function of the time.
        """
        self.player = RigPlayer(tracker, rig)
        self.samples, self.ground = samples, ground
        self._time: float | None = None
        self._poses: list[tuple[float, Pose]] = []
        self._note = ""

    @property
    def frame(self) -> BodyFrame:
        """The tracked body itself, with contacts and statuses; `IKError` before the first."""
        return self.player.frame

    def __call__(self, tick: Tick) -> TimedAnswer:
        """The pose at a tick, for a base or an override layer.

        A past tick gets the nearest cached pose: a stack evaluates the previous one when its
        base changes.
        """
        self._advance(tick.time)
        near = min(self._poses, key=lambda kept: abs(kept[0] - tick.time))
        return TimedAnswer(near[1], tick.time, self._note)

    def targets(self, tick: Tick) -> TimedAnswer:
        """The trackers at a tick as targets, for an IK layer."""
        self._advance(tick.time)
        return TimedAnswer(self.player.targets(), tick.time, self._note)

    def reset(self) -> None:
        """Clear the player except given proportions; the next tick places the body."""
        self.player.reset()
        self._time, self._note = None, ""
        self._poses.clear()

    def _advance(self, time: float) -> None:
        """Step the body to `time` if it is not there yet; `IKError` without a pose."""
        if self._time is None or time > self._time:
            begin = time - FIRST_STEP if self._time is None else self._time
            faults = self._steps(begin, time)
            self._time = time
            status = self.player.frame.status
            self._note = "; ".join(filter(None, (self.player.problem(), *faults)))
            if status is not FrameStatus.NO_HEAD:
                self._poses = [*self._poses[-1:], (time, self.player.pose())]
        if not self._poses:
            raise IKError(self._note or "no sample yet")

    def _steps(self, begin: float, end: float) -> tuple[str, ...]:
        """Step from `begin` to `end`; returns the problems with the samples."""
        parts = 1
        if end - begin <= LONGEST_GAP:
            parts = max(1, math.ceil((end - begin) / LONGEST_STEP - 1e-6))
        steps: list[tuple[TrackerSample | None, float]] = []
        faults: dict[str, None] = {}
        for k in range(1, parts + 1):
            at = end if k == parts else begin + (end - begin) * k / parts
            sample = self._sample(at, faults)
            if steps and steps[-1][0] is sample:
                steps.pop()
            steps.append((sample, at))
        before = begin
        for sample, at in steps:
            self._step(sample, at - before, self._ground(at, faults), faults)
            before = at
        return tuple(faults)

    def _step(
        self,
        sample: TrackerSample | None,
        dt: float,
        ground: float,
        faults: dict[str, None],
    ) -> None:
        try:
            self.player.step(sample, dt, ground)
        except (IKError, TypeError, ValueError, AttributeError) as error:
            faults[f"sample: {_line(error)}"] = None
            self.player.step(None, dt, ground)

    def _sample(self, time: float, faults: dict[str, None]) -> TrackerSample | None:
        try:
            return self.samples(time)
        except Exception as error:  # failing trackers must not stop the body
            faults[f"samples: {_line(error)}"] = None
            return None

    def _ground(self, time: float, faults: dict[str, None]) -> float:
        if not callable(self.ground):
            return self.ground
        try:
            return float(self.ground(time))
        except Exception as error:  # for NaN, the tracker estimates the ground
            faults[f"ground: {_line(error)}"] = None
            return math.nan


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
