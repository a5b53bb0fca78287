"""Training poses of one rig: arrays, provenance, and their file.

A file is an NPZ (`numpy.load` opens it) of plain arrays and a JSON header as bytes; it contains
no code, and pickled objects are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Singles
from ambulo.configs.base import Config
from ambulo.configs.errors import IKError
from ambulo.ik.data import MIN_UNIQUE
from ambulo.ik.data.array_file import load_arrays, save_arrays
from ambulo.ik.kernels.targets import HIPS, WIDTH
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import TARGETS, Rig, load_rig
from ambulo.ik.solver.features import network_input, pose_in_frame, root_frame
from ambulo.ik.solver.targets import Targets
from ambulo.motion.operations import mirror
from ambulo.motion.rotations import quat_angle

GRID = 0.01
"""Cell size within which poses with all joints in the same cells count as one pose, [m]."""

_TYPES = {
    "root": "f4",
    "rotations": "f4",
    "clip": "i4",
    "frame": "i4",
    "contacts": "u1",
}
STILL = 1e-4
"""An input that varies less than this (standard deviation) is dead."""


class ClipRecord(Config):
    """Origin of poses."""

    name: str
    """Subject and trial, such as "02_01"."""
    subject: str
    """The performer."""
    activity: str
    """The activity label."""


class PoseHeader(Config):
    """The header of a file of poses."""

    format: Literal["ambulo-ik-poses"] = "ambulo-ik-poses"
    """Identifies the file format."""
    version: Literal[1] = 1
    """Version of the format."""
    rig: str
    """The rig of the poses."""
    fps: float
    """Rate of the frames, [Hz]."""
    clips: tuple[ClipRecord, ...]
    """All clips of the poses."""


@dataclass(frozen=True, eq=False)
class PoseData:
    """N poses of a rig with J joints."""

    header: PoseHeader
    """Rig, rate and clips."""
    root: Singles
    """World position of the root, [m]. Shape (N, 3)."""
    rotations: Singles
    """Local rotations, wxyz. Shape (N, J, 4)."""
    clip: NDArray[np.int32]
    """Index of each pose's clip in the header. Shape (N,)."""
    frame: NDArray[np.int32]
    """Frame of each pose in its clip, at the header's rate. Shape (N,)."""
    contacts: NDArray[np.uint8]
    """Whether left and right foot are in contact. Shape (N, 2)."""

    def __len__(self) -> int:
        """The number of poses."""
        return len(self.root)

    @property
    def pose(self) -> Pose:
        """Return the poses in world coordinates."""
        return Pose(self.root.astype(np.float64), self.rotations.astype(np.float64))

    @property
    def subjects(self) -> NDArray[np.str_]:
        """The subject of each pose. Shape (N,)."""
        return np.array([c.subject for c in self.header.clips])[self.clip]

    def __getitem__(self, rows: NDArray[np.integer | np.bool_]) -> PoseData:
        """The poses of indices or of a mask."""
        names = [field.name for field in fields(self) if field.name != "header"]
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def clip_names(self) -> list[str]:
        """The names of the clips with poses, in the order of the header."""
        return [self.header.clips[index].name for index in np.unique(self.clip)]

    def of_clips(self, names: Sequence[str]) -> PoseData:
        """The poses of the clips with these names."""
        target = [clip.name in set(names) for clip in self.header.clips]
        return self[np.array(target, dtype=np.bool_)[self.clip]]

    def successors(self) -> NDArray[np.int64]:
        """The index of the pose one frame later in the same clip; -1 where none is kept."""
        place = {
            (int(c), int(f)): i
            for i, (c, f) in enumerate(zip(self.clip, self.frame, strict=True))
        }
        result = [
            place.get((int(c), int(f) + 1), -1)
            for c, f in zip(self.clip, self.frame, strict=True)
        ]
        return np.array(result, dtype=np.int64)


def mirrored(data: PoseData, rig: Rig) -> PoseData:
    """The same poses with left and right exchanged."""
    motion = mirror(data.pose.motion(rig, data.header.fps))
    return replace(
        data,
        root=motion.root_positions.astype(np.float32),
        rotations=motion.rotations.astype(np.float32),
        contacts=data.contacts[:, ::-1].copy(),
    )


def in_own_frame(rig: Rig, pose: Pose) -> tuple[Targets, Pose]:
    """Return all six targets of `pose`, and the pose in their root frames."""
    targets = Targets.of_pose(rig, pose)
    return targets, pose_in_frame(rig, pose, root_frame(rig, targets))


def unique_poses(rig: Rig, pose: Pose) -> NDArray[np.int64]:
    """Indices of the first of each group of poses whose joints lie in the same cells."""
    places = fk(rig, in_own_frame(rig, pose)[1])[0]
    cells = np.round(places / GRID).astype(np.int16).reshape(len(pose), -1)
    rows = np.ascontiguousarray(cells).view(np.dtype((np.void, cells.shape[1] * 2)))
    return np.sort(np.unique(rows.ravel(), return_index=True)[1]).astype(np.int64)


def still_joints(rig: Rig, pose: Pose) -> list[str]:
    """Names of the joints (not the root) that never rotate, in any pose."""
    turns = quat_angle(pose.rotations[:1], pose.rotations)
    moves = turns.max(axis=0) > 1e-3
    return [
        name
        for name, m in zip(rig.skeleton.joints[1:], moves[1:], strict=True)
        if not m
    ]


def dead_columns(inputs: Singles) -> list[str]:
    """Names of the network inputs (N, 66) that hardly vary though they should.

    Weights of targets are left out, and the hips' x and y: in their own root frame these
    are constant by construction.
    """
    names = [
        f"{t}.{n}"
        for t in TARGETS
        for n in (*"xyz", *(f"rotation{i}" for i in range(6)))
    ]
    columns = [e * WIDTH + i for e in range(len(TARGETS)) for i in range(9)]
    spread = inputs[:, columns].std(axis=0)
    exempt = {f"{TARGETS[HIPS]}.x", f"{TARGETS[HIPS]}.y"}
    return [
        name
        for name, value in zip(names, spread, strict=True)
        if value < STILL and name not in exempt
    ]


def check_poses(
    data: PoseData, rig: Rig, least: int = MIN_UNIQUE, part: str = ""
) -> int:
    """Return the number of unique poses; `IKError` if `data` is unfit for training.

    `part` names it in errors, such as "in the training part: ".

    Refused are too few unique poses, and inputs that never change (dead columns), by name.
    """
    unique = unique_poses(rig, data.pose) if len(data) else np.zeros(0, np.int64)
    if len(unique) < least:
        raise IKError(
            f"{part}{len(data)} poses, {len(unique)} of them unique (joints within "
            f"{100 * GRID:g} cm are one pose); at least {least} unique ones are needed"
        )
    dead = dead_columns(network_input(rig, Targets.of_pose(rig, data.pose)))
    if dead:
        more = f" and {len(dead) - 6} more" if len(dead) > 6 else ""
        raise IKError(
            f"dead inputs, the same in every pose: {', '.join(dead[:6])}{more}"
        )
    return len(unique)


def save_poses(path: str | Path, data: PoseData) -> None:
    """Write `data` atomically; equal poses give equal bytes."""
    save_arrays(path, data)


def load_poses(path: str | Path) -> PoseData:
    """Return the poses in the file `path`; `IKError` names the problem."""

    def shapes(
        header: PoseHeader, arrays: Mapping[str, NDArray[Any]]
    ) -> dict[str, tuple[int, ...]]:
        joints, count = len(load_rig(header.rig)), len(arrays.get("root", ()))
        return {
            "root": (count, 3), "rotations": (count, joints, 4), "clip": (count,),
            "frame": (count,), "contacts": (count, 2),
        }  # fmt: skip

    if Path(path).suffix.lower() != ".npz":
        raise IKError(
            f"{path}: expected poses (.npz), as `ambulo ik extract` makes them"
        )
    header, arrays = load_arrays(path, PoseHeader, "poses", _TYPES, shapes)
    clip = arrays["clip"]
    if len(clip) and not (clip.min() >= 0 and clip.max() < len(header.clips)):
        raise IKError(f"{path}: a pose is of a clip that the header does not name")
    return PoseData(header, **arrays)
