"""A tracked player on a rig of the solver: its pose, and its trackers as targets.

The tracked body meets its smoothed trackers with the player's own proportions; the rig has
others. So the solver refines the pose: targets are the raw samples, with the rising weights of
trackers that return.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.configs.errors import IKError
from ambulo.ik.pose import Pose
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.targets import Targets
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.fit import TAKE
from ambulo.ik.trackers.rig_poses import rig_pose, rig_targets
from ambulo.ik.trackers.sizes import TRACKERS
from ambulo.ik.trackers.tracker import (
    BodyFrame,
    BodyTracker,
    FrameStatus,
    TrackerStatus,
)

TELLING = {
    FrameStatus.TIME: "time did not go forward",
    FrameStatus.GAP: "began anew",
    FrameStatus.FLOOR: "the ground was estimated",
    FrameStatus.NO_HEAD: "there has never been a head",
    FrameStatus.LOST: "there is no head: the pose stays",
}
"""Messages of a frame's status."""


class RigPlayer:
    """One player on `rig`. Not thread-safe."""

    def __init__(self, tracker: BodyTracker, rig: Rig) -> None:
        """Create it; no other code may step `tracker`; `rig` has the bones of `ik23`."""
        self.tracker, self.rig = tracker, rig
        self._nothing = TrackerSample.nothing()
        self.reset()

    def reset(self) -> None:
        """Clear everything except given proportions."""
        self.tracker.reset()
        self._weights = np.zeros(TRACKERS)
        self._once = np.zeros(TRACKERS, dtype=np.bool_)
        self._frame: BodyFrame | None = None
        self._sample = self._nothing

    def step(
        self, sample: TrackerSample | None, dt: float, ground: float = 0.0
    ) -> BodyFrame:
        """Advance by `dt`; the frame's arrays are overwritten by the next call.

        Args:
            sample: Readings of the trackers; None: all are lost.
            dt: Time since the last sample, [s].
            ground: Height of the ground, [m].

        Raises:
            IKError: An array has another shape.
        """
        given = self._nothing if sample is None else sample
        frame = self.tracker.step(given, dt, ground)
        if frame.status is FrameStatus.TIME:
            return frame
        used = frame.statuses == TrackerStatus.OK
        at_once = ~self._once | (frame.status is FrameStatus.GAP)
        risen = np.where(at_once, 1.0, np.minimum(self._weights + dt / TAKE, 1.0))
        self._weights = np.where(used, risen, 0.0)
        self._once |= used
        self._sample = TrackerSample(
            np.array(given.positions, dtype=np.float64),
            np.array(given.rotations, dtype=np.float64),
            used,
        )
        self._frame = frame
        return frame

    @property
    def frame(self) -> BodyFrame:
        """The frame of the last step in which time increased; `IKError` before the first."""
        if self._frame is None:
            raise IKError("a tracked player has no pose before the first step")
        return self._frame

    def pose(self) -> Pose:
        """The tracked body on the rig: one pose."""
        frame, ratios = self.frame, self.tracker.shape.ratios
        return rig_pose(self.rig, frame.root[None], frame.orientations[None], ratios)

    def targets(self) -> Targets:
        """The trackers of the last valid sample, of one character.

        Weights are 1; that of a returning tracker rises within `TAKE` seconds.
        """
        given = rig_targets(self._sample, self.rig, self.tracker.shape.ratios)
        return replace(
            given,
            position_weights=self._weights[None],
            rotation_weights=self._weights[None],
        )

    def problem(self) -> str:
        """Problems of the last sample, in a line; empty without any."""
        frame = self.frame
        lines = [TELLING[frame.status]] if frame.status is not FrameStatus.OK else []
        for row, name in enumerate(TARGETS):
            status = TrackerStatus(frame.statuses[row])
            if status is not TrackerStatus.OK and (
                status is not TrackerStatus.ABSENT or self._once[row]
            ):
                lines.append(f"{name} {status.name.lower().replace('_', ' ')}")
        return ", ".join(lines)
