"""Compiled: the linear system of a Levenberg-Marquardt step; `descend` has the loop.

Each step solves, over rotations d of the joints and the displacement of the root,

    min |d - d0|^2_W   so that   J d = r     (damped: + r^T S^2 r / lambda)

with W the stiffness and d0 the return to the posture: y from (J W^-1 J^T + lambda S^-2) y = r -
J d0, then d = d0 + W^-1 J^T y. The damping follows the error, lambda = a E + b (T. Sugihara,
IEEE Transactions on Robotics 27(5), 2011), and a step is accepted only if the error falls.
Limits are an active set: a joint that would leave its limits is put on the rim (its d0), keeps
the directions along the rim, and the step is solved again; it is released when the step pulls
it inside.

This is the dual form, of at most 36 rows. A step of the primal one
(`ambulo.motion.retargeting.kernels`), of 72 unknowns on this rig, took 5.3 times as long
(measured on five effectors and hips, without limits), and more steps are needed; with goals on
all joints, as there, the rows would be 138. Internal: `ambulo.ik.solver.refine` prepares the
arrays.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.kernels.limits import (
    COMPLIANCE,
    SWING,
    TWIST,
    clamp_one,
    is_outside,
    limit_normals,
)
from ambulo.ik.kernels.matrix import build_matrix, lock_direction
from ambulo.ik.kernels.tree import BASE, FAST, USED
from ambulo.motion.quaternion_kernels import product, rotated

STRETCH = 0.9998
"""Fraction of a limb's length to which targets beyond its reach are projected: a fully straight
limb cannot be turned towards its target."""

INWARDS = 1e-9
"""A joint at a limit is released if the step pulls it inside by more than this, [rad]."""


class Body(NamedTuple):
    """Constant arrays of a rig; layouts in `ambulo.ik.kernels.tree`."""

    parents: Array  # (J,)
    rest: Array  # (J, 4)
    offsets: Array  # (J, 3) [m]
    tree: Array  # (J, 8)
    table: Array  # (J, 9)
    ends: Array  # (6, 8)
    reaches: Array  # (6,) [m]
    slide: Array  # (1,) 1 / stiffness of the root's position


class Task(NamedTuple):
    """Targets of one character."""

    rows: Array  # (6, 2) first row of a target's position and rotation, or -1
    order: Array  # (k,) targets in the order of their rows
    weights: Array  # (6, 2) weights, those of rotations times [m/rad]^2
    free: Array  # (2,) 1 where the root may move and turn, else 0
    wanted: Array  # (6, 3) positions about the root's start, [m]
    turn: Array  # (6, 4) orientations
    root: Array  # (3,) posture of the root
    posture: Array  # (J, 4) posture of the joints


class State(NamedTuple):
    """Pose of a character, with residuals."""

    root: Array  # (3,)
    local: Array  # (J, 4)
    p: Array  # (J, 3)
    q: Array  # (J, 4)
    goal: Array  # (6, 3) `wanted`, projected to the reach
    r: Array  # (n,) residuals


class Work(NamedTuple):
    """Scratch memory of a step."""

    bits: Array  # (J,) active set: limits reached by a joint
    kept: Array  # (J,) the active set before the step
    normals: Array  # (J, 2, 3) their directions in the joint's frame, orthonormal
    d: Array  # (J, 3) the step
    d0: Array  # (J, 3) preferred step, and (3,) that of the root
    way: Array
    outside: Array  # (J,) joints whose limits need an exact check
    sums: Array  # (J, 10)
    wrench: Array  # (J, 6)
    matrix: Array  # (n, n)
    first: Array  # (n,)
    y: Array  # (n,)
    g: Array  # (n,)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def turn_joints(
    tree: Array, table: Array, local: Array, d: Array, scale: float, first: int,
    out: Array, outside: Array,
) -> int:  # fmt: skip
    """out[j] = local[j] exp(scale d[j]), the exponential by Cayley's form, normalised.

    Fills `outside` (J,) with the joints that may have left their limits; returns their number.
    """
    h, found = 0.5 * scale, 0
    for j in range(first, len(tree)):
        if tree[j, USED] == 0:
            continue
        w, x, y, z = product(
            local[j, 0], local[j, 1], local[j, 2], local[j, 3],
            1.0, h * d[j, 0], h * d[j, 1], h * d[j, 2],
        )  # fmt: skip
        n = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
        w, x, y, z = w * n, x * n, y * n, z * n
        out[j, 0], out[j, 1], out[j, 2], out[j, 3] = w, x, y, z
        if j > 0 and is_outside(table, j, w, x, y, z):
            outside[found] = j
            found += 1
    return found


@njit(cache=True, fastmath=FAST, error_model="numpy")
def ways_between(
    a: Array, b: Array, begin: int, end: int, scale: float, out: Array
) -> None:
    """out[j] = scale times the d with a[j] exp(d) = b[j], by Cayley's form, for joints."""
    for j in range(begin, end):
        w, x, y, z = product(
            a[j, 0], -a[j, 1], -a[j, 2], -a[j, 3], b[j, 0], b[j, 1], b[j, 2], b[j, 3]
        )
        # Beyond 2 pi / 3 the rotation is cut short.
        size = scale * math.copysign(2.0, w) / max(abs(w), 0.5)
        out[j, 0], out[j, 1], out[j, 2] = x * size, y * size, z * size


@njit(cache=True, error_model="numpy")
def clamp_joint(table: Array, q: Array, j: int) -> int:
    """Clamp q[j] to its limits; returns the bits of the active ones."""
    w, x, y, z, bits = clamp_one(table, j, q[j, 0], q[j, 1], q[j, 2], q[j, 3])
    q[j, 0], q[j, 1], q[j, 2], q[j, 3] = w, x, y, z
    return bits


@njit(cache=True, error_model="numpy")
def reachable_goals(
    ends: Array,
    rows: Array,
    reaches: Array,
    slack: Array,
    wanted: Array,
    p: Array,
    goal: Array,
) -> None:
    """Fill `goal` (6, 3): `wanted`, or where the limb can reach in its direction."""
    for e in range(len(ends)):
        if rows[e, 0] < 0:
            continue
        b = ends[e, BASE]
        x, y, z = wanted[e, 0] - p[b, 0], wanted[e, 1] - p[b, 1], wanted[e, 2] - p[b, 2]
        length = math.sqrt(x * x + y * y + z * z)
        most = reaches[e] * STRETCH + slack[e]
        scale = most / length if length > most else 1.0
        goal[e, 0] = p[b, 0] + x * scale
        goal[e, 1] = p[b, 1] + y * scale
        goal[e, 2] = p[b, 2] + z * scale


@njit(cache=True, error_model="numpy")
def error_of(rows: Array, weights: Array, r: Array) -> float:
    """Half the weighted square of the residuals `r` (n,), [m^2]."""
    total = 0.0
    for e in range(len(rows)):
        for part in range(2):
            k = rows[e, part]
            if k >= 0:
                square = r[k] * r[k] + r[k + 1] * r[k + 1] + r[k + 2] * r[k + 2]
                total += weights[e, part] * square
    return 0.5 * total


@njit(cache=True, error_model="numpy")
def is_reached(rows: Array, near: float, aligned: float, r: Array) -> bool:
    """Whether all residuals are within `near`, [m], and `aligned`, [rad]."""
    for e in range(len(rows)):
        for part in range(2):
            k = rows[e, part]
            if k >= 0:
                most = aligned if part else near
                square = r[k] * r[k] + r[k + 1] * r[k + 1] + r[k + 2] * r[k + 2]
                if square > most * most:
                    return False
    return True


@njit(cache=True, error_model="numpy")
def remove_normals(normals: Array, bits: int, j: int, v: Array) -> None:
    """Make v[j] square to the active ones of `normals` (2, 3), orthonormal."""
    for row in range(2):
        if bits & (SWING if row == 0 else TWIST):
            dot = (
                normals[row, 0] * v[j, 0] + normals[row, 1] * v[j, 1]
                + normals[row, 2] * v[j, 2]
            )  # fmt: skip
            for i in range(3):
                v[j, i] -= dot * normals[row, i]


@njit(cache=True, error_model="numpy")
def normals_of(table: Array, q: Array, j: int, bits: int, out: Array) -> None:
    """`limit_normals` of q[j], the twist's orthogonal to the swing's if both are active."""
    limit_normals(table, j, q[j, 0], q[j, 1], q[j, 2], q[j, 3], out)
    if bits == SWING | TWIST:
        dot = out[0, 0] * out[1, 0] + out[0, 1] * out[1, 1] + out[0, 2] * out[1, 2]
        total = 0.0
        for i in range(3):
            out[1, i] -= dot * out[0, i]
            total += out[1, i] * out[1, i]
        scale = 1.0 / math.sqrt(total) if total > 1e-12 else 0.0
        for i in range(3):
            out[1, i] *= scale


@njit(cache=True, error_model="numpy")
def start_step(
    table: Array, local: Array, posture: Array, pull: float, bits: Array,
    normals: Array, d0: Array,
) -> None:  # fmt: skip
    """Fill `d0` with fraction `pull` of the return to the posture, and the active normals."""
    if pull > 0.0:
        ways_between(local, posture, 0, len(local), pull, d0)
    else:
        d0[:] = 0.0
    for j in range(len(bits)):
        if bits[j]:
            normals_of(table, local, j, bits[j], normals[j])
            remove_normals(normals[j], bits[j], j, d0)


@njit(cache=True, error_model="numpy")
def fill_system(
    tree: Array, table: Array, ends: Array, rows: Array, order: Array, weights: Array,
    slide: float, damping: float, p: Array, q: Array, bits: Array, normals: Array,
    sums: Array, matrix: Array, first: Array, g: Array,
) -> None:  # fmt: skip
    """Fill `matrix` and `first`: what targets share, less limits, plus the damping."""
    build_matrix(ends, rows, order, sums, slide, p, matrix, first)
    for j in range(1, len(tree)):
        if bits[j] == 0 or tree[j, USED] == 0:
            continue
        for row in range(2):
            if bits[j] & (SWING if row == 0 else TWIST):
                x, y, z = rotated(
                    q[j, 0], q[j, 1], q[j, 2], q[j, 3],
                    normals[j, row, 0], normals[j, row, 1], normals[j, row, 2],
                )  # fmt: skip
                lock_direction(
                    tree, ends, rows, order, j, table[j, COMPLIANCE], x, y, z, p, g,
                    matrix, first,
                )  # fmt: skip
    for e in order:
        for part in range(2):
            k = rows[e, part]
            if k >= 0:
                for i in range(3):
                    matrix[k + i, k + i] += damping / weights[e, part]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def turns_of_wrenches(
    tree: Array, table: Array, root: float, p: Array, q: Array, f: Array, d: Array
) -> None:
    """Fill `d` (J, 3) from `f` (J, 6): W^-1 J^T y in each joint's own frame.

    `root`, 0 or 1, is the weight of the root.
    """
    for j in range(len(tree)):
        c = table[j, COMPLIANCE] * tree[j, USED]
        d[j, 0], d[j, 1], d[j, 2] = rotated(
            q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3],
            c * (f[j, 0] - (p[j, 1] * f[j, 5] - p[j, 2] * f[j, 4])),
            c * (f[j, 1] - (p[j, 2] * f[j, 3] - p[j, 0] * f[j, 5])),
            c * (f[j, 2] - (p[j, 0] * f[j, 4] - p[j, 1] * f[j, 3])),
        )  # fmt: skip
    for i in range(3):
        d[0, i] *= root


@njit(cache=True, error_model="numpy")
def release(bits: Array, normals: Array, last: bool, d0: Array, d: Array) -> bool:
    """Keep `d` (J, 3) along the active limits and add `d0`; True if a joint was released."""
    released = False
    for j in range(len(d)):
        if bits[j]:
            for row in range(2):
                bit = SWING if row == 0 else TWIST
                inwards = (
                    normals[j, row, 0] * d[j, 0] + normals[j, row, 1] * d[j, 1]
                    + normals[j, row, 2] * d[j, 2]
                )  # fmt: skip
                if bits[j] & bit and inwards < -INWARDS and not last:
                    bits[j] ^= bit
                    released = True
            remove_normals(normals[j], bits[j], j, d)
        for i in range(3):
            d[j, i] += d0[j, i]
    return released


@njit(cache=True, fastmath=FAST, error_model="numpy")
def largest_turn(d: Array) -> float:
    """Length of the longest of `d` (J, 3), [rad]."""
    largest = 0.0
    for j in range(len(d)):
        square = d[j, 0] * d[j, 0] + d[j, 1] * d[j, 1] + d[j, 2] * d[j, 2]
        largest = max(largest, square)
    return math.sqrt(largest)


@njit(cache=True, error_model="numpy")
def catch(
    table: Array, local: Array, outside: Array, count: int, bits: Array, normals: Array,
    d0: Array, trial: Array,
) -> bool:  # fmt: skip
    """Clamp the first `count` joints of `outside`; True if one reached a new limit."""
    caught = False
    for k in range(count):
        j = outside[k]
        cut = clamp_joint(table, trial, j)
        if cut & ~bits[j]:
            bits[j] |= cut
            caught = True
            # To the rim now; the next round finds the component along the rim.
            ways_between(local, trial, j, j + 1, 1.0, d0)
            normals_of(table, trial, j, bits[j], normals[j])
    return caught
