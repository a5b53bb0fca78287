"""Forward kinematics of NumPy arrays, compiled; see `ambulo.motion.kinematics`."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

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
    _kinematics(
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
    """A read-only view, so that the kernel meets (and compiles for) one type only."""
    view = values.view()
    view.setflags(write=False)
    return view


@njit(cache=True)
def _kinematics(
    parents: NDArray[np.int64],
    offsets: Floats,
    rest: Floats,
    root: Floats,
    rotations: Floats,
    positions: Floats,
    orientations: Floats,
) -> None:
    """Fill `positions` (N, J, 3) and `orientations` (N, J, 4), parents first.

    `offsets` is (N, J, 3), or (1, J, 3) for all poses.
    """
    # Element by element: numba makes a view of each row that is unpacked.
    for t in range(len(rotations)):
        o = t if len(offsets) > 1 else 0
        for j in range(len(parents)):
            a, b, c, d = rest[j, 0], rest[j, 1], rest[j, 2], rest[j, 3]
            e, f = rotations[t, j, 0], rotations[t, j, 1]
            g, h = rotations[t, j, 2], rotations[t, j, 3]
            lw, lx, ly, lz = product(a, b, c, d, e, f, g, h)
            p = parents[j]
            if p < 0:
                orientations[t, j, 0] = lw
                orientations[t, j, 1] = lx
                orientations[t, j, 2] = ly
                orientations[t, j, 3] = lz
                for i in range(3):
                    positions[t, j, i] = root[t, i]
                continue
            w, x = orientations[t, p, 0], orientations[t, p, 1]
            y, z = orientations[t, p, 2], orientations[t, p, 3]
            u, v, k = offsets[o, j, 0], offsets[o, j, 1], offsets[o, j, 2]
            tx = 2 * (y * k - z * v)
            ty = 2 * (z * u - x * k)
            tz = 2 * (x * v - y * u)
            positions[t, j, 0] = positions[t, p, 0] + u + w * tx + y * tz - z * ty
            positions[t, j, 1] = positions[t, p, 1] + v + w * ty + z * tx - x * tz
            positions[t, j, 2] = positions[t, p, 2] + k + w * tz + x * ty - y * tx
            w, x, y, z = product(w, x, y, z, lw, lx, ly, lz)
            orientations[t, j, 0], orientations[t, j, 1] = w, x
            orientations[t, j, 2], orientations[t, j, 3] = y, z
