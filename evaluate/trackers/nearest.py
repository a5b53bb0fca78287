"""Nearest neighbour: the pose of training people whose trackers were most alike."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.errors import ConfigError
from ambulo.ik.data.sequences import SequenceData
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.features import read_pose, write_inputs
from ambulo.ik.trackers.layout import FORGET, HEAD_ROW, TICK
from ambulo.ik.trackers.shape import BodyShape, scale_of, sized_skeleton
from ambulo.ik.trackers.sizes import INPUTS, OUTPUTS, POSE, TRACKERS, WIDTH
from ambulo.ik.trackers.tracks import POINTS, track_of
from ambulo.motion.rotations import (
    matrix_to_sixd,
    quat_from_yaw,
    quat_multiply,
    quat_to_matrix,
    yaw_of,
)

EVERY = 3
"""One of so many network steps of the training people is a neighbour."""
COMPARED = 15
"""Columns of a tracker that are compared: all but presence and age."""


class Neighbours:
    """Inputs of training people, and their poses."""

    def __init__(self, data: SequenceData, people: list[str]) -> None:
        """Keep poses of `people` of `data`.

        Raises:
            ConfigError: None of them is in the data.
        """
        part = data.of_subjects(people)
        if not len(part):
            raise ConfigError(
                "--data: holds none of the people that the model was trained on"
            )
        inputs: list[Floats] = []
        poses: list[Floats] = []
        stride = round(data.header.fps * TICK)
        for index in range(len(part)):
            clip_inputs, clip_poses = _of_clip(part, index, stride)
            inputs.append(clip_inputs)
            poses.append(clip_poses)
        values = np.concatenate(inputs)
        self._scale = values.std(axis=0) + 1e-6
        self._inputs = (values / self._scale).astype(np.float32)
        self._squares = (self._inputs**2).sum(axis=1)
        self._poses = np.concatenate(poses).astype(np.float32)

    def __len__(self) -> int:
        """The number of neighbours."""
        return len(self._inputs)

    def pose(self, inputs: Floats) -> Singles:
        """The pose (141,) of the neighbour whose inputs are nearest to `inputs` (106,)."""
        query = (compared(inputs) / self._scale).astype(np.float32)
        row = int(np.argmin(self._squares - 2.0 * (self._inputs @ query)))
        result: Singles = self._poses[row]
        return result


class NearestTrack:
    """Poses of one player by nearest neighbours."""

    def __init__(self, neighbours: Neighbours, shape: BodyShape) -> None:
        """Prepare a player of this `shape`."""
        self._neighbours, self._ratios = neighbours, shape.ratios
        self._scale, self.skeleton = scale_of(shape.ratios), sized_skeleton(shape)
        self._before: tuple[Floats, Floats, Floats] | None = None

    def __call__(self, sample: TrackerSample, dt: float) -> tuple[Floats, Floats]:
        """The pose of a sample."""
        present = sample.present.astype(np.float64)
        now = (sample.positions, sample.rotations, present)
        before = now if self._before is None else self._before
        self._before = now
        inputs = np.empty(INPUTS)
        ages = np.where(sample.present, 0.0, FORGET)
        write_inputs(
            *now[:2], present, ages, *before, self._ratios, self._scale, dt, inputs
        )
        output = np.zeros(OUTPUTS, dtype=np.float32)
        output[:POSE] = self._neighbours.pose(inputs)
        root, local = np.empty(3), np.empty((23, 4))
        read_pose(
            output, sample.positions[HEAD_ROW], sample.rotations[HEAD_ROW], self._scale,
            root, local,
        )  # fmt: skip
        return root, local


def compared(inputs: Floats) -> Floats:
    """The columns of inputs (106,) that are compared."""
    trackers = inputs[: WIDTH * TRACKERS].reshape(TRACKERS, WIDTH)[:, :COMPARED]
    rows = sorted(POINTS[3])
    result: Floats = trackers[rows].ravel()
    return result


def _of_clip(data: SequenceData, index: int, stride: int) -> tuple[Floats, Floats]:
    """Inputs (N, 45) and poses (N, 141) of one sequence."""
    motion = data.motion(index)
    track = track_of(motion, 3)
    ratios = np.array(data.header.clips[index].shape)
    scale = scale_of(ratios)
    frames = range(stride, len(motion), stride * EVERY)
    present = track.present[0].astype(np.float64)
    ages = np.where(track.present[0], 0.0, FORGET)
    rows = []
    for frame in frames:
        row, before = np.empty(INPUTS), frame - stride
        write_inputs(
            track.positions[frame], track.rotations[frame], present, ages,
            track.positions[before], track.rotations[before], present, ratios, scale,
            TICK, row,
        )  # fmt: skip
        rows.append(compared(row))
    chosen = list(frames)
    head = track.positions[chosen, HEAD_ROW]
    yaw = yaw_of(track.rotations[chosen, HEAD_ROW])
    turn = quat_from_yaw(-yaw)
    origin = head * np.array([1.0, 1.0, 0.0])
    matrix = quat_to_matrix(turn)
    root = (
        np.einsum("nij,nj->ni", matrix, motion.root_positions[chosen] - origin) / scale
    )
    local = motion.rotations[chosen].copy()
    local[:, 0] = quat_multiply(turn, local[:, 0])
    six = matrix_to_sixd(quat_to_matrix(local)).reshape(len(chosen), -1)
    return np.array(rows).reshape(len(rows), -1), np.concatenate([root, six], axis=1)
