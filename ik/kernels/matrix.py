"""Compiled: the matrix J W^-1 J^T of all targets, and its solution.

J is never built: with positions p_j, weights c_j = 1 / stiffness and targets e, f below
joints j

    rotation-rotation   sum c_j I
    position-rotation   -[sum c_j (p_e - p_j)]x
    position-position   sum c_j ((p_e - p_j).(p_f - p_j) I - (p_f - p_j) (p_e - p_j)^T)

so that sums of c_j, c_j p_j and c_j p_j p_j^T down to the last common ancestor of e and f
are all that is needed; frames of joints cancel. Joints at a limit lose one direction each
by an update of rank one. Layouts are those of `ambulo.ik.kernels.tree`. Not for callers:
`ambulo.ik.solver.refine` prepares the arrays.
"""

from __future__ import annotations

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.kernels.tree import BELOW, COMMON, FAST, JOINT

IN_ORDER = {"contract", "nsz", "arcp"}
"""Permitted rounding in loops too short for vectors: sums keep their order."""


@njit(cache=True, fastmath=FAST, error_model="numpy")
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
    """Fill the lower half of `matrix` (n, n), and `first` (n,): the first column of each row.

    `order` (k,) are the targets in the order of their rows; `slide` is 1 / stiffness of the
    root's position, 0 if the root is fixed. Blocks of limbs without a common joint are excluded
    by `first`, so that they cost nothing.
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


@njit(cache=True, fastmath=FAST, error_model="numpy")
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
    """Write the block of joints down to c for the positions of joints je and jf (3, 3)."""
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


@njit(cache=True, error_model="numpy")
def cross(matrix: Array, i: int, k: int, x: float, y: float, z: float) -> None:
    """Write [(x, y, z)]x into `matrix` at row i, column k."""
    matrix[i, k], matrix[i, k + 1], matrix[i, k + 2] = 0.0, -z, y
    matrix[i + 1, k], matrix[i + 1, k + 1], matrix[i + 1, k + 2] = z, 0.0, -x
    matrix[i + 2, k], matrix[i + 2, k + 1], matrix[i + 2, k + 2] = -y, x, 0.0


@njit(cache=True, fastmath=FAST, error_model="numpy")
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
    """Remove the rotation of joint j about the world's unit (nx, ny, nz) from `matrix`."""
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


@njit(cache=True, fastmath=IN_ORDER, error_model="numpy")
def factor_and_solve(  # noqa: PLR0915 - blocks, written out
    matrix: Array, first: Array, y: Array
) -> bool:
    """Solve `matrix` y = y in place by L D L^T with blocks of 3 x 3, written out.

    Rows come in threes (a position or a rotation); row i of L begins at `first[i]`. The lower
    half of `matrix` (n, n) is overwritten by L, its diagonal blocks by the inverses of D: one
    division for three rows, instead of a chain of square roots. False if a block is not
    positive.
    """
    n = len(first)
    for i in range(0, n, 3):
        begin = first[i]
        # L D of this row, from finished rows.
        for k in range(begin, i, 3):
            s00, s01, s02 = matrix[i, k], matrix[i, k + 1], matrix[i, k + 2]
            s10, s11, s12 = matrix[i + 1, k], matrix[i + 1, k + 1], matrix[i + 1, k + 2]
            s20, s21, s22 = matrix[i + 2, k], matrix[i + 2, k + 1], matrix[i + 2, k + 2]
            for m in range(max(begin, first[k]), k, 3):
                u0, u1, u2 = matrix[k, m], matrix[k, m + 1], matrix[k, m + 2]
                v0, v1, v2 = (
                    matrix[k + 1, m],
                    matrix[k + 1, m + 1],
                    matrix[k + 1, m + 2],
                )
                w0, w1, w2 = (
                    matrix[k + 2, m],
                    matrix[k + 2, m + 1],
                    matrix[k + 2, m + 2],
                )
                a, b, c = matrix[i, m], matrix[i, m + 1], matrix[i, m + 2]
                s00 -= a * u0 + b * u1 + c * u2
                s01 -= a * v0 + b * v1 + c * v2
                s02 -= a * w0 + b * w1 + c * w2
                a, b, c = matrix[i + 1, m], matrix[i + 1, m + 1], matrix[i + 1, m + 2]
                s10 -= a * u0 + b * u1 + c * u2
                s11 -= a * v0 + b * v1 + c * v2
                s12 -= a * w0 + b * w1 + c * w2
                a, b, c = matrix[i + 2, m], matrix[i + 2, m + 1], matrix[i + 2, m + 2]
                s20 -= a * u0 + b * u1 + c * u2
                s21 -= a * v0 + b * v1 + c * v2
                s22 -= a * w0 + b * w1 + c * w2
            matrix[i, k], matrix[i, k + 1], matrix[i, k + 2] = s00, s01, s02
            matrix[i + 1, k], matrix[i + 1, k + 1], matrix[i + 1, k + 2] = s10, s11, s12
            matrix[i + 2, k], matrix[i + 2, k + 1], matrix[i + 2, k + 2] = s20, s21, s22
        # L of this row, its diagonal block, and y so far.
        xx, xy, yy = matrix[i, i], matrix[i + 1, i], matrix[i + 1, i + 1]
        xz, yz, zz = matrix[i + 2, i], matrix[i + 2, i + 1], matrix[i + 2, i + 2]
        y0, y1, y2 = y[i], y[i + 1], y[i + 2]
        for k in range(begin, i, 3):
            d00, d10, d11 = matrix[k, k], matrix[k + 1, k], matrix[k + 1, k + 1]
            d20, d21, d22 = matrix[k + 2, k], matrix[k + 2, k + 1], matrix[k + 2, k + 2]
            z0, z1, z2 = y[k], y[k + 1], y[k + 2]
            a, b, c = matrix[i, k], matrix[i, k + 1], matrix[i, k + 2]
            u0 = a * d00 + b * d10 + c * d20
            u1 = a * d10 + b * d11 + c * d21
            u2 = a * d20 + b * d21 + c * d22
            matrix[i, k], matrix[i, k + 1], matrix[i, k + 2] = u0, u1, u2
            xx -= a * u0 + b * u1 + c * u2
            y0 -= u0 * z0 + u1 * z1 + u2 * z2
            a, b, c = matrix[i + 1, k], matrix[i + 1, k + 1], matrix[i + 1, k + 2]
            xy -= a * u0 + b * u1 + c * u2
            v0 = a * d00 + b * d10 + c * d20
            v1 = a * d10 + b * d11 + c * d21
            v2 = a * d20 + b * d21 + c * d22
            matrix[i + 1, k], matrix[i + 1, k + 1], matrix[i + 1, k + 2] = v0, v1, v2
            yy -= a * v0 + b * v1 + c * v2
            y1 -= v0 * z0 + v1 * z1 + v2 * z2
            a, b, c = matrix[i + 2, k], matrix[i + 2, k + 1], matrix[i + 2, k + 2]
            xz -= a * u0 + b * u1 + c * u2
            yz -= a * v0 + b * v1 + c * v2
            w0 = a * d00 + b * d10 + c * d20
            w1 = a * d10 + b * d11 + c * d21
            w2 = a * d20 + b * d21 + c * d22
            matrix[i + 2, k], matrix[i + 2, k + 1], matrix[i + 2, k + 2] = w0, w1, w2
            zz -= a * w0 + b * w1 + c * w2
            y2 -= w0 * z0 + w1 * z1 + w2 * z2
        y[i], y[i + 1], y[i + 2] = y0, y1, y2
        a, b, c = yy * zz - yz * yz, yz * xz - xy * zz, xy * yz - yy * xz
        size = xx * a + xy * b + xz * c
        minor = xx * yy - xy * xy
        if not (xx > 0.0 and minor > 0.0 and size > 0.0):
            return False
        t = 1.0 / size
        matrix[i, i], matrix[i + 1, i], matrix[i + 2, i] = a * t, b * t, c * t
        matrix[i + 1, i + 1] = (xx * zz - xz * xz) * t
        matrix[i + 2, i + 1] = (xy * xz - xx * yz) * t
        matrix[i + 2, i + 2] = minor * t
    for i in range(0, n, 3):
        a, b, c = y[i], y[i + 1], y[i + 2]
        d10, d20, d21 = matrix[i + 1, i], matrix[i + 2, i], matrix[i + 2, i + 1]
        y[i] = matrix[i, i] * a + d10 * b + d20 * c
        y[i + 1] = d10 * a + matrix[i + 1, i + 1] * b + d21 * c
        y[i + 2] = d20 * a + d21 * b + matrix[i + 2, i + 2] * c
    for i in range(n - 3, -1, -3):
        a, b, c = y[i], y[i + 1], y[i + 2]
        for k in range(first[i], i, 3):
            y[k] -= matrix[i, k] * a + matrix[i + 1, k] * b + matrix[i + 2, k] * c
            y[k + 1] -= (
                matrix[i, k + 1] * a
                + matrix[i + 1, k + 1] * b
                + matrix[i + 2, k + 1] * c
            )
            y[k + 2] -= (
                matrix[i, k + 2] * a
                + matrix[i + 1, k + 2] * b
                + matrix[i + 2, k + 2] * c
            )
    return True
