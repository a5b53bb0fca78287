"""Devices in, bodies out: one player's stream, and whole recordings."""

from __future__ import annotations

import collections
from dataclasses import dataclass

import numpy as np

from ambulo.configs.errors import IKError
from ambulo.ik.rig import TARGETS
from ambulo.ik.trackers.conventions import (
    Mounts,
    TrackerSample,
    calibrated_mounts,
    shape_in_t_pose,
)
from ambulo.ik.trackers.layout import HEAD_ROW, LEFT_HAND, RIGHT_HAND
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.recording import Recording
from ambulo.ik.trackers.recording_lines import RecordingHeader
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracker import (
    BodyFrame,
    BodyTracker,
    FrameStatus,
    TrackerStatus,
)
from ambulo.motion.motion import Motion
from ambulo.motion.operations import sample

FIRST_STEP = 1.0 / 60.0
"""Duration of the first row of a stream, [s]."""
RESTARTED = 1.0
"""A clock that goes back by more than this has been reset, [s]."""
REFIT_EVERY = 30
"""Number of rows after which default mounts are updated for a body whose size is still
estimated."""
MOST_FRAMES = 600_000
"""Largest number of frames of a tracked recording."""
FRAMES_A_ROW, SPARE_FRAMES = 20, 1000
"""Largest number of frames per row, and in addition: longer gaps are refused."""


class BodySession:
    """The body of one stream of devices.

    A row before the last one's time is out of order and changes nothing. A row more than
    `RESTARTED` before it comes from a reset clock, and the stream continues from there.
    """

    def __init__(
        self,
        network: TrackerNetwork,
        header: RecordingHeader,
        shape: BodyShape | None = None,
        ground: float | None = None,
    ) -> None:
        """Start a stream.

        Args:
            network: The network; sessions may share one.
            header: First line of the recording, or first message of the stream.
            shape: Proportions of the player, instead of the header's.
            ground: Height of the ground, [m], instead of the header's.
        """
        self.header = header
        self.ground = header.ground_height if ground is None else ground
        self.waiting: str | None = "no head yet" if header.calibrate else None
        """Why the T-pose that the header promises has not come; None if none is due."""
        self._network = network
        self._shape = header.player() if shape is None else shape
        self._estimates = self._shape is None
        self._time: float | None = None
        self._rows = 0
        self.body = BodyTracker(network, self._shape)
        self.mounts = header.joint_mounts(self._shape)

    def step(self, row: TrackerSample) -> BodyFrame:
        """Return the body of a row; its arrays are overwritten by the next call."""
        if self.waiting is not None:
            self._calibrate(row)
        self._rows += 1
        if self._estimates and self._rows % REFIT_EVERY == 0:
            self.mounts = self.header.joint_mounts(self.body.shape)
        places, turns = self.mounts.joints(row.positions, row.rotations)
        joints = TrackerSample(places, turns, row.present)
        return self.body.step(joints, self._elapsed(row.time), self.ground)

    def _elapsed(self, time: float) -> float:
        """Time since the last row, [s]; not above 0 for a row out of order."""
        before, self._time = self._time, time
        if before is None:
            return FIRST_STEP
        if before - RESTARTED <= time < before:
            self._time = before
        return time - before

    def _calibrate(self, row: TrackerSample) -> None:
        """Calibrate proportions and mounts from a row in a T-pose, if it is one."""
        needed = {HEAD_ROW, LEFT_HAND, RIGHT_HAND} & set(self.header.rows)
        missing = [TARGETS[at] for at in sorted(needed) if not row.present[at]]
        if missing:
            self.waiting = f"no {missing[-1]} yet"
            return
        kind = self.header.axes
        try:
            shape = self._shape
            if shape is None:
                shape = shape_in_t_pose(row, kind, self.ground)
            mounts = calibrated_mounts(row, shape, kind, self.ground)
        except IKError as error:
            self.waiting = str(error)
            return
        self._use(shape, mounts)
        self.waiting = None

    def _use(self, shape: BodyShape, mounts: Mounts) -> None:
        self._shape, self._estimates = shape, False
        self.body, self.mounts = BodyTracker(self._network, shape), mounts


@dataclass(frozen=True, eq=False)
class TrackedRecording:
    """The body of a recording."""

    motion: Motion
    """The motion on human23 with the player's proportions."""
    shape: BodyShape
    """The player's proportions."""
    frames: dict[str, int]
    """Number of rows of each occurring `FrameStatus`, by its name in lower case."""
    trackers: dict[str, dict[str, int]]
    """Number of rows of each `TrackerStatus`, for each tracker by name."""
    skipped: int
    """Number of first rows without a head, which have no pose."""


def track_recording(
    network: TrackerNetwork,
    recording: Recording,
    *,
    shape: BodyShape | None = None,
    ground: float | None = None,
    rate: float | None = None,
) -> TrackedRecording:
    """Return the body of a whole recording, equal to the live result.

    If the player's size is not given, the recording is processed twice: the second pass uses
    the proportions estimated by the first.

    Args:
        network: The network.
        recording: The devices.
        shape: Proportions of the player, instead of the header's.
        ground: Height of the ground, [m], instead of the header's.
        rate: Frames per second of the result; None: the recording's.

    Raises:
        IKError: No head, no T-pose although the header promises one, or too many frames.
    """
    fps = recording.rate if rate is None else rate
    if not (np.isfinite(fps) and fps > 0.0):
        raise IKError(f"the rate must be above 0, got {fps:g}")
    most = min(MOST_FRAMES, FRAMES_A_ROW * len(recording) + SPARE_FRAMES)
    if recording.duration * fps > most:
        raise IKError(
            f"{len(recording)} rows in {recording.duration:g} s, at {fps:g} fps: more than "
            f"{most} frames"
        )
    header = recording.header
    if shape is None and header.shape is None and not header.calibrate:
        first = BodySession(network, header, None, ground)
        for index in range(len(recording)):
            first.step(recording.row(index))
        shape = first.body.shape
    session = BodySession(network, header, shape, ground)
    count = len(recording)
    roots, turns = np.empty((count, 3)), np.empty((count, 23, 4))
    statuses = np.empty(count, dtype=np.int64)
    seen = np.empty((count, len(TARGETS)), dtype=np.int64)
    for index in range(count):
        row = recording.row(index)
        frame = session.step(row)
        if session.waiting is not None and row.present[HEAD_ROW]:
            raise IKError(f"first row with a head: {session.waiting}")
        roots[index], turns[index] = frame.root, frame.rotations
        statuses[index], seen[index] = frame.status, frame.statuses
    headless = statuses == FrameStatus.NO_HEAD
    if headless.all():
        raise IKError("no row has a head")
    skipped = int(np.argmin(headless))
    motion = Motion(
        session.body.skeleton, fps, roots[skipped:], turns[skipped:], name=header.name
    )
    times = recording.times[skipped:] - recording.times[skipped]
    # A sample at a row's time is that row, also if its time was rounded in the file.
    steps = np.arange(int(np.floor(times[-1] * fps + 1e-3)) + 1) / fps
    frames = np.interp(steps, times, np.arange(len(times), dtype=float))
    near = np.round(frames)
    frames = np.where(np.abs(frames - near) < 1e-3, near, frames)
    return TrackedRecording(
        sample(motion, frames, fps),
        session.body.shape,
        _counts(statuses, FrameStatus),
        {TARGETS[at]: _counts(seen[:, at], TrackerStatus) for at in header.rows},
        skipped,
    )


def _counts(
    values: np.ndarray, kinds: type[FrameStatus] | type[TrackerStatus]
) -> dict[str, int]:
    """Number of occurrences of each status, by name."""
    found = collections.Counter(values.tolist())
    return {kind.name.lower(): found[kind] for kind in kinds if found[kind]}
