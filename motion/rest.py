"""Skeletons whose joint frames are the world's at rest, for formats without rest frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.rotations import quat_conjugate, quat_multiply, quat_rotate
from ambulo.motion.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Turn:
    """The change from a skeleton's joint frames to frames that are the world's at rest.

    With G the orientation of a joint at rest in the world, rotations become G q G^-1.
    """

    frames: Floats
    """Orientation of each joint at rest in the world, wxyz. Shape (J, 4)."""
    parents: Floats
    """Orientation of each joint's parent at rest; identity for the root. Shape (J, 4)."""

    def __call__(self, rotations: Floats) -> Floats:
        """Local rotations (T, J, 4) in the new frames."""
        if not self.frames[:, 1:].any():
            return rotations
        turned: Floats = quat_multiply(
            quat_multiply(self.frames, rotations), quat_conjugate(self.frames)
        )
        return turned

    def offsets(self, offsets: Floats) -> Floats:
        """Offsets (..., J, 3) in the new frames."""
        if not self.frames[:, 1:].any():
            return offsets
        turned: Floats = quat_rotate(self.parents, offsets)
        return turned


def aligned_axes(skeleton: Skeleton) -> tuple[Skeleton, Turn]:
    """The skeleton with identity rest orientations, and the conversion of motions.

    All world positions and movements are preserved: the world orientation of joint j is W'_j =
    W_j G_j^-1, so its local rotation is G_j q_j G_j^-1.
    """
    frames = np.array(skeleton.rest)
    above = np.tile([1.0, 0.0, 0.0, 0.0], (len(skeleton), 1))
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            above[joint] = frames[parent]
            frames[joint] = quat_multiply(above[joint], frames[joint])
    turn = Turn(frames, above)
    if not frames[:, 1:].any():
        return skeleton, turn
    tips = skeleton.tips
    if len(tips):
        tips = quat_rotate(frames[list(skeleton.tip_parents)], tips)
    aligned = skeleton.replace(
        offsets=quat_rotate(above, skeleton.offsets),
        rest=np.zeros((0, 4)),
        axes=quat_multiply(frames, skeleton.axes),
        tips=tips,
    )
    return aligned, turn


def plain_orders(skeleton: Skeleton, order: str) -> tuple[str, ...]:
    """The skeleton's orders if its angles are measured about plain axes, else `order`.

    An order that names an axis twice (ZXZ) becomes `order` too: files name each once.
    """
    plain = not (skeleton.axes[:, 1:].any() or skeleton.rest[:, 1:].any())
    return tuple(
        own if plain and len(set(own)) == len(own) else order for own in skeleton.orders
    )
