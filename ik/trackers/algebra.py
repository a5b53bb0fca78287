"""Compiled: rotations and vectors of arrays, for the kernels of body trackers."""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.avatar.algebra import set_frame
from ambulo.motion.quaternion_kernels import multiply, rotated


@njit(cache=True)
def rotation_of_sixd(six: Array, out: Array) -> None:
    """Make `out` (4,) the rotation whose matrix has the first two rows nearest to `six`."""
    a, b, c = six[0], six[1], six[2]
    size = math.sqrt(a * a + b * b + c * c + 1e-12)
    a, b, c = a / size, b / size, c / size
    d, e, f = six[3], six[4], six[5]
    along = a * d + b * e + c * f
    d, e, f = d - along * a, e - along * b, f - along * c
    size = math.sqrt(d * d + e * e + f * f + 1e-12)
    d, e, f = d / size, e / size, f / size
    g, h, i = b * f - c * e, c * d - a * f, a * e - b * d
    set_frame(a, d, g, b, e, h, c, f, i, out)


@njit(cache=True)
def sixd_of(q: Array, out: Array) -> None:
    """Fill `out` (6,) with the first two rows of the matrix of `q` (4,)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0], out[1] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z)
    out[2], out[3] = 2.0 * (x * z + w * y), 2.0 * (x * y + w * z)
    out[4], out[5] = 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)


@njit(cache=True)
def heading_of(q: Array) -> tuple[float, float]:
    """Cosine and sine of the yaw of `q` (4,): of its twist about Z."""
    c = q[0] * q[0] - q[3] * q[3]
    s = 2.0 * q[0] * q[3]
    size = math.sqrt(c * c + s * s)
    if size < 1e-6:
        return 1.0, 0.0
    return c / size, s / size


@njit(cache=True)
def normalise(q: Array) -> None:
    """Bring `q` (4,) to unit length; the identity where it has none."""
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if size < 1e-9:
        q[0], q[1], q[2], q[3] = 1.0, 0.0, 0.0, 0.0
        return
    for i in range(4):
        q[i] /= size


@njit(cache=True)
def towards(a: Array, b: Array, part: float, out: Array) -> None:
    """`out` (4,) = the normalised mix of `a` and `b` (4,) on the short way."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    u = part if dot >= 0.0 else -part
    for i in range(4):
        out[i] = (1.0 - part) * a[i] + u * b[i]
    normalise(out)


@njit(cache=True)
def divide(a: Array, b: Array, out: Array) -> None:
    """`out` (4,) = a conjugate(b): what turns `b` into `a`, in the world."""
    w, x, y, z = b[0], -b[1], -b[2], -b[3]
    c, d, e, f = a[0], a[1], a[2], a[3]
    out[0] = c * w - d * x - e * y - f * z
    out[1] = c * x + d * w + e * z - f * y
    out[2] = c * y - d * z + e * w + f * x
    out[3] = c * z + d * y - e * x + f * w


@njit(cache=True)
def swing(q: Array, fx: float, fy: float, fz: float, tx: float, ty: float, tz: float,
          part: float) -> None:  # fmt: skip
    """Turn `q` (4,) in the world by `part` of the turn of direction f to direction t."""
    cx, cy, cz = fy * tz - fz * ty, fz * tx - fx * tz, fx * ty - fy * tx
    sine = math.sqrt(cx * cx + cy * cy + cz * cz)
    if sine < 1e-9:
        return
    angle = 0.5 * part * math.atan2(sine, fx * tx + fy * ty + fz * tz)
    s = math.sin(angle) / sine
    w, x, y, z = math.cos(angle), s * cx, s * cy, s * cz
    a, b, c, d = q[0], q[1], q[2], q[3]
    q[0] = w * a - x * b - y * c - z * d
    q[1] = w * b + x * a + y * d - z * c
    q[2] = w * c - x * d + y * a + z * b
    q[3] = w * d + x * c - y * b + z * a


@njit(cache=True)
def point_at(
    place: Array, turn: Array, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """The point (x, y, z) of a frame at `place` (3,) turned by `turn` (4,), in the world."""
    a, b, c = rotated(turn[0], turn[1], turn[2], turn[3], x, y, z)
    return place[0] + a, place[1] + b, place[2] + c


@njit(cache=True)
def pose_tree(
    parents: Array,
    offsets: Array,
    root: Array,
    local: Array,
    positions: Array,
    world: Array,
) -> None:
    """Fill `positions` (J, 3) and `world` orientations (J, 4) by forward kinematics."""
    for j in range(len(parents)):
        p = parents[j]
        if p < 0:
            for i in range(3):
                positions[j, i] = root[i]
            for i in range(4):
                world[j, i] = local[j, i]
            continue
        x, y, z = point_at(
            positions[p], world[p], offsets[j, 0], offsets[j, 1], offsets[j, 2]
        )
        positions[j, 0], positions[j, 1], positions[j, 2] = x, y, z
        multiply(world[p], local[j], world[j])
