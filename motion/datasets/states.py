"""States of networks: 112 numbers for each frame of `human23`.

The first 56 are the pose and the last 56 its velocity, both as `ambulo.motion.human23` lays
them out. The velocity of a frame leads from the frame before to this one (a backward
difference), so that a state does not depend on later frames: `integrate(pose[t], velocity[t
+ 1], 1 / fps) == pose[t + 1]`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints
from ambulo.configs.errors import MotionError
from ambulo.motion import human23
from ambulo.motion.motion import Motion
from ambulo.motion.roles import mirror_indices
from ambulo.motion.rotations import quat_multiply, quat_rotate
from ambulo.motion.skeletons import load_skeleton

States = NDArray[np.float32]
N_STATE = 2 * human23.N_POSITIONS
"""Size of a state."""


def states_of(motion: Motion) -> States:
    """The states of a motion of `human23`, two frames or more. Shape (T, 112)."""
    if len(motion) < 2:
        raise MotionError(f"{motion.label}: one frame has no velocity")
    positions = human23.to_positions(motion)
    velocities = human23.velocities(positions, motion.fps)
    return np.concatenate([positions, velocities], axis=1).astype(np.float32)


def motion_of(states: NDArray[np.floating], fps: float) -> Motion:
    """The motion whose poses are in `states` (T, 112), on the canonical skeleton."""
    positions = np.asarray(states[:, : human23.N_POSITIONS], dtype=np.float64)
    return human23.from_positions(positions, fps)


def mirror_states(states: States, out: States | None = None) -> States:
    """The states of the mirrored movement. Shape (..., 112).

    `out` is an optional output array.
    """
    source, signs = _mirror()
    # "clip" only avoids a check of the indices.
    mirrored: States = np.take(states, source, axis=-1, out=out, mode="clip")
    mirrored *= signs
    return mirrored


@cache
def _mirror() -> tuple[Ints, States]:
    """Source column and sign of each number of a mirrored state.

    The mirror is the plane y = 0: a position (x, y, z) becomes (x, -y, z), a rotation vector or
    an angular velocity (x, -y, z) with the opposite sign. A hinge keeps its angle or changes
    its sign, depending on its axis and its counterpart's.
    """
    skeleton = load_skeleton("human23")
    twins = mirror_indices(skeleton)
    widths = [6, *(len(order) for order in skeleton.orders[1:])]
    starts = np.cumsum([0, *widths])
    source = np.zeros(human23.N_POSITIONS, dtype=np.int64)
    signs = np.zeros(human23.N_POSITIONS, dtype=np.float32)
    for joint, width in enumerate(widths):
        here = slice(starts[joint], starts[joint + 1])
        twin = int(twins[joint])
        source[here] = starts[twin] + np.arange(width)
        if joint == 0:
            signs[here] = (-1.0, 1.0, -1.0, 1.0, -1.0, 1.0)
        elif width == 3:
            signs[here] = (-1.0, 1.0, -1.0)
        else:
            signs[here] = _hinge_sign(joint, twin)
    both = np.concatenate([source, source + human23.N_POSITIONS])
    return both, np.concatenate([signs, signs])


def _hinge_sign(joint: int, twin: int) -> float:
    """1 if the mirrored hinge `twin` rotates like `joint`, -1 if in the opposite direction."""
    skeleton = load_skeleton("human23")

    def axis(hinge: int) -> NDArray[np.float64]:
        unit = np.eye(3)["XYZ".index(skeleton.orders[hinge])]
        frame = quat_multiply(skeleton.rest[hinge], skeleton.axes[hinge])
        turned: NDArray[np.float64] = quat_rotate(frame, unit)
        return turned

    mirrored = axis(twin) * (-1.0, 1.0, -1.0)
    return float(np.sign(mirrored @ axis(joint)))
