"""Poses of a batch of characters: root positions and local joint rotations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.rig import Rig
from ambulo.motion.fk_kernel import fast_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_from_yaw, quat_multiply


@dataclass(frozen=True, eq=False)
class Pose:
    """B poses of a rig with J joints."""

    root: Floats
    """World position of the root, [m]. Shape (B, 3)."""
    rotations: Floats
    """Local rotations after the rest frames, wxyz, unit. Shape (B, J, 4)."""

    def __post_init__(self) -> None:
        """Convert to float64 and check the shapes; `IKError` names the rule.

        Values are not checked: poses are created many times per frame.
        """
        root = np.asarray(self.root, dtype=np.float64)
        rotations = np.asarray(self.rotations, dtype=np.float64)
        if root.ndim != 2 or root.shape[1] != 3:
            raise IKError(f"pose: root: expected shape (B, 3), got {root.shape}")
        if rotations.ndim != 3 or rotations.shape[::2] != (len(root), 4):
            raise IKError(
                f"pose: rotations: expected shape ({len(root)}, J, 4), got {rotations.shape}"
            )
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "rotations", rotations)

    def __len__(self) -> int:
        """The number of poses."""
        return len(self.root)

    def __getitem__(self, rows: slice | NDArray[np.integer | np.bool_]) -> Pose:
        """The poses of a slice, of indices or of a mask."""
        return Pose(self.root[rows], self.rotations[rows])

    def motion(self, rig: Rig, fps: float, name: str = "") -> Motion:
        """The poses as the frames of a motion."""
        return Motion(rig.skeleton, fps, self.root, self.rotations, name=name)


def pose_of(motion: Motion, rig: Rig) -> Pose:
    """The frames of `motion`, which must be on the rig's skeleton."""
    if not motion.skeleton.same_tree(rig.skeleton):
        raise IKError(
            f"{motion.label}: it is on the skeleton {motion.skeleton.name!r}, "
            f"not on {rig.skeleton.name!r} of the rig; retarget it first"
        )
    return Pose(motion.root_positions, motion.rotations)


def start_pose(
    rig: Rig, ground: ArrayLike = ((0.0, 0.0),), yaw: ArrayLike = (0.0,)
) -> Pose:
    """Return the rig's starting pose: the mean of motion data, not the T-pose.

    Args:
        rig: The rig.
        ground: Position on the ground, world x and y, [m]. Shape (B, 2).
        yaw: Heading about Z; 0 faces +X, [rad]. Shape (B,).
    """
    where = np.atleast_2d(np.asarray(ground, dtype=np.float64))
    turn = np.atleast_1d(np.asarray(yaw, dtype=np.float64))
    count = max(len(where), len(turn))
    root = np.empty((count, 3))
    root[:, :2] = where
    root[:, 2] = rig.start_height
    rotations = np.repeat(rig.start[None], count, axis=0)
    rotations[:, 0] = turned(rig, rotations[:, 0], turn)
    return Pose(root, rotations)


def turned(rig: Rig, hips: Floats, yaw: Floats) -> Floats:
    """Local rotations of the hips (..., 4) after rotating the character by `yaw` (...)."""
    rest = rig.skeleton.rest[0]
    back = rest * np.array([1.0, -1.0, -1.0, -1.0])
    world: Floats = quat_multiply(quat_from_yaw(yaw), quat_multiply(rest, hips))
    local: Floats = quat_multiply(back, world)
    return local


def fk(rig: Rig, pose: Pose) -> tuple[Floats, Floats]:
    """World positions (B, J, 3), [m], and orientations (B, J, 4) of all joints."""
    positions, orientations = fast_kinematics(
        rig.skeleton, pose.root, pose.rotations, None
    )
    return positions.astype(np.float64, copy=False), orientations.astype(
        np.float64, copy=False
    )
