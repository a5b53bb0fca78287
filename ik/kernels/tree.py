"""Compiled: terms of a Levenberg-Marquardt step for a tree of joints and its targets.

Residuals, sums for the matrix J W^-1 J^T (`kernels.matrix`), and the products J d and J^T y,
each in one pass over the tree. J is never built.

Layouts: `tree` (J, 2 + 6) is parent, whether any target hangs on the joint, and whether
each target does; `ends` (6, 8) is joint, base and last common ancestor with each target;
`rows` (6, 2) is the first row of a target's position and rotation in the system, or -1.
Not for callers: `ambulo.ik.solver.refine` prepares the arrays.
"""

from __future__ import annotations

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.kernels.limits import COMPLIANCE
from ambulo.motion.quaternion_kernels import log_of, product, rotated

PARENT, USED, BELOW = 0, 1, 2
"""Columns of `tree`."""

JOINT, BASE, COMMON = 0, 1, 2
"""Columns of `ends`."""

SUMS = 10
"""Sums down to a joint: c, c p (3), c p p^T (xx, xy, xz, yy, yz, zz)."""

FAST = {"contract", "reassoc", "nsz", "arcp"}
"""Permitted rounding in sums; infinities and NaN keep their meaning."""


@njit(cache=True, fastmath=FAST, error_model="numpy")
def residuals(
    ends: Array, rows: Array, goal: Array, turn: Array, p: Array, q: Array, r: Array
) -> None:
    """Fill `r` (n,) with the residuals to `goal` (6, 3), [m], and `turn` (6, 4), [rad]."""
    for e in range(len(ends)):
        j, k = ends[e, JOINT], rows[e, 0]
        if k >= 0:
            for i in range(3):
                r[k + i] = goal[e, i] - p[j, i]
        k = rows[e, 1]
        if k >= 0:
            w, x, y, z = product(
                turn[e, 0], turn[e, 1], turn[e, 2], turn[e, 3],
                q[j, 0], -q[j, 1], -q[j, 2], -q[j, 3],
            )  # fmt: skip
            r[k], r[k + 1], r[k + 2] = log_of(w, x, y, z)


@njit(cache=True, fastmath=FAST, error_model="numpy")
def tree_sums(tree: Array, table: Array, turns: bool, p: Array, sums: Array) -> None:
    """Fill `sums` (J, 10) down to each joint; the root counts if `turns`."""
    for j in range(len(tree)):
        c = table[j, COMPLIANCE] * tree[j, USED]
        a = tree[j, PARENT]
        x, y, z = p[j, 0], p[j, 1], p[j, 2]
        if a < 0:
            c = c if turns else 0.0
            for i in range(SUMS):
                sums[j, i] = 0.0
        else:
            for i in range(SUMS):
                sums[j, i] = sums[a, i]
        sums[j, 0] += c
        sums[j, 1] += c * x
        sums[j, 2] += c * y
        sums[j, 3] += c * z
        sums[j, 4] += c * x * x
        sums[j, 5] += c * x * y
        sums[j, 6] += c * x * z
        sums[j, 7] += c * y * y
        sums[j, 8] += c * y * z
        sums[j, 9] += c * z * z


@njit(cache=True, fastmath=FAST, error_model="numpy")
def turns_of_targets(
    tree: Array, ends: Array, rows: Array, y: Array, p: Array, wrench: Array
) -> None:
    """J^T y: fill `wrench` (J, 6), moment about the origin and force, summed upwards.

    Its rotation for joint j is moment - p_j x force, in the world.
    """
    count = len(tree)
    for j in range(count):
        for i in range(6):
            wrench[j, i] = 0.0
    for e in range(len(ends)):
        j, k = ends[e, JOINT], rows[e, 0]
        if k >= 0:
            fx, fy, fz = y[k], y[k + 1], y[k + 2]
            wrench[j, 0] += p[j, 1] * fz - p[j, 2] * fy
            wrench[j, 1] += p[j, 2] * fx - p[j, 0] * fz
            wrench[j, 2] += p[j, 0] * fy - p[j, 1] * fx
            wrench[j, 3] += fx
            wrench[j, 4] += fy
            wrench[j, 5] += fz
        k = rows[e, 1]
        if k >= 0:
            for i in range(3):
                wrench[j, i] += y[k + i]
    for j in range(count - 1, 0, -1):
        if tree[j, USED]:
            a = tree[j, PARENT]
            for i in range(6):
                wrench[a, i] += wrench[j, i]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def subtract_motion(
    tree: Array,
    ends: Array,
    rows: Array,
    d: Array,
    slide: Array,
    p: Array,
    q: Array,
    twists: Array,
    r: Array,
) -> None:
    """Subtract J d from `r` (n,): the effect of `d` (J, 3) and the displacement `slide` (3,).

    `twists` (J, 6) is scratch memory: rotation and motion of the origin, summed downwards.
    """
    for j in range(len(tree)):
        a = tree[j, PARENT]
        if a < 0:
            for i in range(3):
                twists[j, i], twists[j, 3 + i] = 0.0, slide[i]
        else:
            for i in range(6):
                twists[j, i] = twists[a, i]
        if tree[j, USED] == 0:
            continue
        x, y, z = rotated(q[j, 0], q[j, 1], q[j, 2], q[j, 3], d[j, 0], d[j, 1], d[j, 2])
        twists[j, 0] += x
        twists[j, 1] += y
        twists[j, 2] += z
        twists[j, 3] -= y * p[j, 2] - z * p[j, 1]
        twists[j, 4] -= z * p[j, 0] - x * p[j, 2]
        twists[j, 5] -= x * p[j, 1] - y * p[j, 0]
    for e in range(len(ends)):
        j, k = ends[e, JOINT], rows[e, 0]
        x, y, z = twists[j, 0], twists[j, 1], twists[j, 2]
        if k >= 0:
            r[k] -= twists[j, 3] + y * p[j, 2] - z * p[j, 1]
            r[k + 1] -= twists[j, 4] + z * p[j, 0] - x * p[j, 2]
            r[k + 2] -= twists[j, 5] + x * p[j, 1] - y * p[j, 0]
        k = rows[e, 1]
        if k >= 0:
            r[k] -= x
            r[k + 1] -= y
            r[k + 2] -= z
