"""Forward kinematics of any tree, compiled: one pose, a part of one, or a batch.

The shared compiled core: inverse kinematics, trackers, avatar, retargeting and rig server call
`place_pose` and `place_joints` in their kernels; see `ambulo.motion.kinematics` for arrays.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Array
from ambulo.motion.quaternion_kernels import product
from ambulo.motion.skeleton import Skeleton

Floats = NDArray[np.floating]


def fast_kinematics(
    skeleton: Skeleton,
    root_positions: Floats,
    rotations: Floats,
    joint_offsets: Floats | None,
) -> tuple[Floats, Floats]:
    """Return the result of `forward_kinematics` for arrays of float32 or float64."""
    joints, dtype = len(skeleton), rotations.dtype
    lead = np.broadcast_shapes(root_positions.shape[:-1], rotations.shape[:-2])
    offsets: Floats = skeleton.offsets[None]
    if joint_offsets is not None:
        lead = np.broadcast_shapes(lead, joint_offsets.shape[:-2])
        offsets = _flat(joint_offsets, lead, (joints, 3), dtype)
    local = _flat(rotations, lead, (joints, 4), dtype)
    positions = np.empty((len(local), joints, 3), dtype)
    orientations = np.empty((len(local), joints, 4), dtype)
    _place_poses(
        np.array(skeleton.parents),
        _locked(np.ascontiguousarray(offsets, dtype)),
        _locked(np.ascontiguousarray(skeleton.rest, dtype)),
        _locked(_flat(root_positions, lead, (3,), dtype)),
        _locked(local),
        positions,
        orientations,
    )
    return (
        positions.reshape((*lead, joints, 3)),
        orientations.reshape((*lead, joints, 4)),
    )


def _flat(
    values: Floats,
    lead: tuple[int, ...],
    shape: tuple[int, ...],
    dtype: np.dtype[np.floating],
) -> Floats:
    """`values` for each pose of the batch `lead`, as one long contiguous array."""
    whole = np.broadcast_to(values, (*lead, *shape))
    return np.ascontiguousarray(whole, dtype).reshape((-1, *shape))


def _locked(values: Floats) -> Floats:
    """A read-only view, so that the kernel is compiled for one type only."""
    view = values.view()
    view.setflags(write=False)
    return view


@njit(cache=True)
def _place_poses(
    parents: NDArray[np.int64],
    offsets: Floats,
    rest: Floats,
    root: Floats,
    rotations: Floats,
    positions: Floats,
    orientations: Floats,
) -> None:
    """Fill `positions` (N, J, 3) and `orientations` (N, J, 4).

    `offsets` is (N, J, 3), or (1, J, 3) for all poses.
    """
    for t in range(len(rotations)):
        place_pose(
            parents, rest, offsets[t if len(offsets) > 1 else 0], root[t], rotations[t],
            positions[t], orientations[t],
        )  # fmt: skip


@njit(cache=True, inline="always")
def place_joints(
    parents: Array, rest: Array | None, offsets: Array, local: Array, first: int,
    stop: int, positions: Array, orientations: Array,
) -> None:  # fmt: skip
    """Place the joints from `first` to before `stop`; their parents must be placed already.

    Arrays as of `place_pose`. A joint without a parent stays where it is.
    """
    # Element by element: numba would create a view for each unpacked row.
    for j in range(first, stop):
        p = parents[j]
        if p < 0:
            continue
        e, f, g, h = local[j, 0], local[j, 1], local[j, 2], local[j, 3]
        if rest is not None:
            a, b, c, d = rest[j, 0], rest[j, 1], rest[j, 2], rest[j, 3]
            e, f, g, h = product(a, b, c, d, e, f, g, h)
        w, x = orientations[p, 0], orientations[p, 1]
        y, z = orientations[p, 2], orientations[p, 3]
        u, v, k = offsets[j, 0], offsets[j, 1], offsets[j, 2]
        tx = 2 * (y * k - z * v)
        ty = 2 * (z * u - x * k)
        tz = 2 * (x * v - y * u)
        positions[j, 0] = positions[p, 0] + u + w * tx + y * tz - z * ty
        positions[j, 1] = positions[p, 1] + v + w * ty + z * tx - x * tz
        positions[j, 2] = positions[p, 2] + k + w * tz + x * ty - y * tx
        w, x, y, z = product(w, x, y, z, e, f, g, h)
        orientations[j, 0], orientations[j, 1] = w, x
        orientations[j, 2], orientations[j, 3] = y, z


@njit(cache=True, fastmath=False)
def place_pose(
    parents: Array, rest: Array | None, offsets: Array, root: Array, local: Array,
    positions: Array, orientations: Array,
) -> None:  # fmt: skip
    """Fill the `positions` and `orientations` of all joints of one pose.

    Args:
        parents: Index of each joint's parent, -1 of the first. Shape (J,).
        rest: Orientations at rest; None if all are the identity. Shape (J, 4).
        offsets: Joint from parent, in the parent's frame, [m]. Shape (J, 3).
        root: World position of the first joint, [m]. Shape (3,).
        local: Local rotations, wxyz. Shape (J, 4).
        positions: Filled, world, [m]. Shape (J, 3).
        orientations: Filled, world, wxyz. Shape (J, 4).
    """
    e, f, g, h = local[0, 0], local[0, 1], local[0, 2], local[0, 3]
    if rest is not None:
        e, f, g, h = product(rest[0, 0], rest[0, 1], rest[0, 2], rest[0, 3], e, f, g, h)
    orientations[0, 0], orientations[0, 1] = e, f
    orientations[0, 2], orientations[0, 3] = g, h
    for i in range(3):
        positions[0, i] = root[i]
    place_joints(
        parents, rest, offsets, local, 1, len(parents), positions, orientations
    )
