"""A body that is tracked from a recording of headset and controllers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.trackers.recording import Recording
from ambulo.ik.trackers.session import BodySession
from ambulo.motion.kinematics import tip_positions
from ambulo.motion.landmarks import body_points
from ambulo.motion.motion import Motion
from ambulo.viz.viewer.meshes import box
from ambulo.viz.viewer.skeleton_parts import SkeletonParts
from ambulo.viz.viewer.snapshot import Bytes, Instances, Layer, MeshLayer, Snapshot
from ambulo.viz.viewer.stage import PlainStage, Plot

_DEVICE = (40, 44, 52)
_HALF = np.array([0.05, 0.05, 0.05])
_AWAY = np.array([0.0, 0.0, -100.0])


class TrackerStage(PlainStage):
    """A recording that is tracked in a loop, with the true body as a ghost."""

    def __init__(
        self,
        begin: Callable[[], BodySession],
        recording: Recording,
        title: str,
        truth: Motion | None = None,
    ) -> None:
        """Create it at the start of the recording.

        Args:
            begin: Starts a stream for the recording's rows.
            recording: Rows of devices.
            title: Title.
            truth: The true motion of the devices, with a frame for each row.
        """
        self.title = title
        self._begin, self._recording = begin, recording
        self.dt = 1.0 / recording.rate
        self._session = begin()
        skeleton = self._session.body.skeleton
        self._parts = SkeletonParts(skeleton)
        self.layers: dict[str, Layer] = {
            **self._parts.layers(), "devices/boxes": MeshLayer(box()),
        }  # fmt: skip
        self._truth: Floats | None = None
        if truth is not None:
            self._truth = body_points(truth)
            self._ghost = SkeletonParts(truth.skeleton, "ghost", ghost=True)
            self.layers |= self._ghost.layers()
        self._row, self._time = 0, 0.0
        count = recording.positions.shape[1]
        self._shade: Bytes = np.tile(np.array([_DEVICE], np.uint8), (count, 1))

    def reset(self) -> Snapshot:
        """Restart the recording with a new body."""
        self._session, self._row = self._begin(), 0
        return self._track(cut=True)

    def step(self) -> Snapshot:
        """Track the next row."""
        self._time += self.dt
        self._row += 1
        if self._row == len(self._recording):
            return self.reset()
        return self._track(cut=False)

    def plots(self) -> Sequence[Plot]:
        """Contacts of the feet; distance from the true body."""
        plots = [Plot("contact", "contact of the feet", ("left", "right"))]
        if self._truth is not None:
            plots.append(Plot("error", "joints from the true body [cm]", ("mean",)))
        return plots

    def _track(self, *, cut: bool) -> Snapshot:
        row = self._recording.row(self._row)
        frame = self._session.step(row)
        skeleton = self._session.body.skeleton
        tips = tip_positions(skeleton, frame.positions[None], frame.orientations[None])[
            0
        ]
        points = np.concatenate([frame.positions, tips])
        parts = self._parts.parts(points)
        parts["devices/boxes"] = self._devices()
        contacts = frame.contacts.reshape(2, 2).max(axis=1)
        values = {
            "contact/left": float(contacts[0]),
            "contact/right": float(contacts[1]),
        }
        if self._truth is not None:
            true = self._truth[min(self._row, len(self._truth) - 1)]
            parts |= self._ghost.parts(true)
            joints = len(frame.positions)
            far = np.linalg.norm(true[:joints] - frame.positions, axis=1)
            values["error/mean"] = 100.0 * float(far.mean())
        return Snapshot(self._time, points[0].copy(), parts, values, cut)

    def _devices(self) -> Instances:
        """Boxes at the devices; lost ones are not drawn."""
        rows, present = self._recording, self._recording.present[self._row]
        places = np.where(present[:, None], rows.positions[self._row], _AWAY)
        turns = np.nan_to_num(rows.rotations[self._row].astype(np.float64))
        length = np.linalg.norm(turns, axis=1, keepdims=True)
        upright = np.array([1.0, 0.0, 0.0, 0.0])
        turns = np.where(length > 1e-6, turns / np.maximum(length, 1e-6), upright)
        return Instances(
            np.nan_to_num(places), turns, np.tile(_HALF, (len(places), 1)), self._shade,
            steady=True,
        )  # fmt: skip
