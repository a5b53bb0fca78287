"""Compiled: the matrix J W^-1 J^T of all targets, and its solution.

J is never built: with positions p_j, weights c_j = 1 / stiffness and targets e, f below
joints j

    rotation-rotation   sum c_j I
    position-rotation   -[sum c_j (p_e - p_j)]x
    position-position   sum c_j ((p_e - p_j).(p_f - p_j) I - (p_f - p_j) (p_e - p_j)^T)

so that sums of c_j, c_j p_j and c_j p_j p_j^T down to the last common ancestor of e and f
are all that is needed; frames of joints cancel. Joints at a limit lose one direction each
by an update of rank one. Layouts are those of `ambulo.ik.kernels_tree`. Not for callers:
`ambulo.ik.refine` prepares the arrays.
"""

from __future__ import annotations

import math
from typing import Any

from numba import njit

from ambulo.ik.kernels_tree import BELOW, COMMON, FAST, JOINT

Array = Any


@njit(cache=True, fastmath=FAST)
def build_matrix(
    ends: Array,
    rows: Array,
    order: Array,
    sums: Array,
    slide: float,
    p: Array,
    matrix: Array,
    first: Array,
) -> None:
    """Fill the lower half of `matrix` (n, n), and `first` (n,): where each row begins.

    `order` (k,) are the targets in the order of their rows; `slide` is 1 / stiffness of
    the root's place, 0 where it is given. Blocks of limbs that share no joint are left
    out of the rows' beginnings, so that they cost nothing.
    """
    for a in range(len(order)):
        e = order[a]
        je = ends[e, JOINT]
        begin = -1
        for b in range(a + 1):
            f = order[b]
            jf, c = ends[f, JOINT], ends[e, COMMON + f]
            s = sums[c, 0]
            if begin < 0 and s == 0.0 and slide == 0.0 and a != b:
                continue
            if begin < 0:
                begin = rows[f, 0] if rows[f, 0] >= 0 else rows[f, 1]
            sx, sy, sz = sums[c, 1], sums[c, 2], sums[c, 3]
            ke, kf = rows[e, 0], rows[f, 0]
            if ke >= 0 and kf >= 0:
                position_block(sums, c, slide, p, je, jf, matrix, ke, kf)
            kf = rows[f, 1]
            if ke >= 0 and kf >= 0 and a != b:
                x, y, z = s * p[je, 0] - sx, s * p[je, 1] - sy, s * p[je, 2] - sz
                cross(matrix, ke, kf, -x, -y, -z)
            ke, kf = rows[e, 1], rows[f, 0]
            if ke >= 0 and kf >= 0:
                x, y, z = s * p[jf, 0] - sx, s * p[jf, 1] - sy, s * p[jf, 2] - sz
                cross(matrix, ke, kf, x, y, z)
            kf = rows[f, 1]
            if ke >= 0 and kf >= 0:
                for i in range(3):
                    for k in range(3):
                        matrix[ke + i, kf + k] = s if i == k else 0.0
        start = rows[e, 0] if rows[e, 0] >= 0 else rows[e, 1]
        first[start : max(rows[e, 0], rows[e, 1]) + 3] = begin


@njit(cache=True, fastmath=FAST)
def position_block(
    sums: Array,
    c: int,
    slide: float,
    p: Array,
    je: int,
    jf: int,
    matrix: Array,
    ke: int,
    kf: int,
) -> None:
    """Write what joints down to c have for the positions of joints je and jf (3, 3)."""
    s, sx, sy, sz = sums[c, 0], sums[c, 1], sums[c, 2], sums[c, 3]
    ex, ey, ez = p[je, 0], p[je, 1], p[je, 2]
    fx, fy, fz = p[jf, 0], p[jf, 1], p[jf, 2]
    # sum c rf re^T, element (i, k) = rf_i re_k
    xx = s * fx * ex - fx * sx - sx * ex + sums[c, 4]
    xy = s * fx * ey - fx * sy - sx * ey + sums[c, 5]
    xz = s * fx * ez - fx * sz - sx * ez + sums[c, 6]
    yx = s * fy * ex - fy * sx - sy * ex + sums[c, 5]
    yy = s * fy * ey - fy * sy - sy * ey + sums[c, 7]
    yz = s * fy * ez - fy * sz - sy * ez + sums[c, 8]
    zx = s * fz * ex - fz * sx - sz * ex + sums[c, 6]
    zy = s * fz * ey - fz * sy - sz * ey + sums[c, 8]
    zz = s * fz * ez - fz * sz - sz * ez + sums[c, 9]
    d = xx + yy + zz + slide
    matrix[ke, kf] = d - xx
    matrix[ke, kf + 1] = -xy
    matrix[ke, kf + 2] = -xz
    matrix[ke + 1, kf] = -yx
    matrix[ke + 1, kf + 1] = d - yy
    matrix[ke + 1, kf + 2] = -yz
    matrix[ke + 2, kf] = -zx
    matrix[ke + 2, kf + 1] = -zy
    matrix[ke + 2, kf + 2] = d - zz


@njit(cache=True)
def cross(matrix: Array, i: int, k: int, x: float, y: float, z: float) -> None:
    """Write [(x, y, z)]x into `matrix` at row i, column k."""
    matrix[i, k], matrix[i, k + 1], matrix[i, k + 2] = 0.0, -z, y
    matrix[i + 1, k], matrix[i + 1, k + 1], matrix[i + 1, k + 2] = z, 0.0, -x
    matrix[i + 2, k], matrix[i + 2, k + 1], matrix[i + 2, k + 2] = -y, x, 0.0


@njit(cache=True, fastmath=FAST)
def lock_direction(
    tree: Array,
    ends: Array,
    rows: Array,
    order: Array,
    j: int,
    compliance: float,
    nx: float,
    ny: float,
    nz: float,
    p: Array,
    g: Array,
    matrix: Array,
    first: Array,
) -> None:
    """Take the turn of joint j about the world's unit (nx, ny, nz) out of `matrix`."""
    for e in order:
        for part in range(2):
            k = rows[e, part]
            if k < 0:
                continue
            if tree[j, BELOW + e] == 0:
                g[k] = g[k + 1] = g[k + 2] = 0.0
            elif part == 1:
                g[k], g[k + 1], g[k + 2] = nx, ny, nz
            else:
                i = ends[e, JOINT]
                x, y, z = p[i, 0] - p[j, 0], p[i, 1] - p[j, 1], p[i, 2] - p[j, 2]
                g[k], g[k + 1], g[k + 2] = (
                    ny * z - nz * y,
                    nz * x - nx * z,
                    nx * y - ny * x,
                )
    for i in range(len(first)):
        if g[i] != 0.0:
            c = compliance * g[i]
            for k in range(first[i], i + 1):
                matrix[i, k] -= c * g[k]


@njit(cache=True, fastmath=FAST)
def factor_and_solve(matrix: Array, first: Array, y: Array) -> bool:
    """Solve `matrix` y = y in place by L L^T; row i of L begins at `first[i]`.

    The lower half of `matrix` (n, n) is overwritten, the diagonal by 1 / L_ii. Rows come
    in threes (a position or a rotation), so that the sums run over blocks of 3 x 3 in
    registers. False if the matrix is not positive.
    """
    n = len(first)
    for i in range(0, n, 3):
        for k in range(first[i], i + 1, 3):
            s00, s01, s02 = matrix[i, k], matrix[i, k + 1], matrix[i, k + 2]
            s10, s11, s12 = matrix[i + 1, k], matrix[i + 1, k + 1], matrix[i + 1, k + 2]
            s20, s21, s22 = matrix[i + 2, k], matrix[i + 2, k + 1], matrix[i + 2, k + 2]
            for m in range(max(first[i], first[k]), k):
                a, b, c = matrix[i, m], matrix[i + 1, m], matrix[i + 2, m]
                u, v, w = matrix[k, m], matrix[k + 1, m], matrix[k + 2, m]
                s00 -= a * u
                s01 -= a * v
                s02 -= a * w
                s10 -= b * u
                s11 -= b * v
                s12 -= b * w
                s20 -= c * u
                s21 -= c * v
                s22 -= c * w
            if k < i:
                d, e, f = matrix[k, k], matrix[k + 1, k + 1], matrix[k + 2, k + 2]
                l10, l20, l21 = matrix[k + 1, k], matrix[k + 2, k], matrix[k + 2, k + 1]
                s00 *= d
                s10 *= d
                s20 *= d
                s01 = (s01 - s00 * l10) * e
                s11 = (s11 - s10 * l10) * e
                s21 = (s21 - s20 * l10) * e
                matrix[i, k], matrix[i, k + 1] = s00, s01
                matrix[i + 1, k], matrix[i + 1, k + 1] = s10, s11
                matrix[i + 2, k], matrix[i + 2, k + 1] = s20, s21
                matrix[i, k + 2] = (s02 - s00 * l20 - s01 * l21) * f
                matrix[i + 1, k + 2] = (s12 - s10 * l20 - s11 * l21) * f
                matrix[i + 2, k + 2] = (s22 - s20 * l20 - s21 * l21) * f
                continue
            if not s00 > 0.0:
                return False
            d = 1.0 / math.sqrt(s00)
            s10, s20 = s10 * d, s20 * d
            s11 -= s10 * s10
            if not s11 > 0.0:
                return False
            e = 1.0 / math.sqrt(s11)
            s21 = (s21 - s20 * s10) * e
            s22 -= s20 * s20 + s21 * s21
            if not s22 > 0.0:
                return False
            matrix[i, i], matrix[i + 1, i + 1] = d, e
            matrix[i + 2, i + 2] = 1.0 / math.sqrt(s22)
            matrix[i + 1, i], matrix[i + 2, i], matrix[i + 2, i + 1] = s10, s20, s21
    for i in range(n):
        total = y[i]
        for k in range(first[i], i):
            total -= matrix[i, k] * y[k]
        y[i] = total * matrix[i, i]
    for i in range(n - 1, -1, -1):
        value = y[i] * matrix[i, i]
        y[i] = value
        for k in range(first[i], i):
            y[k] -= matrix[i, k] * value
    return True
