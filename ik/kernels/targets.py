"""Compiled: checks of targets, their yaw frame, network inputs, and outputs as poses.

Internal: `ambulo.ik.solver.targets`, `features` prepare the arrays.
"""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.motion.quaternion_kernels import from_rows, product, rotated

OK, POSITION, ROTATION, ZERO, WEIGHT = 0, 1, 2, 3, 4
"""Results of `check_targets`."""

REASONS = {
    POSITION: "the position must be finite and within 1e6 m along each axis",
    ROTATION: "the rotation must be finite",
    ZERO: "the rotation is a quaternion of length 0",
    WEIGHT: "weights must be from 0 to 1",
}

HIPS, HEAD = 5, 4
"""Rows of targets (see `ambulo.ik.rig.TARGETS`)."""

FAR = 1e6
"""Largest distance of positions from the origin along an axis, [m]: beyond it, a millimetre is
lost to rounding."""

FLAT = 1e-300
"""Added to squared divisors, so that 0 / 0 is 0."""

WIDTH = 11
"""Network inputs of a target: position 3, rotation 6, the two weights."""


@njit(cache=True)
def check_targets(
    positions: Array, rotations: Array, moved: Array, turned: Array
) -> tuple[int, int]:
    """Normalise rotations (B, 6, 4); returns the first bad row and its problem.

    Where a weight (B, 6) is 0, the position (B, 6, 3) becomes 0, the rotation identity.
    """
    count, rows = moved.shape
    for b in range(count):
        for e in range(rows):
            row = b * rows + e
            a, c = moved[b, e], turned[b, e]
            if not (0.0 <= a <= 1.0 and 0.0 <= c <= 1.0):
                return row, WEIGHT
            if a == 0.0:
                positions[b, e, 0] = positions[b, e, 1] = positions[b, e, 2] = 0.0
            elif not (
                abs(positions[b, e, 0]) <= FAR
                and abs(positions[b, e, 1]) <= FAR
                and abs(positions[b, e, 2]) <= FAR
            ):
                return row, POSITION
            w, x, y, z = 1.0, 0.0, 0.0, 0.0
            if c > 0.0:
                w, x = rotations[b, e, 0], rotations[b, e, 1]
                y, z = rotations[b, e, 2], rotations[b, e, 3]
                if not math.isfinite(w + x + y + z):
                    return row, ROTATION
                length = math.sqrt(w * w + x * x + y * y + z * z)
                if length < 1e-9:
                    return row, ZERO
                w, x, y, z = w / length, x / length, y / length, z / length
            rotations[b, e, 0], rotations[b, e, 1] = w, x
            rotations[b, e, 2], rotations[b, e, 3] = y, z
    return 0, OK


@njit(cache=True, inline="always")
def relative_yaw(rotation: Array, rest: Array) -> float:
    """The yaw of `rotation` (4,) relative to `rest` (4,): the twist about Z, [rad]."""
    w, x, y, z = rotation[0], rotation[1], rotation[2], rotation[3]
    a, b, c, d = rest[0], -rest[1], -rest[2], -rest[3]
    real = w * a - x * b - y * c - z * d
    up = w * d + x * c - y * b + z * a
    if real < 0.0:
        real, up = -real, -up
    return 2.0 * math.atan2(up, real)


@njit(cache=True)
def root_frames(
    positions: Array,
    rotations: Array,
    moved: Array,
    turned: Array,
    rest: Array,
    origin: Array,
    yaw: Array,
) -> None:
    """Fill `origin` (B, 3) and `yaw` (B,); see `ambulo.ik.solver.features.root_frame`.

    `rest` (6, 4) are the world orientations of the targets' joints at rest.
    """
    count, rows = moved.shape
    for b in range(count):
        x, y, n = 0.0, 0.0, 0
        for row in (HIPS, HEAD):
            if moved[b, row] > 0.0 and n == 0:
                x, y, n = positions[b, row, 0], positions[b, row, 1], 1
        if n == 0:
            for e in range(rows):
                if moved[b, e] > 0.0:
                    x, y, n = x + positions[b, e, 0], y + positions[b, e, 1], n + 1
        origin[b, 0], origin[b, 1], origin[b, 2] = x / max(n, 1), y / max(n, 1), 0.0
        if turned[b, HIPS] > 0.0:
            yaw[b] = relative_yaw(rotations[b, HIPS], rest[HIPS])
        elif turned[b, HEAD] > 0.0:
            yaw[b] = relative_yaw(rotations[b, HEAD], rest[HEAD])
        else:
            across, along = 0.0, 0.0
            for e in range(rows):
                if turned[b, e] > 0.0:
                    angle = relative_yaw(rotations[b, e], rest[e])
                    across, along = across + math.sin(angle), along + math.cos(angle)
            yaw[b] = math.atan2(across, along)


@njit(cache=True)
def network_inputs(
    positions: Array,
    rotations: Array,
    moved: Array,
    turned: Array,
    origin: Array,
    yaw: Array,
    out: Array,
) -> None:
    """Fill `out` (B, 66) from targets and their frames; see `ambulo.ik.solver.features`."""
    count, rows = moved.shape
    for b in range(count):
        c, s = math.cos(yaw[b]), math.sin(yaw[b])
        for e in range(rows):
            k = e * WIDTH
            for i in range(9):
                out[b, k + i] = 0.0
            if moved[b, e] > 0.0:
                dx = positions[b, e, 0] - origin[b, 0]
                dy = positions[b, e, 1] - origin[b, 1]
                out[b, k] = c * dx + s * dy
                out[b, k + 1] = c * dy - s * dx
                out[b, k + 2] = positions[b, e, 2] - origin[b, 2]
            if turned[b, e] > 0.0:
                w, x = rotations[b, e, 0], rotations[b, e, 1]
                y, z = rotations[b, e, 2], rotations[b, e, 3]
                for column in range(3):
                    if column == 0:
                        u = 1.0 - 2.0 * (y * y + z * z)
                        v = 2.0 * (x * y + w * z)
                    elif column == 1:
                        u = 2.0 * (x * y - w * z)
                        v = 1.0 - 2.0 * (x * x + z * z)
                    else:
                        u = 2.0 * (x * z + w * y)
                        v = 2.0 * (y * z - w * x)
                    # Rows 1 and 2 of Rz(-yaw) R.
                    out[b, k + 3 + column] = c * u + s * v
                    out[b, k + 6 + column] = c * v - s * u
            out[b, k + 9] = moved[b, e]
            out[b, k + 10] = turned[b, e]


@njit(cache=True)
def poses_of(
    output: Array, mean: Array, rest: Array, origin: Array, yaw: Array,
    root: Array, local: Array,
) -> None:  # fmt: skip
    """Fill `root` (B, 3) and `local` (B, J, 4) in the world from `output` (B, 3 + 6 J).

    `ambulo.ik.solver.features.decode` and `pose_from_frame` in one pass: rows of each rotation
    by Gram-Schmidt, quaternions by Shepperd's method. `rest` (4,) is the root's orientation at
    rest.
    """
    joints = local.shape[1]
    for b in range(len(output)):
        c, s = math.cos(0.5 * yaw[b]), math.sin(0.5 * yaw[b])
        x, y, z = rotated(
            c, 0.0, 0.0, s,
            output[b, 0] + mean[0], output[b, 1] + mean[1], output[b, 2] + mean[2],
        )  # fmt: skip
        root[b, 0], root[b, 1], root[b, 2] = (
            x + origin[b, 0],
            y + origin[b, 1],
            z + origin[b, 2],
        )
        for j in range(joints):
            k = 3 + 6 * j
            a0, a1 = output[b, k] + mean[k], output[b, k + 1] + mean[k + 1]
            a2 = output[b, k + 2] + mean[k + 2]
            b0, b1 = output[b, k + 3] + mean[k + 3], output[b, k + 4] + mean[k + 4]
            b2 = output[b, k + 5] + mean[k + 5]
            w, x, y, z = from_rows(a0, a1, a2, b0, b1, b2, FLAT)
            local[b, j, 0], local[b, j, 1] = w, x
            local[b, j, 2], local[b, j, 3] = y, z
        # The hips in the world: rest^-1 yaw rest local.
        f, g, h, i = rest[0], rest[1], rest[2], rest[3]
        w, x, y, z = product(
            f, g, h, i, local[b, 0, 0], local[b, 0, 1], local[b, 0, 2], local[b, 0, 3]
        )
        w, x, y, z = product(c, 0.0, 0.0, s, w, x, y, z)
        local[b, 0, 0], local[b, 0, 1], local[b, 0, 2], local[b, 0, 3] = product(
            f, -g, -h, -i, w, x, y, z
        )
